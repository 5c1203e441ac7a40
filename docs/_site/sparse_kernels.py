"""What sparse products gain over the dense kernel, and what bounds them: tables of docs/kernels.md."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from docs._site.pages import SWEEPS, table
from gpusim.base.formats import COUNT, FIXED_0, FIXED_1, FIXED_2, FIXED_3, GROUPED_0, PERCENT, PERCENT_0, SHARE_0
from gpusim.config.gpu import load_gpu
from gpusim.jobs.running.operators import gpu_facts
from gpusim.model.core.gpu_spec import GpuSpec
from workloads.data.patterns import im2col_non_zeros
from workloads.operators.gemm_kernels import SPARSE_CHOICES, sparse_estimates
from workloads.operators.sparse_tiling import LDS_CYCLES, WAVEFRONT, choose_sparse, dense_cycles
from workloads.shapes import ALEXNET, RESNET18, VGGNET16, ConvolutionShape, GemmShape, gemm_shape

GPU = "mi6"
GAINS = SWEEPS / "kernels" / "sparse_gains.csv"  # `gpusim sweep sparse_gains`
REGISTERS = GAINS.with_name("sparse_registers.csv")  # `gpusim sweep sparse_registers`
LIMITS = GAINS.with_name("sparse_limits.csv")  # `gpusim sweep sparse_limits`, whose machines are, in order:
MACHINES = ("as it is", "no branch or fetch latency", "LDS answers at once", "DRAM four times as fast", "all three")
Gain = Mapping[str, str]  # a row of it: metrics of one of a point's two kernels
LARGE = {"A, B": GemmShape(512, 2048, 4608), "C": GemmShape(512, 512, 4608)}  # at batch 128
FEW_ZEROS = (0.5, 0.9)
NEARLY_EMPTY = (0.9, 0.95, 0.97, 0.99, 1.0)
GOAL = 0.6  # of 1/(1-s), from 50 to 90 % zeros
# M from less than a tile's to several, N of a small batch, K of a short sum
OTHERS = tuple(
    GemmShape(*sizes)
    for sizes in (
        (64, 3136, 576),
        (128, 784, 1152),
        (192, 2916, 1600),
        (256, 784, 2304),
        (384, 676, 1728),
        (512, 32, 4608),
    )
)
# table 6.5 of Dong 2020: batch, and sparsity of the maps from ... to
NETWORKS = {
    "AlexNet": (ALEXNET, 128, (0.45, 0.65)),
    "VGG-16": (VGGNET16, 64, (0.35, 0.55)),
    "ResNet-18": (RESNET18, 64, (0.30, 0.50)),
}
PART_IMAGES, PART_COLUMNS = 8, 6272  # of a layer that is simulated, at least: some rounds of workgroups


@cache
def _cycles(shape: GemmShape, zeros: float, kernel: str = "") -> int:
    """Simulated, of a sparse kernel; none named: of `sgemm`."""
    import gpusim

    workload = {"kind": "gemm", "m": shape.m, "n": shape.n, "k": shape.k, "sparsity": zeros}
    sets = {"workload": workload, "kernels.dense": "sgemm", "gpu": GPU, "run.verify": False}
    if kernel:
        sets["kernels.sparse"] = kernel
    return gpusim.run("layerB.yaml", engine="on" if kernel else "off", sets=sets, quiet=True).kernel.cycles


def gains_points() -> dict[str, list[tuple[Gain, Gain]]]:
    """By layer, in order of the zeros: (dense, sparse) of each point of the sweep in results/sweeps/kernels."""
    found: dict[str, list[tuple[Gain, Gain]]] = {}
    with GAINS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for dense, sparse in zip(rows[::2], rows[1::2], strict=True):
        if (dense["variant"], sparse["variant"]) != ("dense", "sparse") or dense["point"] != sparse["point"]:
            raise ValueError(f"{GAINS}: point {dense['point']} is not a dense row and then a sparse one")
        found.setdefault(dense["config"].removeprefix("layer"), []).append((dense, sparse))
    return {layer: sorted(points, key=lambda pair: _zeros(pair[1])) for layer, points in sorted(found.items())}


def gains_table() -> str:
    """Layers A to C over zeros: the gain, of what the arithmetic allows, what is busy, what LDS alone would allow."""
    rows = [
        [name, *_gain(LARGE[name], dense, sparse)]
        for layer, points in gains_points().items()
        for name in LARGE
        if layer in name
        for dense, sparse in points
    ]
    head = ["layer", "zeros", "cycles", "of `sgemm`'s speed", "of 1/(1−s)", "LDS busy", "VALU busy", "scalar ALUs busy"]
    head += [
        "DRAM pins busy",
        "at barriers",
        "LDS alone: of `sgemm`'s speed",
        "of 1/(1−s)",
        "VALU alone: of 1/(1−s)",
        "scalar ALUs alone",
    ]
    return table([*head, "`auto` takes"], rows)


def bounds_table() -> str:
    """Where sparse breaks even, and what a kernel could reach that reads A from LDS once for each non-zero of B."""
    gpu, rows = GpuSpec(), []
    for layer, points in gains_points().items():
        name, shape = next((name, shape) for name, shape in LARGE.items() if layer in name)
        dense = int(points[0][0]["kernel.cycles"])
        reads = LDS_CYCLES * shape.m / WAVEFRONT * shape.n * shape.k / gpu.cus  # cycles, were all of B non-zeros
        moved = 4 * (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n) * gpu.clock_hz / gpu.dram.bytes_per_s
        lds, cycles = ([float(sparse[metric]) for _, sparse in points] for metric in ("roofline.lds", "kernel.cycles"))
        zeros = [_zeros(sparse) for _, sparse in points]
        row = [name, break_even(zeros, cycles, dense), break_even(zeros, lds, dense)]
        row += [
            PERCENT_0(1 - dense / reads),
            f"{FIXED_0(100 * dense / reads)} %",
            f"{FIXED_0(100 * GOAL * reads / dense)} %",
        ]
        rows.append([*row, f"{FIXED_0(100 * dense / moved * (1 - FEW_ZEROS[-1]))} %"])
    head = ["layer", "break-even, simulated", "by this kernel's LDS cycles", "by its reads of A alone"]
    head += ["of 1/(1−s) by these reads", f"LDS busy with them at {SHARE_0(GOAL)}".replace("%", " %")]
    return table([*head, "of 1/(1−s) at 90 % zeros, each matrix once over DRAM's pins"], rows)


def registers_table() -> str:
    """The kernel with A in registers beside the tiled one and `sgemm`: cycles, gain, what is busy, break-even."""
    with REGISTERS.open(encoding="utf-8", newline="") as file:
        points = sorted(csv.DictReader(file), key=lambda row: (row["config"], _zeros(row)))
    rows = []
    for layer, others in gains_points().items():
        name = next(name for name in LARGE if layer in name)
        mine = [point for point in points if point["config"] == f"layer{layer}"]
        tiled = {round(_zeros(sparse), 2): int(sparse["kernel.cycles"]) for _, sparse in others}
        dense = others[0][0]
        for point in mine:
            zeros, cycles = _zeros(point), int(point["kernel.cycles"])
            busy = [f"{FIXED_0(_busy(point, unit))} %" for unit in ("valu", "salu", "lds", "dram")]
            other = tiled.get(round(zeros, 2))
            cells = [f"{GROUPED_0(other / 1e3)} k" if other else "–", *_speed(dense, cycles, zeros), *busy]
            cells += [_share(point, "synchronization"), _share(point, "not_selected")]
            alone = [_speed(dense, float(point[f"roofline.{unit}"]), zeros)[1] for unit in ("valu", "salu", "lds")]
            rows.append([name, PERCENT_0(zeros), f"{GROUPED_0(cycles / 1e3)} k", *cells, *alone])
        zeros, cycles = [_zeros(point) for point in mine], [float(point["kernel.cycles"]) for point in mine]
        even = break_even(zeros, cycles, int(dense["kernel.cycles"]))
        rows.append([name, "break-even", even, *[""] * 11])
    head = ["layer", "zeros", "cycles", "`sgemm_dib_tiled`", "of `sgemm`'s speed", "of 1/(1−s)", "VALU busy"]
    head += ["scalar ALUs busy", "LDS busy", "DRAM pins busy", "at barriers", "not selected"]
    return table([*head, "VALU alone: of 1/(1−s)", "scalar ALUs alone", "LDS alone"], rows)


def limits_table() -> str:
    """What share of 1/(1−s) the kernel with A in registers reaches on machines without some of their limits."""
    with LIMITS.open(encoding="utf-8", newline="") as file:
        points = sorted(csv.DictReader(file), key=lambda row: int(row["point"]))
    rows = []
    for first in range(0, len(points), len(MACHINES)):
        of_machines = points[first : first + len(MACHINES)]
        layer, zeros = of_machines[0]["config"].removeprefix("layer"), _zeros(of_machines[0])
        if {(row["config"], _zeros(row)) for row in of_machines} != {(f"layer{layer}", zeros)}:
            raise ValueError(f"{LIMITS}: points {first} to {first + len(MACHINES) - 1} differ in more than the machine")
        name = next(name for name in LARGE if layer in name)
        dense = gains_points()[layer][0][0]
        cells = [_speed(dense, int(row["kernel.cycles"]), zeros)[1] for row in of_machines]
        rows.append([name, PERCENT_0(zeros), *cells])
    return table(["layer", "zeros", *MACHINES], rows)


def _busy(point: Gain, unit: str) -> float:
    """Per cent of the cycles for which a unit is needed at least."""
    return 100 * float(point[f"roofline.{unit}"]) / int(point["kernel.cycles"])


def _share(point: Gain, reason: str) -> str:
    waits = {name: float(value) for name, value in point.items() if name.startswith("stalls.")}
    return f"{FIXED_0(100 * waits[f'stalls.{reason}'] / sum(waits.values()))} %"


def break_even(zeros: Sequence[float], cycles: Sequence[float], dense: float) -> str:
    """Zeros at which these cycles would be the dense kernel's, on lines between the points, which ascend in zeros."""
    if cycles[0] <= dense:
        return f"below {PERCENT_0(zeros[0])}"
    if cycles[-1] > dense:
        return "none"
    return PERCENT_0(np.interp(-dense, np.negative(cycles), zeros))


def _zeros(point: Gain) -> float:
    return float(point["data.zero_fraction"])


def _gain(shape: GemmShape, dense: Gain, sparse: Gain) -> list[str]:
    zeros, cycles = _zeros(sparse), int(sparse["kernel.cycles"])
    alone = {unit: _speed(dense, float(sparse[f"roofline.{unit}"]), zeros) for unit in ("lds", "valu", "salu")}
    bounds = [*alone["lds"], alone["valu"][1], alone["salu"][1]]
    return [
        PERCENT_0(zeros),
        f"{GROUPED_0(cycles / 1e3)} k",
        *_speed(dense, cycles, zeros),
        *(f"{FIXED_0(_busy(sparse, unit))} %" for unit in ("lds", "valu", "salu", "dram")),
        _share(sparse, "synchronization"),
        *(bounds if zeros < 1 else ["–"] * len(bounds)),
        _short(_taken(shape, zeros)),
    ]


def _speed(dense: Gain, cycles: float, zeros: float) -> tuple[str, str]:
    """Of the dense kernel's, and of what the zeros allow."""
    gain = int(dense["kernel.cycles"]) / cycles
    return f"{FIXED_2(gain)}×", "–" if zeros == 1 else f"{FIXED_0(100 * gain * (1 - zeros))} %"


def _taken(shape: GemmShape, zeros: float) -> str:
    """The kernel that `auto` takes, "" for the dense one."""
    facts = gpu_facts(load_gpu(GPU))
    estimates = {**sparse_estimates(shape, zeros, facts), "": dense_cycles(shape, facts)}
    return min(estimates, key=lambda kernel: estimates[kernel])


def _short(kernel: str) -> str:
    return kernel.removeprefix("sgemm_dib_") or "dense"


def shapes_table() -> str:
    """Other shapes: the tile that is taken, cycles simulated and estimated, and which kernel `auto` takes."""
    facts, rows = gpu_facts(load_gpu(GPU)), []
    for shape in OTHERS:
        chosen = choose_sparse(shape, facts)
        tile = f"{chosen.rows} × {chosen.tiling.columns}, {chosen.split.parts} part{'s' * (chosen.split.parts > 1)}"
        for zeros in FEW_ZEROS:
            simulated = {kernel: _cycles(shape, zeros, kernel) for kernel in SPARSE_CHOICES}
            simulated[""] = _cycles(shape, FEW_ZEROS[0])
            cells = [f"{shape.m} × {shape.n} × {shape.k}", tile, PERCENT_0(zeros), COUNT(simulated[""])]
            for kernel, expected in sparse_estimates(shape, zeros, facts).items():
                cells += [COUNT(simulated[kernel]), FIXED_2(expected / simulated[kernel])]
            taken, least = _taken(shape, zeros), min(simulated.values())
            gain = simulated[""] / simulated[taken]
            rows.append([*cells, _short(taken), f"{FIXED_2(gain)}×", FIXED_2(simulated[taken] / least)])
    head = ["M × N × K", "tile of C", "zeros", "`sgemm`"]
    head += [cell for kernel in SPARSE_CHOICES for cell in (f"`{kernel}`", "estimated / simulated")]
    return table([*head, "`auto` takes", "gain", "of the fastest one's time"], rows)


def _layers() -> Iterator[tuple[ConvolutionShape, int, Sequence[float]]]:
    for layers, batch, levels in NETWORKS.values():
        yield from ((layer, batch, levels) for layer in layers if layer.input_channels > 3)


def matrix_zeros(layer: ConvolutionShape, of_maps: float) -> float:
    """Zeros of im2col of maps with uniformly random zeros: those of the padding are more."""
    ones = np.ones((1, 1, layer.input_height, layer.input_width), np.float32)
    held, elements = im2col_non_zeros(ones, replace(layer, input_channels=1))
    return 1 - (1 - of_maps) * held / elements


def networks_table() -> str:
    """Layers of the networks at the ends of table 6.5's ranges: where `auto` goes sparse, and whether that pays."""
    facts, rows = gpu_facts(load_gpu(GPU)), []
    for layer, batch, levels in _layers():
        shape, cells = gemm_shape(layer, batch), []
        for level in levels:
            zeros = matrix_zeros(layer, level)
            gain = dense_cycles(shape, facts) / min(sparse_estimates(shape, zeros, facts).values())
            cells += [
                PERCENT_0(level),
                PERCENT(zeros),
                f"{FIXED_2(gain)}×",
                _taken_gain(layer, batch, zeros, _taken(shape, zeros)),
            ]
        rows.append([layer.name, f"{shape.m} × {shape.n} × {shape.k}", *cells])
    level = ["zeros of maps", "of the matrix", "sparse, estimated", "`auto`"]
    return table(["layer", "M × N × K", *level, *level], rows)


def _taken_gain(layer: ConvolutionShape, batch: int, zeros: float, kernel: str) -> str:
    if not kernel:
        return "dense, 1.00×"
    images = min(batch, max(PART_IMAGES, -(-PART_COLUMNS // gemm_shape(layer, 1).n)))
    shape = gemm_shape(layer, images)
    gain = _cycles(shape, zeros) / _cycles(shape, zeros, kernel)
    return f"{_short(kernel)}, {FIXED_2(gain)}× simulated at batch {images}"


def nearly_empty_table() -> str:
    """Layer C with the engine and ever more zeros, and whether a sparser matrix takes longer there, by kernel."""
    found = {kernel: {zeros: _nearly_empty(zeros, kernel) for zeros in NEARLY_EMPTY} for kernel in SPARSE_CHOICES}
    rows = [
        [
            PERCENT_0(zeros),
            COUNT(run.kernel.cycles),
            COUNT(run.engine.requests),
            GROUPED_0(run.engine.request_latency_cycles),
            COUNT(run.engine.lines_fetched),
            f"{FIXED_3(run.l1.read_transactions / 1e6)} M",
            f"{FIXED_1(run.l1.full_stall_cycles / 1e6)} M",
            f"{GROUPED_0(run.roofline.l2 / 1e3)} k",
            f"{FIXED_0(100 * run.dram.bus_busy_cycles / run.dram.bus_available_cycles)} %",
            *(COUNT(found[kernel][zeros].kernel.cycles) for kernel in SPARSE_CHOICES[1:]),
        ]
        for zeros, run in found[SPARSE_CHOICES[0]].items()
    ]
    head = ["zeros", "cycles", "requests", "cycles a request waits", "lines that the engine reads", "L1's reads"]
    head += ["stalled, L1 full", "L2's bound", "DRAM busy", *(f"cycles of `{name}`" for name in SPARSE_CHOICES[1:])]
    ends = ", ".join(f"`{kernel}` {_change(runs[0.95], runs[0.99])}" for kernel, runs in found.items())
    return table(head, rows) + f"\n\nFrom 95 to 99 % zeros: {ends}."


def _nearly_empty(zeros: float, kernel: str) -> Any:
    import gpusim

    sets = {"workload.batch": 128, "workload.data": "synthetic", "workload.sparsity": zeros, "gpu": GPU}
    sets |= {"kernels.sparse": kernel, "run.verify": False}
    return gpusim.run("layerC.yaml", engine="on", sets=sets, quiet=True)


def _change(fuller: Any, sparser: Any) -> str:
    more = 100 * (sparser.kernel.cycles / fuller.kernel.cycles - 1)
    return f"{FIXED_1(abs(more))} % {'longer' if more > 0 else 'shorter'}"


SECTIONS = {
    "sparse gains": gains_table,
    "sparse bounds": bounds_table,
    "sparse registers": registers_table,
    "sparse limits": limits_table,
    "sparse shapes": shapes_table,
    "sparse networks": networks_table,
}
SWEPT = ("sparse gains", "sparse bounds", "sparse registers", "sparse limits")  # from the sweep, without the machine
