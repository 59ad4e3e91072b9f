"""Factory files and the modules beside them."""

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from sads.errors import InputError
from sads.foundation.sibling_imports import Neighbourhood, neighbours_of
from sads.specs import NetworkSpec
from sads.specs.coercion import as_family

MODELS = """
from torch import nn
from widths import WIDTH
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(1, 1, 1)
    def forward(self, x, t):
        return self.layer(x) * WIDTH
"""
FACTORY = """
from models import Net
def make():
    return Net()
def lazily():
    from parts.late import Net as Late  # a folder without __init__.py
    return Late()
"""


def household(folder: Path, width: int) -> Path:
    (folder / "parts").mkdir(parents=True)
    (folder / "net.py").write_text(FACTORY)
    (folder / "models.py").write_text(MODELS)
    (folder / "parts" / "late.py").write_text(MODELS)
    (folder / "widths.py").write_text(f"WIDTH = {width}\n")
    return folder / "net.py"


def gain(text: str) -> float:
    """The constant by which a family's networks multiply."""
    network = as_family(text, shape=(1, 2, 2)).member(0).network
    with torch.no_grad():
        x = torch.ones(1, 1, 2, 2)
        return float((network(x, torch.tensor([0])) / network.layer(x)).mean())


@pytest.mark.parametrize("factory", ["make", "lazily"])
def test_two_files_with_equal_neighbours_each_get_their_own(tmp_path, factory):
    first, second = household(tmp_path / "a", 2), household(tmp_path / "b", 3)
    before, path = set(sys.modules), list(sys.path)
    families = [as_family(f"{f}:{factory}", shape=(1, 2, 2)) for f in (first, second)]
    assert [gain(f"{f}:{factory}") for f in (first, second, first)] == pytest.approx([2, 3, 2])
    modules = [families[i].member(0).network.forward.__globals__ for i in (0, 1, 0)]
    assert [m["WIDTH"] for m in modules] == [2, 3, 2]  # also after the other was loaded
    assert sys.path == path
    assert not {"models", "widths", "parts", "parts.late"} & (set(sys.modules) - before)


def test_a_neighbour_that_changed_is_read_again(tmp_path):
    file = household(tmp_path / "a", 2)
    family = as_family(f"{file}:make", shape=(1, 2, 2))
    assert gain(f"{file}:make") == pytest.approx(2)
    (tmp_path / "a" / "widths.py").write_text("WIDTH = 1 + 4\n")
    changed = as_family(f"{file}:make", shape=(1, 2, 2))
    assert gain(f"{file}:make") == pytest.approx(5)
    assert family.fingerprint != changed.fingerprint


def test_modules_of_others_are_not_disturbed(tmp_path, monkeypatch):
    file = household(tmp_path / "a", 2)
    theirs = ModuleType("models")
    monkeypatch.setitem(sys.modules, "models", theirs)
    assert gain(f"{file}:make") == pytest.approx(2)
    assert sys.modules["models"] is theirs


def test_a_folder_beside_the_file_does_not_hide_an_installed_package(tmp_path):
    (tmp_path / "hypothesis").mkdir()
    (tmp_path / "torch.py").write_text("raise RuntimeError('not this one')\n")
    (tmp_path / "net.py").write_text("import hypothesis, torch\nmake = torch.nn.Identity\n")
    installed = sys.modules.get("hypothesis")
    with pytest.raises(InputError, match="is a class"):
        as_family(f"{tmp_path}/net.py:make", shape=(1, 2, 2))
    assert installed is None or sys.modules["hypothesis"] is installed


def test_a_failing_neighbour_leaves_nothing_behind(tmp_path):
    (tmp_path / "net.py").write_text("import broken_neighbour\n")
    (tmp_path / "broken_neighbour.py").write_text("1 / 0\n")
    path = list(sys.path)
    with pytest.raises(InputError, match="division by zero"):
        as_family(f"{tmp_path}/net.py:make", shape=(1, 2, 2))
    assert sys.path == path
    assert "broken_neighbour" not in sys.modules


def test_a_module_imported_from_elsewhere_stays(tmp_path):
    """Only what lies in the folder itself is taken out again, not what an import in it loads."""
    (tmp_path / "site").mkdir()
    (tmp_path / "elsewhere").mkdir()  # a mere folder, behind every module of that name
    (tmp_path / "site" / "elsewhere.py").write_text("")
    house = Neighbourhood(tmp_path)
    sys.path.append(str(tmp_path / "site"))
    try:
        with house.entered():
            import elsewhere  # noqa: F401  # pyright: ignore[reportMissingImports]
        assert sys.modules.pop("elsewhere", None) is not None
    finally:
        sys.path.remove(str(tmp_path / "site"))


def test_the_identity_of_a_trial_changes_with_a_neighbour_that_is_imported(tmp_path):
    file = household(tmp_path / "a", 2)
    alone = tmp_path / "alone.py"
    alone.write_text("import torch\n")
    assert neighbours_of(alone) == []
    names = [p.relative_to(file.parent).as_posix() for p in neighbours_of(file)]
    assert names == ["models.py", "parts/late.py", "widths.py"]
    first = NetworkSpec.parse(f"{file}:make").digest()
    (file.parent / "unused.py").write_text("")
    assert NetworkSpec.parse(f"{file}:make").digest() == first
    moved = household(tmp_path / "b", 2)
    assert NetworkSpec.parse(f"{moved}:make").digest() == first
    (file.parent / "widths.py").write_text("WIDTH = 12\n")
    assert NetworkSpec.parse(f"{file}:make").digest() != first


def test_the_identity_of_a_file_without_neighbours_is_that_of_the_file(tmp_path):
    """As it was before neighbours counted, so that finished trials are still found."""
    (tmp_path / "net.py").write_bytes(b"import torch\n")
    os.utime(tmp_path / "net.py", (1, 1))
    import hashlib

    inner = hashlib.sha256(hashlib.sha256(b"import torch\n").digest()).hexdigest()[:32]
    assert NetworkSpec.parse(f"{tmp_path}/net.py:make").digest() == f"sha256-{inner}:make"
