"""DNNMark's six benchmarks (Dong and Kaeli 2017) with the metrics of its figures 9 to 12, which are nvprof's.

What the paper says of them is judged by `gpusim reproduce dnnmark`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpusim.base.errors import UserError
from gpusim.config.files import SHIPPED
from gpusim.config.network import NETWORK_FOLDER, build_network
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.networks.identity import hash_network
from gpusim.jobs.networks.job import fill
from gpusim.jobs.networks.run import NetworkRunRequest, run_iteration
from gpusim.jobs.running.job import Context, FunctionTask, Job, JobOptions, Variant
from gpusim.lab.papers.dnnmark_tables import NAMES
from gpusim.model.core.facts import RunFacts, combined
from gpusim.results import metrics
from gpusim.results.records.record import RunRecord
from gpusim.results.store.work import NetworkRows, RunDescription, identity_of
from workloads.networks.dnnmark import read_dnnmark
from workloads.networks.graph import Network
from workloads.networks.kind import Pass

NAME, FOLDER = "DNNMark", "dnnmark"
BENCHMARKS = ("convolution", "pooling", "lrn", "relu", "fully_connected", "softmax")
FULL_BATCH, FULL_SIZE = 100, 256
VMEM_CYCLES = 4  # cycles of an instruction: 16 lanes' addresses a cycle


def _load_store(facts: RunFacts, profile: Mapping[str, Any]) -> float:
    """Return vector memory at 16 lanes a cycle, or LDS bank cycles, whichever is larger, divided by compute-unit
    cycles.
    """
    busy = max(VMEM_CYCLES * facts.kernel.vmem_instructions, facts.cu.lds_busy_cycles)
    return float(busy / facts.cu.cycles)


def _larger_cache(facts: RunFacts, profile: Mapping[str, Any]) -> float:
    return float(max(profile["tex_utilization"], profile["shared_utilization"]))


@dataclass(frozen=True)
class DnnmarkMetric:
    """One of the plotted metrics."""

    name: str
    """Its name in the plots."""
    nvprof: str
    """nvprof's name."""
    of: Callable[[RunFacts, Mapping[str, Any]], float] | None = None
    """Computes it from the launches' facts and nvprof's metrics; None: it is one of these."""

    def measure(self, facts: RunFacts, profile: Mapping[str, Any]) -> float:
        """Return its value."""
        return self.of(facts, profile) if self.of is not None else float(profile[self.nvprof] or 0.0)


_OWN = {"l1_shared_utilization": _larger_cache, "ldst_fu_utilization": _load_store}
FIGURES = [DnnmarkMetric(name, nvprof, _OWN.get(nvprof)) for nvprof, name in NAMES.items()]


@dataclass(frozen=True)
class DnnmarkMeasurement:
    """A benchmark's forward pass, or all its backward passes."""

    benchmark: str
    """Name of the benchmark."""
    backward: bool
    """Backward passes; otherwise the forward pass."""
    kernels: tuple[str, ...]
    """Names of the kernels."""
    cycles: int
    """Simulated cycles."""
    time_us: float
    """Time in microseconds."""
    values: Mapping[str, float]
    """Values by the names in FIGURES."""


def benchmark(name: str, batch: int, size: int) -> Network:
    """Return one of BENCHMARKS, with fewer images, rows and columns than in the paper if wanted; raises UserError."""
    for option, value, most in (("batch", batch, FULL_BATCH), ("size", size, FULL_SIZE)):
        if not 1 <= value <= most:
            raise UserError(f"--{option} {value}: DNNMark's benchmarks have {most}; allowed are 1 to {most}")
    path = SHIPPED / NETWORK_FOLDER / FOLDER / f"{name}.dnnmark"
    text = re.sub(r"(?m)^n=\d+$", f"n={batch}", path.read_text(encoding="utf-8"))
    text = re.sub(rf"(?m)^([hw])={FULL_SIZE}$", rf"\1={size}", text)
    return build_network(read_dnnmark(text, str(path)))


class BenchmarksJob(Job):
    """The six benchmarks, each alone, forward and backward, as a job (gpusim.jobs.running.job.Job).

    Args:
        batch: Batch of every benchmark.
        size: Size of every benchmark.
    """

    kind = "net"
    title = NAME

    def __init__(self, settings: NetworkSettings, batch: int, size: int, wanted: NetworkRunRequest) -> None:
        self.settings = settings.model_copy(
            update={"training": settings.training.model_copy(update={"update": "none"})}
        )
        self.batch, self.size = batch, size
        self.networks = {name: benchmark(name, batch, size) for name in BENCHMARKS}
        self.wanted = replace(wanted, batch=batch, train=True, data="synthetic")
        self.gpu, self.energy_spec = settings.gpu, settings.energy
        self.options = JobOptions(verify=False, launches=wanted.launches)

    @property
    def variants(self) -> Sequence[Variant]:
        """The one variant that there is."""
        return [Variant("", False, lambda: FunctionTask(self._run))]

    @property
    def about(self) -> Mapping[str, Any]:
        """The keys that a network adds to its result, and how the benchmarks are smaller than the paper's."""
        remark = reduction(self.batch, self.size)
        return {
            "kind": self.kind,
            "network": NAME,
            "phase": "train",
            "batch": self.batch,
            "size": self.size,
            "values": "synthetic",
            "engine_mode": "off",
            "remarks": [remark] if remark else [],
        }

    def resolved(self) -> dict[str, Any]:
        """Return the settings and what is run."""
        return {**self.settings.resolved(), "network": {"name": NAME, "batch": self.batch, "size": self.size}}

    @property
    def work(self) -> RunDescription:
        """The work by which a store finds equal benchmarks: as a network whose layers are the benchmarks."""
        layers = [(layer.name, layer.kind_name) for network in self.networks.values() for layer in network.layers]
        identity = identity_of([hash_network(network) for network in self.networks.values()])
        rows = NetworkRows(NAME, FOLDER, identity, layers)
        title = f"{NAME}, train, batch {self.batch}, {self.size} rows and columns"
        seed = self.settings.seed
        return RunDescription(
            kind="net",
            title=title,
            configuration=self.resolved(),
            inputs=(),
            gpu=self.gpu.name,
            seed=seed,
            batch=self.batch,
            phase="train",
            network=rows,
        )

    def _run(self, context: Context, record: RunRecord) -> None:
        """Run each benchmark; after an interrupt the record has those that were finished."""
        measured: list[DnnmarkMeasurement] = []
        for name, network in self.networks.items():
            context.reporter.say(f"{name}: batch {self.batch}")
            iteration = run_iteration(network, self.settings, self.wanted, context.reporter, context.interrupt)
            if iteration.stopped_by:
                record.partial = True
                break
            fill(record, iteration)
            for backward in (False, True):
                facts = [r.facts for r in iteration.rows if (r.what is not Pass.FORWARD) == backward and r.facts]
                measured.append(_measured(name, backward, facts))
        record.values["benchmarks"] = [
            {
                "name": measurement.benchmark,
                "pass": "backward" if measurement.backward else "forward",
                "kernels": list(measurement.kernels),
                "cycles": measurement.cycles,
                "time_us": measurement.time_us,
                **{figure.nvprof: measurement.values[figure.name] for figure in FIGURES},
            }
            for measurement in measured
        ]


def _measured(name: str, backward: bool, launches: Sequence[RunFacts]) -> DnnmarkMeasurement:
    whole = combined(launches)
    profile = metrics.launch_tree(whole)["profile"]
    kernels = tuple(dict.fromkeys(whole.kernel.name.split(" + ")))
    values = {figure.name: figure.measure(whole, profile) for figure in FIGURES}
    return DnnmarkMeasurement(name, backward, kernels, whole.cycles, whole.time_us, values)


def reduction(batch: int, size: int) -> str:
    """Say what is smaller than in the paper; empty where nothing is."""
    less = [
        f"{what} {value} of {full}"
        for what, value, full in (("batch", batch, FULL_BATCH), ("rows and columns", size, FULL_SIZE))
        if value != full
    ]
    return f"reduced: {', '.join(less)}" if less else ""
