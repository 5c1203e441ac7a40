"""State as one nested NumPy record: the representation the compiler turns into constant offsets.

A component documents its state as a `State`: a table of fields. The machine is a record of such records;
`m.l2.tag[i]` is then one load at a constant offset. Sizes in a field are fixed maxima: what a configuration
sizes is reached with run-time strides inside a flat field, so another configuration never recompiles.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

i64 = np.int64
i32 = np.int32


@dataclass(frozen=True)
class Field:
    """One field: element type, shape (`()` = scalar) and what it holds, with its unit."""

    shape: tuple[int, ...]
    meaning: str
    kind: Any = i64


@dataclass(frozen=True)
class State:
    """A component's state: `name` in the machine record and its fields."""

    name: str
    fields: dict[str, Field]

    def dtype(self) -> np.dtype:
        """Structured dtype of the component."""
        return np.dtype([(k, f.kind, f.shape) if f.shape else (k, f.kind) for k, f in self.fields.items()], align=True)


def record_dtype(states: list[State] | tuple[State, ...]) -> np.dtype:
    """Structured dtype of a machine made of `states`."""
    return np.dtype([(s.name, s.dtype()) for s in states], align=True)


def new_record(dtype: np.dtype) -> Any:
    """A zeroed record, used as `m`: fields read as attributes, scalars written as `m.part.field = value`.

    Untouched pages of large maxima cost no memory.
    """
    return np.zeros(1, dtype).view(np.recarray)[0]
