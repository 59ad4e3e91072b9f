"""A Python file and the modules beside it.

A factory file may import its neighbours, `from models import Net`, as it could if it were run as a
program: its folder is first on the path while it is loaded and whenever its factory runs. What was
imported from the folder belongs to that file alone. Outside it is taken out of `sys.modules` again,
so that two files in different folders each have a `models` of their own, and nobody else's `models`
is disturbed.
"""

import ast
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Generic, ParamSpec, TypeVar

#: Modules that no neighbour replaces: there must be only one of each.
KEPT = frozenset({*sys.stdlib_module_names, "sads", "torch", "numpy", "scipy"})
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# The path and the table of modules are one for all threads.
_IMPORTS = threading.RLock()


class Neighbourhood:
    """The modules that a file imported from its own folder.

    Args:
        folder: where the file is.
    """

    def __init__(self, folder: Path):
        self.folder: Path = folder.resolve()
        self._own: dict[str, ModuleType] = {}

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Imports find the folder first; afterwards path and modules are as they were."""
        with _IMPORTS:
            hidden = self._modules(self._stands_in_front)
            for name in hidden:
                del sys.modules[name]
            sys.modules.update(self._own)
            sys.path.insert(0, str(self.folder))
            before = len(sys.modules)
            try:
                yield
            finally:
                if str(self.folder) in sys.path:
                    sys.path.remove(str(self.folder))
                if len(sys.modules) != before:  # something was imported
                    self._own = self._modules(self._is_ours)
                for name in self._own:
                    sys.modules.pop(name, None)
                sys.modules.update(hidden)

    def _modules(self, wanted: Callable[[str], bool]) -> dict[str, ModuleType]:
        """Loaded modules with a wanted first name, and everything inside them."""
        roots = {name for name in self._names if name in sys.modules and wanted(name)}
        if not roots:  # the usual case, and the table is long
            return {}
        return {n: m for n, m in sys.modules.items() if n.partition(".")[0] in roots}

    @cached_property
    def _names(self) -> dict[str, bool]:
        """Names that an import could find in the folder, with False for a mere folder."""
        names: dict[str, bool] = {}
        for place in self.folder.iterdir():
            name = place.name.partition(".")[0]
            if name.isidentifier() and name not in KEPT:
                whole = place.suffix in (".py", ".so") or (place / "__init__.py").is_file()
                names[name] = whole or names.get(name, False)
        return names

    def _stands_in_front(self, name: str) -> bool:
        """Whether an import would take what is in the folder instead of the module."""
        # A mere folder comes after every module and package on the path.
        return self._names[name] or getattr(sys.modules[name], "__file__", None) is None

    def _is_ours(self, name: str) -> bool:
        """Whether a module or package lies in the folder itself."""
        module = sys.modules[name]
        places = list(getattr(module, "__path__", ())) or [getattr(module, "__file__", None)]
        return any(Path(place).resolve().parent == self.folder for place in places if place)


class Housed(Generic[Arguments, Result]):
    """A callable of a file that may import the file's neighbours when it is called.

    Args:
        call: the callable.
        neighbourhood: the modules beside its file.
    """

    def __init__(self, call: Callable[Arguments, Result], neighbourhood: Neighbourhood):
        self.call = call
        self.neighbourhood = neighbourhood
        self.__name__: str = getattr(call, "__name__", type(call).__name__)

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with self.neighbourhood.entered():
            return self.call(*args, **kwargs)


def neighbours_of(path: Path) -> list[Path]:
    """The files beside a Python file that it imports, directly or through others, sorted.

    They are read, not run. A package counts with all its Python files, since what it imports by
    relative names is not followed.
    """
    folder, beside, waiting = path.parent, set[Path](), [path]
    while waiting:
        for name in _imported(waiting.pop()):
            file, package = folder / f"{name}.py", folder / name
            files = {file} if file.is_file() else set(package.rglob("*.py"))
            new = files - beside - {path}
            beside |= new
            waiting += new
    return sorted(beside)


def _imported(path: Path) -> set[str]:
    """First parts of the names of the modules that a file imports anywhere."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return set()  # loading it will report the error
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names - KEPT
