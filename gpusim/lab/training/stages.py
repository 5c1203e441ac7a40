"""The six stages of training, batch after batch: prefetch, preprocess, copy, compute, update, snapshot.

Resources are the storage, the host's threads, the links to the GPUs, and the GPUs. A stage takes the next batch when it
is there and a buffer for its own result is free; it gives back the buffer that it read from when it has ended. With
several GPUs each computes a batch of its own, all at the same time: storage and host serve them all, gradients are
summed over the links in buckets, in the order in which the backward pass makes them, and the update waits for all sums.

Nothing is random. Times are microseconds since the first batch is asked for.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

import simpy

from gpusim.base.sums import plain_sum
from gpusim.lab.training.collectives import all_reduce
from gpusim.lab.training.fabric import HOST, Fabric, Transfer, gpu_name, transfer_us

STAGES = ("prefetch", "preprocess", "copy", "compute", "update", "snapshot")
STORAGE, CPU, LINKS, GPU = "storage", "CPU threads", "links", "GPU"
RESOURCES = (STORAGE, CPU, LINKS, GPU)
COMMUNICATION = "all-reduce"
ProcessEvents = Generator[Any, Any, None]


@dataclass(frozen=True)
class LayerStep:
    """Work of each GPU for a layer in one pass."""

    name: str
    """Name of the layer and pass."""
    time_us: float
    """Time in microseconds."""
    gradient_bytes: float = 0.0
    """Bytes of the layer's gradients that are complete at the end of the step; 0: none."""


@dataclass(frozen=True)
class SnapshotWork:
    """Copies of a model to the host and then to storage."""

    every: int
    """Iterations from one snapshot to the next."""
    size_bytes: float
    """Size of a snapshot in bytes."""
    write_us: float
    """Time of writing it to storage, in microseconds."""
    blocking: bool
    """Training waits for the write."""
    most: int = 0
    """Limit of snapshots; 0: no limit."""


@dataclass(frozen=True)
class Reduction:
    """Summation of gradients over GPUs."""

    algorithm: str = "ring"
    """Collective algorithm."""
    bucket_bytes: float = 25 << 20
    """Size of a bucket of gradients in bytes."""
    overlap: bool = True
    """Reduce each bucket during the backward pass, as soon as it is complete."""


@dataclass(frozen=True)
class TrainingPipeline:
    """Work of a training iteration by stage, with its resources."""

    read_us: float
    """Time of storage to read the batches of all GPUs, in microseconds."""
    preprocess_us: tuple[float, ...]
    """Time of each preprocessing thread in microseconds."""
    cpu_threads: int
    """Number of threads that run at the same time."""
    with_prefetch: bool
    """One thread both reads and prepares a batch."""
    copy_bytes: float
    """Bytes copied to a GPU."""
    forward: tuple[LayerStep, ...]
    """Forward steps in order."""
    backward: tuple[LayerStep, ...]
    """Backward steps in order."""
    update: tuple[LayerStep, ...]
    """Update steps in order."""
    buffers: tuple[int, int, int]
    """Capacity, in batches, of the buffers after prefetching, preprocessing and copying."""
    graph: Any
    """networkx graph of the links (gpusim.lab.training.fabric); its nodes are the GPUs and HOST."""
    gpus: int = 1
    """Number of GPUs."""
    reduction: Reduction = Reduction()
    """Summation of gradients."""
    snapshot: SnapshotWork | None = None
    """Snapshots; None: none."""
    fed: bool = True
    """Images come from the host; False: they are in the GPUs' memory from the start, without input stages."""

    @property
    def gpu_us(self) -> float:
        """The time that a GPU computes in an iteration."""
        return _sum(self.forward) + _sum(self.backward) + _sum(self.update)

    @property
    def threads(self) -> int:
        """The host's threads that prepare images at a time."""
        return min(len(self.preprocess_us), self.cpu_threads)

    def faster(self, resource: str) -> "TrainingPipeline":
        """Return the same with a resource that is twice as fast."""
        if resource == STORAGE:
            snapshot = self.snapshot and replace(self.snapshot, write_us=self.snapshot.write_us / 2)
            return replace(self, read_us=self.read_us / 2, snapshot=snapshot)
        if resource == CPU:
            return replace(self, preprocess_us=tuple(one / 2 for one in self.preprocess_us))
        if resource == LINKS:
            graph = self.graph.copy()
            for edge in graph.edges.values():
                edge["gb_s"] *= 2
            return replace(self, graph=graph)
        forward, backward, update = (
            tuple(replace(step, time_us=step.time_us / 2) for step in steps)
            for steps in (self.forward, self.backward, self.update)
        )
        return replace(self, forward=forward, backward=backward, update=update)

    def deeper(self) -> "TrainingPipeline":
        """Return the same with twice as many buffers between stages."""
        read, prepared, copied = self.buffers
        return replace(self, buffers=(2 * read, 2 * prepared, 2 * copied))


class Span(NamedTuple):
    """Work of a resource for a stage."""

    resource: str
    """Resource."""
    stage: str
    """Stage."""
    part: str
    """Layer's pass, or bucket."""
    iteration: int
    """Number of the iteration."""
    begin_us: float
    """Begin in microseconds."""
    end_us: float
    """End in microseconds."""
    share: float = 1.0
    """Share of the resource; for the host's threads, of those that prepare images."""


@dataclass
class StageTimes:
    """Times of a stage in each iteration."""

    asked_us: list[float] = field(default_factory=list)
    """When the stage wanted its input."""
    had_us: list[float] = field(default_factory=list)
    """When it had its input."""
    began_us: list[float] = field(default_factory=list)
    """When it began."""
    ended_us: list[float] = field(default_factory=list)
    """When it ended."""


@dataclass
class PipelineTrace:
    """A simulated training up to the end of its last iteration; earlier stages may be ahead."""

    spans: list[Span] = field(default_factory=list)
    """Work of all resources."""
    stages: dict[str, StageTimes] = field(default_factory=lambda: {name: StageTimes() for name in STAGES})
    """Times of each stage."""
    ends_us: list[float] = field(default_factory=list)
    """End of each iteration in microseconds."""
    exposed_us: list[float] = field(default_factory=list)
    """Time in each iteration in which GPUs only wait for gradient sums, in microseconds."""
    links: list[tuple[str, str]] = field(default_factory=list)
    """Links, as pairs of nodes."""
    carried_bytes: dict[Any, list[float]] = field(default_factory=dict)
    """Bytes carried by each link of `links`, by iteration."""

    def between(self, first: int) -> tuple[float, float]:
        """Return the ends of the iteration before `first` and of the last one."""
        return (self.ends_us[first - 1] if first else 0.0), self.ends_us[-1]

    def iteration_us(self, first: int) -> float:
        """Return the mean time of the iterations from `first` on."""
        begin_us, end_us = self.between(first)
        return (end_us - begin_us) / (len(self.ends_us) - first)

    def link_use(self, training: TrainingPipeline, first: int) -> dict[tuple[str, str], float]:
        """Return the share of each link's bandwidth that was used from iteration `first` on."""
        begin_us, end_us = self.between(first)
        counted = [self.carried_bytes.get(number, ()) for number in range(first, len(self.ends_us))]
        return {
            ends: plain_sum(carried[number] for carried in counted if carried)
            / (training.graph.edges[ends]["gb_s"] * 1e3 * (end_us - begin_us))
            for number, ends in enumerate(self.links)
        }

    def busy(self, resource: str, first: int) -> float:
        """Return the share of the time that a resource works for the iterations from `first` on.

        What it does for later ones until then does not count: a stage that is a little faster than the others is ahead
        of them for long before all buffers are full.
        """
        begin_us, end_us = self.between(first)
        counted = [span for span in self.spans if span.resource == resource and first <= span.iteration]
        mine = [span for span in counted if span.iteration < len(self.ends_us)]
        return float(plain_sum(span.share * (span.end_us - span.begin_us) for span in mine) / (end_us - begin_us))


def simulate(training: TrainingPipeline, iterations: int) -> PipelineTrace:
    """Train for so many iterations."""
    return _PipelineSimulation(training, iterations).run()


class _Buffers:
    """Buffers between two stages: `free` ones, and batches in `full` ones."""

    def __init__(self, environment: simpy.Environment, count: int) -> None:
        self.free = simpy.Container(environment, count, count)
        self.full = simpy.Store(environment)


class _PipelineSimulation:
    def __init__(self, training: TrainingPipeline, iterations: int) -> None:
        self._training, self._iterations = training, iterations
        self._environment = simpy.Environment()
        self._storage = simpy.Resource(self._environment)
        self._cpu = simpy.Resource(self._environment, training.cpu_threads)
        self._sums = simpy.Resource(self._environment)  # one after another, as on one stream
        self._fabric = Fabric(self._environment, training.graph)
        self._gpus = [gpu_name(number) for number in range(training.gpus)]
        read, prepared, copied = (_Buffers(self._environment, count) for count in training.buffers)
        self._read, self._prepared, self._copied = read, prepared, copied
        self.found = PipelineTrace()

    def run(self) -> PipelineTrace:
        """Return what happened until the last iteration ended."""
        start, read, prepare = self._environment.process, ("prefetch", self._read_batch), ("preprocess", self._prepare)
        if self._training.fed:
            if self._training.with_prefetch:
                start(self._thread([read, prepare], None, self._prepared))
            else:
                start(self._thread([read], None, self._read))
                start(self._thread([prepare], self._read, self._prepared))
            start(self._thread([("copy", self._copy)], self._prepared, self._copied))
        self._environment.run(start(self._compute()))
        self.found.links, self.found.carried_bytes = self._fabric.links, self._fabric.carried_bytes
        return self.found

    def _thread(
        self, stages: Sequence[tuple[str, Callable[[int], ProcessEvents]]], before: _Buffers | None, behind: _Buffers
    ) -> ProcessEvents:
        """Do stages one after another, batch after batch; the first waits for the input and for a free buffer."""
        for iteration in count():
            for number, (name, work) in enumerate(stages):
                times = self.found.stages[name]
                times.asked_us.append(self._environment.now)
                if number == 0 and before is not None:
                    yield before.full.get()
                times.had_us.append(self._environment.now)
                if number == 0:
                    yield behind.free.get(1)
                times.began_us.append(self._environment.now)
                yield from work(iteration)
                times.ended_us.append(self._environment.now)
            if before is not None:
                before.free.put(1)
            behind.full.put(iteration)

    def _for(
        self, resource: str, stage: str, part: str, iteration: int, time_us: float, of: simpy.Resource | None
    ) -> ProcessEvents:
        """Work for a time, on a slot of `of` once it is free."""
        turn = None if of is None else of.request()
        if turn is not None:
            yield turn
        begin_us = self._environment.now
        share = 1 / self._training.threads if of is self._cpu else 1.0
        self.found.spans.append(
            Span(
                resource=resource,
                stage=stage,
                part=part,
                iteration=iteration,
                begin_us=begin_us,
                end_us=begin_us + time_us,
                share=share,
            )
        )
        yield self._environment.timeout(time_us)
        if of is not None and turn is not None:
            of.release(turn)

    def _read_batch(self, iteration: int) -> ProcessEvents:
        yield from self._for(STORAGE, "prefetch", "read", iteration, self._training.read_us, self._storage)

    def _prepare(self, iteration: int) -> ProcessEvents:
        shares = [
            self._environment.process(self._for(CPU, "preprocess", "images", iteration, time_us, self._cpu))
            for time_us in self._training.preprocess_us
        ]
        yield self._environment.all_of(shares)

    def _copy(self, iteration: int) -> ProcessEvents:
        begin_us = self._environment.now
        transfers = [Transfer(HOST, gpu, self._training.copy_bytes) for gpu in self._gpus]
        yield self._fabric.transfer(transfers, iteration)
        self.found.spans.append(Span(LINKS, "copy", "images", iteration, begin_us, self._environment.now))

    def _compute(self) -> ProcessEvents:
        """Compute and update, iteration after iteration, and save the model."""
        compute, update = self.found.stages["compute"], self.found.stages["update"]
        for iteration in range(self._iterations):
            compute.asked_us.append(self._environment.now)
            if self._training.fed:
                yield self._copied.full.get()
            for times in (compute.had_us, compute.began_us):
                times.append(self._environment.now)
            sums = yield from self._passes(iteration)
            compute.ended_us.append(self._environment.now)
            if self._training.fed:
                self._copied.free.put(1)  # the backward pass has read the images for the last time
            update.asked_us.append(self._environment.now)
            if sums:
                yield self._environment.all_of(sums)
            self.found.exposed_us.append(self._environment.now - compute.ended_us[-1])
            for times in (update.had_us, update.began_us):
                times.append(self._environment.now)
            for step in self._training.update:
                yield from self._for(GPU, "update", step.name, iteration, step.time_us, None)
            update.ended_us.append(self._environment.now)
            snapshot = self._training.snapshot
            if snapshot is not None and _is_due(snapshot, iteration + 1):
                saved = self._environment.process(self._save(iteration, snapshot))
                if snapshot.blocking:
                    yield saved
            self.found.ends_us.append(self._environment.now)

    def _passes(self, iteration: int) -> Generator[Any, Any, list[simpy.Process]]:
        """Run forward and backward; returns the sums that were begun meanwhile, or at the end."""
        for step in self._training.forward:
            yield from self._for(GPU, "compute", step.name, iteration, step.time_us, None)
        sums: list[simpy.Process] = []
        waiting: list[Bucket] = []
        for step, bucket in buckets(self._training):
            yield from self._for(GPU, "compute", step.name, iteration, step.time_us, None)
            waiting += [] if bucket is None else [bucket]
            if self._training.reduction.overlap or step is self._training.backward[-1]:
                sums += [self._environment.process(self._sum(iteration, one)) for one in waiting]
                waiting = []
        return sums

    def _sum(self, iteration: int, bucket: "Bucket") -> ProcessEvents:
        turn = self._sums.request()
        yield turn
        begin_us = self._environment.now
        yield from all_reduce(
            self._fabric, self._gpus, bucket.size_bytes, self._training.reduction.algorithm, iteration
        )
        now = self._environment.now
        self.found.spans.append(Span(COMMUNICATION, COMMUNICATION, bucket.name, iteration, begin_us, now))
        self._sums.release(turn)

    def _save(self, iteration: int, snapshot: SnapshotWork) -> ProcessEvents:
        times = self.found.stages["snapshot"]
        for seen in (times.asked_us, times.had_us, times.began_us):
            seen.append(self._environment.now)
        begin_us = self._environment.now
        yield self._fabric.transfer([Transfer(self._gpus[0], HOST, snapshot.size_bytes)])
        # the links' two directions do not share anything: the way back is not what copies of images wait for
        self.found.spans.append(Span("links back", "snapshot", "copy", iteration, begin_us, self._environment.now))
        yield from self._for(STORAGE, "snapshot", "write", iteration, snapshot.write_us, self._storage)
        times.ended_us.append(self._environment.now)


def _is_due(snapshot: SnapshotWork, done: int) -> bool:
    made, rest = divmod(done, snapshot.every)
    return not rest and (not snapshot.most or made <= snapshot.most)


class Bucket(NamedTuple):
    """Gradients that are summed together."""

    name: str
    """Names of its first and last layer."""
    size_bytes: float
    """Size in bytes."""

    def with_(self, step: LayerStep) -> "Bucket":
        """Return the bucket with a step's gradients in it."""
        if not step.gradient_bytes:
            return self
        layer = step.name.split()[0]
        first = self.name.split(" ")[0]
        return Bucket(f"{first} to {layer}" if first else layer, self.size_bytes + step.gradient_bytes)


def buckets(training: TrainingPipeline) -> Iterator[tuple[LayerStep, Bucket | None]]:
    """Yield the backward steps, each with the bucket that its gradients fill; None where they fill none.

    A bucket is full when it has as many bytes as it should, or with the last step; a GPU alone fills none.
    """
    filling = Bucket("", 0.0)
    for step in training.backward:
        full = None
        if training.gpus > 1:
            filling = filling.with_(step)
            last = step is training.backward[-1]
            if filling.size_bytes >= training.reduction.bucket_bytes or (last and filling.size_bytes > 0):
                full, filling = filling, Bucket("", 0.0)
        yield step, full


def steady_us(training: TrainingPipeline) -> tuple[float, str]:
    """Return the time of an iteration on one GPU that never waits for a snapshot, in closed form, and what bounds it.

    Stages repeat at the pace of the slowest circuit of the line: a stage alone, or two stages that share b buffers,
    which together do a batch b times in the time that they take for one after the other (the largest mean of a circuit
    of an event graph: Baccelli et al., Synchronization and Linearity, 1992, theorem 2.28).
    """
    if not training.fed:
        return training.gpu_us, "compute and update"
    read_us, prepare_us = training.read_us, _slowest_thread_us(training)
    copy_us = transfer_us(training.graph, Transfer(HOST, gpu_name(0), training.copy_bytes))
    passes_us = _sum(training.forward) + _sum(training.backward)
    read, prepared, copied = training.buffers
    circuits: list[tuple[float, str]] = []
    if training.with_prefetch:
        in_turn_us = read_us + prepare_us
        circuits.append((in_turn_us, "prefetch and preprocess"))
        circuits.append(((in_turn_us + copy_us) / prepared, "prefetch, preprocess and copy"))
    else:
        circuits += [(read_us, "prefetch"), (prepare_us, "preprocess")]
        circuits.append(((read_us + prepare_us) / read, "prefetch and preprocess"))
        circuits.append(((prepare_us + copy_us) / prepared, "preprocess and copy"))
    circuits += [(copy_us, "copy"), (training.gpu_us, "compute and update")]
    circuits.append(((copy_us + passes_us) / copied, "copy and compute"))
    return max(circuits, key=lambda one: one[0])


def _slowest_thread_us(training: TrainingPipeline) -> float:
    """Return the time until the last share of a batch is prepared, its threads taking turns in order."""
    free = [0.0] * training.cpu_threads
    for time_us in training.preprocess_us:
        first = min(range(len(free)), key=free.__getitem__)
        free[first] += time_us
    return max(free)


def _sum(steps: Sequence[LayerStep]) -> float:
    return float(plain_sum(step.time_us for step in steps))
