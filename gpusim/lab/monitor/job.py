"""A training whose monitor decides, iteration by iteration, which layers skip zeros (gpusim.lab.monitor.closed_loop).

What is simulated is little: the dense iteration; the passes that can skip zeros, at a few shares of zeros that span the
recorded curves; and a measurement of each of their maps. The whole training is added up from these.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.formats import SHARE_0
from gpusim.base.sums import plain_sum
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.networks.choice import ChoiceKey, choose, chosen_kinds
from gpusim.jobs.networks.job import describe_network_run, fill, resolved
from gpusim.jobs.networks.launches import LaunchClass
from gpusim.jobs.networks.run import NetworkRecord, NetworkRunRequest, build_schedule, run_iteration
from gpusim.jobs.networks.settings import apply_layer_settings, iteration_settings
from gpusim.jobs.networks.steps import LaunchStoppedError, run_synthetic
from gpusim.jobs.networks.storage import Storage, network_plan
from gpusim.jobs.running.job import Context, FunctionTask, Job, JobOptions, Variant
from gpusim.jobs.running.operators import gpu_facts
from gpusim.lab.monitor.closed_loop import POLICIES, SparsePass, TimedTraining, break_even, closed_loop
from gpusim.lab.monitor.curves import Curves
from gpusim.results.records.record import RunRecord
from gpusim.results.store.work import RunDescription
from isa.device_memory import DeviceMemory
from workloads.networks.binding import bind_primitives
from workloads.networks.graph import Network
from workloads.networks.schedule import Schedule, Step
from workloads.operators.conv_sparse import SparseForward
from workloads.operators.conv_sparse_weights import SparseBackwardWeights
from workloads.operators.count_zeros import CountZeros
from workloads.operators.primitive import TensorOperator, build
from workloads.operators.tiles import LINE_BYTES_PER_CYCLE

LEVELS = 3  # shares of zeros that a pass is simulated with; those between the ends tell how straight the line is
STEP = 0.01  # to which the ends are rounded


class MonitoredJob(Job):
    """A training over recorded curves of zeros as a job (gpusim.jobs.running.job.Job).

    curves: maps by the names of the layers whose inputs they are; other ones are left alone. Raises UserError for what
    is not possible.
    """

    kind = "net"

    def __init__(self, network: Network, settings: NetworkSettings, wanted: NetworkRunRequest, curves: Curves) -> None:
        _check(settings, wanted)
        self.network = apply_layer_settings(network, settings)
        self.settings, self.curves = settings, curves
        self.wanted = replace(wanted, data="synthetic", verify=False)
        self.title = f"{network.name}, train, batch {wanted.batch}, monitored: {curves.name}"
        self.gpu, self.engine_spec, self.energy_spec = settings.gpu, settings.engine, settings.energy
        self.options = JobOptions(verify=False, launches=wanted.launches)
        schedule = build_schedule(self.network, settings, wanted.batch, train=True)
        self._steps = _skipping(schedule, settings, curves)
        if not self._steps:
            raise UserError(
                f"{curves.name}: none of its maps ({', '.join(curves.maps)}) is the input of a layer of {network.name}"
                f" whose zeros {settings.sparse_convolution} can skip"
            )

    @property
    def variants(self) -> list[Variant]:
        """The one variant that there is."""
        return [Variant("", False, lambda: FunctionTask(self._run))]

    @property
    def about(self) -> Mapping[str, Any]:
        """The keys that a network adds to its result."""
        return {
            "kind": self.kind,
            "network": self.network.name,
            "phase": "train",
            "batch": self.wanted.batch,
            "values": "synthetic",
            "engine_mode": "off",
            "remarks": list(self.network.remarks),
        }

    def resolved(self) -> dict[str, Any]:
        """Return the settings, what of the network is run, and over which curves."""
        held = resolved(self.network, self.settings, self.wanted)
        return {**held, "network": {**held["network"], "monitor": self.curves.name}}

    def _run(self, context: Context, record: RunRecord) -> None:
        """Run the iterations; after an interrupt the record has the dense one as far as it went."""
        dense, chosen = self._dense(context)
        fill(record, dense)
        if record.partial:
            return
        places = frozenset((step.layer, step.what) for step in self._steps)
        levels = {step.layer: _levels(self.curves, step.layer) for step in self._steps}
        times: dict[ChoiceKey, list[float]] = {place: [] for place in places}
        for number in range(LEVELS):
            zeros = {layer: held[number] for layer, held in levels.items()}
            context.reporter.say(f"zeros of {', '.join(f'{layer} {SHARE_0(held)}' for layer, held in zeros.items())}")
            settings = self.settings.model_copy(update={"layer_sparsity": zeros})
            wanted = replace(self.wanted, engine="on", places=places)
            network = run_iteration(
                self.network, settings, wanted, context.reporter, context.interrupt, known=dense.of_class, chosen=chosen
            )
            if network.stopped_by:
                record.partial = True
                return
            for place, time_us in _times(network).items():
                times[place].append(time_us)
        try:
            measuring = {step.layer: self._measuring_us(step, context) for step in self._steps}
        except LaunchStoppedError:
            record.partial = True
            return
        dense_us = _times(dense)
        passes = tuple(
            SparsePass(*place, dense_us[place], even, levels[place[0]], tuple(times[place]))
            for place, even in self._break_evens(dense_us).items()
        )
        timed = TimedTraining(plain_sum(dense_us.values()), passes, measuring)
        record.values["closed_loop"] = document(timed, self.curves, self.settings)

    def _dense(self, context: Context) -> tuple[NetworkRecord, Mapping[ChoiceKey, str]]:
        """Return the dense iteration, and the algorithms that were chosen for it."""
        chosen: Mapping[ChoiceKey, str] = {}
        known: Mapping[LaunchClass, Any] = {}
        if chosen_kinds(self.settings):
            found = choose(self.network, self.settings, self.wanted, context.reporter, context.interrupt)
            chosen, known = found.by_step, found.exact
        dense = run_iteration(
            self.network, self.settings, self.wanted, context.reporter, context.interrupt, known=known, chosen=chosen
        )
        return dense, chosen

    def _break_evens(self, dense_us: Mapping[ChoiceKey, float]) -> dict[ChoiceKey, float | None]:
        """Return, by layer and pass, the share of zeros from which the estimate is below the dense time."""
        gpu, facts = self.settings.gpu, gpu_facts(self.settings.gpu)
        schedule = build_schedule(self.network, self.settings, self.wanted.batch, train=True)
        sparse = iteration_settings(self.settings, sparse=True)
        storage = Storage.allocate_addresses(network_plan(schedule, sparse))
        levels: dict[ChoiceKey, float | None] = {}
        for step in self._steps:
            operators = storage.operators(step, facts, sparse)
            launches_us = gpu.kernel_launch_us * sum(len(one.launches) for one in operators)

            def estimated_us(
                zeros: float, operators: tuple[TensorOperator, ...] = operators, launches_us: float = launches_us
            ) -> float:
                cycles = plain_sum(_estimated_cycles(one, zeros) for one in operators)
                return launches_us + cycles / (gpu.clock_ghz * 1e3)

            place = (step.layer, step.what)
            levels[place] = break_even(dense_us[place], estimated_us)
        return levels

    def _measuring_us(self, step: Step, context: Context) -> float:
        """Simulate the kernels that count the zeros of a layer's input; the count is copied to the host."""
        gpu = self.settings.gpu
        primitive = CountZeros((self.wanted.batch, *self.network[step.layer].input_shapes[0]))
        size = 2 * primitive.x.size_bytes + (1 << 20)
        operator = build(primitive, DeviceMemory(size, architecture=gpu.architecture), gpu_facts(gpu))
        every = frozenset(range(len(operator.launches)))
        outcome = run_synthetic(operator, gpu, every, context.observe)
        kernels_us = plain_sum(facts.time_us for facts in outcome.facts.values())
        return kernels_us + len(every) * gpu.kernel_launch_us + gpu.host_link.copy_us(4)


def describe_monitored_run(
    network: Network, settings: NetworkSettings, wanted: NetworkRunRequest, curves: Curves, read: Sequence[Path]
) -> RunDescription:
    """Return the work that `gpusim net --monitor` does.

    Args:
        network: The network.
        settings: Settings of a network's run.
        wanted: What of the network is run, and how.
        curves: Zeros of each map by iteration.
        read: The curves' file, if they are of one.
    """
    plain = describe_network_run(network, settings, wanted)
    configuration = {**plain.configuration, "network": {**plain.configuration["network"], "monitor": curves.name}}
    return replace(plain, title=f"{plain.title}, monitored: {curves.name}", configuration=configuration, inputs=read)


def document(timed: TimedTraining, curves: Curves, settings: NetworkSettings) -> dict[str, Any]:
    """Return what was simulated, and the training under each policy, as plain data."""
    return {
        "curves": curves.name,
        "iterations": curves.length,
        "sparse_convolution": settings.sparse_convolution,
        "iteration_us": timed.iteration_us,
        "passes": [{**asdict(one), "interpolation_error": one.interpolation_error} for one in timed.passes],
        "measuring_us": dict(timed.measuring_us),
        "policies": [
            {**asdict(one), "means": POLICIES[one.policy]} for one in closed_loop(timed, curves, settings.monitor)
        ],
    }


def _check(settings: NetworkSettings, wanted: NetworkRunRequest) -> None:
    """Raise UserError for what does not go with a monitored training."""
    checks = {
        "phase: inference": not wanted.train,
        f"layers: {wanted.layers}": wanted.layers is not None,
        f"data: {wanted.data}": wanted.data == "real",
        f"engine: {wanted.engine}": wanted.engine != "off",
        f"gains: {wanted.gains}": bool(wanted.gains),
        f"draws: {wanted.draws}": wanted.draws > 1,
        "sparsity": settings.sparsity is not None or bool(settings.layer_sparsity),
    }
    for what, wrong in checks.items():
        if wrong:
            raise UserError(
                f"{what}: --monitor adds up a whole training from made-up values with the curves' zeros, and decides"
                " itself which layers skip them; allowed is --phase train, without layers, engine, gains, draws and"
                " sparsity"
            )


def _skipping(schedule: Schedule, settings: NetworkSettings, curves: Curves) -> list[Step]:
    """Return the steps that can skip the zeros of a layer's input, where the curves know that."""
    sparse = iteration_settings(settings, sparse=True)
    return [
        step
        for step in schedule.steps
        if step.layer in curves.maps
        and any("x" in part.primitive.skips_zeros_of for part in bind_primitives(schedule, step, sparse))
    ]


def _levels(curves: Curves, layer: str) -> tuple[float, ...]:
    """Return the shares of zeros that a layer is simulated with: equally far apart over what its curve has."""
    line = curves.sparsity[:, curves.maps.index(layer)]
    first, last = math.floor(line.min() / STEP), math.ceil(line.max() / STEP)
    if first == last:
        first, last = (first, last + 1) if first == 0 else (first - 1, last)
    return tuple(STEP * (first + (last - first) * number / (LEVELS - 1)) for number in range(LEVELS))


def _times(record: NetworkRecord) -> dict[ChoiceKey, float]:
    """Return the time of each layer's pass, with what each launch takes before its kernel starts."""
    launch_us = record.settings.gpu.kernel_launch_us
    return {
        (row.layer, row.what): plain_sum(
            record.of_class[launch_class].time_us + launch_us for step in row.steps for launch_class in step.classes
        )
        for row in record.rows
    }


def _estimated_cycles(operator: TensorOperator, zeros: float) -> float:
    """Estimate an operator's cycles: of one that skips zeros by its own estimate, of others by what memory takes."""
    primitive = operator.primitive
    if isinstance(primitive, SparseForward | SparseBackwardWeights):
        return primitive.estimated_cycles(zeros, operator.gpu)
    return (primitive.work.read_bytes + primitive.work.stored_bytes) / LINE_BYTES_PER_CYCLE
