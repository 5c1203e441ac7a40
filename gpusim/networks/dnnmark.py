"""DNNMark's six benchmarks (Dong and Kaeli 2017) with the metrics of its figures 9 to 12, and its three claims.

Its metrics are nvprof's; "high" and "low" utilization are nvprof's words too: level 7 to 10 and 0 to 3 of 10.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TextIO

from gpusim.base.errors import UserError
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.files import SHIPPED
from gpusim.config.network import NETWORK_FOLDER, network_of
from gpusim.config.network_run import NetworkSettings
from gpusim.core.facts import RunFacts, combined
from gpusim.networks import report
from gpusim.networks.modes import run_modes
from gpusim.networks.rows import Rows
from gpusim.networks.run import NetworkRecord, Wanted
from gpusim.results import metrics
from workloads.networks.dnnmark import described_by_dnnmark
from workloads.networks.graph import Network
from workloads.networks.kind import Pass

NAME, FOLDER = "DNNMark", "dnnmark"
BENCHMARKS = ("convolution", "pooling", "lrn", "relu", "fully_connected", "softmax")
FULL_BATCH, FULL_SIZE = 100, 256
VMEM_CYCLES = 4  # of an instruction: 16 lanes' addresses a cycle
HIGH, LOW = 0.65, 0.35  # levels 7 and up, 3 and less, as nvprof rounds to tenths
MUCH = 1.2  # "significantly higher"


@dataclass(frozen=True)
class Figure:
    """One of the plotted metrics: its name here, nvprof's, and its value from the launches' facts."""

    name: str
    nvprof: str
    of: Callable[[RunFacts, Mapping[str, Any]], float]


def _load_store(facts: RunFacts, tree: Mapping[str, Any]) -> float:
    """Vector memory at 16 lanes a cycle, or LDS bank cycles, the larger, / compute-unit cycles."""
    busy = max(VMEM_CYCLES * facts.kernel.vmem_instructions, facts.cu.lds_busy_cycles)
    return float(busy / facts.cu.cycles)


def _of_profile(name: str) -> Callable[[RunFacts, Mapping[str, Any]], float]:
    return lambda facts, tree: float(tree["profile"][name] or 0.0)


FIGURES = (
    Figure("IPC", "ipc", _of_profile("ipc")),
    Figure("occupancy", "achieved_occupancy", _of_profile("achieved_occupancy")),
    Figure("eligible", "eligible_warps_per_cycle", _of_profile("eligible_warps_per_cycle")),
    Figure(
        "L1/LDS",
        "l1_shared_utilization",
        lambda facts, tree: max(tree["profile"]["tex_utilization"], tree["profile"]["shared_utilization"]),
    ),
    Figure("L2", "l2_utilization", _of_profile("l2_utilization")),
    Figure("DRAM", "dram_utilization", _of_profile("dram_utilization")),
    Figure("ALU", "alu_fu_utilization", _of_profile("alu_fu_utilization")),
    Figure("LSU", "ldst_fu_utilization", _load_store),
)
_PLAIN = ("IPC", "eligible")  # of which values are no fractions


@dataclass(frozen=True)
class Measured:
    """A benchmark's pass: forward, or all backward passes. kernels: their names; values: by FIGURES' names."""

    benchmark: str
    backward: bool
    kernels: tuple[str, ...]
    cycles: int
    time_us: float
    values: Mapping[str, float]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, made precise, whether it holds here, and the counters that say so."""

    text: str
    holds: bool
    because: str


def benchmark(name: str, batch: int, size: int) -> Network:
    """One of BENCHMARKS, with fewer images and rows than in the paper if so wanted; raises UserError."""
    for option, value, most in (("batch", batch, FULL_BATCH), ("size", size, FULL_SIZE)):
        if not 1 <= value <= most:
            raise UserError(f"--{option} {value}: DNNMark's benchmarks have {most}; allowed are 1 to {most}")
    path = SHIPPED / NETWORK_FOLDER / FOLDER / f"{name}.dnnmark"
    text = re.sub(r"(?m)^n=\d+$", f"n={batch}", path.read_text(encoding="utf-8"))
    text = re.sub(rf"(?m)^([hw])={FULL_SIZE}$", rf"\1={size}", text)
    return network_of(described_by_dnnmark(text, str(path)))


@dataclass(frozen=True)
class Benchmarks:
    """The benchmarks that were run to their end, by name, each as a network of one layer; batch, size: of all.

    stopped_by: empty where none was stopped.
    """

    settings: NetworkSettings
    batch: int
    size: int
    records: Mapping[str, NetworkRecord]
    stopped_by: str = ""

    @cached_property
    def rows(self) -> Rows:
        """Layers and passes of all."""
        return Rows(row for record in self.records.values() for row in record.rows)

    @cached_property
    def measured(self) -> list[Measured]:
        """What the paper plots of each."""
        return [
            _measured(
                name, backward, [r.facts for r in record.rows if (r.what is not Pass.FORWARD) == backward and r.facts]
            )
            for name, record in self.records.items()
            for backward in (False, True)
        ]


def measure(
    settings: NetworkSettings, batch: int, size: int, wanted: Wanted, reporter: Reporter, interrupt: Interrupt
) -> Benchmarks:
    """Run the six, each alone and forward and backward; after an interrupt those that were finished.

    wanted: jobs, store and fresh count; the rest is DNNMark's.
    """
    wanted = replace(wanted, batch=batch, train=True, data="synthetic")
    settings = settings.model_copy(update={"training": settings.training.model_copy(update={"update": "none"})})
    records: dict[str, NetworkRecord] = {}
    for name in BENCHMARKS:
        network = benchmark(name, batch, size)
        reporter.say(f"{name}: batch {batch}")
        record = run_modes(network, settings, wanted, reporter, interrupt).last
        if record.stopped_by:
            return Benchmarks(settings, batch, size, records, record.stopped_by)
        records[name] = record
    return Benchmarks(settings, batch, size, records)


def _measured(name: str, backward: bool, launches: Sequence[RunFacts]) -> Measured:
    whole = combined(launches)
    tree = metrics.launch_tree(whole)
    kernels = tuple(dict.fromkeys(whole.kernel.name.split(" + ")))
    values = {figure.name: figure.of(whole, tree) for figure in FIGURES}
    return Measured(name, backward, kernels, whole.cycles, whole.time_us, values)


def claims(measured: Sequence[Measured]) -> list[Claim]:
    """The paper's three claims, in parts; empty unless all benchmarks were run."""
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
        return sum(held[name, backward][figure] for name in others) / len(others)

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
    """What is less than in the paper; empty where nothing is."""
    less = [
        f"{what} {value} of {full}"
        for what, value, full in (("batch", batch, FULL_BATCH), ("rows and columns", size, FULL_SIZE))
        if value != full
    ]
    return f"reduced: {', '.join(less)}" if less else ""


def document(found: Benchmarks) -> dict[str, Any]:
    """The JSON object of `gpusim net --dnnmark`: that of a network whose layers are the benchmarks, and what the paper
    plots and claims of them; utilizations and occupancy are fractions."""
    said = reduction(found.batch, found.size)
    planned = max((record.planned_bytes for record in found.records.values()), default=0)
    return {
        "schema_version": report.SCHEMA_VERSION,
        "network": NAME,
        "phase": "train",
        "batch": found.batch,
        "size": found.size,
        "reduction": said,
        "data": "synthetic",
        "engine": "off",
        "partial": bool(found.stopped_by),
        **({"stopped_by": found.stopped_by} if found.stopped_by else {}),
        "meanings": report.MEANINGS,
        "config": found.settings.resolved(),
        "remarks": [said] if said else [],
        **report.body_of(found.rows, planned, found.settings),
        "benchmarks": [
            {
                "name": one.benchmark,
                "pass": "backward" if one.backward else "forward",
                "kernels": list(one.kernels),
                "cycles": one.cycles,
                "time_us": one.time_us,
                **{figure.nvprof: one.values[figure.name] for figure in FIGURES},
            }
            for one in found.measured
        ],
        "claims": [{"claim": one.text, "holds": one.holds, "because": one.because} for one in claims(found.measured)],
    }


HEAD = ("benchmark", "pass", "time us", *(figure.name for figure in FIGURES))


def cells(one: Measured) -> list[str]:
    """A row of the table."""
    shown = [
        f"{value:.2f}" if name in _PLAIN else f"{100 * value:.0f}%"
        for name, value in ((figure.name, one.values[figure.name]) for figure in FIGURES)
    ]
    return [one.benchmark, "backward" if one.backward else "forward", f"{one.time_us:,.1f}", *shown]


def markdown(found: Benchmarks) -> str:
    """The table and the claims as Markdown."""
    measured, said = found.measured, reduction(found.batch, found.size)
    lines = [f"| {' | '.join(HEAD)} |", f"|{' --- |' * len(HEAD)}"]
    lines += [f"| {' | '.join(cells(one))} |" for one in measured]
    lines += ["", said, ""] if said else [""]
    lines += ["| claim | holds | because |", "| --- | --- | --- |"]
    lines += [f"| {c.text} | {'yes' if c.holds else 'no'} | {c.because} |" for c in claims(measured)]
    return "\n".join(lines) + "\n"


def show(found: Benchmarks, out: TextIO) -> None:
    """The table and the claims."""
    measured, said = found.measured, reduction(found.batch, found.size)
    if out.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(title="DNNMark", title_justify="left", show_edge=False, pad_edge=False)
        for number, head in enumerate(HEAD):
            table.add_column(head, justify="left" if number < 2 else "right")
        for one in measured:
            table.add_row(*cells(one))
        Console(file=out).print(table)
    else:
        for row in (HEAD, *map(cells, measured)):
            print("\t".join(row), file=out)
    if said:
        print(said, file=out)
    for claim in claims(measured):
        print(f"{'holds    ' if claim.holds else 'holds not'}  {claim.text}: {claim.because}", file=out)
