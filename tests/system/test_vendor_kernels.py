"""Are AMD's own kernels for gfx803 decoded and translated, where a folder with them is at hand?

Where they are looked for: `docs._site.vendor_kernels`. Of the larger files only some kernels are translated here.
"""

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
from isa.execution.program import build_program
from isa.object.code_object import load_code_object
from workloads.vendor.tensile import TensileGemm, TensileKernel, TensileProblem

EACH = 12


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
