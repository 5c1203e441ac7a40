"""Are AMD's own kernels for gfx803 decoded and translated, where a folder with them is at hand?

GPUSIM_VENDOR_KERNELS names a folder with the files of docs/vendor-kernels.md; without it, libraries that are installed
are looked for. Only some kernels of each file are translated here: `gpusim kernels check` does all.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import gpusim
from isa.encoding.control_flow import decode_kernel
from isa.execution.program import build_program
from isa.object.code_object import load_code_object

FOLDER = Path(os.environ.get("GPUSIM_VENDOR_KERNELS", "/usr/lib/x86_64-linux-gnu"))
EACH = 12


def found(pattern: str) -> Path:
    files = sorted(FOLDER.rglob(pattern)) if os.environ.get("GPUSIM_VENDOR_KERNELS") else sorted(FOLDER.glob(pattern))
    if not files:
        pytest.skip(f"no {pattern} in {FOLDER}; GPUSIM_VENDOR_KERNELS names another folder")
    return files[0]


@pytest.mark.parametrize(
    ("pattern", "kernels"),
    [
        ("rocblas/*/library/TensileLibrary_gfx803.co", 219),
        ("rocblas/*/library/Kernels.so-000-gfx803.hsaco", 1542),
        ("librocrand.so.*", 204),
    ],
)
def test_kernels_of_a_vendor(pattern: str, kernels: int) -> None:
    loaded = list(load_code_object(found(pattern)).kernels.values())
    assert len(loaded) == kernels
    for kernel in loaded[:: len(loaded) // EACH]:
        assert build_program(kernel).instructions


def test_long_branches_of_assembly_kernels_are_followed() -> None:
    kernels = load_code_object(found("rocblas/*/library/TensileLibrary_gfx803.co")).kernels.values()
    jumps = [i for k in kernels for i in decode_kernel(k) if i.opcode.mnemonic == "s_setpc_b64"]
    assert len(jumps) == 209 and all(len(jump.jump_targets) == 1 for jump in jumps)


@pytest.mark.parametrize("timing", [False, True])
def test_a_matrix_product_of_rocblas(timing: bool) -> None:
    """D = 2 A B + 3 C, all column-major, with edges that fill no tile; arguments as Tensile's kernels name them."""
    gpu = gpusim.Device(gpusim.GpuSpec(memory_mib=16), timing=timing, quiet=True)
    module = gpu.load(found("rocblas/*/library/TensileLibrary_gfx803.co"))
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
