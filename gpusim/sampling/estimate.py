"""What the skipped part of a launch cost: counts in proportion to work, with replicates from which errors follow.

Windows are rows of what each of them counted. The skipped part does as many instructions as its workgroups have, and
costs of everything what the windows cost an instruction: a ratio estimator (Cochran 1977, chapter 6). A batch of
windows left out gives a replicate of all counts together, so that the error of anything computed from several counts,
such as a hit rate, has their correlation in it: the jackknife (Quenouille 1956, Tukey 1958).

Two things the windows' spread does not say. A launch that is still settling slowly when it is measured goes on to do so
in the part that is skipped: half of what the later windows differ from the earlier ones, beyond chance, is counted as a
standard uncertainty. And a jump may itself cost or save something: `SamplingSpec.bias`.
"""

from dataclasses import dataclass

import numpy as np

from gpusim.core.sampled import Replicates
from gpusim.sampling.batches import Batches, batched
from gpusim.sampling.looks import Columns
from gpusim.sampling.spec import SamplingSpec
from gpusim.sampling.student import MANY_DEGREES, quantile


@dataclass(frozen=True)
class Estimate:
    """added: what the skipped part adds to each column; doubts: independent reasons for that to be wrong."""

    added: np.ndarray
    doubts: tuple[Replicates, ...]
    batches: Batches


def estimate(windows: np.ndarray, columns: Columns, wavefronts: int, spec: SamplingSpec, work: int = 0) -> Estimate:
    """What `wavefronts` that were not simulated add to each column.

    windows: [window, column], in order of time, each times what it counts; work: instructions of the skipped wavefronts
    if they are known, 0: as many as those that ended in the windows had.
    """

    def added(total: np.ndarray) -> np.ndarray:
        ended = total if total[columns.ended] > 0 else whole
        skipped = work or wavefronts * ended[columns.ended_work] / max(ended[columns.ended], 1)
        return np.asarray(total / max(total[columns.work], 1) * skipped)

    found = batched(columns.rates(windows), spec)
    parts = np.array([windows[part].sum(axis=0) for part in found.ranges(len(windows))])
    whole = parts.sum(axis=0)
    point = added(whole)
    t, z = quantile(spec.confidence, found.count - 1), quantile(spec.confidence, MANY_DEGREES)
    left_out = np.array([added(whole - part) for part in parts]) - point
    sampled = Replicates(t * t * found.inflation * (found.count - 1) / found.count, left_out)
    doubts = [sampled, Replicates(z * z, (spec.bias * point * columns.timed)[np.newaxis])]
    laps = len(windows) // spec.lap_windows
    if laps > 1:
        half = laps // 2 * spec.lap_windows
        apart = added(windows[-half:].sum(axis=0)) - added(windows[:half].sum(axis=0))
        by_chance = 4 * (sampled.factor / (t * t)) * (left_out**2).sum(axis=0)
        beyond = np.sqrt(np.maximum(apart**2 - by_chance, 0))
        doubts.append(Replicates(z * z, (np.sign(apart) * beyond / 2)[np.newaxis]))
    return Estimate(point, tuple(doubts), found)
