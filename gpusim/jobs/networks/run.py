"""`gpusim.run_network` and the path of `gpusim net`: from a network and settings to the result of an iteration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.interrupt import INTERRUPTED, Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.network_run import NetworkSettings
from gpusim.config.workload import EngineMode
from gpusim.jobs.host.command_processor import RunOptions
from gpusim.jobs.networks.execution import Execution, ExecutionOptions, StepResult
from gpusim.jobs.networks.file_meaning import FileComparison, compare_with_file, own_reading
from gpusim.jobs.networks.kept import LaunchCache
from gpusim.jobs.networks.launches import LaunchClass
from gpusim.jobs.networks.library import CODE_BYTES
from gpusim.jobs.networks.rows import LayerPassRow, group_steps
from gpusim.jobs.networks.settings import apply_layer_settings, iteration_settings
from gpusim.jobs.networks.storage import Storage, check_memory_capacity, network_plan, written_results
from gpusim.jobs.networks.values import checked_arrays, fill
from gpusim.model.core.facts import RunFacts
from workloads.networks.graph import Network
from workloads.networks.kind import IterationSettings, Pass
from workloads.networks.memory import MemoryPlan
from workloads.networks.schedule import Loss, Schedule, Update, inference, training
from workloads.networks.tensor import TensorRole

MOST_REAL_BYTES = 3 << 30  # of an iteration with real data, so that a process stays below 4 GiB
DataChoice = Literal["auto", "real", "synthetic"]
Gains = Literal["", "fusion", "l1_bypass"]


@dataclass(frozen=True)
class NetworkRunRequest:
    """A request to run an iteration of a network."""

    batch: int = 1
    """Batch size in images."""
    train: bool = False
    """Train; otherwise inference."""
    layers: str | frozenset[str] | None = None
    """A layer, a range such as 'conv2:conv5' with optional ends, or a set of layers; None: all."""
    data: DataChoice = "auto"
    """'real': values of earlier steps; 'synthetic': generated values; 'auto': real up to MOST_REAL_BYTES."""
    verify: bool = True
    """Compare results with NumPy."""
    timing: bool = True
    """Simulate with the timing model; otherwise execute for the results only."""
    jobs: int = 1
    """Worker processes."""
    store: Path | None = None
    """Store of launch results for later runs; None: no store."""
    fresh: bool = False
    """Ignore stored launch results."""
    launches: RunOptions = field(default_factory=RunOptions)
    """Options of the launches."""
    engine: EngineMode = "off"
    """'off': dense; 'on': convolutions skip zeros of activation maps; 'both': one after the other."""
    places: frozenset[tuple[str, Pass]] | None = None
    """(layer, pass) pairs to report; None: all."""
    gains: Gains = ""
    """'fusion' or 'l1_bypass': run without it and with it; empty: as configured."""
    draws: int = 1
    """Number of runs with successive perturbations of the machine, from that of `launches` on."""


@dataclass
class NetworkRecord:
    """Results of a network's run."""

    schedule: Schedule
    """Steps of the iteration."""
    settings: NetworkSettings
    """Settings of the run."""
    real: bool
    """Real data were used."""
    planned_bytes: int
    """Memory of the plan in bytes."""
    steps: list[StepResult]
    """Results of the selected layers' steps, in order."""
    outputs: dict[str, np.ndarray] = field(default_factory=dict)
    """Requested outputs of the network and gradients, by tensor."""
    stopped_by: str = ""
    """Reason for an early stop; empty: none."""
    sparse: bool = False
    """Zeros were skipped."""
    of_class: dict[LaunchClass, RunFacts] = field(default_factory=dict)
    """Facts of launches by class."""
    file: FileComparison | None = None
    """Comparison of the outputs with what the network's file means; None: not compared, or a file of layers."""

    @cached_property
    def rows(self) -> list[LayerPassRow]:
        """The steps by layer and pass."""
        return group_steps(self.steps)

    @property
    def passed(self) -> bool | None:
        """Whether all compared results were as expected; None where nothing was compared."""
        compared = [step.verification.passed for step in self.steps if step.verification is not None]
        if self.file is not None and self.file.verification is not None:
            compared.append(self.file.verification.passed)
        return all(compared) if compared else None


def build_schedule(network: Network, settings: NetworkSettings, batch: int, train: bool) -> Schedule:
    """Return the steps of an iteration, with layers as the settings say.

    Args:
        network: The network.
        settings: Settings of a network's run.
        batch: Images in a batch.
        train: Train; False: forward alone.

    Raises:
        UserError: A layer cannot be as the settings say.
    """
    network = apply_layer_settings(network, settings)
    if not train:
        return inference(network, batch, settings.fusion)
    loss = Loss.GIVEN if network.input_gradients else Loss.CROSS_ENTROPY
    return training(network, batch, loss, Update(settings.training.update), settings.fusion)


def planned_iteration(
    network: Network,
    settings: NetworkSettings,
    batch: int,
    train: bool,
    chosen: Mapping[tuple[str, Pass], str] | None = None,
) -> tuple[MemoryPlan, IterationSettings]:
    """Return the memory plan of an iteration without engine, and its ways.

    Args:
        network: The network.
        settings: Settings of a network's run.
        batch: Images in a batch.
        train: Train; False: forward alone.
        chosen: Convolution algorithms by layer and pass.

    Raises:
        UserError: No memory holds it.
    """
    iteration = iteration_settings(settings, chosen=chosen)
    planned = network_plan(build_schedule(network, settings, batch, train), iteration)
    check_planned(network, settings, planned, iteration)
    return planned, iteration


def check_planned(
    network: Network, settings: NetworkSettings, planned: MemoryPlan, iteration: IterationSettings
) -> None:
    """Raise UserError where the GPU's memory does not hold the plan; it says which batch would fit.

    Args:
        network: The network.
        settings: Settings of a network's run.
        planned: Memory plan of the iteration.
        iteration: Ways of the iteration.
    """

    def with_batch(batch: int) -> MemoryPlan:
        return network_plan(build_schedule(network, settings, batch, planned.schedule.training), iteration)

    check_memory_capacity(planned, settings.gpu, with_batch)


def run_iteration(
    network: Network,
    settings: NetworkSettings,
    wanted: NetworkRunRequest,
    reporter: Reporter,
    interrupt: Interrupt,
    inputs: Mapping[str, np.ndarray] | None = None,
    keep_outputs: bool = False,
    source: str = "inputs",
    known: Mapping[LaunchClass, RunFacts] | None = None,
    chosen: Mapping[tuple[str, Pass], str] | None = None,
) -> NetworkRecord:
    """Run one iteration with the engine on or off.

    Args:
        network: The network.
        settings: Settings of a network's run.
        wanted: What of the network is run, and how.
        reporter: Where progress goes.
        interrupt: Tells that the run is to end.
        inputs: Arrays by tensor: inputs by the graph's names, `labels`, parameters as 'conv1.weight'.
        keep_outputs: Keep outputs and gradients, which needs real data.
        source: Where arrays come from, for errors.
        known: What an earlier iteration's launches cost.
        chosen: Convolution algorithms by layer and pass.

    Raises:
        UserError: The network cannot be run so.
    """
    sparse = wanted.engine == "on"
    schedule = build_schedule(network, settings, wanted.batch, wanted.train)
    selected = selected_layers(network, wanted.layers)
    given = checked_arrays(schedule, inputs or {}, source)
    iteration = iteration_settings(settings, sparse=sparse, chosen=chosen)
    planned = network_plan(schedule, iteration)
    real = is_real(wanted, planned)
    engine_spec = settings.engine if sparse else None
    _check_sparsity(network, settings, real)
    _check_l1_bypass(network, settings)
    if not real and (given or keep_outputs):
        what = "inputs" if given else "outputs"
        raise UserError(
            f"{what}: {planned.bytes >> 20} MiB of tensors with batch {wanted.batch} are run on synthetic data; given"
            f" {what} need real data: up to {MOST_REAL_BYTES >> 20} MiB, or data = real"
        )
    check_planned(network, settings, planned, iteration)
    storage = Storage.allocate(planned, settings.gpu, CODE_BYTES if iteration.multiplier is not None else 0)
    if real:
        fill(storage, settings.seed, given)
    verified = wanted.verify and real
    how = ExecutionOptions(
        selected=selected,
        real=real,
        timing=wanted.timing,
        verified=verified,
        launches=wanted.launches,
        jobs=wanted.jobs,
        sparsity=settings.sparsity_of,
        sampling=settings.sampling,
        l1_bypass=settings.bypasses_l1,
        places=wanted.places,
    )
    kept = None
    if wanted.store is not None:
        kept = LaunchCache(wanted.store, settings.gpu, wanted.fresh, engine_spec, wanted.launches.perturbation)
    in_order = real and settings.gpu.caches == "warm"  # each launch is simulated then, after those of this iteration
    answered = () if in_order or known is None else known.items()
    known_facts = {known_class: facts for known_class, facts in answered if how.is_answered_by(facts)}
    execution = Execution(
        storage=storage,
        gpu=settings.gpu,
        how=how,
        reporter=reporter,
        interrupt=interrupt,
        kept=kept,
        engine_spec=engine_spec,
        of_class=known_facts,
    )
    outputs: dict[str, np.ndarray] = {}
    meaning = network.meaning if verified else None
    why_own = _why_own_reading(network, wanted, given) if meaning is not None else ""
    evaluated = meaning is not None and not why_own
    asked_for = written_results(schedule) if keep_outputs or evaluated else set()
    read = {name: storage.array(schedule.outputs[name]).copy() for name in network.inputs} if evaluated else {}
    for name in asked_for:
        if (
            schedule.tensors[name].role is TensorRole.INPUT
        ):  # the output is an input in another shape: no step writes it
            outputs[name] = storage.array(name).copy()

    def keep(name: str, array: np.ndarray) -> None:
        for requested in {name, schedule.get_memory_tensor(name)} & asked_for:
            outputs[requested] = array.copy()

    try:
        steps = execution.run(iteration, keep if asked_for else None)
    finally:
        if kept is not None:
            kept.close()
    if keep_outputs and not execution.partial:
        parameters = [n for n, t in schedule.tensors.items() if t.role is TensorRole.PARAMETER and schedule.training]
        outputs |= {name: storage.array(name).copy() for name in parameters}
    _name_as_declared(schedule, outputs)
    stopped = (interrupt.reason or INTERRUPTED) if execution.partial else ""
    file = own_reading(why_own) if meaning is not None else None
    if evaluated:
        half = sparse or settings.weights == "float16"  # bundles of the engine hold FP16
        file = None if execution.partial else compare_with_file(network, read, outputs, wanted.batch, half)
        if file is not None and file.verification is not None and not file.verification.passed:
            reporter.say(f"{network.source}: {file.reason} from what {file.compared_with} gives")
    return NetworkRecord(
        schedule=schedule,
        settings=settings,
        real=real,
        planned_bytes=planned.bytes,
        steps=steps,
        outputs=outputs if keep_outputs else {},
        stopped_by=stopped,
        sparse=sparse,
        of_class=execution.of_class,
        file=file,
    )


def _why_own_reading(network: Network, wanted: NetworkRunRequest, given: Mapping[str, np.ndarray]) -> str:
    """Say why this run's outputs are none that the second reader of the network's file could have; empty where they
    are.
    """
    if wanted.train:
        return "it trains"
    if wanted.layers is not None or wanted.places is not None:
        return "a part of the layers is run"
    parameters = sorted(name for name in given if name not in network.inputs)
    return f"'{parameters[0]}' is given, not the file's" if parameters else ""


def _name_as_declared(schedule: Schedule, outputs: dict[str, np.ndarray]) -> None:
    """Give the outputs that the network's file declares their names there, and their shapes."""
    declared = {}
    meaning = schedule.network.meaning
    for name, layer in schedule.network.declared.items():
        held = schedule.get_memory_tensor(schedule.outputs[layer])
        if held in outputs:
            array = outputs[held].reshape(schedule.tensors[schedule.outputs[layer]].shape)
            declared[name] = held, array if meaning is None else meaning.outputs[name].from_images(array)
    for held in {held for held, _ in declared.values()}:
        del outputs[held]
    outputs |= {name: array for name, (_, array) in declared.items()}


def is_real(wanted: NetworkRunRequest, planned: MemoryPlan) -> bool:
    """Tell whether an iteration with this memory plan is run on real data.

    Args:
        wanted: What of the network is run, and how.
        planned: Memory plan of the iteration.
    """
    return wanted.data == "real" or (wanted.data == "auto" and planned.bytes <= MOST_REAL_BYTES)


def _check_sparsity(network: Network, settings: NetworkSettings, real: bool) -> None:
    """Raise UserError for a configured sparsity that applies to nothing in this run."""
    for layer in settings.layer_sparsity:
        if layer not in network.named:
            raise UserError(f"layer_sparsity: {unknown_name('layer', layer, network.named)}")
    if real and (settings.sparsity is not None or settings.layer_sparsity):
        raise UserError("sparsity: the iteration's values are real, with zeros of their own; made up: --data synthetic")


def _check_l1_bypass(network: Network, settings: NetworkSettings) -> None:
    """Raise UserError for a layer or a pass that the network does not have, or an L1 that cannot be passed."""
    for layer, bypassed in settings.layer_l1_bypass.items():
        if layer not in network.named:
            raise UserError(f"layer_l1_bypass: {unknown_name('layer', layer, network.named)}")
        passes = bypassed if isinstance(bypassed, dict) else {}
        for what in passes:
            if what not in list(Pass):
                raise UserError(f"layer_l1_bypass.{layer}: {unknown_name('pass', what, list(Pass))}")
        try:
            settings.gpu.with_l1_bypass(True in passes.values() or bypassed is True)
        except ValueError as error:
            raise UserError(f"layer_l1_bypass.{layer}: {error}") from None


def selected_layers(network: Network, text: str | frozenset[str] | None) -> frozenset[str] | None:
    """Return the names of the layers that 'first:last' selects, in the network's order; None: all.

    Args:
        network: The network.
        text: 'first:last', or names.

    Raises:
        UserError: There is no such layer.
    """
    if text is None or isinstance(text, frozenset):
        return text
    names = [layer.name for layer in network.layers]
    if text in names:
        return frozenset({text})
    first, colon, last = text.partition(":")
    ends = [first or names[0], (last or names[-1]) if colon else first]
    for name in ends:
        if name not in names:
            raise UserError(f"layers: {unknown_name('layer', name, names)}")
    begin, end = map(names.index, ends)
    if begin > end:
        raise UserError(f"layers: '{ends[0]}' comes after '{ends[1]}' in {network.name}; allowed is first:last")
    return frozenset(names[begin : end + 1])
