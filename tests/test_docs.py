"""The documentation is true: its commands run, its links lead somewhere.

Every `sh` block is executed as it stands, page by page in an empty directory, except those marked
`<!-- long -->` or `<!-- cluster -->`. A block whose first line is `# NAME.py` or `# NAME.toml` is
that file; other Python blocks are executed too, on the pages that have commands.
"""

import re
import shlex
import sys

import matplotlib
import pytest
import yaml

from sads.cli import app, main
from sads.specs.plug_ins import entry_points_of
from tests.docs import PAGES, ROOT, anchors, blocks, install, links

MARKS = {"", "long", "cluster"}
RUN = [p for p in PAGES if any(b.language == "sh" and not b.mark for b in blocks(p))]


@pytest.mark.parametrize("page", RUN, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_commands_run_as_shown(page, tmp_path, monkeypatch, capsys, request):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    matplotlib.use("agg")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    request.addfinalizer(lambda: _forget(tmp_path))
    for block in blocks(page):
        if block.mark:
            continue
        if block.file:
            (tmp_path / block.file).write_text(block.text)
            if block.file == "pyproject.toml":
                install(tmp_path, tmp_path)
                request.addfinalizer(entry_points_of.cache_clear)
                request.addfinalizer(lambda: sys.modules.pop("stripes", None))
        elif block.language == "python":
            exec(block.text, {})  # noqa: S102 - our own documentation
        elif block.language == "sh":
            for line in block.text.splitlines():
                _run(shlex.split(line, comments=True), monkeypatch, capsys)


def _forget(place):
    """Modules that a page has imported from its own files."""
    files = {name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items()}
    for name in [name for name, file in files.items() if file.startswith(str(place))]:
        del sys.modules[name]


def _run(words, monkeypatch, capsys):
    if not words:
        return
    assert words[0] == "sads", f"only sads is executed; mark the block with {shlex.join(words)}"
    monkeypatch.setattr(sys, "argv", words)
    try:
        main()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    said = capsys.readouterr()
    # `sads compare` says with 1 that two geometries differ.
    assert code == 0 or (code == 1 and words[1] == "compare"), f"{shlex.join(words)}: {said.err}"


def _long_commands():
    """Commands that take too long for a test, as words, with the page they stand on."""
    for page in PAGES:
        for block in blocks(page):
            if block.language == "sh" and block.mark:
                for line in block.text.replace(" && ", "\n").splitlines():
                    words = shlex.split(line, comments=True)
                    if words and words[0] == "sads":
                        yield pytest.param(words[1:], id=f"{page.stem}:{'-'.join(words[1:3])}")


@pytest.mark.parametrize("words", [*_long_commands()])
def test_commands_that_take_long_are_understood(words):
    """Their options exist and their values have the right type."""
    command, _, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    assert command.__name__ == words[0]


def _mentioned_commands():
    """Commands within sentences and workflows, abbreviated often, with the page they stand on."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        spans = re.findall(r"`sads ([a-z]+)((?: [^`]*)?)`", text)
        spans += re.findall(r"^\s*- run: sads ([a-z]+)(.*)$", text, flags=re.MULTILINE)
        for name, rest in spans:
            yield pytest.param(name, rest, id=f"{page.stem}:{name}{rest}")


@pytest.mark.parametrize(("name", "rest"), [*dict.fromkeys(_mentioned_commands())])
def test_commands_in_sentences_exist_with_their_options(name, rest):
    known = {own for one in app[name].assemble_argument_collection() for own in one.names}
    assert set(re.findall(r"(?<!\S)--[a-z-]+", rest)) <= known | {"--help"}


def test_python_stands_on_pages_that_are_executed():
    kinds = {page: {block.language for block in blocks(page)} for page in PAGES}
    elsewhere = {page for page, languages in kinds.items() if "python" in languages} - {*RUN}
    # The first has a test of its own; the second needs a Slurm cluster.
    assert elsewhere <= {ROOT / "README.md", ROOT / "docs" / "sweeps.md"}


def test_the_tutorial_and_every_guide_are_executed():
    known = {p.relative_to(ROOT / "docs").as_posix() for p in RUN if "docs" in p.parts}
    guides = {p.relative_to(ROOT / "docs").as_posix() for p in ROOT.glob("docs/how-to/*.md")}
    assert {"tutorial.md", "own-network.md", *guides} - {"how-to/cluster.md"} <= known


def _writes_a_file(words: list[str]) -> bool:
    single = words[1] in ("sample", "report") and "--out" in words
    return single or bool({"--png", "--csv"} & {*words})


@pytest.mark.parametrize("page", RUN, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_commands_can_be_run_again(page):
    """Directories are continued; a file that the first run made is replaced only with --force."""
    shown = [block.text for block in blocks(page) if block.language == "sh" and not block.mark]
    for line in "\n".join(shown).splitlines():
        words = shlex.split(line, comments=True)
        assert not words or not _writes_a_file(words) or "--force" in words, line


def test_marks_are_known():
    for page in PAGES:
        assert {block.mark for block in blocks(page)} <= MARKS, page


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for target in links(page):
        if re.match(r"https?://", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(place), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_files_of_this_repository_that_are_named_exist(page):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:tests|benchmarks|examples)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name


def test_every_page_is_in_the_navigation():
    def pages(entry):
        if isinstance(entry, str):
            return {entry}
        values = entry.values() if isinstance(entry, dict) else entry
        return set().union(*map(pages, values))

    listed = pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    written = {p.relative_to(ROOT / "docs").as_posix() for p in ROOT.glob("docs/**/*.md")}
    assert listed == written


def test_every_command_is_documented():
    text = (ROOT / "docs" / "commands.md").read_text()
    for name in app.resolved_commands() if hasattr(app, "resolved_commands") else app:
        if not name.startswith("-"):
            assert f"`sads {name}" in text, name
