"""Does what a kernel may not do end in one clear error, with everything named?"""

from dataclasses import replace

import numpy as np
import pytest

from isa.device_memory import DeviceMemoryError
from isa.execution.emulator import run_functional
from isa.execution.executor import FunctionalContext
from isa.execution.faults import (
    FAULT_LDS,
    FAULT_LIMIT,
    FAULT_READ_ONLY,
    FAULT_SPARSE,
    FAULT_UNMAPPED,
    ExecutionFault,
)
from isa.grid import GridError
from isa.kernarg import KernargError
from isa.region import SparseRegion
from spartan.formats import pack_matrix
from tests.support.functional import Device, kernel


def test_store_outside_names_everything():
    device = Device()
    start = device.put("out", np.zeros(64, np.int32))
    with pytest.raises(ExecutionFault) as caught:
        device.run(kernel("geometry", "bad_store"), 64, 64, "out", 70)
    fault = caught.value
    assert (fault.code, fault.lane, fault.wavefront, fault.workgroup) == (FAULT_UNMAPPED, 9, 0, 0)
    assert fault.address == start + 280 and fault.size_bytes == 4
    text = str(fault)
    for part in (
        "bad_store",
        "flat_store_dword",
        "lane 9",
        f"{start + 280:#x}",
        "'out'",
        f"pc {fault.program_counter:#x}",
    ):
        assert part in text


def test_the_last_bytes_of_an_allocation_are_exact():
    device = Device()
    device.put("out", np.zeros(61, np.int32))
    k = kernel("geometry", "bad_store")
    device.run(k, 64, 64, "out", 60)
    assert device.get("out")[60] == 1
    with pytest.raises(ExecutionFault):
        device.run(k, 64, 64, "out", 61)


def test_store_to_read_only_memory():
    device = Device()
    device.put("out", np.zeros(64, np.int32), writable=False)
    with pytest.raises(ExecutionFault) as caught:
        device.run(kernel("geometry", "bad_store"), 64, 64, "out", 3)
    assert caught.value.code == FAULT_READ_ONLY
    assert not device.get("out").any()


def test_lds_overrun():
    device = Device()
    device.put("out", np.zeros(64, np.int32))
    k = kernel("geometry", "bad_lds")
    device.run(k, 64, 64, "out", 63)
    with pytest.raises(ExecutionFault) as caught:
        device.run(k, 64, 64, "out", 64)
    assert caught.value.code == FAULT_LDS and "256 bytes of LDS" in str(caught.value)


def test_endless_loop_reaches_the_limit():
    device = Device()
    device.put("out", np.zeros(1, np.int32))
    with pytest.raises(ExecutionFault) as caught:
        device.run(kernel("geometry", "endless"), 64, 64, "out", max_instructions=1000)
    assert caught.value.code == FAULT_LIMIT and "endless" in str(caught.value)


@pytest.mark.compiled_tier  # 40 s in plain Python until the observer is asked
def test_an_observer_ends_an_endless_run():
    device = Device()
    device.put("out", np.zeros(1, np.int32))
    result = device.run(kernel("geometry", "endless"), 64, 64, "out", observer=lambda progress: False)
    assert not result.finished and result.wavefront_instructions > 0


def test_short_kernel_arguments():
    device = Device()
    launch = device.launch(kernel("geometry", "bad_store"), 64, 64, 0x1000, 0)
    object.__setattr__(launch, "kernarg", b"1234")
    with pytest.raises(KernargError, match="bytes of arguments, got 4"):
        run_functional(launch)


def test_work_group_sizes_the_kernel_was_not_compiled_for():
    device = Device()
    device.put("out", np.zeros(1024, np.int32))
    with pytest.raises(GridError, match="requires work-groups"):
        device.run(kernel("reduction", "reduce_sum"), 256, 128, "out", "out", "out")
    with pytest.raises(GridError, match="up to"):
        device.run(kernel("geometry", "endless"), 2048, 2048, "out")


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("which", ["global_size", "local_size"])
def test_a_size_of_nothing_is_no_launch(which, axis):
    launch = Device().launch(kernel("geometry", "endless"), 64, 64, 0x1000)
    size = tuple(0 if n == axis else x for n, x in enumerate(getattr(launch, which)))
    with pytest.raises(GridError, match=f"launch of 'endless': size along {'xyz'[axis]} must be at least 1"):
        replace(launch, **{which: size})


def test_a_sparse_region_has_columns_that_begin_at_lines_and_rows_for_its_index():
    for rows, leading in ((1, 16), (64, 64), (65536, 65536)):
        assert SparseRegion(64, rows, 1, leading).column_bytes == 4 * leading
    for address, rows, leading in ((64, 65, 64), (64, 64, 72), (64, 0, 64), (64, 65537, 65552), (32, 16, 16)):
        with pytest.raises(ValueError, match="sparse region"):
            SparseRegion(address, rows, 1, leading)


def test_repeated_launches_use_their_device_memory_again():
    device = Device()
    device.put("out", np.zeros(64, np.int32))
    for _ in range(3):
        device.run(kernel("scratch", "private_table"), 64, 64, "out", "out", 64)
    assert len(device.memory.allocations) <= 4


def test_device_too_small_for_private_memory():
    device = Device(1 << 15)
    device.put("out", np.zeros(64, np.int32))
    launch = device.launch(kernel("scratch", "private_table"), 64, 64, "out", "out", 64)
    with pytest.raises(DeviceMemoryError):
        FunctionalContext(launch, 100, 10)


class TestSparseLoads:
    rows, columns, leading = 40, 3, 64

    def launch(self, registered, n=192, offset=0, name="ellpack_dib"):
        device = Device()
        rng = np.random.default_rng(3)
        dense = np.zeros((self.columns, self.leading), np.float32)
        dense[:, : self.rows] = rng.standard_normal((self.columns, self.rows)) * (
            rng.random((self.columns, self.rows)) < 0.5
        )
        dense[1] = 0
        address = device.put("b", dense.ravel())
        device.put("out", np.zeros(2 * n, np.uint32))
        dense[2, :16] = 0
        regions = (SparseRegion(address, self.rows, self.columns, self.leading, name),)
        shadow = pack_matrix(name, dense.ravel(), self.rows, self.leading)
        k = kernel("sparse", "sparse_read")
        launch = device.launch(k, n, 64, address + offset, "out", regions=regions)
        result = run_functional(launch, shadows=[shadow] if registered else None)
        return device.get("out").reshape(n, 2), dense, shadow, result

    def test_value_and_last_line(self):
        out, _, (image, lines, _), result = self.launch(True)
        for i in range(192):
            column, line = i // self.leading, i % self.leading // 16
            last = lines[column] - 1
            assert out[i, 0] == (image[i] if line <= last else 0)
            assert out[i, 1] == (line >= last)
        assert result.lines["sparse"] == 12 and result.lines["load"] == 0

    def test_the_number_of_a_line_comes_above_the_last_bit(self):
        out, dense, _, _ = self.launch(True, name="gathered_lines")
        expected = [(0, 0), (1, 0), (2, 1)], [(0, 1)], [(1, 0), (2, 1)]
        for column, lines in enumerate(expected):
            for line, (number, last) in enumerate(lines):
                at = column * self.leading + 16 * line
                assert set(out[at : at + 16, 1].tolist()) == {number << 1 | last}
                kept = dense[column, 16 * number : 16 * number + 16].view(np.uint32)
                np.testing.assert_array_equal(out[at : at + 16, 0], kept)

    def test_an_unregistered_region_is_ordinary_memory(self):
        out, dense, _, result = self.launch(False, n=128)
        words = dense.ravel().view(np.uint32)
        np.testing.assert_array_equal(out[:, 0], words[:128])
        np.testing.assert_array_equal(out[:, 1], words[1:129])
        assert result.lines["sparse"] == 0

    def test_outside_every_region(self):
        with pytest.raises(ExecutionFault) as caught:
            self.launch(True, n=256)
        assert caught.value.code == FAULT_SPARSE and caught.value.workgroup == 3 and caught.value.lane == 0
        assert "sparse_read" in str(caught.value) and "glc slc" in str(caught.value)


# around the ends of the address space, of the signed range, and where differences with the memory's base wrap
FAR = [
    (1 << bits) + more & (1 << 64) - 1
    for bits in (0, 32, 62, 63, 64)
    for more in (-(1 << 32), -3, -1, 0, (1 << 32) - 1)
]


@pytest.mark.parametrize("address", FAR, ids=hex)
def test_addresses_far_away(address):
    """A load, a store, a scalar load; the compiled interpreter's differences wrap."""
    device = Device()
    device.put("a", np.zeros(64, np.float32))
    for arguments in (("a", "a", address), (address, "a", "a")):
        with pytest.raises(ExecutionFault) as caught:
            device.run(kernel("vector_add", "vector_add"), 64, 64, *arguments, 1)
        assert caught.value.code == FAULT_UNMAPPED and caught.value.address == address
    with pytest.raises(ExecutionFault) as caught:
        device.run(kernel("saturate", "trap"), 64, 64, address, "a")
    assert caught.value.code == FAULT_UNMAPPED and caught.value.address == address & ~3
