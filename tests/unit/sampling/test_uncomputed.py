"""Is an array that skipped workgroups should have written refused, until something has written it?"""

import struct
from pathlib import Path

import numpy as np
import pytest

import gpusim
from gpusim.jobs.api.device_array import DeviceArrayError

KERNELS = Path(__file__).parents[2] / "data" / "kernels"
SMALL = gpusim.GpuSpec(name="small", shader_arrays=1, cus_per_array=1, memory_mib=1)
WHY = "nobody computed it"


def test_what_arguments_point_into_is_marked() -> None:
    gpu = gpusim.Device(SMALL, timing=False, quiet=True)
    read = gpu.array(np.ones(100), read_only=True, name="read")
    written, other = gpu.zeros(100, name="written"), gpu.zeros(100, name="other")
    gpu.memory.set_uncomputed(struct.pack("<QQII", read.address, written.address + 8, 7, 9), WHY)
    with pytest.raises(DeviceArrayError, match=f"array 'written': {WHY}"):
        written.numpy()
    with pytest.raises(DeviceArrayError):
        np.asarray(written)
    assert read.numpy().all() and not other.numpy().any()  # a kernel cannot write to the one, and has no other pointer
    written.write(np.float32(3))
    assert (written.numpy() == 3).all()


def test_a_mark_goes_with_its_memory() -> None:
    gpu = gpusim.Device(SMALL, timing=False, quiet=True)
    first = gpu.zeros(100)
    gpu.memory.set_uncomputed(struct.pack("<Q", first.address), WHY)
    address = first.address
    first.free()
    again = gpu.zeros(100)
    assert again.address == address and not again.numpy().any()


def test_what_cannot_be_sampled_is_refused() -> None:
    gpu = gpusim.Device(SMALL, timing=False, quiet=True)
    with pytest.raises(gpusim.UserError, match="nothing to sample"), gpu.queue(sample=True):
        pass


def test_a_launch_that_is_given_it_is_mentioned(capsys: pytest.CaptureFixture[str]) -> None:
    gpu = gpusim.Device(SMALL)
    add = gpu.load(KERNELS / "vector_add.hsaco")["vector_add"]
    read, written = gpu.zeros(64, name="read"), gpu.zeros(64, name="written")
    gpu.launch(add, 64, 64, [read, read, written, 64])
    assert "written" not in capsys.readouterr().err
    gpu.memory.set_uncomputed(struct.pack("<Q", written.address), WHY)
    gpu.launch(add, 64, 64, [read, written, read, 64])
    said = capsys.readouterr().err
    assert said.count("'vector_add' is given 'written', where a sampled launch has skipped workgroups") == 1
    written.write(np.float32(3))
    gpu.launch(add, 64, 64, [read, written, read, 64])
    assert "skipped" not in capsys.readouterr().err
