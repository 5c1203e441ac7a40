"""What is simulated of a training, and what follows: its pace, what bounds it, what helps, and how it scales."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from gpusim.base.errors import UserError
from gpusim.base.sums import plain_sum
from gpusim.config.network import load_network
from gpusim.jobs.networks.settings import make_layers_circulant
from gpusim.lab.training.fabric import HOST, Transfer, gpu_name, transfer_us
from gpusim.lab.training.line import build_pipeline, check_memory
from gpusim.lab.training.spec import TrainPhase
from gpusim.lab.training.stages import (
    COMMUNICATION,
    CPU,
    GPU,
    LINKS,
    RESOURCES,
    STAGES,
    STORAGE,
    PipelineTrace,
    TrainingPipeline,
    simulate,
    steady_us,
)
from gpusim.lab.training.times import GpuTimes, gpu_times, share_of
from workloads.networks.graph import Network

BUFFERS = "buffers"
FIRST = 4  # iterations before those that count, besides one for each buffer: nothing is in the line at the start
MOST_FIRST = 64
NOISE = 0.005  # of an iteration: what gives less does not help
LARGE = 8  # GPUs; with more, an iteration has thousands of transfers
FEWER = 6  # iterations that count then


class StageFigures(NamedTuple):
    """Means of a stage in an iteration, in milliseconds."""

    stage: str
    """Name of the stage."""
    resource: str
    """What it works on."""
    work_ms: float
    """It works."""
    input_ms: float
    """It waits for its input."""
    space_ms: float
    """It waits for a free buffer."""


class ResourceGain(NamedTuple):
    """What twice as much of a resource gives."""

    resource: str
    """Name of the resource."""
    iteration_ms: float
    """Milliseconds of an iteration with twice as much."""
    gain: float
    """How many times as fast that is."""


@dataclass(frozen=True)
class PipelineTiming:
    """The simulated pace of a training pipeline."""

    line: TrainingPipeline
    """Pipeline."""
    trained: PipelineTrace
    """Simulated training."""
    first: int
    """First iteration that counts."""
    iteration_us: float
    """Time of an iteration with its share of snapshots, in microseconds."""
    snapshot_us: float
    """Delay of the training by a snapshot in microseconds."""

    @property
    def exposed_us(self) -> float:
        """How long an iteration's GPUs wait for sums of gradients and do nothing else."""
        counted = self.trained.exposed_us[self.first :]
        total: float = plain_sum(counted)
        return total / len(counted)

    @property
    def communication_us(self) -> float:
        """How long an iteration's sums of gradients take, hidden or not."""
        spans = [s for s in self.trained.spans if s.stage == COMMUNICATION and s.iteration >= self.first]
        total: float = plain_sum(span.end_us - span.begin_us for span in spans)
        return total / (len(self.trained.ends_us) - self.first)

    @property
    def busy(self) -> dict[str, float]:
        """The share of the time in which each resource works; of the links: the busiest one's use."""
        found = {resource: self.trained.busy(resource, self.first) for resource in (STORAGE, CPU)}
        use = self.trained.link_use(self.line, self.first)
        return {**found, LINKS: max(use.values()), GPU: self.trained.busy(GPU, self.first)}

    @property
    def busiest_link(self) -> tuple[str, str]:
        """The two nodes of the link that is used most."""
        use = self.trained.link_use(self.line, self.first)
        return max(use, key=lambda ends: use[ends])


@dataclass(frozen=True)
class ScalingRow:
    """A training on a number of GPUs."""

    kind: str
    """'weak' or 'strong' scaling."""
    gpus: int
    """Number of GPUs."""
    batch: int
    """Batch size of a GPU."""
    pace: PipelineTiming | None
    """Pace; None: not possible."""
    missing: str = ""
    """Reason for a missing pace; empty: none."""

    @property
    def images_per_s(self) -> float:
        """Images of all GPUs in a second."""
        return 0.0 if self.pace is None else self.gpus * self.batch / self.pace.iteration_us * 1e6


@dataclass(frozen=True)
class TrainingMeasurement:
    """Results of a training phase."""

    training: TrainPhase
    """Training phase."""
    network: Network
    """Network."""
    times: GpuTimes
    """Steps of a GPU."""
    pace: PipelineTiming
    """Pace of the first number of GPUs."""
    stages: tuple[StageFigures, ...]
    """Times of the stages."""
    helps: tuple[ResourceGain, ...]
    """Gains from faster resources and larger buffers."""
    closed_us: float | None
    """Time of an iteration by the closed form, on one GPU without snapshots, in microseconds; None: does not apply."""
    closed_by: str
    """Stage that bounds the closed form."""
    fill_us: float
    """Time until the first batch is computed, in microseconds."""
    scaling: tuple[ScalingRow, ...]
    """Rows of weak, then of strong scaling; empty for one GPU."""

    @property
    def gpus(self) -> int:
        """The number of GPUs that is looked at in full."""
        return self.training.spec.gpus[0]

    @property
    def title(self) -> str:
        """The training's title, or its network's name."""
        return self.training.spec.title or self.network.name

    @property
    def images_per_s(self) -> float:
        """Images of all GPUs in a second."""
        return self.gpus * self.training.spec.batch / self.pace.iteration_us * 1e6

    @property
    def bound(self) -> str:
        """What bounds the training: what helps most when there is twice as much of it; empty where nothing does.

        Buffers come before a resource that helps no more than they do: stages take turns then, and none is all the time
        at work.
        """
        gains = {one.resource: one.gain for one in self.helps}
        best = max(gains, key=lambda name: gains[name])
        if gains[best] <= 1 + NOISE:
            return ""
        return BUFFERS if gains[BUFFERS] >= gains[best] - NOISE else best


def measure(training: TrainPhase, store: Path) -> TrainingMeasurement:
    """Simulate a training, with times from a store or its file.

    Args:
        training: The training.
        store: File of the store that has the iteration's times.

    Raises:
        UserError: Something is missing or too large.
    """
    spec = training.spec
    network, times, line = _line(training, store)
    pace = paced(line, spec.iterations)
    closed, closed_by = steady_us(line) if line.gpus == 1 else (None, "")
    fill_us = pace.trained.stages["compute"].had_us[0]
    scaling = _scaling(training, network, times, store) if tuple(spec.gpus) != (1,) else ()
    helps = tuple(_helps(line, pace, spec.iterations))
    return TrainingMeasurement(
        training=training,
        network=network,
        times=times,
        pace=pace,
        stages=_stages(pace),
        helps=helps,
        closed_us=closed,
        closed_by=closed_by,
        fill_us=fill_us,
        scaling=scaling,
    )


def simulate_pace(training: TrainPhase, store: Path) -> PipelineTiming:
    """Simulate a training on its first number of GPUs, and nothing else that `measure` finds out.

    Args:
        training: The training.
        store: File of the store that has the iteration's times.

    Raises:
        UserError: Something is missing or too large.
    """
    return paced(_line(training, store)[2], training.spec.iterations)


def _line(training: TrainPhase, store: Path) -> tuple[Network, GpuTimes, TrainingPipeline]:
    spec = training.spec
    network = make_layers_circulant(load_network(training.network), spec.block_circulant)
    check_memory(training, network, spec.batch)
    times = gpu_times(training, network, spec.batch, store)
    return network, times, build_pipeline(training, network, times, spec.gpus[0], spec.batch)


def paced(line: TrainingPipeline, iterations: int) -> PipelineTiming:
    """Simulate a line until it is steady, and so many iterations more.

    A snapshot that is rarer than these is simulated once; its delay counts by its share of an iteration.
    """
    count = iterations if line.gpus <= LARGE else min(iterations, FEWER)
    first = FIRST + min(sum(line.buffers), MOST_FIRST if line.gpus <= LARGE else 0)
    snapshot = line.snapshot
    if snapshot is not None and snapshot.every <= count:
        every = snapshot.every
        first, count = every * -(-first // every), every * -(-count // every)
        trained = simulate(line, first + count)
        plain = simulate(replace(line, snapshot=None), first + count)
        delay_us = (trained.ends_us[-1] - plain.ends_us[-1]) / ((first + count) // every)
        return PipelineTiming(line, trained, first, trained.iteration_us(first), delay_us)
    longer = 0
    if snapshot is not None:
        # its write may hold up reading: until then and as long again, the line has found its pace once more
        least_us = max(line.gpu_us, line.read_us)
        longer = 2 * min(int(snapshot.write_us / least_us) + 1, MOST_FIRST)
    trained = simulate(replace(line, snapshot=None), first + count + longer)
    iteration_us = trained.iteration_us(first)
    if snapshot is None:
        return PipelineTiming(line, trained, first, iteration_us, 0.0)
    once = simulate(replace(line, snapshot=replace(snapshot, every=first, most=1)), first + count + longer)
    delay_us = max(0.0, once.ends_us[-1] - trained.ends_us[-1])
    return PipelineTiming(line, trained, first, iteration_us + delay_us / snapshot.every, delay_us)


def _helps(line: TrainingPipeline, pace: PipelineTiming, iterations: int) -> list[ResourceGain]:
    """Return what twice as much of each resource gives; snapshots that are no more than noise keep their share."""
    share_us = 0.0 if line.snapshot is None else pace.snapshot_us / line.snapshot.every
    rare = share_us < NOISE * pace.iteration_us
    looked_at = replace(line, snapshot=None) if rare else line
    found = []
    for resource in (*RESOURCES, BUFFERS):
        other = looked_at.deeper() if resource == BUFFERS else looked_at.faster(resource)
        doubled_us = paced(other, iterations).iteration_us + (share_us if rare else 0.0)
        found.append(ResourceGain(resource, doubled_us / 1e3, pace.iteration_us / doubled_us))
    return found


def _stages(pace: PipelineTiming) -> tuple[StageFigures, ...]:
    """Return the figures of the stages from the iteration on that counts; of a snapshot, what one takes alone."""
    figures, line = [], pace.line
    resources = dict(zip(STAGES, (STORAGE, CPU, LINKS, GPU, GPU, STORAGE), strict=True))
    for stage in STAGES[:-1]:
        times = pace.trained.stages[stage]
        begins, ends = times.began_us[pace.first :], times.ended_us[pace.first :]
        count = min(len(begins), len(ends))
        rows = list(zip(times.asked_us[pace.first :], times.had_us[pace.first :], begins, ends, strict=False))[:count]
        means = [plain_sum(row[k + 1] - row[k] for row in rows) / len(rows) / 1e3 if rows else 0.0 for k in range(3)]
        figures.append(StageFigures(stage, resources[stage], means[2], means[0], means[1]))
    if line.snapshot is not None:
        copy_us = transfer_us(line.graph, Transfer(gpu_name(0), HOST, line.snapshot.size_bytes))
        figures.append(StageFigures("snapshot", STORAGE, (copy_us + line.snapshot.write_us) / 1e3, 0.0, 0.0))
    return tuple(figures)


def _scaling(training: TrainPhase, network: Network, times: GpuTimes, store: Path) -> tuple[ScalingRow, ...]:
    spec, rows = training.spec, []
    for kind in ("weak", "strong"):
        for gpus in sorted(set(spec.gpus)):
            batch = spec.batch if kind == "weak" else share_of(spec.batch, gpus)
            try:
                own = gpu_times(training, network, batch, store)
            except UserError as error:
                rows.append(ScalingRow(kind, gpus, batch, None, str(error)))
                continue
            line = replace(build_pipeline(training, network, own, gpus, batch), snapshot=None)
            rows.append(ScalingRow(kind, gpus, batch, paced(line, spec.iterations)))
    return tuple(rows)
