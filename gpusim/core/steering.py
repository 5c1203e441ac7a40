"""What may steer a launch from outside: the interface through which a launch is simulated in part and estimated."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from gpusim.core.facts import RunFacts
from isa.execution.executor import FunctionalContext


@dataclass(frozen=True)
class Steered:
    """A launch that is about to run.

    m: the machine, whose dispatcher may be made to pass over workgroups; context: of its functional part; counts: the
    launch's facts up to now; resident: workgroups that the machine holds at a time; execute: executes workgroups of the
    grid without timing and returns how many instructions they had.
    """

    m: Any
    context: FunctionalContext
    counts: Callable[[], RunFacts]
    resident: int
    execute: Callable[[range], int]


class Steering(Protocol):
    """One launch that is being steered. limit: the cycle in which `look` is to be called."""

    limit: int

    def look(self) -> None:
        """The machine has reached cycle `limit`."""

    def finish(self, facts: RunFacts) -> None:
        """The launch has ended: complete its facts by what was not simulated."""


class Steerer(Protocol):
    """Steers launches, one after another."""

    def attach(self, launch: Steered) -> Steering:
        """Begin to steer a launch before its first cycle."""
