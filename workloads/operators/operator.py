"""What an operator is: a computation on operands in device memory, its launches, its reference and its cost.

An operator is made from a shape, its operands' data, device memory and facts of the GPU, never from a configuration, so
that a run of one layer, a network, a benchmark and a test build it alike.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from isa.launch import Launch

if TYPE_CHECKING:
    from workloads.operators.verify import ReferencePart


class GpuFacts(NamedTuple):
    """Properties of a GPU that decide how a kernel's work is divided."""

    compute_units: int
    """Compute units of the GPU."""
    lds_bytes: int
    """LDS of a compute unit in bytes."""


@dataclass(frozen=True)
class OperatorCost:
    """The cost of an operator on any machine, in closed form."""

    macs: int
    """Multiply-accumulates of the definition, zeros included."""
    needed_macs: int
    """Multiply-accumulates that its kernels cannot skip; fewer than `macs` where they skip zeros."""
    read_bytes: int
    """Bytes of the operands that the result depends on, each element once."""
    written_bytes: int
    """Bytes of the result."""
    stored_bytes: int
    """Bytes that all launches store, intermediate results included."""
    operations: int = 0
    """Other arithmetic of the definition: additions, products, comparisons and exponentials, one each."""


class Operator(Protocol):
    """A computation that is ready to run: operands lie in device memory, launches point to them."""

    @property
    def name(self) -> str:
        """The name for reports."""

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches in order; each starts when the one before has ended."""

    @property
    def decisive(self) -> Collection[int]:
        """Numbers of the launches whose values decide, or may decide, how long launches after them take."""

    @property
    def inputs(self) -> Mapping[str, np.ndarray]:
        """Views of the operands in device memory.

        The launches leave them as they are, except those whose memory a result takes: an update, or a result in place.
        """

    @property
    def outputs(self) -> Mapping[str, np.ndarray]:
        """Views of the results in device memory."""

    @property
    def work(self) -> OperatorCost:
        """The operator's cost."""

    def expected(self, inputs: Mapping[str, np.ndarray]) -> "Iterator[ReferencePart]":
        """Yield what the outputs should hold, part by part, by NumPy in FP64, with the allowed error.

        inputs: as they were before the launches (`before`).
        """


def before(operator: Operator) -> Mapping[str, np.ndarray]:
    """Return the inputs before the launches: copies of those whose memory results take, views of the others."""
    lost = overwritten(operator)
    return {name: array.copy() if name in lost else array for name, array in operator.inputs.items()}


def overwritten(operator: Operator) -> list[str]:
    """List the inputs whose memory a result takes."""
    outputs = operator.outputs.values()
    return [n for n, array in operator.inputs.items() if any(np.may_share_memory(array, o) for o in outputs)]
