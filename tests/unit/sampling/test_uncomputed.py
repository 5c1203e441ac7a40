"""Is an array that skipped workgroups should have written refused, until something has written it?"""

import struct
from typing import Any

import numpy as np
import pytest

import gpusim
from gpusim.jobs.api.device_array import DeviceArrayError
from isa.execution.control_slice import ControlSliceError
from workloads.toolchain.build import PLACED_KERNELS_DIR, code_object_path

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


@pytest.fixture
def gathering() -> dict[str, Any]:
    """A gather: `list` decides which elements of `x` are summed into `y`."""
    gpu = gpusim.Device(SMALL, quiet=True)
    kernel = gpu.load(code_object_path("placed", PLACED_KERNELS_DIR, gpu.gpu.architecture))["gathered"]
    plan = gpu.array(np.array([[1, 1, 0, 0]] * 4, np.uint32), read_only=True, name="plan")
    arrays = {"list": gpu.array(np.arange(256, dtype=np.uint32), name="list")}
    arrays |= {name: gpu.array(np.ones(256, np.float32), name=name) for name in ("x", "y")}

    def launch(**options: Any) -> Any:
        given = [plan, *arrays.values(), np.uint32(256), np.uint32(0)]
        return gpu.launch(kernel, 256, 64, given, **options)

    return {"gpu": gpu, "launch": launch, **arrays}


def skipped(gathering: dict[str, Any], name: str) -> None:
    gathering["gpu"].memory.set_uncomputed(struct.pack("<Q", gathering[name].address), WHY)


@pytest.mark.compiled_tier
@pytest.mark.parametrize("sample", [False, True])
def test_a_launch_whose_time_depends_on_what_was_skipped_is_refused(gathering: dict[str, Any], sample: bool) -> None:
    skipped(gathering, "list")
    with pytest.raises(gpusim.UserError, match=r"'gathered': 'list' decides .* functional=True \(--functional\)"):
        gathering["launch"](sample=sample)
    gathering["list"].write(np.zeros(256, np.uint32))
    assert gathering["launch"](sample=sample).kernel.cycles


@pytest.mark.compiled_tier
def test_what_is_computed_from_what_was_skipped_is_refused_too(gathering: dict[str, Any]) -> None:
    before = gathering["launch"]().kernel.cycles
    skipped(gathering, "y")
    gathering["launch"]()  # it writes y alone
    assert gathering["x"].numpy().all()
    gathering["y"].write(np.float32(0))
    skipped(gathering, "x")
    assert gathering["launch"]().kernel.cycles == before, "values of x decide no time"
    with pytest.raises(DeviceArrayError, match="'gathered' has computed it from 'x'"):
        gathering["y"].numpy()


@pytest.mark.compiled_tier
def test_a_kernel_whose_addresses_are_not_known_is_refused(
    gathering: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(kernel: object) -> None:
        raise ControlSliceError("it has private memory")

    monkeypatch.setattr("gpusim.jobs.host.chains.needed_of", fail)
    assert gathering["launch"]().kernel.cycles
    skipped(gathering, "x")
    with pytest.raises(gpusim.UserError, match=r"not known whether 'x' decides .* it has private memory"):
        gathering["launch"]()
