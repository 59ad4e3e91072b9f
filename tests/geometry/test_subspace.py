"""Geometries in subspaces: what they say is what the whole says, with errors that hold."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

import sads.geometry.run as run_module
import sads.geometry.sketch as sketch_module
from sads.directions.folds import descending_eigh
from sads.directions.whitening import whitened_distance
from sads.errors import ArtefactError, InputError
from sads.geometry import Gaussian, Geometry, estimate_geometry, load_geometry, planned_geometry
from sads.geometry.subspace_choice import UpTo
from sads.inspection.subspaces import Adaptive, LowFrequencies, Whole
from sads.networks import CNN, ScoreFamily

from .families import FAMILIES, SHORT

ALL = np.arange(12)
CASES = {
    "convolution": ("unet-rgb", {}),
    "convolution of a signal": ("ssm", {}),
    "tokens": ("vit-sincos", {}),
    "tokens of a closed form": ("dit", {}),
    "outputs": ("cnn", {"estimator": "naive"}),
    "tangents": ("cnn", {"of": "tangent"}),
}


def _small(whole: Geometry) -> list[LowFrequencies | Adaptive]:
    rows, sides = whole.structure.rows, whole.structure.grid[1]
    return [LowFrequencies(max(1, min(sides) // 2)), Adaptive(max(2, rows // 3))]


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_compression_of_the_whole_from_the_same_networks(case):
    """An identity, to rounding: the same networks, read on the subspace or on the whole."""
    name, options = CASES[case]
    options = {"networks": 24, "seed": 3, "probe": Gaussian(1.0), **options}
    whole = estimate_geometry(FAMILIES[name], **options, subspace=Whole())
    for subspace in _small(whole):
        geometry = estimate_geometry(FAMILIES[name], **options, subspace=subspace)
        assert geometry.compressed
        assert geometry.structure.imposed == whole.structure
        for folds in (ALL, np.array([5])):
            expected = geometry.structure.basis.compress(whole.part(folds))
            size = np.abs(expected).max()
            np.testing.assert_allclose(geometry.part(folds), expected, atol=1e-6 * size)
        assert geometry.trace == pytest.approx(whole.trace, rel=1e-6)
        share = np.trace(expected := geometry.structure.basis.compress(whole.part(ALL)))
        assert geometry.inside[0] == pytest.approx(share / np.trace(whole.part(ALL)), rel=1e-6)
        assert len(expected) == geometry.structure.rows


@pytest.mark.parametrize("subspace", [LowFrequencies(8), Adaptive(64)], ids=lambda s: s.kind)
def test_the_largest_subspace_is_the_whole(subspace):
    options = {"networks": 48, "seed": 1}
    whole = estimate_geometry(FAMILIES["unet"], **options)
    geometry = estimate_geometry(FAMILIES["unet"], **options, subspace=subspace)
    lifted = geometry.structure.expand(geometry.part(ALL))
    np.testing.assert_allclose(lifted, whole.structure.expand(whole.part(ALL)), atol=1e-9)
    assert geometry.inside[0] == pytest.approx(1, abs=1e-12)
    if isinstance(subspace, LowFrequencies):  # which the symmetries keep
        assert geometry.symmetries == whole.symmetries == ("transpose",)
        assert geometry.whitened_error == pytest.approx(whole.whitened_error, rel=1e-6)
        ours, theirs = geometry.spectrum(), whole.spectrum()
        np.testing.assert_allclose(ours.eigenvalues, theirs.eigenvalues, rtol=1e-6)
        assert [b.last for b in ours.bands] == [b.last for b in theirs.bands]
        assert [level.window for level in ours.resolution] == [
            level.window for level in theirs.resolution
        ]
        np.testing.assert_allclose(ours.vector(0), theirs.vector(0), atol=1e-6)


CNN16 = ScoreFamily(lambda: CNN((1, 16, 16), width=16, depth=3), (1, 16, 16), SHORT, "cnn-16")


def _leading_agree(geometry: Geometry, whole: Geometry, count: int) -> None:
    """Leading eigenvalues within their limits of each other, certified bands nearly the same.

    Bands are those of the compressed geometry. An eigenvalue of the whole is at least the
    compressed one, and larger by no more than what lies outside: of any G >= 0
    lambda_i(P G P) <= lambda_i(G) <= lambda_i(P G P) + lambda_1(G - P G P).
    """
    ours, theirs, structure = geometry.spectrum(), whole.spectrum(), geometry.structure
    outside = (1 - geometry.inside[0]) * geometry.trace / structure.copies
    for index in range(count):
        a, b = ours.resolution_of(index), theirs.resolution_of(index)
        assert a.eigenvalue_low <= b.eigenvalue_high
        assert b.eigenvalue_low <= a.eigenvalue_high + outside
    compressed = descending_eigh(structure.basis.compress(whole.factor))[1]
    bands = [b for b in ours.bands if b.certified and b.last < count]
    assert bands
    for band in bands:
        rows = slice(band.first // structure.copies, band.last // structure.copies + 1)
        overlap = np.square(ours.factor_vectors[:, rows].T @ compressed[:, rows]).sum()
        assert overlap * structure.copies / band.width > 0.9  # 0.95 each, of both


def _leading_alike(geometry: Geometry, whole: Geometry, count: int) -> None:
    """What is left outside does not show beside the errors: bands are those of the whole too."""
    ours, theirs = geometry.spectrum(), whole.spectrum()
    for index in range(count):
        a, b = ours.resolution_of(index), theirs.resolution_of(index)
        assert b.eigenvalue_low <= a.eigenvalue_high
    for band in ours.bands:
        if band.certified and band.last < count:
            indices = range(band.first, band.last + 1)
            mine, true = (np.stack([s.vector(i) for i in indices]) for s in (ours, theirs))
            assert np.square(mine @ true.T).sum() / band.width > 0.9


@pytest.mark.parametrize("subspace", [LowFrequencies(12), Adaptive(48)], ids=lambda s: s.kind)
def test_leading_bands_agree_with_those_of_the_whole(subspace):
    """From other networks; limits hold for all levels at once with 95 % each."""
    geometry = estimate_geometry(CNN16, networks=480, seed=11, subspace=subspace)
    whole = estimate_geometry(CNN16, networks=960, seed=12)
    _leading_agree(geometry, whole, 8)
    if isinstance(subspace, Adaptive):
        _leading_alike(geometry, whole, 8)


@pytest.mark.slow
@pytest.mark.parametrize("subspace", [LowFrequencies(20), Adaptive(256)], ids=lambda s: s.kind)
def test_leading_bands_agree_at_the_size_of_cifar(subspace):
    from sads.networks import preset_family

    family = preset_family("iddpm-cifar10")
    geometry = estimate_geometry(family, networks=96, seed=11, subspace=subspace)
    whole = estimate_geometry(family, networks=96, seed=12)
    _leading_agree(geometry, whole, 3 * 8)
    if isinstance(subspace, Adaptive):
        _leading_alike(geometry, whole, 3 * 8)


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    """The factor of the small U-Net, known much better than it is held against."""
    return estimate_geometry(FAMILIES["unet"], networks=12_288, seed=999).part(ALL)


@pytest.mark.slow
def test_stated_errors_hold(truth):
    """Limits of all eigenvalues at once and shares, against 12,288 networks, over 40 seeds.

    Limits fail with probability 5 % a seed, and shares are beyond 2.2 errors with 5 %; both are
    tested at the level 0.1 %. The reference has a twelfth of the errors that it is held against.
    """
    family, networks = FAMILIES["unet"], 96
    missed = shares = 0
    for seed in range(40):
        subspace = Adaptive(20) if seed % 2 else LowFrequencies(4)
        geometry = estimate_geometry(family, networks=networks, seed=seed, subspace=subspace)
        compressed = geometry.structure.basis.compress(truth)
        values = np.repeat(descending_eigh(compressed)[0], geometry.structure.copies)
        levels = geometry.spectrum().resolution
        missed += any(
            not level.eigenvalue_low <= values[level.index] <= level.eigenvalue_high
            for level in levels
        )
        share, error = geometry.inside
        true = np.trace(compressed) / np.trace(truth)
        shares += abs(share - true) > 2.2 * error
    assert binomtest(missed, 40, 0.05, alternative="greater").pvalue > 1e-3
    assert binomtest(shares, 40, 0.05, alternative="greater").pvalue > 1e-3


def test_the_whitened_error_is_that_of_the_compressed_geometry(truth):
    ratios = []
    for seed in range(4):
        geometry = estimate_geometry(
            FAMILIES["unet"], networks=384, seed=seed, subspace=Adaptive(24)
        )
        compressed = geometry.structure.basis.compress(truth)
        distance = whitened_distance(geometry.factor, compressed, compressed)
        ratios.append(distance / geometry.whitened_error)
    assert np.mean(ratios) == pytest.approx(1, abs=0.15)


def test_a_sketch_finds_more_than_as_many_frequencies():
    """At equal size the directions that a sketch finds hold more of tr G, and nearly the most."""
    low = estimate_geometry(CNN16, networks=48, subspace=LowFrequencies(6))
    geometry = estimate_geometry(CNN16, networks=48, subspace=Adaptive(36))
    whole = estimate_geometry(CNN16, networks=960, seed=5)
    most = descending_eigh(whole.part(ALL))[0][:36].sum() / np.trace(whole.part(ALL))
    assert low.inside[0] < geometry.inside[0] < most + 3 * geometry.inside[1]
    assert geometry.inside[0] > 0.98 * most


def test_the_networks_of_a_sketch_are_not_those_of_the_estimate(monkeypatch):
    seen = []
    original = sketch_module.Source.moment_at

    def watched(self, x, t, rng, dtype):
        seen.append((self.sketching, str(rng.bit_generator.state["state"])))
        return original(self, x, t, rng, dtype)

    monkeypatch.setattr(sketch_module.Source, "moment_at", watched)
    estimate_geometry(
        FAMILIES["cnn"], networks=24, probe=Gaussian(1.0), subspace=Adaptive(4, sketch=24)
    )
    streams = {kind: {state for own, state in seen if own is kind} for kind in (True, False)}
    assert len(streams[True]) >= 2
    assert not streams[True] & streams[False]


GOAL = {"networks": 96, "seed": 4, "subspace": Adaptive(10, sketch=40)}


@pytest.mark.parametrize("batches", [1, 4, 7, 15])
def test_resuming_gives_the_same_bits(batches, tmp_path, monkeypatch):
    """Stopped in the sketch, at its end, and in the estimate."""
    monkeypatch.setattr(run_module, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(sketch_module, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(sketch_module, "WRITING_SHARE", 1e9)
    whole = estimate_geometry(FAMILIES["unet"], **GOAL)
    calls = 0

    def stop(progress):
        nonlocal calls
        calls += 1
        if calls == batches:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        estimate_geometry(FAMILIES["unet"], out=tmp_path, on_progress=stop, **GOAL)
    resumed = estimate_geometry(FAMILIES["unet"], out=tmp_path, **GOAL)
    assert np.array_equal(resumed.state.sums, whole.state.sums)
    assert np.array_equal(resumed.structure.basis.matrix, whole.structure.basis.matrix)
    stored = load_geometry(tmp_path)
    assert np.array_equal(stored.factor, whole.factor)
    assert stored.plan.readout.subspace.digest == whole.plan.readout.subspace.digest


def test_a_geometry_is_stored_with_its_basis(tmp_path):
    geometry = estimate_geometry(FAMILIES["unet-rgb"], networks=24, subspace=Adaptive(5))
    geometry.save(tmp_path / "one")
    again = load_geometry(tmp_path / "one")
    assert again.structure == geometry.structure
    np.testing.assert_array_equal(again.spectrum().vector(4), geometry.spectrum().vector(4))
    assert again.inside == geometry.inside
    low = estimate_geometry(FAMILIES["unet-rgb"], networks=24, subspace=LowFrequencies(2))
    low.save(tmp_path / "low")
    assert [p.name for p in (tmp_path / "low").iterdir() if not p.name.startswith(".")] == [
        "geometry.safetensors"
    ]
    assert load_geometry(tmp_path / "low").structure == low.structure


def test_a_basis_that_is_missing_or_another_one_is_refused(tmp_path):
    for seed in (0, 1):
        geometry = estimate_geometry(FAMILIES["unet"], networks=24, seed=seed, subspace=Adaptive(5))
        geometry.save(tmp_path / str(seed))
    basis = tmp_path / "0" / "subspace.safetensors"
    kept = basis.read_bytes()
    basis.write_bytes((tmp_path / "1" / "subspace.safetensors").read_bytes())
    with pytest.raises(ArtefactError, match="expected the basis that the geometry names"):
        load_geometry(tmp_path / "0")
    basis.write_bytes(kept[:-8] + b"\0" * 8)
    with pytest.raises(ArtefactError, match="corrupt"):
        load_geometry(tmp_path / "0")
    basis.unlink()
    with pytest.raises(ArtefactError, match=r"no subspace in .* copy it there too"):
        load_geometry(tmp_path / "0")


def test_another_subspace_is_another_geometry(tmp_path):
    estimate_geometry(FAMILIES["unet"], networks=24, out=tmp_path, subspace=Adaptive(5))
    for other in (Adaptive(6), LowFrequencies(2), Whole()):
        with pytest.raises(ArtefactError, match="holds another geometry"):
            estimate_geometry(FAMILIES["unet"], networks=24, out=tmp_path, subspace=other)
    more = estimate_geometry(FAMILIES["unet"], networks=48, out=tmp_path)  # as it was begun
    assert (more.networks, more.plan.subspace) == (48, "adaptive:5")


def test_another_geometry_can_be_estimated_in_the_same_subspace(tmp_path):
    first = estimate_geometry(FAMILIES["unet"], networks=24, subspace=Adaptive(5))
    area = FAMILIES["unet-area"]
    second = estimate_geometry(area, networks=24, subspace=first.subspace, out=tmp_path)
    assert second.structure == first.structure == load_geometry(tmp_path).structure
    again = estimate_geometry(area, networks=24, subspace=first.subspace, out=tmp_path)
    assert np.array_equal(again.factor, second.factor)
    other = estimate_geometry(FAMILIES["unet"], networks=24, seed=1, subspace=Adaptive(5))
    with pytest.raises(ArtefactError, match="holds another geometry"):
        estimate_geometry(area, networks=24, subspace=other.subspace, out=tmp_path)
    with pytest.raises(InputError, match="one of 64 rows, the factor has 16"):
        estimate_geometry(FAMILIES["unet-rgb"], networks=24, subspace=first.subspace)


class TestMemory:
    """What is chosen where the whole does not fit; factors are of 64 rows."""

    def _there(self, monkeypatch, size: float) -> None:
        for module in ("inspection.readout_base", "geometry.subspace_choice", "devices"):
            monkeypatch.setattr(f"sads.{module}.available_memory", lambda: int(size))

    @pytest.fixture(autouse=True)
    def _small_defaults(self, monkeypatch):
        monkeypatch.setattr("sads.geometry.subspace_choice.MOST_ADAPTIVE", 32)
        monkeypatch.setattr("sads.geometry.subspace_choice.FEWEST_ADAPTIVE", 8)
        monkeypatch.setattr("sads.geometry.subspace_choice.MOST_FREQUENCIES", 4)

    def test_the_whole_where_it_fits(self, monkeypatch):
        self._there(monkeypatch, 300 * 64**2)
        assert planned_geometry(FAMILIES["unet"], networks=24).subspace is None

    @pytest.mark.parametrize(
        ("size", "chosen"),
        [(300 * 32**2 + 48 * 64 * 42, "adaptive:32"), (160_000, "adaptive:16"), (20_000, "dct:2")],
    )
    def test_the_largest_that_fits_elsewhere(self, monkeypatch, size, chosen):
        self._there(monkeypatch, size)
        assert planned_geometry(FAMILIES["unet"], networks=24).subspace == chosen

    def test_frequencies_where_every_network_shows_one_direction(self, monkeypatch):
        self._there(monkeypatch, 300 * 64**2 - 1)
        plan = planned_geometry(FAMILIES["unet"], networks=24, estimator="naive")
        assert plan.subspace == "dct:4"

    def test_a_closed_form_that_does_not_fit_is_sampled(self, monkeypatch):
        self._there(monkeypatch, 64 * 16**2 - 1)
        plan = planned_geometry(FAMILIES["dit"], networks=24)
        assert (plan.subspace, plan.estimator) == ("dct:2", "integrated")

    def test_nothing_fits(self, monkeypatch):
        monkeypatch.setattr("sads.geometry.subspace_choice.available_memory", lambda: 200)
        said = "factor of 64 x 64 needs 0.0 GiB .* dct:1 would need 0.0 GiB; choose a smaller shape"
        with pytest.raises(InputError, match=said):
            estimate_geometry(FAMILIES["unet"], networks=24)

    def test_what_was_asked_for_is_not_replaced(self, monkeypatch):
        self._there(monkeypatch, 50_000)
        with pytest.raises(InputError, match="factor of 64 x 64"):
            estimate_geometry(FAMILIES["unet"], networks=24, subspace=Whole())
        with pytest.raises(InputError, match="subspace adaptive:32 of a factor of 64 rows"):
            estimate_geometry(FAMILIES["unet"], networks=24, subspace=Adaptive(32))

    def test_a_run_goes_on_as_it_was_begun(self, monkeypatch, tmp_path):
        estimate_geometry(FAMILIES["unet"], networks=24, out=tmp_path)
        self._there(monkeypatch, 300 * 64**2 - 1)
        with pytest.raises(InputError, match="factor of 64 x 64"):
            estimate_geometry(FAMILIES["unet"], networks=48, out=tmp_path)


@pytest.mark.parametrize(
    ("subspace", "said"),
    [
        (LowFrequencies(9), "dct:9 is larger than the space"),
        (Adaptive(65), "adaptive:65 is larger than the space"),
        (Adaptive(64, sketch=0), "a sketch of 0 networks shows at most 0 directions"),
    ],
)
def test_bad_subspaces_are_refused(subspace, said):
    with pytest.raises(InputError, match=said):
        estimate_geometry(FAMILIES["unet"], networks=24, subspace=subspace)


def test_a_sketch_of_another_geometry_is_not_continued(tmp_path, monkeypatch):
    monkeypatch.setattr(sketch_module, "CHECKPOINT_SECONDS", 0.0)

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        estimate_geometry(FAMILIES["unet"], out=tmp_path, on_progress=_after(12, stop), **GOAL)
    other = {**GOAL, "subspace": replace(GOAL["subspace"], count=11)}
    with pytest.raises(ArtefactError, match=r"holds .*another geometry"):
        estimate_geometry(FAMILIES["unet"], out=tmp_path, **other)


def _after(calls: int, then):
    """A watcher that does something at a call."""
    count = 0

    def watch(progress):
        nonlocal count
        count += 1
        if count == calls:
            then(progress)

    return watch


@pytest.mark.parametrize(
    ("name", "rows", "expected"),
    [
        ("unet-rgb", 4, LowFrequencies),  # a larger image
        ("unet-rgb", 10**6, type(None)),  # small enough
        ("ssm", 4, type(None)),  # a signal
        ("dit", 4, type(None)),  # a closed form, which takes no spectrum of folds
    ],
)
def test_only_large_images_are_looked_at_in_low_frequencies(name, rows, expected):
    geometry = estimate_geometry(FAMILIES[name], networks=12, subspace=UpTo(rows))
    assert isinstance(geometry.subspace, expected)


def test_a_geometry_that_is_continued_keeps_the_whole(tmp_path):
    family = FAMILIES["unet-rgb"]
    estimate_geometry(family, networks=12, out=tmp_path)
    assert estimate_geometry(family, networks=24, out=tmp_path, subspace=UpTo(4)).subspace is None
