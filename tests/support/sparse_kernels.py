"""What sparse products gain over the dense kernel, and what bounds them: tables of docs/kernels.md."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from gpusim.config.gpu import load_gpu
from gpusim.jobs.operators import gpu_facts
from tests.support.pages import table
from workloads.data.patterns import im2col_zeros
from workloads.operators.sparse_tiling import choose_sparse, dense_cycles, sparse_cycles
from workloads.shapes import ALEXNET, RESNET18, VGGNET16, ConvLayer, GemmShape, gemm_shape

GPU = "mi6"
ZEROS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
LARGE = {"A, B": GemmShape(512, 2048, 4608), "C": GemmShape(512, 512, 4608)}  # at batch 128
FEW_ZEROS = (0.5, 0.9)
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
PART_IMAGES = 8  # of a layer that is simulated


@cache
def _run(shape: GemmShape, zeros: float, engine: str) -> Any:
    import gpusim

    workload = {"kind": "gemm", "m": shape.m, "n": shape.n, "k": shape.k, "sparsity": zeros}
    sets = {"workload": workload, "kernels.dense": "sgemm", "gpu": GPU, "run.verify": False}
    return gpusim.run("layerB.yaml", engine=engine, sets=sets, quiet=True)


def gains_table() -> str:
    """Layers A to C over zeros: the gain, of what the arithmetic allows, and what is busy."""
    rows = []
    for name, shape in LARGE.items():
        dense = _run(shape, 0.5, "off").kernel.cycles
        rows += [[name, *_gain(shape, zeros, dense)] for zeros in ZEROS]
    head = ["layer", "zeros", "cycles", "of `sgemm`'s speed", "of 1/(1−s)", "LDS busy", "VALU busy", "scalar ALUs busy"]
    return table([*head, "DRAM pins busy", "at barriers", "`auto` takes"], rows)


def _gain(shape: GemmShape, zeros: float, dense: int) -> list[str]:
    run = _run(shape, zeros, "on")
    cycles = run.kernel.cycles
    bounds = [f"{100 * getattr(run.roofline, unit) / cycles:.0f} %" for unit in ("lds", "valu", "salu", "dram")]
    gain = dense / cycles
    share = "–" if zeros == 1 else f"{100 * gain * (1 - zeros):.0f} %"
    return [
        f"{100 * zeros:.0f} %",
        f"{cycles / 1e3:,.0f} k",
        f"{gain:.2f}×",
        share,
        *bounds,
        _barrier_share(run),
        _taken(shape, zeros),
    ]


def _barrier_share(run: Any) -> str:
    stalls = run.to_dict()["stalls"]
    return f"{100 * stalls['synchronization'] / sum(stalls.values()):.0f} %"


def _taken(shape: GemmShape, zeros: float) -> str:
    facts = gpu_facts(load_gpu(GPU))
    return "sparse" if sparse_cycles(shape, zeros, facts) < dense_cycles(shape, facts) else "dense"


def shapes_table() -> str:
    """Other shapes: the tile that is taken, cycles simulated and estimated, and which kernel `auto` takes."""
    facts, rows = gpu_facts(load_gpu(GPU)), []
    for shape in OTHERS:
        chosen = choose_sparse(shape, facts)
        tile = f"{chosen.rows} × {chosen.tiling.columns}, {chosen.split.parts} part{'s' * (chosen.split.parts > 1)}"
        dense = _run(shape, 0.5, "off").kernel.cycles
        for zeros in FEW_ZEROS:
            sparse, expected = _run(shape, zeros, "on").kernel.cycles, sparse_cycles(shape, zeros, facts)
            cells = [f"{shape.m} × {shape.n} × {shape.k}", tile, f"{100 * zeros:.0f} %", f"{dense:,}"]
            taken = _taken(shape, zeros)
            lost = (sparse if taken == "sparse" else dense) / min(sparse, dense)
            rows.append(
                [*cells, f"{sparse:,}", f"{expected / sparse:.2f}", f"{dense / sparse:.2f}×", taken, f"{lost:.2f}"]
            )
    head = ["M × N × K", "tile of C", "zeros", "`sgemm`", "`sgemm_dib_tiled`", "estimated / simulated", "gain"]
    return table([*head, "`auto` takes", "of the faster one's time"], rows)


def _layers() -> Iterator[tuple[ConvLayer, int, Sequence[float]]]:
    for layers, batch, levels in NETWORKS.values():
        yield from ((layer, batch, levels) for layer in layers if layer.input_channels > 3)


def matrix_zeros(layer: ConvLayer, of_maps: float) -> float:
    """Zeros of im2col of maps with uniformly random zeros: those of the padding are more."""
    ones = np.ones((1, 1, layer.input_height, layer.input_width), np.float32)
    return 1 - (1 - of_maps) * (1 - im2col_zeros(ones, replace(layer, input_channels=1)))


def networks_table() -> str:
    """Layers of the networks at the ends of table 6.5's ranges: where `auto` goes sparse, and whether that pays."""
    facts, rows = gpu_facts(load_gpu(GPU)), []
    for layer, batch, levels in _layers():
        shape, cells = gemm_shape(layer, batch), []
        for level in levels:
            zeros = matrix_zeros(layer, level)
            sparse, dense = sparse_cycles(shape, zeros, facts), dense_cycles(shape, facts)
            cells += [
                f"{100 * level:.0f} %",
                f"{100 * zeros:.1f} %",
                f"{dense / sparse:.2f}×",
                _taken_gain(layer, zeros, sparse < dense),
            ]
        rows.append([layer.name, f"{shape.m} × {shape.n} × {shape.k}", *cells])
    level = ["zeros of maps", "of the matrix", "sparse, estimated", "`auto`"]
    return table(["layer", "M × N × K", *level, *level], rows)


def _taken_gain(layer: ConvLayer, zeros: float, sparse: bool) -> str:
    if not sparse:
        return "dense, 1.00×"
    shape = gemm_shape(layer, PART_IMAGES)
    gain = _run(shape, zeros, "off").kernel.cycles / _run(shape, zeros, "on").kernel.cycles
    return f"sparse, {gain:.2f}× simulated at batch {PART_IMAGES}"


SECTIONS = {"sparse gains": gains_table, "sparse shapes": shapes_table, "sparse networks": networks_table}
