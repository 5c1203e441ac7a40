"""The stub of the machine record, from the states that make it up: `python -m tests.support.machine_stub`.

Editors and mypy read it, so that they know the fields of `m` in compiled code.
"""

import sys
from pathlib import Path
from textwrap import fill

import numpy as np

from gpusim.base.jit import Field, State
from gpusim.model.core.machine import MACHINE

STUB = Path(__file__).resolve().parents[2] / "gpusim" / "base" / "jit" / "machine.pyi"
_HEAD = '''"""Written from the states of the machine's parts, by `python -m tests.support.machine_stub`."""

from collections.abc import Iterator
from types import EllipsisType
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Row = TypeVar("Row")

class Record:
    """A part of the machine; a subscript, in host code alone, gives the field of that name."""

    dtype: Any
    def __getitem__(self, field: Any) -> Any: ...
    def __setitem__(self, field: Any, value: Any) -> None: ...

class RecordArray(Generic[Row]):
    """An array of records. Host code names a field of all of them as `np.asarray(records)[field]`."""

    shape: tuple[int, ...]
    dtype: Any
    def __getitem__(self, index: Any) -> Row: ...
    def __setitem__(self, index: str | slice | EllipsisType, value: Any) -> None: ...
    def __iter__(self) -> Iterator[Row]: ...
    def __len__(self) -> int: ...
'''


def _class_name(*path: str) -> str:
    return "".join(part.title().replace("_", "") for part in path) + "Record"


def _documentation(field: Field) -> str:
    shape = f"[{', '.join(map(str, field.shape))}]: " if field.shape else ""
    text = f'"""{shape}{field.meaning}."""'
    return fill(text, 120, initial_indent="    ", subsequent_indent="    ", break_long_words=False) + "\n"


def _type_of(field: Field, record: str) -> str:
    kind = np.dtype(field.kind)
    if kind.names is not None:
        return f"RecordArray[{record}]" if field.shape else record
    if field.shape:
        return f"NDArray[np.{kind.name}]"
    return "float" if kind.kind == "f" else "int"


def _states() -> dict[np.dtype, State]:
    """Return every state that a module declares, by its dtype: a field's dtype does not say which state it is of."""
    modules = [module for name, module in sys.modules.items() if name.startswith(("memory.", "spartan.", "gpusim."))]
    states = [value for module in modules for value in vars(module).values() if isinstance(value, State)]
    return {state.dtype(): state for state in states}


def record_stub() -> str:
    """Return the source text of the stub."""
    classes: list[str] = []
    nested = _states()

    def add(path: tuple[str, ...], fields: dict[str, Field]) -> None:
        lines = f'\nclass {_class_name(*path)}(Record):\n    """m.{".".join(path)}"""\n\n'
        for name, field in fields.items():
            kind = np.dtype(field.kind)
            if kind.names is not None:
                add((*path, name), nested[kind].fields)
            lines += f"    {name}: {_type_of(field, _class_name(*path, name))}\n{_documentation(field)}"
        classes.append(lines)

    for state in MACHINE:
        add((state.name,), state.fields)
    parts = "".join(f"    {state.name}: {_class_name(state.name)}\n" for state in MACHINE)
    machine = f'\nclass Machine(Record):\n    """The machine record: the state of every unit."""\n\n{parts}'
    return _HEAD + "".join(classes) + machine


if __name__ == "__main__":
    STUB.write_text(record_stub(), encoding="utf-8")
