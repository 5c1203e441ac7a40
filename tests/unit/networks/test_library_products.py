"""Are layers' products by a library over the layers' own tensors, in the library's terms, and refused without one?"""

import ctypes.util
import struct

import numpy as np
import pytest

from gpusim.base.errors import UserError
from gpusim.config.gpu import load_gpu
from gpusim.config.network import load_network
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.networks.library import LibraryMultiplier, moved
from gpusim.jobs.networks.run import build_schedule
from gpusim.jobs.networks.settings import iteration_settings
from isa.device_memory import DeviceMemory
from isa.kernarg import Pointer, pack
from isa.launch import Launch
from tests.unit.workloads.test_primitives import GPU
from workloads.networks.binding import bind_primitives
from workloads.networks.kind import Pass
from workloads.operators.conv_im2col_chunked import Im2colChunkedForward
from workloads.operators.convolution import Convolution
from workloads.operators.fully_connected import (
    FullyConnectedBackwardData,
    FullyConnectedBackwardWeights,
    FullyConnectedForward,
)
from workloads.operators.launching import kernel_of
from workloads.operators.primitive import build

SHAPE, OUTPUTS = (6, 40), 24
KERNEL = kernel_of("sgemm", "sum_parts")


class Asked:
    """A multiplier that launches nothing: what it was asked for, as BLAS says it."""

    def __init__(self) -> None:
        self.calls: list[tuple] = []

    def launches(self, layout, operands, memory, sizes, leading, add):
        self.calls.append((layout, [one.address for one in operands], sizes, leading, add))
        return ()


def column_major(memory: DeviceMemory, address: int, rows: int, columns: int, leading: int) -> np.ndarray:
    """The matrix as BLAS sees it: the element in row r and column c lies at r + c leading."""
    first = next(one for one in memory.allocations if one.address <= address < one.address + one.size_bytes)
    held = memory.view(first).view(np.float32)[(address - first.address) // 4 :]
    row, column = np.mgrid[:rows, :columns]
    return held[row + column * leading].astype(np.float64)


@pytest.mark.parametrize("kind", [FullyConnectedForward, FullyConnectedBackwardData, FullyConnectedBackwardWeights])
def test_a_pass_is_the_product_that_the_library_is_asked_for(kind: type) -> None:
    asked, memory = Asked(), DeviceMemory(1 << 20)
    primitive = kind(SHAPE, OUTPUTS, by=asked)
    operator = build(primitive, memory, GPU)
    assert not operator.launches and not primitive.workspace
    ((layout, addresses, (m, n, k), (lda, ldb, ldc), add),) = asked.calls
    a, b = (
        column_major(memory, at, *(size if not turned else size[::-1]), leading)
        for at, size, turned, leading in (
            (addresses[0], (m, k), layout[0] == "t", lda),
            (addresses[1], (k, n), layout[1] == "t", ldb),
        )
    )
    product = (a.T if layout[0] == "t" else a) @ (b.T if layout[1] == "t" else b)
    (result,) = primitive.reference(operator.inputs).values()
    assert (ldc, add) == (m, False) and addresses[2] == operator.tensors[primitive.operands[2]].address
    np.testing.assert_allclose(product.T, result.value.reshape(n, m), rtol=1e-12, atol=1e-12)


def test_each_group_of_a_convolution_is_a_product() -> None:
    asked = Asked()
    windows = Convolution((2, 4, 6, 6), 6, (3, 3), (1, 1), (1, 1, 1, 1), groups=2)
    operator = build(Im2colChunkedForward(windows, by=asked), DeviceMemory(1 << 20), GPU)
    weight = operator.tensors["weight"].address
    assert len(asked.calls) == windows.groups == 2
    assert [call[1][1] - weight for call in asked.calls] == [0, 4 * 3 * 18]  # filters of a group, their values
    assert not any(launch.kernel.name.startswith("sgemm") for launch in operator.launches)


def test_launches_lead_to_the_layers_tensors() -> None:
    program, layer = DeviceMemory(1 << 20), DeviceMemory(1 << 20)
    of_program = [program.allocate(4096, name) for name in "abc"]
    of_layer = [layer.allocate(4096, name).address for name in "cab"]
    arrays = [(one.address, one.size_bytes) for one in of_program]

    def launched(partial: int, c: int) -> Launch:
        packed = pack(KERNEL, {"partial": Pointer(partial), "c": Pointer(c), "parts": 1, "n": 4})
        return Launch(KERNEL, program, packed.block, (64, 1, 1), (64, 1, 1))

    found = moved(launched(arrays[1][0] + 16, arrays[2][0]), layer, arrays, of_layer)
    assert found.memory is layer and found.pointers == [of_layer[1] + 16, of_layer[2]]
    assert struct.unpack_from("<II", found.kernarg, 16) == (1, 4), "what is no pointer stays"
    with pytest.raises(UserError, match=r"'sum_parts': argument 'c' points to memory of the library's own"):
        moved(launched(arrays[0][0], arrays[2][0] + 4096 * 4), layer, arrays, of_layer)


@pytest.mark.skipif(ctypes.util.find_library("rocblas") is not None, reason="rocBLAS is installed")
def test_without_the_library_a_layer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUSIM_VENDOR_ROOT", raising=False)
    settings = NetworkSettings(gpu=load_gpu("mi6", ["memory_mib=64"]), products="rocblas_mac")
    network = load_network({"input": [20], "layers": [{"name": "fc", "kind": "fully_connected", "outputs": 16}]})
    schedule = build_schedule(network, settings, 4, train=True)
    iteration = iteration_settings(settings)
    assert isinstance(iteration.multiplier, LibraryMultiplier)
    (forward,) = (one for one in schedule.steps if one.what is Pass.FORWARD)
    (part,) = bind_primitives(schedule, forward, iteration)
    with pytest.raises(UserError, match=r"rocblas_mac: librocblas.so.0 is not there: apt install librocblas0"):
        build(part.primitive, DeviceMemory(1 << 20), GPU)
