"""Does the interface for scripts compute what the kernels say, share memory and caches, and tell what is wrong?"""

import gc
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import gpusim
from gpusim.base.progress import Progress
from gpusim.config.files import SHIPPED
from isa.device_memory import VIRTUAL_BASE
from isa.execution import executor

DATA = Path(__file__).parents[2] / "data"
SMALL = gpusim.GpuSpec.model_validate(
    {"name": "small", "shader_arrays": 1, "cus_per_array": 2, "memory_mib": 16, "kernel_launch_us": 2.0}
)
N = 200


def functional() -> gpusim.Device:
    return gpusim.Device(SMALL, timing=False, quiet=True)


def function(file: str, name: str) -> gpusim.KernelFunction:
    return functional().load(DATA / file)[name]


ADD = "kernels/vector_add.hsaco"


def add(gpu: gpusim.Device, **options: object) -> tuple[gpusim.DeviceArray, gpusim.LaunchResult]:
    host = np.arange(N, dtype=np.float32)
    a, b, c = gpu.array(host), gpu.array(3 * host), gpu.zeros(N, name="c")
    result = gpu.launch(gpu.load(DATA / ADD)["vector_add"], N, 64, [a, b, c, np.uint32(N)], **options)  # type: ignore[arg-type]
    np.testing.assert_array_equal(c, 4 * host)
    return c, result


def test_results_and_metrics_by_attribute_and_as_the_json_of_a_run() -> None:
    _, result = add(gpusim.Device(SMALL, quiet=True), checked=True)
    tree = result.to_dict()
    assert json.loads(json.dumps(tree, allow_nan=False)) == tree
    assert result.kernel.cycles == tree["kernel"]["cycles"] > 0
    assert result.l2.hit_rate == tree["l2"]["hit_rate"]
    assert result.engine is None
    assert tree["host"]["time_us"] == pytest.approx(result.kernel.time_us + 2.0)
    assert tree["config"]["launch"]["global_size"] == [N, 1, 1]
    assert tree["config"]["gpu"]["name"] == "small"
    assert not result.partial
    assert f"{result.kernel.cycles:,} cycles" in repr(result)
    assert "cycles" in dir(result.kernel) and "kernel" in dir(result)
    with pytest.raises(AttributeError, match=r"unknown metric 'kernel.cycle'; did you mean 'cycles'"):
        _ = result.kernel.cycle
    with pytest.raises(AttributeError, match="did you mean 'kernel'"):
        _ = result.kernels


def test_hot_spots_are_the_asked_number_of_costliest_instructions() -> None:
    _, result = add(gpusim.Device(SMALL, quiet=True), hotspots=2)
    first, second = result.hotspots
    assert first.cycles >= second.cycles > 0
    assert {first.instruction, second.instruction} & {"s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)"}
    assert len(result.to_dict()["hotspots"]) == 2


def test_without_timing_counts_are_the_same_and_times_are_unknown() -> None:
    _, timed = add(gpusim.Device(SMALL, quiet=True))
    _, result = add(functional())
    for path in ("wavefront_instructions", "valu_instructions", "other_instructions", "wavefronts", "workgroups"):
        assert result.kernel[path] == timed.kernel[path]
    assert result.kernel.cycles is None
    assert (result.l1, result.dram, result.stalls, result.host, result.roofline) == (None,) * 5
    json.dumps(result.to_dict(), allow_nan=False)
    assert "not modelled" in repr(result)


def test_launches_share_memory_and_caches_by_choice() -> None:
    gpu = gpusim.Device(SMALL, quiet=True)
    whole = 192  # elements in 12 whole lines
    host = np.arange(whole, dtype=np.float32)
    kernel = gpu.load(DATA / ADD)["vector_add"]
    a, b = gpu.array(host), gpu.zeros(whole)
    first = gpu.launch(kernel, whole, 64, [a, a, b, whole])
    warm = gpu.launch(kernel, whole, 64, [b, b, b, whole], caches="warm", checked=True)
    np.testing.assert_array_equal(b.numpy(), 4 * host)
    assert (first.dram.reads >= 12, warm.dram.reads) == (True, 0)
    assert warm.l2.hit_rate == 1.0
    flushed = gpu.launch(kernel, whole, 64, [b, b, b, whole])
    assert flushed.dram.reads == first.dram.reads


def test_loads_of_a_launch_go_past_l1_by_choice() -> None:
    size, past_all = 192, SMALL.with_l1_bypass(True)

    def requests(device: gpusim.Device, *choices: bool | None) -> list[int]:
        kernel, a, b = device.load(DATA / ADD)["vector_add"], device.zeros(size), device.zeros(size)
        with device.queue() as queue:
            for choice in choices:
                queue.launch(kernel, size, 64, [a, a, b, size], l1_bypass=choice)
        return [launch.l1.misses for launch in queue.result.launches]

    through, past, again = requests(gpusim.Device(SMALL, quiet=True), None, True, False)
    assert (through, past, again) == (24, 36, 24)  # 12 lines, read and stored; past L1 a second read asks again
    assert requests(gpusim.Device(past_all, quiet=True), None, True, False) == [past, past, through]
    gpu = gpusim.Device(SMALL, quiet=True)
    b = gpu.zeros(64)
    result = gpu.launch(gpu.load(DATA / ADD)["vector_add"], 64, 64, [b, b, b, 64], l1_bypass=True)
    assert result.config["launch"]["l1_bypass"] is True


def test_dynamic_local_memory_and_a_required_size() -> None:
    gpu = functional()
    reverse = gpu.load(DATA / "isa/basic_clang19_v5.hsaco")["reverse"]
    host = np.arange(64, dtype=np.float32)
    c = gpu.zeros(64)
    gpu.launch(reverse, 64, args=[gpu.array(host), c, gpusim.Local(256)])
    np.testing.assert_array_equal(c, 3 * host[::-1])
    with pytest.raises(gpusim.ExecutionFault, match=r"outside the workgroup's LDS.*the workgroup has 384 bytes"):
        gpu.launch(reverse, 64, args=[gpu.array(host), c, gpusim.Local(128)])
    with pytest.raises(gpusim.GridError, match=r"requires local_size \(64, 1, 1\), the launch has \(32, 1, 1\)"):
        gpu.launch(reverse, 64, 32, args=[gpu.array(host), c, gpusim.Local(256)])


def test_three_dimensions_and_an_offset() -> None:
    gpu = functional()
    place = gpu.load(DATA / "kernels/geometry.hsaco")["place"]
    out = gpu.zeros((3, 5, 8), np.uint32)
    gpu.launch(place, (8, 5, 3), (4, 2, 1), [out, 8, 5])
    z, y, x = np.indices((3, 5, 8))
    np.testing.assert_array_equal(out, x % 4 | (y % 2) << 8 | (x // 4) << 24 | 0 * z)
    example = gpu.load(SHIPPED / "examples/vector_add.hsaco")["vector_add"]
    c = gpu.zeros(N)
    a = gpu.array(np.ones(N, np.float32))
    gpu.launch(example, 100, 64, {"a": a, "b": a, "c": c, "n": N}, global_offset=50)
    np.testing.assert_array_equal(c, 2.0 * ((np.arange(N) >= 50) & (np.arange(N) < 150)))


def test_a_raw_block_for_objects_without_metadata_and_endless_loops_are_stopped() -> None:
    gpu = functional()
    kernel = gpu.load(DATA / "kernels/endless.hsaco")["endless"]
    c = gpu.zeros(1, np.uint32)
    gpu.launch(kernel, 64, 64, kernarg=np.array([0, c.address], np.uint64).tobytes())
    endless = np.array([7, c.address], np.uint64).tobytes()
    with pytest.raises(gpusim.ExecutionFault, match=r"s_cbranch_scc1.*instruction limit.*endless loop"):
        gpu.launch(kernel, 64, 64, kernarg=endless, max_instructions=1000)
    assert c.numpy() == 7
    with pytest.raises(gpusim.ExecutionFault, match="instruction limit"):
        gpusim.Device(SMALL, quiet=True).launch(kernel, 64, 64, kernarg=bytes(16), max_instructions=5)
    with pytest.raises(gpusim.LaunchError, match="takes 16 bytes of arguments, kernarg has 3"):
        gpu.launch(kernel, 64, 64, kernarg=b"123")
    with pytest.raises(gpusim.KernargError, match="pass the whole block of 16 bytes with kernarg=bytes"):
        gpu.launch(kernel, 64, 64, [c])


@pytest.mark.parametrize("timing", [True, False])
def test_a_kernel_of_a_timed_device_is_translated_when_all_is_compiled(
    timing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    translate = executor.program_of
    monkeypatch.setattr("gpusim.model.core.prepare.prepare_ahead", lambda: done.append("compiled"))
    monkeypatch.setattr(executor, "program_of", lambda kernel: done.append("translated") or translate(kernel))
    gpusim.Device(SMALL, timing=timing, quiet=True).load(DATA / ADD)["vector_add"]
    assert done == ["compiled"] * timing + ["translated"]


def test_missing_wait_states_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    gpu = gpusim.Device(SMALL, timing=False)
    kernel = gpu.load(DATA / "kernels/operands.hsaco")["operands"]  # written by hand
    data = gpu.array(np.ones(128, np.uint32)), gpu.zeros(64 * 40, np.uint32)
    for _ in range(2):
        gpu.launch(kernel, 64, 64, data)
    add(gpu)
    reported = [line for line in capsys.readouterr().err.splitlines() if "wait state" in line]
    assert reported == [
        "gpusim: kernel 'operands': 3 missing wait states: real hardware would read old values; see gpusim disasm"
        " --hazards"
    ]
    assert [violation.missing for violation in kernel.violations] == [1, 2]


@pytest.mark.parametrize("timing", [False, True])
def test_faults_name_kernel_instruction_lane_address_and_the_nearest_array(timing: bool) -> None:
    gpu = gpusim.Device(SMALL, timing=timing, quiet=True)
    a, c = gpu.array(np.ones(N, np.float32)), gpu.zeros(100, name="too short")
    with pytest.raises(gpusim.ExecutionFault) as caught:
        gpu.launch(gpu.load(DATA / ADD)["vector_add"], N, 64, [a, a, c, N])
    fault = caught.value
    assert (fault.kernel, fault.workgroup, fault.wavefront, fault.lane) == ("vector_add", 1, 0, 36)
    assert fault.address == c.address + 400
    assert "flat_store_dword" in str(fault) and "nearest allocation 'too short'" in str(fault)
    _, after = add(gpu)
    assert after.kernel.workgroups == 4


def test_read_only_arrays_and_the_null_pointer() -> None:
    gpu = functional()
    kernel = gpu.load(DATA / ADD)["vector_add"]
    a = gpu.array(np.ones(N, np.float32), name="weights", read_only=True)
    with pytest.raises(gpusim.ExecutionFault, match=r"write to read-only memory.*'weights'"):
        gpu.launch(kernel, N, 64, [a, a, a, N])
    with pytest.raises(gpusim.ExecutionFault, match="address 0x0 "):
        gpu.launch(kernel, N, 64, [a, a, None, N])


def test_memory_is_used_again_and_freed_arrays_are_refused() -> None:
    gpu = functional()
    for _ in range(40):  # of 1 MiB each, in 16 MiB
        array = gpu.zeros(1 << 18)
    address = array.address
    array.free()
    for use in (array.numpy, array.free, lambda: array.address):
        with pytest.raises(gpusim.DeviceArrayError, match="was freed"):
            use()
    assert "freed" in repr(array)
    again = gpu.array(np.ones(1 << 18, np.float32))
    assert again.address <= address
    held = [again]
    with pytest.raises(gpusim.DeviceMemoryError, match="do not fit"):
        while True:
            held.append(gpu.zeros(1 << 18))
    held.clear()
    gc.collect()
    assert len(gpu.memory.allocations) <= 1


@pytest.mark.parametrize("dtype", [">f4", ">i2", ">f8", "<f4"])
def test_an_array_of_any_byte_order_reaches_kernels_in_theirs(dtype: str) -> None:
    gpu = functional()
    values = np.arange(8).astype(dtype)
    array = gpu.array(values)
    np.testing.assert_array_equal(array.numpy(), values)
    native = values.astype(values.dtype.newbyteorder("<"))
    assert bytes(gpu.memory.image[array.address - VIRTUAL_BASE :][: values.nbytes]) == native.tobytes()
    zeros = gpu.zeros(8, dtype)
    zeros.write(native)
    np.testing.assert_array_equal(zeros.numpy(), values)


def test_writing_reading_and_pointing_into_arrays() -> None:
    gpu = functional()
    c = gpu.zeros((2, 3), np.int16)
    c.write(np.arange(6, dtype=np.int16).reshape(2, 3))
    copy = c.numpy()
    c.write(5)
    assert (copy.sum(), c.numpy().sum(), c.nbytes) == (15, 30, 12)
    assert c.pointer(4) == gpusim.Pointer(c.address + 4)
    with pytest.raises(gpusim.DeviceArrayError, match=r"holds int16 of shape \(2, 3\), not int64 of \(6,\)"):
        c.write(np.arange(6))
    with pytest.raises(gpusim.DeviceArrayError, match="offset 12 of 12 bytes"):
        c.pointer(12)
    for wrong in (np.array([None]), np.zeros(0)):
        with pytest.raises(gpusim.DeviceArrayError):
            gpu.array(wrong)
    with pytest.raises(gpusim.DeviceArrayError, match="masked"):
        gpu.array(np.ma.masked_array([1, 2], [True, False]))
    fortran = np.asfortranarray(np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(gpu.array(fortran), fortran)


@pytest.mark.parametrize(
    ("options", "error", "part"),
    [
        ({"global_size": 0}, gpusim.GridError, "global_size (0,): allowed are 1 to"),
        ({"global_size": (1, 2, 3, 4)}, gpusim.GridError, "global_size is 1 to 3 whole numbers"),
        ({"global_size": 1.5}, gpusim.GridError, "not 1.5"),
        ({"local_size": None}, gpusim.GridError, "local_size is missing"),
        ({"local_size": 512}, gpusim.GridError, "at most 256 work-items, local_size (512, 1, 1) has 512"),
        ({"caches": "hot"}, gpusim.LaunchError, "'flushed' or 'warm', not 'hot'"),
        ({"caches": "warm"}, gpusim.LaunchError, "without timing"),
        ({"l1_bypass": True}, gpusim.LaunchError, "without timing"),
        ({"l1_bypass": "yes"}, gpusim.LaunchError, "l1_bypass is True, False or None, not str 'yes'"),
        ({"checked": True}, gpusim.LaunchError, "without timing"),
        ({"hotspots": 3}, gpusim.LaunchError, "without timing"),
        ({"max_instructions": 0}, gpusim.LaunchError, "max_instructions: 0 is not a whole number of at least 1"),
        ({"kernarg": b""}, gpusim.LaunchError, "takes the place of args"),
        ({"global_offset": 1}, gpusim.KernargError, "takes no global offset x"),
        ({"args": [None]}, gpusim.KernargError, "takes 4 arguments, 1 given"),
    ],
)
def test_wrong_launches_are_told(options: dict, error: type[Exception], part: str) -> None:
    gpu = functional()
    settings = {"global_size": 64, "local_size": 64, "args": [None, None, None, 0], **options}
    with pytest.raises(error) as caught:
        gpu.launch(gpu.load(DATA / ADD)["vector_add"], **settings)
    assert part in str(caught.value)
    assert isinstance(caught.value, gpusim.UserError)


def test_arrays_of_another_device_are_refused() -> None:
    gpu, other = functional(), functional()
    with pytest.raises(gpusim.LaunchError, match="'mine' lies on another device"):
        gpu.launch(function(ADD, "vector_add"), 64, 64, [other.zeros(1, name="mine"), None, None, 0])


def test_names_of_kernels_and_devices_are_told(tmp_path: Path) -> None:
    gpu = functional()
    module = gpu.load(DATA / "kernels/geometry.hsaco")
    assert {"place", "endless"} <= set(module)
    assert "place" in module and "plaice" not in module
    with pytest.raises(gpusim.KernelNameError, match="unknown kernel 'plaice'; did you mean 'place'"):
        module["plaice"]
    assert "place(uint*, uint, uint)" in repr(module["place"])
    with pytest.raises(gpusim.CodeObjectError, match=r"none\.hsaco: cannot be read"):
        gpu.load(tmp_path / "none.hsaco")
    with pytest.raises(gpusim.UserError, match="did you mean 'r9nano'"):
        gpusim.Device("r9nan")
    assert gpusim.Device("r9nano", sets=["l2.size_kib=4096"]).gpu.l2.size_kib == 4096
    assert gpusim.Device("sim_configs/gpus/r9nano.yaml").gpu.name == "R9 Nano"


@pytest.mark.parametrize("timing", [False, True])
def test_an_observer_ends_a_launch(timing: bool) -> None:
    gpu = gpusim.Device(SMALL, timing=timing, quiet=True)
    kernel = gpu.load(DATA / "kernels/endless.hsaco")["endless"]
    c = gpu.zeros(1, np.uint32)
    reported: list[Progress] = []

    def observer(progress: Progress) -> bool:
        reported.append(progress)
        return len(reported) < 2

    result = gpu.launch(kernel, 64, 64, kernarg=np.array([7, c.address], np.uint64).tobytes(), observer=observer)
    assert result.partial and result.to_dict()["partial"]
    assert (result.kernel.workgroups, result.kernel.workgroups_total) == (0, 1)
    assert reported[1].wavefront_instructions > reported[0].wavefront_instructions


@pytest.mark.compiled_tier  # host code
def test_the_packages_names_are_known() -> None:
    spec = importlib.util.find_spec("gpusim")
    assert spec is not None and spec.loader is not None
    fresh = importlib.util.module_from_spec(spec)  # in which no name has been looked up
    spec.loader.exec_module(fresh)
    assert "Device" in dir(fresh)
    assert all(getattr(fresh, name) is not None for name in fresh.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Devise'"):
        _ = gpusim.Devise  # type: ignore[attr-defined]
