"""A step in pieces: what a process simulates of it over made-up values, and a store keeps when it ends.

Launches need nothing of those before them but tables, so that each is a piece of its own; those of an operator that has
tables stay together, so that what makes them runs once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpusim.jobs.networks.launches import LaunchClass, PrecedingLaunch, has_tables
from gpusim.jobs.networks.steps import StepOutcome
from gpusim.model.sampling.spec import SamplingSpec
from workloads.operators.primitive import TensorOperator

if TYPE_CHECKING:
    from gpusim.jobs.networks.execution import StepResult


@dataclass(frozen=True, eq=False)
class OperatorLaunches:
    """Launches of one operator of a step."""

    operator: TensorOperator
    """Operator."""
    result: "StepResult"
    """Results of the step."""
    numbers: frozenset[int]
    """Numbers of the launches in the operator."""
    first: int
    """Number in the step of the operator's first launch."""
    before: Sequence[PrecedingLaunch] = ()
    """With warm caches, preceding launches whose lines its single launch may find in L2."""

    @property
    def name(self) -> str:
        """The name of the step, for people."""
        return self.result.name

    @property
    def of_step(self) -> frozenset[int]:
        """Numbers of its launches in the step."""
        return frozenset(self.first + n for n in self.numbers)

    @property
    def classes(self) -> list[LaunchClass]:
        """The classes of its launches whose facts a store keeps."""
        return [one for n in self.of_step if (one := self.result.classes[n]).transferable]

    @property
    def sampling(self) -> Mapping[int, SamplingSpec]:
        """How its launches are sampled, by number in the operator."""
        of_step = self.result.sampling
        return {n: of_step[self.first + n] for n in self.numbers if self.first + n in of_step}

    def in_step(self, outcome: StepOutcome) -> StepOutcome:
        """Return an outcome with its facts by number in the step instead of number in the operator."""
        return replace(outcome, facts={self.first + n: facts for n, facts in outcome.facts.items()})


def pieces(operators: Sequence[TensorOperator], result: "StepResult") -> list[OperatorLaunches]:
    """Divide the launches of a step that are to be simulated into as many pieces as possible."""
    divided, first = [], 0
    for operator in operators:
        numbers = [n for n in range(len(operator.launches)) if first + n in result.simulated]
        together = has_tables(operator.primitive) and numbers and not result.before
        parts = [numbers] if together else [[n] for n in numbers]
        divided += [
            OperatorLaunches(operator, result, frozenset(part), first, result.before.get(first + part[0], ()))
            for part in parts
        ]
        first += len(operator.launches)
    return divided
