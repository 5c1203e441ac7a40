"""DNNMark's six benchmarks (Dong and Kaeli 2017) with the metrics of its figures 9 to 12, and its three claims.

Its metrics are nvprof's; "high" and "low" utilization are nvprof's words too: level 7 to 10 and 0 to 3 of 10.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.sums import plain_sum
from gpusim.config.files import SHIPPED
from gpusim.config.network import NETWORK_FOLDER, build_network
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.networks.identity import hash_network
from gpusim.jobs.networks.job import fill
from gpusim.jobs.networks.run import NetworkRunRequest, run_iteration
from gpusim.jobs.running.job import Context, FunctionTask, Job, JobOptions, Variant
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
HIGH, LOW = 0.65, 0.35  # levels 7 and up, 3 and less, as nvprof rounds to tenths
MUCH = 1.2  # "significantly higher"


@dataclass(frozen=True)
class DnnmarkMetric:
    """One of the plotted metrics: its name here, nvprof's name, and how its value follows from the launches' facts."""

    name: str
    nvprof: str
    of: Callable[[RunFacts, Mapping[str, Any]], float]


def _load_store(facts: RunFacts, tree: Mapping[str, Any]) -> float:
    """Return vector memory at 16 lanes a cycle, or LDS bank cycles, whichever is larger, divided by compute-unit
    cycles.
    """
    busy = max(VMEM_CYCLES * facts.kernel.vmem_instructions, facts.cu.lds_busy_cycles)
    return float(busy / facts.cu.cycles)


def _of_profile(name: str) -> Callable[[RunFacts, Mapping[str, Any]], float]:
    return lambda facts, tree: float(tree["profile"][name] or 0.0)


FIGURES = (
    DnnmarkMetric("IPC", "ipc", _of_profile("ipc")),
    DnnmarkMetric("occupancy", "achieved_occupancy", _of_profile("achieved_occupancy")),
    DnnmarkMetric("eligible", "eligible_warps_per_cycle", _of_profile("eligible_warps_per_cycle")),
    DnnmarkMetric(
        "L1/LDS",
        "l1_shared_utilization",
        lambda facts, tree: max(tree["profile"]["tex_utilization"], tree["profile"]["shared_utilization"]),
    ),
    DnnmarkMetric("L2", "l2_utilization", _of_profile("l2_utilization")),
    DnnmarkMetric("DRAM", "dram_utilization", _of_profile("dram_utilization")),
    DnnmarkMetric("ALU", "alu_fu_utilization", _of_profile("alu_fu_utilization")),
    DnnmarkMetric("LSU", "ldst_fu_utilization", _load_store),
)


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


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, made precise, whether it holds here, and the counters that show it."""

    text: str
    holds: bool
    because: str


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
    """The six benchmarks, each alone, forward and backward, as a job (gpusim.jobs.running.job.Job). batch, size: of
    every benchmark.
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
        said = reduction(self.batch, self.size)
        return {
            "kind": self.kind,
            "network": NAME,
            "phase": "train",
            "batch": self.batch,
            "size": self.size,
            "values": "synthetic",
            "engine_mode": "off",
            "remarks": [said] if said else [],
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
            found = run_iteration(network, self.settings, self.wanted, context.reporter, context.interrupt)
            if found.stopped_by:
                record.partial = True
                break
            fill(record, found)
            for backward in (False, True):
                facts = [r.facts for r in found.rows if (r.what is not Pass.FORWARD) == backward and r.facts]
                measured.append(_measured(name, backward, facts))
        record.values["benchmarks"] = [
            {
                "name": one.benchmark,
                "pass": "backward" if one.backward else "forward",
                "kernels": list(one.kernels),
                "cycles": one.cycles,
                "time_us": one.time_us,
                **{figure.nvprof: one.values[figure.name] for figure in FIGURES},
            }
            for one in measured
        ]
        record.values["claims"] = [
            {"claim": one.text, "holds": one.holds, "because": one.because} for one in claims(measured)
        ]


def _measured(name: str, backward: bool, launches: Sequence[RunFacts]) -> DnnmarkMeasurement:
    whole = combined(launches)
    tree = metrics.launch_tree(whole)
    kernels = tuple(dict.fromkeys(whole.kernel.name.split(" + ")))
    values = {figure.name: figure.of(whole, tree) for figure in FIGURES}
    return DnnmarkMeasurement(name, backward, kernels, whole.cycles, whole.time_us, values)


def claims(measured: Sequence[DnnmarkMeasurement]) -> list[Claim]:
    """Return the paper's three claims, in parts; empty unless all benchmarks were run."""
    held = {(one.benchmark, one.backward): one.values for one in measured}
    if len(held) < 2 * len(BENCHMARKS):
        return []
    passes = ((False, "forward"), (True, "backward"))
    computing = ("convolution", "pooling", "lrn", "fully_connected")
    others = [name for name in BENCHMARKS if name != "relu"]
    found = []

    def claim(text: str, parts: Sequence[tuple[bool, str]]) -> None:
        found.append(Claim(text, all(holds for holds, _ in parts), "; ".join(because for _, because in parts)))

    def least(backward: bool, figure: str, names: Sequence[str]) -> float:
        return min(held[name, backward][figure] for name in names)

    def mean(backward: bool, figure: str) -> float:
        return plain_sum(held[name, backward][figure] for name in others) / len(others)

    relu = {backward: held["relu", backward] for backward, _ in passes}
    claim(
        "(a) ReLU has poor IPC in both passes: less than any of convolution, pooling, LRN, fully connected",
        [
            (
                relu[b]["IPC"] < least(b, "IPC", computing),
                f"{n} {relu[b]['IPC']:.2f}, least of them {least(b, 'IPC', computing):.2f}",
            )
            for b, n in passes
        ],
    )
    claim(
        "(a) ReLU has low ALU utilization",
        [(relu[b]["ALU"] < LOW, f"{n} {100 * relu[b]['ALU']:.0f} %") for b, n in passes],
    )
    for unit in ("DRAM", "LSU"):
        claim(
            f"(a) ReLU has high {unit} utilization",
            [(relu[b][unit] >= HIGH, f"{n} {100 * relu[b][unit]:.0f} %") for b, n in passes],
        )
    claim(
        "(a) ReLU has lower occupancy than the others in the mean",
        [
            (
                relu[b]["occupancy"] < mean(b, "occupancy"),
                f"{n} {100 * relu[b]['occupancy']:.0f} %, others {100 * mean(b, 'occupancy'):.0f} %",
            )
            for b, n in passes
        ],
    )
    for name in computing:
        claim(
            f"(b) {name} has high ALU utilization and more IPC than ReLU",
            [
                (
                    held[name, b]["ALU"] >= HIGH and held[name, b]["IPC"] > relu[b]["IPC"],
                    f"{n} ALU {100 * held[name, b]['ALU']:.0f} %, IPC {held[name, b]['IPC']:.2f}",
                )
                for b, n in passes
            ],
        )
    forward, backward = held["pooling", False], held["pooling", True]
    claim(
        f"(c) backward pooling has at least {MUCH:g} times the occupancy of forward pooling, and less IPC",
        [
            (
                backward["occupancy"] >= MUCH * forward["occupancy"] and backward["IPC"] < forward["IPC"],
                f"occupancy {100 * forward['occupancy']:.0f} % and {100 * backward['occupancy']:.0f} %,"
                f" IPC {forward['IPC']:.2f} and {backward['IPC']:.2f}",
            )
        ],
    )
    return found


def reduction(batch: int, size: int) -> str:
    """Say what is smaller than in the paper; empty where nothing is."""
    less = [
        f"{what} {value} of {full}"
        for what, value, full in (("batch", batch, FULL_BATCH), ("rows and columns", size, FULL_SIZE))
        if value != full
    ]
    return f"reduced: {', '.join(less)}" if less else ""
