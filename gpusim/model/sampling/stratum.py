"""What was measured in one stretch of a grid, and what it says of the workgroups that were passed over there."""

from dataclasses import dataclass, field, replace

import numpy as np

from gpusim.base.student import MANY_DEGREES, quantile
from gpusim.base.sums import plain_sum
from gpusim.model.core.sampled import Replicates
from gpusim.model.sampling.decision import IntervalMeasurements, SamplingDecision, following
from gpusim.model.sampling.estimate import CountEstimate, estimate
from gpusim.model.sampling.grid import RemainingGrid
from gpusim.model.sampling.looks import Columns
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.model.sampling.work import WorkgroupStratum

_TRANSIENT_DOUBT = 0.25  # standard uncertainty of what jumps cost, of itself: assumed, as it may outlast a lap
_MOST_ERROR = 5.0  # times what is wanted of the launch: where a stretch has a twenty-fifth of the work, or less


@dataclass
class StratumMeasurement:
    """Measurement of a stratum of workgroups."""

    stretch: WorkgroupStratum
    """Stratum."""
    spec: SamplingSpec
    """Sampling options with the error that this stratum may have."""
    lap_rounds: float
    """Waves of workgroups in a detailed interval."""
    rounds: float
    """Waves of workgroups in the stratum."""
    length: float = 1.0
    """Mean instructions of a workgroup."""
    laps: list[np.ndarray] = field(default_factory=list)
    """float64 [windows, columns] of each detailed interval."""
    counts: list[int] = field(default_factory=lambda: [0])
    """Number of detailed intervals before each fast-forward and after the last."""
    jumps: list[range] = field(default_factory=list)
    """Skipped workgroups of each fast-forward."""
    work: int = 0
    """Instructions of the skipped workgroups; 0: unknown."""
    after: np.ndarray | None = None
    """float64 [columns]: counts after the last fast-forward while the machine was full; None: none."""
    works: list[int] = field(default_factory=list)
    """Instructions of each fast-forward's workgroups; 0: unknown."""
    measured: IntervalMeasurements | None = None
    """Measurements of the stratum; None: not yet evaluated."""

    @classmethod
    def of(
        cls, stretch: WorkgroupStratum, spec: SamplingSpec, lap_rounds: float, rounds: float, length: float = 1.0
    ) -> "StratumMeasurement":
        """Begin to measure a stretch of a launch for which `spec` is wanted: errors of stretches add in quadrature.

        rounds: of the stretch; length: mean instructions of its workgroups.
        """
        error = spec.error * min(max(stretch.share, 1e-9) ** -0.5, _MOST_ERROR)
        bias = (spec.bias if stretch.alike else spec.change_bias) + stretch.end_doubt(rounds)
        return cls(
            stretch, spec.model_copy(update={"error": min(error, 0.99), "bias": bias}), lap_rounds, rounds, length
        )

    @property
    def skipped(self) -> int:
        """Workgroups passed over."""
        return sum(len(jump) for jump in self.jumps)

    @property
    def places(self) -> int:
        """Places with detailed intervals."""
        return sum(count > 0 for count in self.counts)

    def add(self, lap: np.ndarray) -> None:
        """Add a lap."""
        self.laps.append(lap)
        self.counts[-1] += 1

    def following(self, left: RemainingGrid, columns: Columns) -> SamplingDecision:
        """Decide what follows the laps measured so far."""
        self.measured = IntervalMeasurements(
            _pace(np.array(self.laps), columns),
            tuple(self.counts),
            tuple(self._sizes),
            self.lap_rounds,
            left.lap,
            self.stretch.mixed,
        )
        return following(self.measured, self.spec, replace(left, passed=self.skipped))

    def jumped(self, over: range, work: int) -> None:
        """Note that workgroups were passed over. work: their instructions, 0 if they are not known."""
        self.jumps.append(over)
        self.counts.append(0)
        self.work += work
        self.works.append(work)

    @property
    def _sizes(self) -> list[float]:
        """Workgroups of mean work that each fast-forward skips."""
        if not all(self.works):
            return [float(len(jump)) for jump in self.jumps]
        return [work / self.length for work in self.works]

    @property
    def left_out(self) -> int:
        """Laps at the beginning that are left out as not settled."""
        assert self.measured is not None  # nothing is passed over before the first lap
        return self.measured.first(self._last, self.spec)

    @property
    def _last(self) -> float:
        """Workgroups of the jump that no lap follows, 0 where there is none."""
        assert self.measured is not None
        return plain_sum(self._sizes[len(self.measured.jumps) :])

    def estimate(self, columns: Columns, wavefronts: int) -> CountEstimate:
        """Estimate what was passed over. wavefronts: of a workgroup."""
        measured, first = self.measured, self.left_out
        assert measured is not None
        with_transients = estimate(
            np.array(self.laps)[measured.counted(first)],
            measured.weights(first, self._last),
            measured.age(first),
            columns,
            self.skipped * wavefronts,
            self.spec,
            self.work,
            measured.lap_rounds,
            self.after,
            self._last / plain_sum(self._sizes),
            self.rounds,
            measured.strata(first),
            measured.changes(first, self._last),
            measured.own_chance(self.skipped),
        )
        return self._without_transients(with_transients, columns, measured)

    def _without_transients(
        self, counted: CountEstimate, columns: Columns, measured: IntervalMeasurements
    ) -> CountEstimate:
        """Return an estimate without what the jumps themselves cost, which is simulated and no whole run has."""
        transient = np.array(self.laps)[measured.transient].sum(axis=(0, 1))
        if not transient[columns.work]:
            return counted
        pace = counted.added / max(float(counted.added[columns.work]), 1)
        excess = (transient - pace * transient[columns.work]) * columns.timed
        z = quantile(self.spec.confidence, MANY_DEGREES)
        doubt = Replicates(z * z, (_TRANSIENT_DOUBT * excess)[np.newaxis])
        return replace(counted, added=counted.added - excess, doubts=(*counted.doubts, doubt))


def _pace(laps: np.ndarray, columns: Columns) -> np.ndarray:
    """Return what decides on laps: cycles, instructions, then what was waited for, [lap, window, column].

    That is wavefront-cycles by reason, and the cycles in which caches were full, on the same scale: queues fill up
    before a wavefront waits for it.
    """
    waits = laps[..., list(columns.waits)]
    scale = float(waits.sum()) / max(float(laps[..., columns.units].sum()), 1)
    full = laps[..., list(columns.full)] * scale
    return np.concatenate([laps[..., [columns.cycles, columns.work]], waits, full], axis=-1)
