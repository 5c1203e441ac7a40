"""Are a library's results read as they are stored, and its launches not torn apart by sampling?"""

from pathlib import Path

import numpy as np
import pytest

from gpusim.jobs.hip.recording import ProgramRecording
from gpusim.jobs.running.operators import launch_commands
from gpusim.jobs.vendor import LibraryProduct
from isa.device_memory import DeviceMemory
from isa.launch import Launch
from isa.object.code_object import load_code_object
from workloads.operators.gemm import GemmBuffers
from workloads.shapes import GemmShape
from workloads.vendor.libraries import VENDOR_PRODUCTS

KERNELS = Path(__file__).resolve().parents[2] / "data" / "kernels"


@pytest.mark.parametrize("name", sorted(VENDOR_PRODUCTS))
def test_c_is_read_as_the_library_stores_it(name: str) -> None:
    shape, product = GemmShape(3, 5, 4), VENDOR_PRODUCTS[name]
    buffers = GemmBuffers.allocate(shape, DeviceMemory(1 << 20))
    expected = np.arange(15, dtype=np.float32).reshape(5, 3)  # [N, M]
    if name == "rocsparse_csrmm":  # C's transpose, column-major: M columns of N, without a gap
        buffers.c_stored.reshape(-1)[:15] = expected.T.reshape(-1)
    else:
        buffers.c_stored[:, :3] = expected
    assert (LibraryProduct(product, buffers, ProgramRecording()).outputs["C"] == expected).all()


@pytest.mark.parametrize("name", sorted(VENDOR_PRODUCTS))
def test_what_later_kernels_read_is_computed_though_it_is_skipped(name: str) -> None:
    """A sparse product converts B first; how long a dense one takes depends on no value."""
    memory = DeviceMemory(1 << 20)
    kernel = load_code_object(KERNELS / "vector_add.hsaco").kernels["vector_add"]
    recording = ProgramRecording(steps=[Launch(kernel, memory, b"", (64, 1, 1), (64, 1, 1)) for _ in range(3)])
    product = LibraryProduct(VENDOR_PRODUCTS[name], GemmBuffers.allocate(GemmShape(3, 5, 4), memory), recording)
    decisive = [command.decisive for command in launch_commands(product)]
    assert decisive == [VENDOR_PRODUCTS[name].sparse] * 3
