"""A network's iteration as a job: with the compaction engine off, on, or both, each variant on the same inputs."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpusim.base.counters import Counts
from gpusim.base.errors import UserError, unknown_name
from gpusim.config.engine import check_share
from gpusim.config.network_run import NetworkSettings
from gpusim.config.workload import EngineMode
from gpusim.jobs.host.queue import DEFAULT, StreamQueue
from gpusim.jobs.networks.choice import ChoiceKey, choose
from gpusim.jobs.networks.identity import hash_network
from gpusim.jobs.networks.launches import LaunchClass
from gpusim.jobs.networks.rows import LayerPassRow
from gpusim.jobs.networks.run import NetworkRecord, NetworkRunRequest, build_schedule, is_real, run_iteration
from gpusim.jobs.networks.settings import apply_layer_settings, iteration_settings
from gpusim.jobs.networks.storage import network_plan
from gpusim.jobs.running.job import Context, FunctionTask, Job, JobOptions, Variant, check_draws
from gpusim.model.core.facts import RunFacts
from gpusim.results.records.record import (
    KernelChoice,
    PartLaunch,
    PartRecord,
    RunRecord,
    VerificationFacts,
    group_launches,
)
from gpusim.results.store.work import NetworkRows, RunDescription
from workloads.networks.graph import Network
from workloads.operators.conv_algorithms import ALGORITHMS

# key in the JSON object, as of any job, and the engine's mode of each variant
VARIANTS: Mapping[EngineMode, tuple[tuple[str, EngineMode], ...]] = {
    "off": (("", "off"),),
    "on": (("", "on"),),
    "both": (("dense", "off"), ("sparse", "on")),
}
PRODUCTS = 0.9  # of the operations that cannot be left out: who executes these together are a layer's products
WITHOUT, WITH = "without", "with"  # variants that show what a value of the settings gains


def _with_fusion(settings: NetworkSettings, on: bool) -> NetworkSettings:
    return settings.model_copy(update={"fusion": on})


def _past_l1(settings: NetworkSettings, on: bool) -> NetworkSettings:
    return settings.model_copy(update={"gpu": settings.gpu.with_l1_bypass(on), "layer_l1_bypass": {}})


# the settings without a value and with it
GAINS: Mapping[str, Callable[[NetworkSettings, bool], NetworkSettings]] = {
    "fusion": _with_fusion,
    "l1_bypass": _past_l1,
}


class NetworkJob(Job):
    """An iteration of a network (gpusim.jobs.running.job.Job).

    Raises UserError for what is not possible.

    Args:
        wanted: What of the network is run, and whether twice.
        inputs: Arrays by tensor.
        keep_outputs: `outputs` has outputs and gradients by tensor after the run.
        source: Where the inputs come from, for errors.
    """

    kind = "net"

    def __init__(
        self,
        network: Network,
        settings: NetworkSettings,
        wanted: NetworkRunRequest,
        inputs: Mapping[str, np.ndarray] | None = None,
        keep_outputs: bool = False,
        source: str = "inputs",
    ) -> None:
        if keep_outputs and wanted.engine == "both":
            raise UserError("outputs: engine both runs the network twice; with outputs on or off is allowed")
        if wanted.gains:
            _check_gains(settings, wanted, keep_outputs)
        if wanted.engine != "off" and ALGORITHMS[settings.sparse_convolution].uses_engine:
            try:
                check_share(settings.gpu, settings.engine)
            except ValueError as error:
                raise UserError(str(error)) from None
        network = apply_layer_settings(network, settings)
        self.network, self.settings = network, settings
        self.wanted = wanted = _decided(network, settings, wanted)
        layers = f", {wanted.layers}" if isinstance(wanted.layers, str) else ""
        self.title = f"{network.name}, {_phase(wanted)}, batch {wanted.batch}{layers}"
        self.gpu, self.engine_spec, self.energy_spec = settings.gpu, settings.engine, settings.energy
        # each step is compared with NumPy as soon as it has been run
        self.options = JobOptions(wanted.timing, verify=False, draws=wanted.draws, launches=wanted.launches)
        launches = wanted.launches
        check_draws(launches.perturbation, wanted.draws, settings.sampling is not None, wanted.timing, launches.every)
        self.outputs: dict[str, np.ndarray] = {}
        self.found: dict[str, NetworkRecord] = {}  # by variant, what has been run
        self._inputs, self._keep_outputs, self._source = inputs, keep_outputs, source
        self._choices: Mapping[ChoiceKey, KernelChoice] | None = None
        self._known: dict[int, Mapping[LaunchClass, RunFacts]] = {}  # by draw

    @property
    def variants(self) -> Sequence[Variant]:
        """The dense iteration, the one that skips zeros, or two for a comparison."""
        if self.wanted.gains:
            return [
                Variant(name, False, partial(FunctionTask, partial(self._run, name, "off")), name)
                for name in (WITHOUT, WITH)
            ]
        return [
            Variant(name, mode == "on", partial(FunctionTask, partial(self._run, name, mode)), name)
            for name, mode in VARIANTS[self.wanted.engine]
        ]

    @property
    def about(self) -> Mapping[str, Any]:
        """The network, its phase and batch, which values its tensors have, and whether zeros are skipped."""
        return {
            "kind": self.kind,
            "network": self.network.name,
            "phase": _phase(self.wanted),
            "batch": self.wanted.batch,
            "values": self.wanted.data,
            "engine_mode": self.wanted.engine,
            **({"gains": self.wanted.gains} if self.wanted.gains else {}),
            "remarks": list(self.network.remarks),
        }

    def resolved(self) -> dict[str, Any]:
        """Return the settings and what of the network is run."""
        return resolved(self.network, self.settings, self.wanted)

    def _run(self, name: str, mode: EngineMode, context: Context, record: RunRecord) -> None:
        """Run the iteration in one mode of the engine; launches known from an earlier iteration are not simulated
        again.
        """
        if self._choices is None:
            chosen = choose(self.network, self.settings, self.wanted, context.reporter, context.interrupt)
            self._choices = chosen.choices
            self._known[self.wanted.launches.perturbation] = chosen.exact
        draw = context.launches.perturbation
        wanted = replace(self.wanted, engine=mode, launches=replace(self.wanted.launches, perturbation=draw))
        settings = GAINS[self.wanted.gains](self.settings, name == WITH) if self.wanted.gains else self.settings
        iteration = run_iteration(
            self.network,
            settings,
            wanted,
            context.reporter,
            context.interrupt,
            self._inputs,
            self._keep_outputs,
            self._source,
            self._known.get(draw, {}),
            {place: choice.kernel for place, choice in self._choices.items()},
        )
        self.found[name], self._known[draw], self.outputs = iteration, iteration.of_class, iteration.outputs
        fill(record, iteration, self)

    def get_choice(self, place: ChoiceKey) -> KernelChoice | None:
        """Return how the algorithm of a layer's pass was chosen, where it was."""
        return (self._choices or {}).get(place)


def fill(record: RunRecord, iteration: NetworkRecord, job: NetworkJob | None = None) -> None:
    """Add an iteration to the record of a run: its rows, the launches with their times, the comparison with NumPy.

    `spent_s` is the processor time of what was simulated, equal launches once.

    Args:
        record: Record to add to.
        iteration: The iteration that was run.
        job: The job; None: no engine and no comparison.
    """
    queue = StreamQueue(iteration.settings.gpu.kernel_launch_us)
    for row in iteration.rows:
        for step in row.steps:
            for launch in step.classes:
                if launch in iteration.of_class and iteration.of_class[launch].roofline is not None:
                    place = f"{row.layer} {row.what}"
                    queue.kernel(DEFAULT, iteration.of_class[launch].time_us, name=launch.kernel, place=place)
    queue.finish()
    record.parts += [_part(row, iteration, job) for row in iteration.rows]
    begin_us = record.host_time_us or 0.0  # after an earlier iteration of the same run
    record.add_commands(queue.times, begin_us)
    record.launch_count = sum(len(part.launches) for part in record.parts)
    record.partial = record.partial or bool(iteration.stopped_by)
    if queue.times:
        record.host_time_us = begin_us + queue.times[-1].ended_us
    compared = [part.verification for part in record.parts if part.verification is not None]
    if iteration.file is not None:
        record.values["file"] = iteration.file.document
        compared += [iteration.file.verification] if iteration.file.verification is not None else []
    record.verification = _worst(compared)
    spent_s = math.fsum(facts.simulator.cpu_s for facts in iteration.of_class.values() if facts.roofline is not None)
    record.values["spent_s"] = record.values.get("spent_s", 0.0) + spent_s
    record.values["planned_bytes"] = max(record.values.get("planned_bytes", 0), iteration.planned_bytes)


def _part(row: LayerPassRow, iteration: NetworkRecord, job: NetworkJob | None) -> PartRecord:
    works, network = [work for step in row.steps for work in step.work], iteration.schedule.network
    values: dict[str, Any] = {
        "kind": network[row.layer].kind_name if row.layer in network.named else "",
        "operator": row.operators,
        "macs": row.macs,
        "needed_macs": row.needed_macs,
        "operations": sum(work.operations for work in works),
        "minimum_bytes": sum(work.read_bytes + work.written_bytes for work in works),
    }
    if row.zeros is not None:
        values["zeros"] = {"fraction": row.zeros.fraction, "of_terms": row.zeros.of_terms}
    if row.why_dense:
        values["why_dense"] = row.why_dense
    if row.joined:
        values["joined"] = list(row.joined)
    why = iteration.schedule.apart.get((row.layer, row.what))
    if apart := {**row.why_apart, **({row.layer: why} if why else {})}:
        values["why_apart"] = apart
    choice = job.get_choice((row.layer, row.what)) if job is not None and not row.zeros else None
    if choice is not None:
        values["choice"] = asdict(choice)
    launches = [
        PartLaunch(one.kernel, iteration.of_class.get(one), number in step.simulated, one in iteration.of_class)
        for step in row.steps
        for number, one in enumerate(step.classes)
    ]
    verified = _worst([step.verification for step in row.steps if step.verification is not None])
    groups = group_launches(one.facts for one in launches if one.facts is not None)
    facts = _with_purpose(row, iteration)
    return PartRecord(row.layer, str(row.what), values, launches, facts, verified, groups=groups)


def _with_purpose(row: LayerPassRow, iteration: NetworkRecord) -> RunFacts | None:
    """Return the row's facts with what its launches are for (`gpusim.model.core.counters.LAYER`); None while not all
    are known.
    """
    facts = row.facts
    if facts is None or facts.roofline is None:
        return facts
    cycles, flops = Counter[str](), Counter[str]()
    launches = [iteration.of_class[one] for step in row.steps for one in step.classes]
    for one in launches:
        cycles[one.kernel.name] += one.cycles
        flops[one.kernel.name] += one.kernel.single_flops
    left = PRODUCTS * 2 * row.needed_macs
    for name, executed in flops.most_common():
        if left > 0 and executed:
            del cycles[name]
            left -= executed
    gpu = iteration.settings.gpu
    purpose = Counts(
        facts.sections.get("layer", {}),
        macs=row.macs,
        other_cycles=cycles.total(),
        launch_cycles=len(launches) * gpu.kernel_launch_us * 1e3 * gpu.clock_ghz,
    )
    return replace(facts, sections={**facts.sections, "layer": purpose})


def _worst(compared: Sequence[VerificationFacts]) -> VerificationFacts | None:
    """Return the comparison that comes closest to its bound, or exceeds it most; None without comparisons."""
    if not compared:
        return None
    worst = max(compared, key=lambda v: (not v.passed, v.max_error / v.bound if v.bound else 0.0))
    return VerificationFacts(all(one.passed for one in compared), worst.max_error, worst.bound)


def _check_gains(settings: NetworkSettings, wanted: NetworkRunRequest, keep_outputs: bool) -> None:
    """Raise UserError for what does not go with a comparison of runs without a value and with it."""
    where = f"gains: {wanted.gains}"
    if wanted.gains not in GAINS:
        raise UserError(f"gains: {unknown_name('value', wanted.gains, GAINS)}")
    if wanted.engine != "off" or keep_outputs or not wanted.timing:
        beside = f"engine {wanted.engine}" if wanted.engine != "off" else "outputs" if keep_outputs else "timing off"
        raise UserError(f"{where}: runs the network twice, dense and with times; {beside} does not go with it")
    for path, said in (("fusion", settings.fusion), ("gpu.l1.bypass", settings.gpu.l1.bypass)):
        if said and path.endswith(wanted.gains.removeprefix("l1_")):
            raise UserError(f"{where}: runs without it and with it; {path}=true must not be given beside it")
    if wanted.gains == "l1_bypass" and settings.layer_l1_bypass:
        raise UserError(f"{where}: is for all layers; layer_l1_bypass must not be given beside it")
    try:
        GAINS[wanted.gains](settings, True)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None


def _decided(network: Network, settings: NetworkSettings, wanted: NetworkRunRequest) -> NetworkRunRequest:
    """Decide for real data or made-up values, for all variants alike, by the sparse variant's workspace, which is the
    larger.
    """
    if wanted.data != "auto":
        return wanted
    schedule = build_schedule(network, settings, wanted.batch, wanted.train)
    planned = network_plan(schedule, iteration_settings(settings, sparse=wanted.engine != "off"))
    return replace(wanted, data="real" if is_real(wanted, planned) else "synthetic")


def _phase(wanted: NetworkRunRequest) -> str:
    return "train" if wanted.train else "inference"


def resolved(network: Network, settings: NetworkSettings, wanted: NetworkRunRequest) -> dict[str, Any]:
    """Return every value of the settings, and under `network` what of it is run.

    Args:
        network: The network.
        settings: Settings of a network's run.
        wanted: What of the network is run, and how.
    """
    asked = {
        "name": network.name,
        "phase": _phase(wanted),
        "batch": wanted.batch,
        "layers": wanted.layers if wanted.layers is None or isinstance(wanted.layers, str) else sorted(wanted.layers),
        "data": wanted.data,
        "verify": wanted.verify,
        "timing": wanted.timing,
        "engine": wanted.engine,
        "gains": wanted.gains or None,
    }
    launches = {
        name: value for name, value in asdict(wanted.launches).items() if name in ("hotspots", "max_cycles", "every")
    }
    drawn = {"perturbation": wanted.launches.perturbation, "draws": wanted.draws}
    launches |= {name: value for name, value in drawn.items() if value != (name == "draws")}
    return {**settings.resolved(), "network": asked, "run": {"checked": wanted.launches.checked, **launches}}


def describe_network_run(
    network: Network,
    settings: NetworkSettings,
    wanted: NetworkRunRequest,
    inputs: Path | None = None,
    writes: bool = False,
) -> RunDescription:
    """Return the work that `gpusim net` does.

    Args:
        network: The network.
        settings: Settings of a network's run.
        wanted: What of the network is run, and how.
        inputs: File of arrays; None: they are generated.
        writes: It writes arrays, and so is always run.
    """
    network = apply_layer_settings(network, settings)
    read = [inputs] if inputs is not None else []
    source = Path(network.source)
    if network.values is not None and source.is_file():
        read += [source, *network.files]  # hold the parameters
    rows = NetworkRows(
        network.name, network.source, hash_network(network), [(layer.name, layer.kind_name) for layer in network.layers]
    )
    return RunDescription(
        kind="net",
        title=f"{network.name}, {_phase(wanted)}, batch {wanted.batch}"
        + (f", {wanted.layers}" if wanted.layers else ""),
        configuration=resolved(network, settings, wanted),
        inputs=read,
        gpu=settings.gpu.name,
        seed=settings.seed,
        batch=wanted.batch,
        phase=_phase(wanted),
        network=rows,
        repeatable=not writes and (network.values is None or source.is_file()),
    )
