"""Are AMD's own kernels for gfx803 decoded and translated, where a folder with them is at hand?

Where they are looked for: `tests.support.vendor_kernels`. Of the larger files only some kernels are translated here.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import gpusim
from gpusim.base.errors import UserError
from isa.encoding.control_flow import decode_kernel
from isa.execution.program import build_program
from isa.object.code_object import load_code_object
from tests.support import vendor_kernels
from tests.support.figures import DOCS, section
from tests.support.vendor_kernels import HIP_OF_TENSILE, ROCRAND, TENSILE

EACH = 12


def found(pattern: str) -> Path:
    try:
        return vendor_kernels.found(pattern)
    except UserError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("pattern", [TENSILE, ROCRAND])
def test_the_page_says_what_can_be_executed(pattern: str) -> None:
    name = f"`{found(pattern).name}`"
    page = section((DOCS / "vendor-kernels.md").read_text(encoding="utf-8"), "kernels")
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


@pytest.mark.parametrize("timing", [False, True])
def test_a_matrix_product_of_rocblas(timing: bool) -> None:
    """D = 2 A B + 3 C, all column-major, with edges that fill no tile; arguments as Tensile's kernels name them."""
    gpu = gpusim.Device(gpusim.GpuSpec(memory_mib=16), timing=timing, quiet=True)
    module = gpu.load(found(TENSILE))
    tile, whole, in_order = "Cijk_Ailk_Bljk_SB_MT64x64x16_", "_GSU1_", "_WGM1"  # K not split, workgroups as they come
    name = next(n for n in module if n.startswith(tile) and whole in n and n.endswith(in_order))
    items = int(np.prod([int(number) for number in re.findall(r"_WG(\d+)_(\d+)_(\d+)_", name)[0]]))
    m, n, k, groups = 67, 69, 70, (2, 2)
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((k, m), (n, k), (n, m)))
    d = gpu.zeros((n, m), np.float32)
    values = dict(sizeC=n * m, sizeA=k * m, sizeB=n * k, D=d, C=gpu.array(c), A=gpu.array(a), B=gpu.array(b))
    values |= dict(alpha=np.float32(2), beta=np.float32(3), strideD0=m, strideC0=m, strideA0=m, strideB0=k)
    values |= dict(strideD1=n * m, strideC1=n * m, strideA1=k * m, strideB1=n * k)
    values |= dict(SizesFree0=m, SizesFree1=n, SizesFree2=1, SizesSum0=k)
    values |= dict(NumWorkGroups0=groups[0], NumWorkGroups1=groups[1], NumFullBlocks=groups[1])
    arguments = {argument.name: values.get(argument.name, 0) for argument in module[name].arguments}
    gpu.launch(module[name], (groups[0] * items, groups[1]), (items, 1), arguments)
    np.testing.assert_array_equal(d, 2 * (b.astype(np.float64) @ a) + 3 * c)
