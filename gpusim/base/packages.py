"""The packages beside this one, imported from where gpusim itself lies, whatever else has their names.

`isa`, `memory`, `spartan` and `workloads` are names that a user's own files may have too, and Python looks into the
folder of the running script first. `gpusim/__init__.py` calls `claim` before anything imports one of them.
"""

import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

BESIDE = ("isa", "memory", "spartan", "workloads")
ROOT = Path(__file__).resolve().parents[2]


class _Beside(MetaPathFinder):
    """Finds the packages beside gpusim before Python's search through `sys.path`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The package's specification; None for every other name."""
        return PathFinder.find_spec(fullname, [str(ROOT)]) if fullname in BESIDE else None


def claim() -> None:
    """Have the packages imported from beside gpusim from now on.

    Raises ImportError when another module has been imported under one of the names; warns of a file beside the running
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
    if not any(isinstance(finder, _Beside) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Beside())
        for hidden in _hidden():
            warnings.warn(
                f"{hidden}: 'import {hidden.stem}' finds gpusim's package of that name; rename yours to import it",
                RuntimeWarning,
                stacklevel=3,
            )


def _file(module: ModuleType) -> str | None:
    """Where a module lies; a package without `__init__.py` has a path alone."""
    return getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)


def _is_ours(module: ModuleType) -> bool:
    file = _file(module)
    return file is not None and ROOT in Path(file).resolve().parents


def _hidden() -> Iterator[Path]:
    """Files and packages in the running script's folder that have one of the names."""
    first = Path(sys.path[0] or ".").resolve() if sys.path else ROOT
    if first == ROOT:
        return
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    for name in BESIDE:
        for candidate in (first / f"{name}.py", first / name / "__init__.py"):
            if candidate.is_file() and (script is None or Path(script).resolve() != candidate):
                yield candidate if candidate.name != "__init__.py" else candidate.parent
