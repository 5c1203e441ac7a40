"""Are AMD's own kernels for gfx803 decoded and translated, where a folder with them is at hand?

GPUSIM_VENDOR_KERNELS names a folder with the files of docs/vendor-kernels.md; without it, libraries that are installed
are looked for. Only some kernels of each file are translated here: `gpusim kernels check` does all.
"""

import os
from pathlib import Path

import pytest

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
