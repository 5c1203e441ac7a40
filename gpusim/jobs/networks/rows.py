"""What a network's run says of each layer and pass: one row each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gpusim.jobs.networks.execution import StepResult
from gpusim.jobs.networks.steps import ZeroFractions
from gpusim.model.core.facts import RunFacts, combined
from workloads.networks.kind import Pass


@dataclass(frozen=True)
class LayerPassRow:
    """A layer's steps of one pass: several where it has several parameters to update."""

    layer: str
    """Name of the layer."""
    what: Pass
    """The pass."""
    steps: Sequence[StepResult]
    """Steps of the pass."""

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
    def macs(self) -> int:
        """The multiply-accumulates of the operators' definition."""
        return sum(work.macs for step in self.steps for work in step.work)

    @property
    def needed_macs(self) -> int:
        """The multiply-accumulates that the kernels cannot leave out: fewer where an algorithm saves some."""
        return sum(step.needed_macs for step in self.steps)

    @property
    def passed(self) -> bool | None:
        """Whether the results were as expected; None where they were not compared."""
        compared = [step.verification.passed for step in self.steps if step.verification is not None]
        return all(compared) if compared else None

    @property
    def zeros(self) -> ZeroFractions | None:
        """The zeros of the operands whose zeros are skipped; None where none are, or where they are unknown."""
        return next((step.zeros for step in self.steps if step.zeros is not None), None)

    @property
    def why_dense(self) -> str:
        """Why no zeros are skipped although they might be; empty where they are, or where that is not possible."""
        return next((step.why_dense for step in self.steps if step.why_dense), "")

    @property
    def joined(self) -> tuple[str, ...]:
        """The layers whose work the steps do too."""
        return next((step.step.joined for step in self.steps if step.step.joined), ())

    @property
    def why_apart(self) -> Mapping[str, str]:
        """Why those of them that take launches of their own do, by name."""
        return next((step.why_apart for step in self.steps if step.why_apart), {})


def group_steps(steps: Iterable[StepResult]) -> list[LayerPassRow]:
    """Group steps by layer and pass into rows, in the order of the steps."""
    grouped: dict[tuple[str, Pass], list[StepResult]] = {}
    for step in steps:
        grouped.setdefault((step.step.layer, step.step.what), []).append(step)
    return [LayerPassRow(layer, what, steps) for (layer, what), steps in grouped.items()]
