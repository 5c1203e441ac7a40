"""Are AMD's own kernels for gfx803 and gfx90a decoded and translated, where a folder with them is at hand?

Where they are looked for: `docs._site.vendor_kernels`. Of the larger files only some kernels are translated here.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from docs._site import vendor_kernels
from docs._site.pages import DOCS, section
from docs._site.vendor_kernels import HIP_OF_TENSILE, ROCRAND, TENSILE
from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.jobs.host.command_processor import CommandProcessor, LaunchCommand
from gpusim.lab.silicon.kernels import KernelSource
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.results.records.record import RunRecord
from isa.device_memory import DeviceMemory
from isa.encoding.control_flow import decode_kernel
from isa.execution.emulator import run_functional
from isa.execution.program import build_program
from isa.launch import Launch
from isa.object.code_object import load_code_object
from workloads.vendor.tensile import TensileGemm, TensileKernel, TensileProblem

EACH = 12
HIPBLASLT = "hipblaslt/library/TensileLibrary_{types}_*_Contraction_l_Ailk_Bljk_Cijk_Dijk_gfx90a.co"


def found(pattern: str) -> Path:
    try:
        return vendor_kernels.found(pattern)
    except UserError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("pattern", [TENSILE, ROCRAND])
def test_the_page_says_what_can_be_executed(pattern: str) -> None:
    name = f"`{found(pattern).name}`"
    page = section((DOCS / "results" / "vendor-kernels.md").read_text(encoding="utf-8"), "kernels")
    table = [tuple(cell.strip() for cell in line.split("|")[2:-1]) for line in page.splitlines()]
    first = [row[0] for row in table].index(name)
    rows = list(vendor_kernels.rows(pattern))
    assert table[first : first + len(rows)] == rows
    assert not table[first + len(rows)][0].startswith("–"), "reasons that are no longer there"


@pytest.mark.parametrize(
    ("pattern", "kernels"),
    [
        (TENSILE, 219),
        (HIP_OF_TENSILE, 1542),
        (ROCRAND, 204),
    ],
)
def test_kernels_of_a_vendor(pattern: str, kernels: int) -> None:
    loaded = list(load_code_object(found(pattern)).kernels.values())
    assert len(loaded) == kernels
    for kernel in loaded[:: len(loaded) // EACH]:
        assert build_program(kernel).instructions


def test_long_branches_of_assembly_kernels_are_followed() -> None:
    kernels = load_code_object(found(TENSILE)).kernels.values()
    jumps = [i for k in kernels for i in decode_kernel(k) if i.opcode.mnemonic == "s_setpc_b64"]
    assert len(jumps) == 209 and all(len(jump.jump_targets) == 1 for jump in jumps)


@pytest.mark.parametrize("split_k", [1, 4])
@pytest.mark.parametrize("multiply_accumulate", [False, True])
def test_a_matrix_product_of_rocblas(split_k: int, multiply_accumulate: bool) -> None:
    """D = 2 A B + 3 C, all column-major, with edges that fill no tile; with K split among workgroups, and not."""
    kernels = KernelSource([found(TENSILE), found(HIP_OF_TENSILE)], multiply_accumulate)
    fitting = [n for n in kernels if n.startswith("Cijk_Alik_Bljk_SB_MT") and f"_GSU{split_k}_" in n]
    kernel = TensileKernel.named(fitting[0])
    m, n, k = 67, 69, 134
    product = TensileGemm.allocate(TensileProblem("TN", m, n, k, 2.0, 3.0), kernel, kernels, DeviceMemory(1 << 26))
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((m, k), (n, k), (n, m)))
    held = {allocation.name: product.memory.view(allocation, np.float32) for allocation in product.memory.allocations}
    for name, values in zip("ABC", (a, b, c), strict=True):
        held[name][:] = values.ravel()
    record = RunRecord(False, kernel.name, [])
    CommandProcessor(GpuSpec(memory_mib=64), Reporter(quiet=True)).run(
        [LaunchCommand(launch) for launch in product.launches], record
    )
    assert len(record.launches) == (2 if split_k > 1 else 1)
    np.testing.assert_array_equal(held["C"].reshape(n, m).T, 2 * (a.astype(np.float64) @ b.T) + 3 * c.T)


@cache
def products_of(gpu: str) -> KernelSource:
    """The products of rocBLAS for a GPU."""
    return KernelSource([found(TENSILE.replace("gfx803", gpu))], False)


@pytest.mark.parametrize("gpu", ["gfx908", "gfx90a"])
@pytest.mark.parametrize("transposes", ["NN", "NT", "TN", "TT"])
def test_an_integer_product_of_rocblas_on_matrix_units(gpu: str, transposes: str) -> None:
    """D = 2 A B + 3 C of bytes with 32-bit sums, all column-major; edges that fill no tile."""
    first, second = ({"N": "Ailk", "T": "Alik"}[transposes[0]], {"N": "Bljk", "T": "Bjlk"}[transposes[1]])
    kernels = products_of(gpu)
    fitting = [name for name in kernels if name.startswith(f"Cijk_{first}_{second}_I8II_BH_MT") and "_GSU1_" in name]
    kernel = TensileKernel.named(min(fitting))
    code = decode_kernel(kernels[kernel.name])
    assert any(one.opcode.mnemonic.startswith("v_mfma_i32_") for one in code)
    m, n, k = 68, 72, 132
    problem = TensileProblem(transposes, m, n, k, 2.0, 3.0)
    product = TensileGemm.allocate(problem, kernel, kernels, DeviceMemory(1 << 29, architecture=gpu))
    rng = np.random.default_rng(0)
    a, b = rng.integers(-128, 128, (m, k)), rng.integers(-128, 128, (k, n))
    c = rng.integers(-999, 1000, (m, n))
    held = {allocation.name: product.memory.view(allocation) for allocation in product.memory.allocations}
    for name, values, as_stored in zip("ABC", (a, b, c), (*transposes, "N"), strict=True):
        turned = values if as_stored == "T" else values.T  # columns one after another
        held[name][:] = np.ascontiguousarray(turned, "i4" if name == "C" else "i1").view(np.uint8).ravel()
    for launch in product.launches:
        run_functional(launch)
    np.testing.assert_array_equal(np.asarray(held["C"]).view("i4").reshape(n, m).T, 2 * (a @ b) + 3 * c)


@pytest.mark.parametrize("types", ["DD_DD", "SS_SS", "HH_SH", "HH_HH"])
def test_a_matrix_product_of_hipblaslt(types: str) -> None:
    """Kernels for gfx90a with the first of their arguments in scalar registers; edges that fill no tile."""
    kernel = min(load_code_object(found(HIPBLASLT.format(types=types))).kernels.values(), key=lambda one: one.name)
    tile = re.search(r"_MT(\d+)x(\d+)x(\d+)_", kernel.name)
    assert tile is not None and kernel.preloaded_arguments[1] > 0
    m, n, k = int(tile[1]) + 8, int(tile[2]) + 8, 2 * int(tile[3])
    element, result = (np.dtype({"D": "f8", "S": "f4", "H": "f2"}[types[at]]) for at in (0, 3))
    memory, rng = DeviceMemory(1 << 26), np.random.default_rng(0)
    a, b = rng.integers(-2, 3, (k, m)).astype(element), rng.integers(-2, 3, (n, k)).astype(element)
    blocks = {name: memory.allocate(m * n * result.itemsize, name) for name in "CD"}
    for name, values in (("A", a), ("B", b)):
        blocks[name] = memory.allocate(values.nbytes, name)
        memory.view(blocks[name])[:] = values.ravel().view(np.uint8)
    workgroups = -(-m // int(tile[1])) * -(-n // int(tile[2]))
    numbers = {  # one product, K in one part; leading dimensions and the distance to the next product
        **{"Gemm info": 1, "kernel info0": 1, "kernel info1": 1, "numWG": workgroups},
        **{"SizesFree0": m, "SizesFree1": n, "SizesFree2": 1, "SizesSum0": k},
        **{"strideD0": m, "strideC0": m, "strideA0": m, "strideB0": k},
        **{"strideD1": m * n, "strideC1": m * n, "strideA1": m * k, "strideB1": k * n},
        **{name: block.address for name, block in blocks.items()},
    }
    kernarg = bytearray(kernel.kernarg_bytes)
    for argument in kernel.arguments:
        value = numbers.get(argument.name, 0).to_bytes(argument.size, "little")
        if argument.name == "alpha":
            value = np.ones(1, "f8" if argument.size == 8 else "f4").tobytes()
        kernarg[argument.offset : argument.offset + argument.size] = value
    size = kernel.max_workgroup_size or 0
    run_functional(Launch(kernel, memory, bytes(kernarg), (workgroups * size, 1, 1), (size, 1, 1)))
    product = np.asarray(memory.view(blocks["D"])).view(result).reshape(n, m)
    np.testing.assert_array_equal(product, b.astype(np.float64) @ a.astype(np.float64))
