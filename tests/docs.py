"""The blocks of a Markdown page, and what they are marked as."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from sads.specs.plug_ins import entry_points_of

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
_BLOCK = re.compile(r"(?:<!-- (\w+) -->\n)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        mark: `long` and `cluster` blocks are not executed; None for others.
        language: after the fence.
        text: inside.
    """

    mark: str | None
    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The name of the file that a block is the content of, from its first line."""
        match = re.match(r"# ([\w.-]+\.(?:py|toml))\n", self.text)
        return match[1] if match else None


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    return [Block(*parts) for parts in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def install(project: Path, place: Path) -> None:
    """Install the project of a `pyproject.toml` as pip would, for those who find it on the path."""
    own = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    home = place / f"{own['name'].replace('-', '_')}-{own['version']}.dist-info"
    home.mkdir()
    (home / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {own['name']}\nVersion: {own['version']}\n"
    )
    lines = [
        line
        for group, entries in own["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    (home / "entry_points.txt").write_text("\n".join(lines))
    entry_points_of.cache_clear()


def slug(heading: str) -> str:
    """The anchor that a site gives to a heading."""
    plain = re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", plain)).strip("-")


def anchors(page: Path) -> set[str]:
    """All anchors of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    return {slug(h) for h in re.findall(r"^#+ (.+)$", text, flags=re.M)}


def links(page: Path) -> list[str]:
    """All targets of links and pictures."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    return re.findall(r"\]\(([^)\s]+)\)", text)
