"""For how-to/training.md: what Li, Zhang and Cao (JFCST 2018 (10), sections 3.3 and 5.1) say of the six stages.

Figure 4 has their times per iteration on a disk array and on one disk. It follows
from one training on the two storages. A claim is a figure with the limits within which it
holds; whoever judges it has only to ask `holds`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpusim.base.formats import GROUPED_1
from gpusim.base.sums import plain_sum
from gpusim.base.table import Table, columns
from gpusim.lab.training.measure import TrainingMeasurement, measure
from gpusim.lab.training.spec import load_training

TRAINING = "alexnet-2018"
ARRAY, DISK = "raid0-hdd4", "hdd"  # the storages of figure 4


@dataclass(frozen=True)
class Claim:
    """A figure that the source gives. low, high: what counts as it; ours: the simulated one; given: it was put in."""

    text: str
    said: float
    low: float
    high: float
    ours: float
    unit: str = ""
    given: bool = False

    @property
    def holds(self) -> bool:
        """Whether ours lies within the limits."""
        return self.low <= self.ours <= self.high


def both(
    training: str = TRAINING, store: Path = Path("gpusim.db"), sets: Mapping[str, object] | None = None
) -> dict[str, TrainingMeasurement]:
    """Measure a training on the array and on the disk; raises UserError, also where the store has no times for it.

    sets: values by their paths, as after --set.
    """
    return {
        storage: measure(load_training(training, {**(sets or {}), "storage": storage}), store)
        for storage in (ARRAY, DISK)
    }


def stage_times(found: Mapping[str, TrainingMeasurement]) -> Table:
    """Return figure 4 as a table: times of an iteration by stage and storage, in milliseconds."""
    rows = []
    for one in found.values():
        work = {stage.stage: stage.work_ms for stage in one.stages}
        passes = [one.times.ms(name) for name in ("forward", "backward", "update")]
        fed = (work["prefetch"], work["preprocess"], work["copy"])
        rows.append((one.training.spec.storage.name, *fed, *passes, one.pace.iteration_us / 1e3))
    stages = ("prefetch", "preprocess", "copy", "forward", "backward", "update", "iteration")
    heads = columns("storage") + columns(*(f"{stage} ms" for stage in stages), write=GROUPED_1)
    return Table(heads, rows, "figure_4")


def claims(found: Mapping[str, TrainingMeasurement]) -> list[Claim]:
    """Return the claims on figures 3 to 5, with ours."""
    array, disk = found[ARRAY], found[DISK]
    given = array.training.spec.compute.total is not None or array.training.spec.compute.layers is not None
    read = {name: _work_ms(one, "prefetch") for name, one in found.items()}
    passes = {name: array.times.ms(name) for name in ("forward", "backward", "update")}
    computed = float(plain_sum(passes.values()))
    both_passes = passes["forward"] + passes["backward"]
    of_array, of_disk = array.pace.iteration_us / 1e3, disk.pace.iteration_us / 1e3
    return [
        Claim(
            "reading from one disk takes 5.4 times as long as from the array",
            5.4,
            4.6,
            6.2,
            read[DISK] / read[ARRAY],
            "×",
        ),
        Claim("the copy of a batch takes 13 ms", 13, 10.4, 15.6, _work_ms(array, "copy"), "ms"),
        Claim("forward is 40 % of the computation", 0.4, 0.35, 0.45, passes["forward"] / both_passes, "", given),
        Claim("backward is 60 % of the computation", 0.6, 0.55, 0.65, passes["backward"] / both_passes, "", given),
        Claim(
            "the update is at most 4.4 % of the computation", 0.044, 0.0, 0.044, passes["update"] / computed, "", given
        ),
        Claim("with the array, an iteration takes as long as the computation", 1, 0.95, 1.05, of_array / computed, "×"),
        Claim("with one disk, an iteration takes as long as prefetching", 1, 0.95, 1.05, of_disk / read[DISK], "×"),
    ]


def _work_ms(found: TrainingMeasurement, stage: str) -> float:
    return next(one.work_ms for one in found.stages if one.stage == stage)
