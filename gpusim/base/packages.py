"""The packages beside this one, imported from where gpusim itself lies, whatever else has their names.

`isa`, `memory`, `spartan` and `workloads` are names that a user's own files may have too, and Python looks into the
folder of the running script first. `gpusim/__init__.py` calls `claim` before anything imports one of them.
"""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder

TYPE_CHECKING = False  # as in `typing`: nothing large is imported here, before Ctrl-C is looked after
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

# modules that extend the simulator, added by `gpusim/__init__.py` and read by `gpusim.base.extensions`
EXTENSIONS: list[str] = []
BESIDE = ("isa", "memory", "spartan", "workloads")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


class _PackageFinder:
    """Finds the packages next to gpusim before Python's search through `sys.path` (importlib.abc.MetaPathFinder)."""

    @staticmethod
    def find_spec(
        fullname: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> ModuleSpec | None:
        """Return the package's specification; None for every other name."""
        return PathFinder.find_spec(fullname, [ROOT]) if fullname in BESIDE else None


def claim() -> None:
    """Have the packages next to gpusim imported from there from now on.

    Raise ImportError when another module has been imported under one of the names; warn of a file next to the running
    script that can no longer be imported.
    """
    for name in BESIDE:
        loaded = sys.modules.get(name)
        if loaded is not None and not _is_ours(loaded):
            where = _file(loaded) or "elsewhere"
            raise ImportError(
                f"gpusim has a package '{name}' of its own, but another module of that name has been imported, from"
                f" {where}: the two cannot be used in one process; rename yours"
            )
    if _PackageFinder not in sys.meta_path:
        sys.meta_path.insert(0, _PackageFinder)
        for name, hidden in _hidden():
            import warnings

            warnings.warn(
                f"{hidden}: 'import {name}' finds gpusim's package of that name; rename yours to import it",
                RuntimeWarning,
                stacklevel=3,
            )


def _file(module: "ModuleType") -> str | None:
    """Return the path of a module; a package without `__init__.py` has only the path of its folder."""
    return getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)


def _is_ours(module: "ModuleType") -> bool:
    file = _file(module)
    return file is not None and os.path.realpath(file).startswith(os.path.join(ROOT, ""))


def _hidden() -> "Iterator[tuple[str, str]]":
    """Yield the names and the paths of files and packages in the running script's folder that have them."""
    first = os.path.realpath(sys.path[0] or ".") if sys.path else ROOT
    if first == ROOT:
        return
    script = os.path.realpath(getattr(sys.modules.get("__main__"), "__file__", None) or first)
    for name in BESIDE:
        for candidate in (os.path.join(first, f"{name}.py"), os.path.join(first, name, "__init__.py")):
            if candidate != script and os.path.isfile(candidate):
                yield name, candidate
