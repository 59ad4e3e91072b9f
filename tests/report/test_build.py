"""A report from directories: what it holds, and what it refuses."""

import json
import re
from html import unescape

import numpy as np
import pytest
from markupsafe import Markup

import sads
from sads.geometry import load_geometry
from sads.report import build_report, write_report
from sads.report.build import check_output
from sads.report.commands import geometry_command
from sads.report.page import command_line, embedded
from sads.report.sentences import differs
from sads.report.subjects import Named, by_network
from sads.report.sweep_measurements import measured_along, read_sweep, training_sheet

from .conftest import NETWORK


def content_of(html: str) -> dict:
    """What the page's script gets."""
    (content,) = re.findall(r'<script type="application/json" id="content">(.*?)</script>', html)
    return json.loads(content)


def test_the_numbers_are_those_of_the_spectrum(unet, transformer):
    html = build_report([unet, transformer], data="digits").html
    content = content_of(html)
    assert len(content["explorers"]) == 2
    spectrum, alignment = load_geometry(unet).spectrum(), sads.align(unet, "digits")
    one = content["explorers"][0]
    np.testing.assert_allclose(one["values"], spectrum.factor_values, rtol=1e-5)
    np.testing.assert_allclose(one["errors"], spectrum.factor_errors, rtol=1e-5)
    assert [b[:2] for b in one["bands"]] == [[b.first, b.last] for b in spectrum.bands]
    for band, part in zip(one["bands"], alignment.profile, strict=True):
        inside = sum(one["shares"][band[0] : band[1] + 1])
        assert inside == pytest.approx(part.share, rel=1e-4)
    exact = content["explorers"][1]
    assert exact["copies"] == 4
    assert len(exact["pictures"]) * exact["copies"] == exact["size"] == 64
    assert sum(exact["shares"]) * exact["copies"] == pytest.approx(1.0, rel=1e-4)


def test_a_page_asks_for_nothing(unet):
    html = build_report([unet]).html
    assert "default-src 'none'" in unescape(html)
    assert "unsafe" not in html
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:)""", html)


def test_names_are_text(unet):
    html = build_report([unet]).html
    assert "<script>document.title" not in html
    assert "document.title=" in unescape(html)


@pytest.mark.parametrize("name", ["</script>", "<!--", "\u2028", 'a"b', "é"])
def test_embedded_json_is_inert_and_whole(name):
    text = embedded({"name": name})
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == {"name": name}


def test_noise_levels_are_found_by_their_timesteps(unet, low_noise, transformer):
    named = [Named(str(d), load_geometry(d)) for d in (transformer, low_noise, unet)]
    subjects = by_network(named)
    assert [(a.main.directory, len(a.levels)) for a in subjects] == [
        (str(transformer), 0),
        (str(unet), 1),
    ]
    assert "p = " in differs(subjects[1].main.geometry, subjects[1].levels[0].geometry)
    html = build_report([unet, low_noise]).html
    assert "0–99" in html
    assert len(content_of(html)["overlays"]) == 1


def test_what_a_sweep_measured_is_shown(sweep, unet):
    reading = read_sweep(sweep)
    assert reading.finished
    measured = measured_along(reading, Named(str(unet), load_geometry(unet)))
    assert len(measured) >= 3
    assert measured[0].seeds == 2
    rows = [r for r in reading.rows if r["band_first"] == measured[0].first]
    by_seed = [np.mean([r["msw2"] for r in rows if r["seed"] == s]) for s in (0, 1)]
    assert measured[0].mean == pytest.approx(np.mean(by_seed))
    assert measured[0].error == pytest.approx(abs(by_seed[0] - by_seed[1]) / 2)
    assert [sheet.title for sheet in reading.sheets] == ["not rotated", "rotation min"]
    html = build_report([unet], sweep=sweep).html
    assert "Spearman" in html
    assert html.count("data:image/png") == 2


def test_an_unfinished_sweep_is_shown_as_such(tmp_path, sweep, unet):
    import shutil
    import sqlite3

    from sads.sweep.store.rows import seal_rows

    copy = shutil.copytree(sweep, tmp_path / "copy")
    with sqlite3.connect(copy / "sweep.sqlite") as connection:
        connection.execute(
            "UPDATE trials SET status = 'pending' WHERE id = (SELECT max(id) FROM trials)"
        )
        seal_rows(connection)
    connection.close()
    assert "is not finished" in build_report([unet], sweep=copy).html
    assert "is not finished" not in build_report([unet], sweep=sweep).html


def test_samples_of_a_training(tmp_path, unet):
    sads.train(
        NETWORK,
        "digits,count=32",
        shape="1x8x8",
        rotation="random",
        out=tmp_path / "t",
        iterations=1,
        batch_size=8,
    )
    sheet = training_sheet(tmp_path / "t", steps=2)
    assert sheet.title == "rotation random"
    assert sheet.picture.startswith("data:image/png;base64,")
    assert "1 training steps" in sheet.note


def test_samples_of_an_unfinished_training_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr("sads.diffusion.training.CHECKPOINT_SECONDS", 0.0)

    def stop(step):
        if step.number == 2:
            raise InterruptedError

    protocol = {"iterations": 5, "batch_size": 8, "out": tmp_path, "callbacks": (stop,)}
    with pytest.raises(InterruptedError):
        sads.train("mlp,width=8", "digits,count=32", shape="1x8x8", **protocol)
    assert "unfinished, 1 of 5 training steps" in training_sheet(tmp_path, steps=2).note


def test_the_doctor_is_asked_only_if_wanted(unet, monkeypatch):
    asked = []

    def diagnose(family, **options):
        asked.append(family.name)
        from sads.doctor import Diagnosis, Finding

        finding = Finding("made-up", "error", "evidence & more", "meaning", "suggestion")
        return Diagnosis(family.name, family.shape, (finding,), 12, ())

    monkeypatch.setattr("sads.report.build.diagnose", diagnose)
    assert 'id="doctor"' not in build_report([unet]).html
    assert not asked
    html = build_report([unet], doctor=True).html
    assert asked == [NETWORK]
    assert "evidence &amp; more" in html
    assert "Mend made-up" in html


FOREIGN = """
from types import SimpleNamespace

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(1, 8, 3, padding=1)
        self.last = torch.nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, sample, timestep):
        hidden = self.first(sample) + timestep.view(-1, 1, 1, 1) / 1000
        return SimpleNamespace(sample=self.last(torch.nn.functional.silu(hidden)))


def make():
    return Net()
"""


def test_a_foreign_network_is_examined(tmp_path):
    """Its module returns an object, so it is called through an adapter."""
    (tmp_path / "net.py").write_text(FOREIGN)
    network = f"{tmp_path / 'net.py'}:make"
    sads.estimate_geometry(network, shape="1x4x4", networks=96, out=tmp_path / "geometry")
    html = build_report([tmp_path / "geometry"], doctor=True).html
    assert "Not examined" not in html
    # The file is changed: the geometry is not this network's any more.
    (tmp_path / "net.py").write_text(FOREIGN.replace("8", "4"))
    html = build_report([tmp_path / "geometry"], doctor=True).html
    assert "is no longer the network of this geometry" in html


def test_what_was_measured_is_told_as_sentences(unet):
    html = build_report([unet]).html
    (said,) = re.findall(r"What was measured:</p>\s*<ul>(.*?)</ul>", html)
    assert said.startswith("<li>Error tends to be left along large eigenvalues")
    assert "<li>In iddpm-16, which does not see the time" in said
    (folded,) = re.findall(r"Rotations, run by run</summary><ul>(.*?)</ul>", html)
    assert folded.startswith("<li>Measured on 8x8 digits")
    assert "Measured on" not in said  # a line for each run is too much to read
    assert "What to expect" not in said
    assert "--kind" not in said  # an option of another command


def test_an_isotropic_geometry_has_one_picture(tmp_path):
    sads.estimate_geometry("mlp,width=8", shape="1x8x8", networks=60, out=tmp_path / "mlp")
    html = build_report([tmp_path / "mlp"], data="digits").html
    assert "all directions alike" in html
    one = content_of(html)["explorers"][0]
    assert (len(one["pictures"]), one["copies"], one["size"]) == (1, 64, 64)
    assert one["shape"] == [8, 8]


def test_options_of_a_command_are_not_broken_and_read_as_they_are():
    line = command_line("sads geometry 'a<b' --networks 24 -v")
    assert line == (
        "sads geometry &#39;a&lt;b&#39; "
        '<span class="option">--networks</span> 24 <span class="option">-v</span>'
    )
    assert line.striptags() == "sads geometry 'a<b' --networks 24 -v"


def test_the_command_makes_the_geometry_again(unet, low_noise):
    for directory in (unet, low_noise):
        known = load_geometry(directory)
        command = geometry_command(known, "again")
        assert "--networks 480" in command
        assert ("--timesteps 0:100" in command) == (directory == low_noise)


@pytest.mark.parametrize("subspace", ["dct:4", "adaptive:12"])
def test_the_command_names_the_subspace(subspace, tmp_path):
    options = {"shape": "1x8x8", "networks": 24}
    known = sads.estimate_geometry("cnn,width=8,depth=1", subspace=subspace, **options)
    assert f"--subspace {subspace} " in geometry_command(known, "again")
    known.save(tmp_path / "first")
    borrowed = f"geometry={tmp_path / 'first'}"
    other = sads.estimate_geometry("cnn,width=4,depth=1", subspace=borrowed, **options)
    expected = subspace if subspace.startswith("dct") else "geometry=DIR"
    assert f"--subspace {expected} " in geometry_command(other, "again")


def test_what_to_do_comes_with_its_command(tmp_path):
    """A sentence that ends in a command is not cut off where only text is shown."""
    network = "iddpm-16,channels=8,groups=4,mults=1x1"
    sads.estimate_geometry(network, shape="1x8x8", networks=24, out=tmp_path / "few")
    last = build_report([tmp_path / "few"]).sentences[-1]
    assert f"raise --networks in sads geometry {network}" in last


def test_an_unfinished_geometry_says_so(tmp_path, unet):
    from dataclasses import replace

    known = load_geometry(unet)
    replace(known, state=replace(known.state, finished=False)).save(tmp_path / "half")
    assert "Let the estimate finish" in build_report([tmp_path / "half"]).html


def test_bad_input_is_refused(tmp_path, unet):
    with pytest.raises(sads.ArtefactError, match="no geometry in"):
        build_report([tmp_path])
    with pytest.raises(sads.InputError, match="at least one directory"):
        build_report([])
    sads.estimate_geometry("dit-2", shape="1x4x4", out=tmp_path / "other")
    with pytest.raises(sads.InputError, match="of one shape"):
        build_report([unet, tmp_path / "other"])
    with pytest.raises(sads.ArtefactError, match="no sweep in"):
        build_report([unet], sweep=tmp_path)
    with pytest.raises(sads.InputError):
        build_report([unet], data="digits,size=16")


def test_a_forecast_is_shown_where_it_belongs(tmp_path, unet, transformer, forecast):
    built = build_report([unet, transformer], forecasts=[forecast])
    known = sads.load_forecast(forecast).by_band()
    first, second = content_of(built.html)["explorers"]
    assert [part["mean"] for part in first["forecast"]] == pytest.approx(known.drift.tolist())
    assert [part["error"] for part in first["forecast"]] == pytest.approx(known.drift_error)
    assert second["forecast"] == []
    assert built.sentences[0].startswith("Learned early: eigenvectors")
    assert f"--forecast {forecast}" in Markup(built.html).striptags()
    # Along other directions than the geometry's own there is a table and no panel.
    sads.forecast(
        NETWORK, "digits", shape="1x8x8", directions="dct:bands=4", method="one step",
        networks=8, out=tmp_path / "bands",
    )  # fmt: skip
    html = build_report([unet], forecasts=[tmp_path / "bands"]).html
    assert content_of(html)["explorers"][0]["forecast"] == []
    assert html.count('class="drift"') == 4


def test_forecasts_of_other_networks_are_refused(tmp_path, unet, transformer, forecast):
    with pytest.raises(sads.InputError, match="of which no geometry is given"):
        build_report([transformer], forecasts=[forecast])
    with pytest.raises(sads.ArtefactError, match="no forecast in"):
        build_report([unet], forecasts=[tmp_path])
    sads.load_forecast(forecast).save(tmp_path / "copy")
    with pytest.raises(sads.InputError, match="second forecast"):
        build_report([unet], forecasts=[forecast, tmp_path / "copy"])


def test_an_existing_file_is_kept(tmp_path, unet):
    path = tmp_path / "report.html"
    path.write_text("mine")
    report = build_report([unet])
    with pytest.raises(sads.InputError, match="force=True"):
        write_report(report, path)
    assert path.read_text() == "mine"
    write_report(report, path, force=True)
    assert path.read_text(encoding="utf-8") == report.html
    with pytest.raises(sads.InputError, match="no directory"):
        check_output(tmp_path / "nowhere" / "report.html", force=False)
    with pytest.raises(sads.InputError, match="is a directory"):
        check_output(tmp_path, force=True)


def test_large_geometries_hold_a_thousand_pictures(tmp_path):
    """D = 10,000: the file says which pictures it has."""
    geometry = sads.estimate_geometry("dit-4", shape="1x100x100", out=tmp_path / "large")
    assert geometry.structure.size == 10_000
    html = build_report([tmp_path / "large"]).html
    one = content_of(html)["explorers"][0]
    assert len(one["pictures"]) <= 1024
    assert one["size"] == 10_000
