"""What simulating launches costs on a host: processor seconds, in whole and sampled; fitted to what stored ones took.

A launch takes a time of its own, and one for each instruction, each line that crosses L1 and each line that crosses
DRAM. Of a sampled launch about as many rounds of workgroups are simulated, however many it has. The rates are those of
the host of the fit; another host is compared by executing a convolution there and here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from gpusim.base.sums import plain_sum
from gpusim.jobs.estimates.bounds import moved_across_dram
from gpusim.jobs.estimates.launches import LaunchDemand
from isa.device_memory import DeviceMemory
from isa.execution.emulator import run_functional
from isa.trace import LINE_BYTES
from workloads.operators.conv_implicit import ImplicitForward
from workloads.operators.convolution import Convolution
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import build

TRIES = 3
SHORT_S = 0.003  # of a launch: what it took beside does not say how it grows


@dataclass(frozen=True)
class Rates:
    """Rates of the simulation's cost on a host."""

    launch_s: float
    """Processor seconds of a launch."""
    instruction_s: float
    """Processor seconds of a wavefront instruction."""
    line_s: float
    """Processor seconds of a line of the vector L1."""
    dram_line_s: float
    """Processor seconds of a line of DRAM."""
    sampled_rounds: float
    """Largest number of waves of workgroups that a sampled launch simulates."""
    executed_per_s: float
    """Wavefront instructions executed without timing per second."""

    def seconds(self, asked: LaunchDemand, share: float = 1.0) -> float:
        """Return what a launch takes. share: of it that is simulated."""
        return self.of_amounts(1, amounts(asked), share)

    def of_amounts(self, launches: int, counted: tuple[float, float, float], share: float) -> float:
        """Return what launches take by what their cost grows with.

        Args:
            launches: Number of launches.
            counted: Their instructions, lines of L1 and lines of DRAM (`amounts`).
            share: Share of them that is simulated.
        """
        return launches * self.launch_s + share * float(
            np.dot(counted, (self.instruction_s, self.line_s, self.dram_line_s))
        )

    def here(self) -> "Rates":
        """Return the rates of this host."""
        faster = executed_per_s() / self.executed_per_s
        return replace(
            self,
            launch_s=self.launch_s / faster,
            instruction_s=self.instruction_s / faster,
            line_s=self.line_s / faster,
            dram_line_s=self.dram_line_s / faster,
            executed_per_s=self.executed_per_s * faster,
        )


def amounts(asked: LaunchDemand) -> tuple[float, float, float]:
    """Return what a launch's cost grows with: instructions, lines of L1, lines of DRAM."""
    work = asked.work
    return work.instructions, work.load_lines + work.store_lines, moved_across_dram(asked) / LINE_BYTES


@dataclass(frozen=True)
class LaunchCost:
    """Simulation cost of a stored launch."""

    asked: LaunchDemand
    """Demand of the launch."""
    cpu_s: float
    """Processor seconds."""
    share: float = 1.0
    """Share of the launch that was simulated."""
    rounds: float | None = None
    """Simulated waves of workgroups; None: simulated whole."""


def fit_rates(spent: Sequence[LaunchCost], executed: float, sampled_rounds: float) -> Rates:
    """Fit rates that are not negative to what launches took.

    Args:
        spent: Work and time of launches.
        executed: Instructions a second of this host, without timing.
        sampled_rounds: Rounds that are simulated where none was sampled.
    """
    rows = np.array([[1.0, *(one.share * amount for amount in amounts(one.asked))] for one in spent])
    taken = np.array([one.cpu_s for one in spent])
    weights = 1 / np.sqrt(taken + SHORT_S)  # neither the longest launches alone nor the many short ones
    found = _not_negative(rows * weights[:, np.newaxis], taken * weights)
    rounds = [one.rounds for one in spent if one.rounds is not None]
    launch, instruction, line, dram_line = map(float, found)
    return Rates(launch, instruction, line, dram_line, float(np.mean(rounds)) if rounds else sampled_rounds, executed)


def _not_negative(a: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the least squares' solution; what would be negative is left out, the most negative first."""
    left, scale = list(range(a.shape[1])), np.abs(a).max(axis=0)
    scale[scale == 0] = 1.0
    while left:
        solution = np.linalg.lstsq(a[:, left] / scale[left], y, rcond=None)[0]
        if (solution >= 0).all():
            break
        left.pop(int(np.argmin(solution)))
    out = np.zeros(a.shape[1])
    if left:
        out[left] = solution / scale[left]
    return out


@cache
def executed_per_s() -> float:
    """Measure how many wavefront instructions a second this host executes without timing: a convolution, the best of
    some tries.
    """
    convolution = Convolution((1, 32, 14, 14), 64, (3, 3), padding=(1, 1, 1, 1))
    operator = build(ImplicitForward(convolution), DeviceMemory(1 << 24), GpuFacts(36, 1 << 16))
    rates = []
    for _ in range(TRIES):
        runs = [run_functional(launch) for launch in operator.launches]
        rates.append(
            sum(run.wavefront_instructions for run in runs) / max(plain_sum(run.seconds for run in runs), 1e-9)
        )
    return max(rates)
