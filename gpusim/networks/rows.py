"""What a network's run says of each layer and pass: one row each, and the sum of all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

from gpusim.core.facts import RunFacts, combined
from gpusim.networks.execution import StepResult
from gpusim.networks.steps import Zeros
from workloads.networks.kind import Pass


@dataclass(frozen=True)
class Row:
    """A layer's steps of one pass: several where it has several parameters to update."""

    layer: str
    what: Pass
    steps: Sequence[StepResult]

    @property
    def operators(self) -> str:
        """Names of the operators, each once."""
        return " + ".join(dict.fromkeys(name for step in self.steps for name in step.operators))

    @cached_property
    def facts(self) -> RunFacts | None:
        """The facts of all launches as a sum; None where not all are known."""
        known = [step.facts for step in self.steps if step.facts is not None]
        return combined(known) if len(known) == len(self.steps) else None

    @property
    def launches(self) -> int:
        """Return the number of kernel launches."""
        return sum(len(step.classes) for step in self.steps)

    @property
    def simulated(self) -> int:
        """The number of launches that were simulated for this row; the others equal a simulated one, or are still to be
        run.
        """
        return sum(len(step.simulated) for step in self.steps)

    @property
    def macs(self) -> int:
        """The multiply-accumulates of the operators' definition."""
        return sum(work.macs for step in self.steps for work in step.work)

    @property
    def needed_macs(self) -> int:
        """The multiply-accumulates that the kernels cannot leave out: fewer where an algorithm saves some."""
        return sum(work.needed_macs for step in self.steps for work in step.work)

    @property
    def passed(self) -> bool | None:
        """Whether the results were as expected; None where they were not compared."""
        compared = [step.verification.passed for step in self.steps if step.verification is not None]
        return all(compared) if compared else None

    @property
    def zeros(self) -> Zeros | None:
        """The zeros of the operands whose zeros are skipped; None where none are, or where they are unknown."""
        return next((step.zeros for step in self.steps if step.zeros is not None), None)

    @property
    def why_dense(self) -> str:
        """Why no zeros are skipped although they might be; empty where they are, or where that is not possible."""
        return next((step.why_dense for step in self.steps if step.why_dense), "")


class Rows(Sequence[Row]):
    """The rows of one run or several. Their sum is computed once: with half-widths that takes a while."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def facts(self) -> RunFacts | None:
        """The facts of all rows that have been simulated, as a sum; None where no row has been."""
        known = [row.facts for row in self._rows if row.facts is not None]
        return combined(known) if known else None


def rows_of(steps: Iterable[StepResult]) -> Rows:
    """Group steps by layer and pass into rows, in the order of the steps."""
    grouped: dict[tuple[str, Pass], list[StepResult]] = {}
    for step in steps:
        grouped.setdefault((step.step.layer, step.step.what), []).append(step)
    return Rows(Row(layer, what, steps) for (layer, what), steps in grouped.items())
