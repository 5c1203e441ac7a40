"""Do unmodified HIP programs run on the simulated GPU: do they compute, end and fail as on a card?"""

import json
import re
import subprocess
import sys
import time
from contextlib import chdir
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpusim.jobs.hip import session
from gpusim.jobs.hip.launching import Launcher
from tests.support.hip_programs import BEYOND, BEYOND_LDS, PROGRAMS, ROOT, case, pytestmark, run
from workloads.toolchain.compilers import with_library, without_library

__all__ = ["pytestmark"]


@pytest.mark.parametrize("program", ["runtime", "runtime6"])
def test_a_program_computes(program: str) -> None:
    assert case("basic", program=program) == "sum 249750.0\n"


def opencl(cases: tuple[str, ...], folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    (folder / "headers").mkdir()
    (folder / "headers/by.h").write_text("")
    with chdir(folder):
        return run(list(options), PROGRAMS / "opencl", *cases)


def test_an_opencl_program_finds_the_gpu_and_copies(tmp_path: Path) -> None:
    done = opencl(("info", "copies"), tmp_path, "--timing", "off", "--gpu", "mi6")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "gpusim MI6\n4 units, 64 MiB\n"


@pytest.mark.skipif(without_library() is None, reason="no clang with lld")
def test_an_opencl_program_compiles_and_launches_kernels_and_is_told_what_is_not_there(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    done = opencl(("vector", "local", "errors", "binary"), tmp_path, "--json", str(result))
    assert done.returncode == 0, done.stderr
    kernels = {row["name"]: row["launches"] for row in json.loads(result.read_text())["rows"]}
    assert kernels == {"add": 1, "second": 2, "sum": 1, "twice": 2}
    told_ns = int(re.findall(r"kernel (\d+) ns", done.stdout)[0])
    (add,) = (one for one in json.loads(result.read_text())["launches"] if one["kernel"]["name"] == "add")
    assert told_ns == round(1e3 * add["kernel"]["time_us"]) > 1000
    assert "gpusim: clEnqueueNativeKernel is not supported\n" in done.stderr


@pytest.mark.parametrize("gpu", ["mi6", "mi60"])
def test_an_opencl_program_s_images_are_copied_filled_and_mapped(gpu: str, tmp_path: Path) -> None:
    done = opencl(("images",), tmp_path, "--timing", "off", "--gpu", gpu)
    assert done.returncode == 0, done.stderr
    assert "gpusim: an image on a buffer's memory is not supported\n" in done.stderr
    assert "an image of channel order 0x10b6 and type 0x10d2: R, RG and RGBA" in done.stderr


@pytest.mark.skipif(with_library() is None, reason="no clang with AMD's device library")
@pytest.mark.parametrize("gpu", ["mi6", "mi60"])
def test_an_opencl_program_s_kernels_read_and_write_images(gpu: str, tmp_path: Path) -> None:
    done = opencl(("sampled",), tmp_path, "--timing", "off", "--gpu", gpu)
    assert done.returncode == 0, done.stderr
    assert "argument 0 of kernel doubled is of type image1d_array_t: the image given is an image2d_t" in done.stderr


@pytest.mark.parametrize("program", ["runtime", "runtime6"])
def test_the_device_is_the_configured_gpu(program: str) -> None:
    told = case("device", "--gpu", "mi6", "--set", "clock_ghz=1.5", program=program)
    assert told.startswith("gpusim MI6, gfx803, 4 CUs, 1500 MHz, 64 MiB, 2048 KiB of L2, 224 GB/s")


def test_memory_of_every_kind() -> None:
    assert case("memory").endswith(f"{64 << 20} bytes in all\n")


def test_occupancy_is_the_models() -> None:
    assert case("occupancy").startswith("10 blocks of 256 a CU, 2 with 32 KiB of LDS; best 40 x 256")


def test_kernels_print_and_assert() -> None:
    lines = case("print").splitlines()
    assert lines == ["before", *(f"lane {i} of kernel: {i / 2:.2f}" for i in range(66)), "after"]
    done = run(["--timing", "off"], PROGRAMS / "runtime", "assert")
    assert done.returncode == 1 and done.stdout == "hipErrorLaunchFailure\n"  # a fault, whatever the program says
    assert "Device-side assertion `x[threadIdx.x] == 0' failed." in done.stderr and "s_trap" in done.stderr


@pytest.mark.parametrize("program", ["runtime", "runtime6"])
@pytest.mark.parametrize("name", ["captured", "graph"])
def test_graphs_are_launched(name: str, program: str) -> None:
    case(name, program=program)


def test_what_is_not_supported_is_named_once() -> None:
    done = run(["--timing", "off"], PROGRAMS / "runtime", "unsupported")
    assert done.returncode == 0 and done.stdout == "not supported by gpusim\n"
    assert done.stderr.count("hipIpcGetMemHandle is not supported") == 1


def test_copies_and_fills_beyond_an_allocation_are_refused_and_said_once() -> None:
    done = run(["--timing", "off"], PROGRAMS / "edges", "copies")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("reaches beyond the allocation of 1000 bytes") == 1
    assert done.stderr.count("beyond the variable of 40 bytes") == 1


def test_too_much_lds_is_an_error_of_the_launch_itself() -> None:
    done = run(["--timing", "off"], PROGRAMS / "edges", "launches")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1048576 bytes of LDS does not fit a compute unit" in done.stderr


@pytest.mark.parametrize("options", [(), ("--timing", "off"), ("--check",)], ids=["timed", "executed", "checked"])
def test_a_grid_synchronizes(options: tuple[str, ...]) -> None:
    done = run([*options, "--quiet"], PROGRAMS / "edges", "grid", 8)
    assert done.returncode == 0 and done.stdout == "hipSuccess\n", done.stdout + done.stderr


def test_a_grid_that_is_too_large_or_not_complete_at_its_barrier_is_reported() -> None:
    done = run(["--timing", "off"], PROGRAMS / "edges", "grid", 1000)
    assert done.stdout == "hipErrorCooperativeLaunchTooLarge\n" and "1000 workgroups: the GPU holds" in done.stderr
    done = run(["--timing", "off"], PROGRAMS / "edges", "grid", 4, 1)
    assert done.stdout == "hipErrorLaunchFailure\n" and "1 more would have to come" in done.stderr
    done = run(["--quiet"], PROGRAMS / "edges", "grid", 4, 1)
    assert done.stdout == "hipErrorLaunchFailure\n"
    assert "3 wavefronts at 0x3688 ds_gws_barrier v4 gds: waiting at the grid's barrier" in done.stderr


def test_recursion_and_malloc_in_kernels_run_on_little_memory() -> None:
    assert case("deep", program="edges") == case("heap", program="edges") == ""


def test_an_access_in_the_drivers_block_is_let_through_and_said_once() -> None:
    done = run(["--timing", "off"], PROGRAMS / "edges", "beyond", 2000)
    assert done.stdout == "hipSuccess\n" and done.stderr.count("access outside every allocation") == 1
    done = run(["--timing", "off"], PROGRAMS / "edges", "beyond", 600000)
    assert done.stdout == "hipErrorLaunchFailure\n"
    for strict in (["--timing", "off", "--bounds", "page"], ["--check"]):
        done = run(strict, PROGRAMS / "edges", "beyond", 2000)
        assert done.stdout == "hipErrorLaunchFailure\n"


NULL = """
import ctypes, sys
hip, module, function, array = ctypes.CDLL("libamdhip64.so.5"), *(ctypes.c_void_p() for _ in range(3))
assert hip.hipModuleLoadData(ctypes.byref(module), open(sys.argv[1], "rb").read()) == 0
assert hip.hipModuleGetFunction(ctypes.byref(function), module, b"vector_add") == 0
assert hip.hipMalloc(ctypes.byref(array), 1024) == 0
given = (array, ctypes.c_void_p(int(sys.argv[2])), array, ctypes.c_uint(256))
arguments = (ctypes.c_void_p * 4)(*(ctypes.addressof(one) for one in given))
assert hip.hipModuleLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, None, arguments, None) == 0
print(hip.hipDeviceSynchronize())
"""


@pytest.mark.parametrize("address", [0, 64])
@pytest.mark.parametrize("bounds", ["loose", "exact"])
def test_a_null_pointer_ends_the_kernel_as_on_a_gpu(address: int, bounds: str) -> None:
    done = run(["--timing", "off", "--bounds", bounds], sys.executable, "-c", NULL, OF_THESE[2], str(address))
    assert (done.returncode, done.stdout) == (1, "719\n"), done.stderr
    said = f"access outside every allocation; workgroup 0, wavefront 0, lane 0, address {address:#x} (4 bytes)"
    assert done.stderr.count(said) == 1


@pytest.mark.parametrize("limit", [("--max-cycles", "20000"), ("--timing", "off", "--max-seconds", "0.3")])
def test_a_kernel_that_waits_for_the_program_is_ended_at_a_limit(limit: tuple[str, ...]) -> None:
    done = run([*limit, "--quiet"], PROGRAMS / "edges", "waiting")
    assert done.returncode == 1 and done.stdout == "hipErrorLaunchTimeOut\n"
    assert done.stderr.count("'wait_for' was ended after") == 1 and "waits for ever" in done.stderr


def test_what_a_launch_waits_for_before_its_first_instruction_is_none_of_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passed_s, run_launch = [0.0], Launcher.run

    def compile_first(launcher: Launcher, launch: Any, selected: bool, observer: Any, serve: Any) -> Any:
        passed_s[0] += 100  # as the compilation of the core takes
        assert observer(None), "the launch would be ended before its first instruction"
        return run_launch(launcher, launch, selected, observer, serve)

    monkeypatch.setattr(Launcher, "run", compile_first)
    monkeypatch.setattr(session, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + passed_s[0]))
    assert case("basic", "--max-seconds", "50") == "sum 249750.0\n" and passed_s[0] >= 100


def test_a_launch_that_a_fault_ended_is_a_launch_and_no_success() -> None:
    limit = ["--timing", "off", "--max-instructions", "1000"]
    done = run(limit, PROGRAMS / "runtime", "endless")
    assert done.returncode == 1 and done.stdout == "hipErrorLaunchFailure\n", "the program itself ends with 0"
    assert "endless loop" in done.stderr and "\ngpusim: gpusim hip --max-instructions N sets the limit\n" in done.stderr
    assert "a kernel's fault: the results are partial" in done.stderr and "no kernel was launched" not in done.stderr
    assert re.search(r"^1 \(1 with a fault\)\t.*\tspin$", done.stderr, re.MULTILINE)


def test_a_kernels_fault_is_a_launch_failure_with_all_that_is_known() -> None:
    done = run(["--timing", "off", "--bounds", "exact"], PROGRAMS / "runtime", "fault")
    assert done.returncode == 3 and done.stdout == "hipErrorLaunchFailure\n"
    assert re.search(
        r"kernel 'store', pc 0x\w+ \(flat_store_dword .*lane 16, .*nearest allocation 'hipMalloc", done.stderr
    )
    within_the_page = run(["--timing", "off"], PROGRAMS / "runtime", "fault")
    assert within_the_page.returncode == 1 and "hipSuccess" in within_the_page.stdout


def test_kernels_are_timed_by_name(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = run(["--kernels", "^sum$", "--json", str(file), "--quiet"], PROGRAMS / "runtime", "basic")
    assert done.returncode == 0 and not done.stderr
    result = json.loads(file.read_text())
    rows = {row["name"]: row for row in result["rows"]}
    (timed,) = (row for row in rows.values() if row["timed"])
    assert (result["total"]["launches"], result["total"]["simulated_launches"]) == (2, 1)
    assert result["kernel"]["cycles"] == timed["cycles"]
    assert timed["name"].startswith("_Z3sum") and timed["share"] == 1.0 and timed["bound"]
    assert all(row["cycles"] is None for row in rows.values() if row is not timed) and len(rows) == 2


def test_a_timeline_shows_the_launches_that_are_selected(tmp_path: Path) -> None:
    read_trace = pytest.importorskip("tests.support.trace_reader").read_trace
    file = tmp_path / "t.pftrace"
    done = run(["--timeline", str(file), "--timeline-only", "launch=2-3,5"], PROGRAMS / "runtime", "streams")
    assert done.returncode == 0, done.stderr
    trace = read_trace(file)
    assert [one.notes["launch"] for one in trace.of("kernel")] == [2, 3, 5] and not trace.of("copy")


@pytest.mark.parametrize(
    ("conditions", "timed"),
    [
        (["launch=2-3", "stream=1"], [2, 3]),
        (["stream=2"], [5]),
        (["kernel=add_one", "launch=1,5"], [1, 5]),
    ],
)
def test_launches_are_timed_by_number_and_stream(conditions: list[str], timed: list[int], tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    options = [part for condition in conditions for part in ("--only", condition)]
    done = run([*options, "--json", str(file), "--quiet"], PROGRAMS / "runtime", "streams")
    assert done.returncode == 0, done.stderr
    launches = json.loads(file.read_text())["launches"]
    numbers = [one["launch"]["number"] for one in launches if one["kernel"]["cycles"] is not None]
    assert (numbers, len(launches)) == (timed, 5)


@pytest.mark.parametrize("options", [[], ["--check"]])
def test_what_no_launch_meets_is_said_with_what_there_is(options: list[str]) -> None:
    done = run([*options, "--only", "kernel=ad_one", "--quiet"], PROGRAMS / "runtime", "streams")
    assert done.returncode == 0
    said = "gpusim: --only kernel=ad_one: no launch has such a kernel; did you mean 'add_one'? kernels: add_one\n"
    assert done.stderr == said


def test_a_program_that_is_checked_has_no_findings_of_time() -> None:
    done = run(["--check"], PROGRAMS / "runtime", "streams")
    assert done.returncode == 0 and "copies take" not in done.stdout + done.stderr
    assert (done.stdout + done.stderr).rstrip().endswith("checked: nothing found")
    unchecked = run(["--check", "--only", "kernel=ad_one"], PROGRAMS / "runtime", "streams")
    assert "nothing found" not in unchecked.stdout + unchecked.stderr


def test_the_launch_that_is_selected_is_recorded(tmp_path: Path) -> None:
    folder = tmp_path / "launches"
    options = ["--timing", "off", "--record", str(folder), "--only", "launch=4", "--quiet"]
    assert run(options, PROGRAMS / "runtime", "streams").returncode == 0
    assert len(list(folder.glob("*/launch.yaml"))) == 1


def test_warm_caches_are_an_option(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    hits = {}
    for options in ([], ["--warm"]):
        assert run([*options, "--json", str(file), "--quiet"], PROGRAMS / "runtime", "streams").returncode == 0
        result = json.loads(file.read_text())
        hits[result["config"]["gpu"]["caches"]] = result["l2"]["hit_rate"]
    assert hits["warm"] > hits["flushed"]


def test_a_printing_kernel_takes_the_same_cycles_each_time(tmp_path: Path) -> None:
    cycles = []
    for number in range(2):
        file = tmp_path / f"{number}.json"
        done = run(["--json", str(file)], PROGRAMS / "runtime", "print")
        assert done.returncode == 0 and "lane 65 of kernel: 32.50" in done.stdout
        cycles.append(json.loads(file.read_text())["rows"][0]["cycles"])
    assert cycles[0] == cycles[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sample", "--timeline", "x.json", "--window", "0:9"], "a sampled launch has no timeline of cycles"),
        (["--sample", "--timeline", "x.json", "--timeline-of", "cycles"], "a sampled launch has no timeline of cycles"),
        (["--sample", "--error", "2"], "the % sign is missing"),
        (["--error", "2%"], "--error: belongs to --sample"),
        (["--timing", "maybe"], "'maybe' is not one of 'on', 'off'"),
        (["--timing", "off", "--sample"], "nothing is timed"),
        (["--timing", "off", "--timeline", "x.json"], "nothing is timed"),
        (["--timing", "off", "--max-cycles", "5"], "nothing is timed"),
        (["--timing", "off", "--checked"], "nothing is timed"),
        (["--timing", "off", "--hotspots"], "nothing is timed"),
        (["--timeline-of", "launches"], "--timeline FILE names its file"),
        (["--timeline", "x.json", "--timeline-of", "launches", "--window", "0:9"], "of launches all are"),
        (["--bounds", "some"], "'some' is not one of 'page', 'exact', 'loose'"),
        (["--timing", "off", "--kernels", "x"], "nothing is timed"),
        (["--kernels", "("], "--only kernel=(: no regular expression"),
        (["--timing", "off", "--only", "launch=1"], "--only launch=1: nothing is timed with --timing off"),
        (["--only", "kernle=x"], "did you mean 'kernel'?"),
        (
            ["--timeline-only", "launch=1"],
            "--timeline-only launch=1: says what a timeline shows; --timeline FILE names",
        ),
        (
            ["--timeline", "x", "--window", "0:9", "--timeline-only", "stream=1"],
            "a timeline of cycles knows no streams",
        ),
        (["--root", "."], "has no lib64/ld-linux-x86-64.so.2"),
        (["--json", "no/such/folder.json"], "does not exist"),
    ],
)
def test_options_that_cannot_be_are_refused(options: list[str], words: str) -> None:
    done = run(options, "true")
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr


AFTER_AN_ERROR = """
import ctypes, sys
hip = ctypes.CDLL("libamdhip64.so.6")
module, missing, kernel, memory = (ctypes.c_void_p() for _ in range(4))
assert hip.hipModuleLoad(ctypes.byref(module), sys.argv[1].encode()) == 0
assert hip.hipMalloc(ctypes.byref(memory), 4096) == 0
assert hip.hipModuleGetFunction(ctypes.byref(missing), module, b"no_such_kernel") == 500
assert hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"vector_add") == 0
assert hip.hipPeekAtLastError() == 500
values = [memory, memory, memory, ctypes.c_uint(64)]
places = (ctypes.c_void_p * 4)(*(ctypes.addressof(value) for value in values))
assert hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, places, None) == 0
print("after the launch", hip.hipGetLastError())
"""


def test_an_error_before_a_launch_that_succeeds_is_gone() -> None:
    """So it is in AMD's runtime up to ROCm 6; rocBLAS looks for a kernel in one module after another."""
    done = run(
        ["--timing", "off"], sys.executable, "-c", AFTER_AN_ERROR, ROOT / "sim_configs/examples/vector_add.hsaco"
    )
    assert done.returncode == 0 and "after the launch 0" in done.stdout, done.stdout + done.stderr


@pytest.mark.skipif(with_library() is None, reason="no clang that reads AMD's device library")
def test_programs_of_several_sources_are_compiled_and_linked() -> None:
    done = run(["--timing", "off", "--quiet"], sys.executable, PROGRAMS / "linked.py")
    assert (done.returncode, done.stdout) == (0, "linked\n"), done.stdout + done.stderr


HOST_POINTERS = """
import ctypes, sys
hip = ctypes.CDLL(f"libamdhip64.so.{sys.argv[1]}")
class Attributes(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("device", ctypes.c_int), ("on_device", ctypes.c_void_p)]
buffer = ctypes.create_string_buffer(64)
attributes = ctypes.cast(buffer, ctypes.POINTER(Attributes)).contents
unknown, known = ctypes.create_string_buffer(16), ctypes.c_void_p()
assert hip.hipMalloc(ctypes.byref(known), 4096) == 0
print(hip.hipPointerGetAttributes(buffer, unknown), attributes.type, attributes.device, attributes.on_device)
print(hip.hipPointerGetAttributes(buffer, known), attributes.type, attributes.device)
"""


@pytest.mark.parametrize(
    ("release", "options", "unknown", "known"),
    [
        (5, [], "1 0 0 None", "0 1 0"),
        (5, ["--host-pointers"], "0 3 -2 None", "0 1 0"),
        (6, [], "0 0 -2 None", "0 2 0"),
    ],
)
def test_memory_that_hip_does_not_know_is_described_as_the_release_does(
    release: int, options: list[str], unknown: str, known: str
) -> None:
    done = run(["--timing", "off", *options], sys.executable, "-c", HOST_POINTERS, str(release))
    assert (done.returncode, done.stdout.splitlines()) == (0, [unknown, known]), done.stdout + done.stderr


USER_EVENTS = """
import ctypes, threading
cl = ctypes.CDLL("libOpenCL.so.1")
for name in ("clCreateContextFromType", "clCreateUserEvent", "clCreateCommandQueue"):
    getattr(cl, name).restype = ctypes.c_void_p
device, error, status = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
assert cl.clGetDeviceIDs(None, ctypes.c_uint64(4), 1, ctypes.byref(device), None) == 0
context = ctypes.c_void_p(cl.clCreateContextFromType(None, ctypes.c_uint64(4), None, None, ctypes.byref(error)))
queue = ctypes.c_void_p(cl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), ctypes.byref(error)))
assert cl.clCreateUserEvent(None, ctypes.byref(error)) is None and error.value == -34

def made():
    event = ctypes.c_void_p(cl.clCreateUserEvent(context, ctypes.byref(error)))
    return event, (ctypes.c_void_p * 1)(event)

def info(event, name, kind=ctypes.c_int):
    found = kind(9)
    assert cl.clGetEventInfo(event, name, ctypes.c_size_t(ctypes.sizeof(found)), ctypes.byref(found), None) == 0
    return found.value

event, listed = made()
assert (info(event, 0x11D3), info(event, 0x11D1)) == (2, 0x1204)
assert info(event, 0x11D4, ctypes.c_void_p) == context.value
called = []
kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
callback = kind(lambda _, status, __: called.append(status))
assert cl.clSetEventCallback(event, 0, callback, None) == 0 and called == []
cl.clCreateBuffer.restype = ctypes.c_void_p
four, eight = ctypes.c_size_t(4), ctypes.c_size_t(8)
def buffer():
    return ctypes.c_void_p(cl.clCreateBuffer(context, ctypes.c_uint64(1), eight, None, ctypes.byref(error)))

memory, copied = buffer(), buffer()
other = ctypes.c_void_p(cl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), ctypes.byref(error)))
filled, behind = (ctypes.c_void_p * 1)(), (ctypes.c_void_p * 1)()
pattern, zero, result = ctypes.c_uint32(7), ctypes.c_size_t(0), (ctypes.c_uint32 * 2)()
assert cl.clEnqueueFillBuffer(queue, memory, ctypes.byref(pattern), four, zero, eight, 1, listed, filled) == 0
pattern.value = 8  # what is enqueued has its own
assert cl.clEnqueueCopyBuffer(other, memory, copied, zero, zero, eight, 1, filled, behind) == 0
assert cl.clReleaseMemObject(memory) == 0  # needed still
assert cl.clSetEventCallback(ctypes.c_void_p(behind[0]), 0, callback, None) == 0 and called == []
assert info(ctypes.c_void_p(filled[0]), 0x11D3) == info(ctypes.c_void_p(behind[0]), 0x11D3) == 3  # CL_QUEUED
read = lambda: cl.clEnqueueReadBuffer(other, copied, 1, zero, eight, result, 0, None, None)
reader = threading.Thread(target=lambda: called.append(("read", read(), *result)))
reader.start()
waiter = threading.Thread(target=lambda: called.append(("waited", cl.clWaitForEvents(1, listed))))
waiter.start()
assert cl.clSetUserEventStatus(event, 1) == -30 and cl.clSetUserEventStatus(event, 0) == 0
waiter.join(), reader.join()
assert sorted(called, key=str) == [("read", 0, 7, 7), ("waited", 0), 0, 0], called
assert info(ctypes.c_void_p(behind[0]), 0x11D3) == 0 and cl.clFinish(queue) == 0
assert cl.clSetUserEventStatus(event, 0) == -59
assert cl.clEnqueueMarkerWithWaitList(queue, 1, listed, None) == 0 and info(event, 0x11D3) == 0
assert cl.clReleaseEvent(event) == 0
event, listed = made()
assert cl.clEnqueueCopyBuffer(queue, copied, copied, zero, four, four, 1, listed, behind) == 0
assert cl.clSetUserEventStatus(event, -7) == 0 and info(ctypes.c_void_p(behind[0]), 0x11D3) == -14
assert cl.clWaitForEvents(1, listed) == -14
assert cl.clEnqueueMarkerWithWaitList(queue, 1, listed, None) == -14
print("events are set")
"""


def test_commands_wait_for_events_that_the_program_sets() -> None:
    done = run(["--timing", "off"], sys.executable, "-c", USER_EVENTS)
    assert done.returncode == 0 and done.stdout == "events are set\n", done.stdout + done.stderr


ATTRIBUTES = """
import ctypes
hip = ctypes.CDLL("libamdhip64.so.6")
value = ctypes.c_int(7)
for number in (10014, 10005, 10005, 77777):
    print(hip.hipDeviceGetAttribute(ctypes.byref(value), number, 0), value.value)
"""


def test_an_attribute_that_has_no_value_is_refused_by_its_name_once() -> None:
    done = run(["--timing", "off"], sys.executable, "-c", ATTRIBUTES)
    assert done.stdout == "0 1\n1 1\n1 1\n1 1\n", done.stdout + done.stderr
    said = [line for line in done.stderr.splitlines() if "attribute" in line]
    assert said == [
        f"gpusim: attribute {name} of hipDeviceGetAttribute is not supported"
        for name in ("hipDeviceAttributeHdpMemFlushCntl", "number 77777")
    ]


BY_NAME = """
import ctypes
hip = ctypes.CDLL("libamdhip64.so.6")
found, status, memory = ctypes.c_void_p(), ctypes.c_int(7), ctypes.c_void_p()

def by_name(name, version=60000000):
    done = hip.hipGetProcAddress(name, ctypes.byref(found), version, ctypes.c_uint64(0), ctypes.byref(status))
    return done, status.value, found.value

def address(name):
    return ctypes.cast(getattr(hip, name), ctypes.c_void_p).value

assert by_name(b"hipMalloc") == (0, 0, address("hipMalloc"))
assert by_name(b"hipGetDeviceProperties") == (0, 0, address("hipGetDevicePropertiesR0600"))
assert by_name(b"hipGetDeviceProperties", 500) == (0, 0, address("hipGetDeviceProperties"))
assert by_name(b"hipNoSuchFunction") == (1, 1, None)
assert hip.hipMalloc(ctypes.byref(memory), 4096) == 0
size, start, kind, inside = ctypes.c_size_t(), ctypes.c_void_p(), ctypes.c_int(), ctypes.c_void_p(memory.value + 100)
for number, value in ((12, size), (11, start), (2, kind)):
    assert hip.hipPointerGetAttribute(ctypes.byref(value), number, inside) == 0
assert (size.value, start.value, kind.value) == (4096, memory.value, 2)
assert hip.hipPointerGetAttribute(ctypes.byref(size), 12, ctypes.c_void_p(16)) == 1
assert hip.hipPointerGetAttribute(ctypes.byref(size), 5, inside) == 801
print("by name")
"""


def test_functions_are_found_by_name_and_pointers_described() -> None:
    """Triton finds the runtime's functions so; release 6 has a structure of properties of its own."""
    done = run(["--timing", "off"], sys.executable, "-c", BY_NAME)
    assert done.returncode == 0 and "by name" in done.stdout, done.stdout + done.stderr
    assert "attribute 5 is not supported" in done.stdout + done.stderr


OF_FRAMEWORKS = """
import ctypes, sys
hip, roctx = ctypes.CDLL("libamdhip64.so.5"), ctypes.CDLL("libroctx64.so.1")
number, module = ctypes.c_uint64(7), ctypes.c_void_p()

assert hip._Z22hipCreateSurfaceObjectPyPK15hipResourceDesc(ctypes.byref(number), None) == 1 and number.value == 7
assert hip._Z23hipDestroySurfaceObjecty(ctypes.c_uint64(0)) == 0
assert hip._Z23hipDestroySurfaceObjecty(ctypes.c_uint64(7)) == 1
assert hip.hipMemGetHandleForAddressRange(None, None, 0, 0, 0) == 801

assert [roctx.roctxRangePushA(b"outer"), roctx.roctxRangePushA(b"inner")] == [0, 1]
assert [roctx.roctxRangePop() for _ in range(3)] == [1, 0, -1]
roctx.roctxMarkA(b"here")
roctx.roctxRangeStartA.restype = ctypes.c_uint64
assert [roctx.roctxRangeStartA(b"first"), roctx.roctxRangeStartA(b"second")] == [1, 2]
roctx.roctxRangeStop(ctypes.c_uint64(1))
assert (roctx.roctx_version_major(), roctx.roctx_version_minor()) == (4, 1)

code = open(sys.argv[1], "rb").read()
assert hip.hipModuleLoadData(ctypes.byref(module), code) == 0
assert hip.hipModuleGetFunction(ctypes.byref(ctypes.c_void_p()), module, b"func") == 500
assert hip.hipModuleUnload(module) == 0

variables, address, size = open(sys.argv[2], "rb").read(), ctypes.c_void_p(), ctypes.c_size_t()
assert hip.hipModuleLoadData(ctypes.byref(module), variables) == 0
assert hip.hipModuleGetGlobal(ctypes.byref(address), ctypes.byref(size), module, b"values") == 0
values = (ctypes.c_int * 4)()
assert (size.value, hip.hipMemcpyDtoH(values, address, size)) == (16, 0) and [*values] == [1, 2, 3, 4]
assert hip.hipModuleUnload(module) == 0

class Node(ctypes.Structure):
    _fields_ = [("block", ctypes.c_uint * 3), ("extra", ctypes.c_void_p), ("function", ctypes.c_void_p),
                ("grid", ctypes.c_uint * 3), ("arguments", ctypes.c_void_p), ("lds", ctypes.c_uint)]

function, graph, node, runnable, array = (ctypes.c_void_p() for _ in range(5))
assert hip.hipModuleLoadData(ctypes.byref(module), open(sys.argv[3], "rb").read()) == 0
assert hip.hipModuleGetFunction(ctypes.byref(function), module, b"vector_add") == 0
assert hip.hipMalloc(ctypes.byref(array), 1024) == hip.hipMemsetD32(array, 0x3F800000, 256) == 0
given = (*(array,) * 3, ctypes.c_uint(256))
arguments = (ctypes.c_void_p * 4)(*(ctypes.addressof(one) for one in given))
of_node = Node((256, 1, 1), None, function, (1, 1, 1), ctypes.addressof(arguments), 0)
assert hip.hipGraphCreate(ctypes.byref(graph), 0) == 0
of_no_kernel = Node((256, 1, 1), None, 4096, (1, 1, 1), ctypes.addressof(arguments), 0)
assert hip.hipGraphAddKernelNode(ctypes.byref(node), graph, None, 0, ctypes.byref(of_no_kernel)) == 98
assert hip.hipGraphAddKernelNode(ctypes.byref(node), graph, None, 0, ctypes.byref(of_node)) == 0
assert hip.hipGraphInstantiate(ctypes.byref(runnable), graph, None, None, 0) == 0
assert hip.hipGraphLaunch(runnable, None) == hip.hipDeviceSynchronize() == 0

class Asked(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint * 16)]

class Config(ctypes.Structure):
    _fields_ = [("sizes", ctypes.c_uint * 7), ("stream", ctypes.c_void_p), ("asked", ctypes.c_void_p),
                ("count", ctypes.c_uint)]

def launched(*asked):
    asked = (Asked * len(asked))(*asked)
    config = Config((1, 1, 1, 256, 1, 1, 0), None, ctypes.addressof(asked), len(asked))
    return hip.hipDrvLaunchKernelEx(ctypes.byref(config), function, arguments, None)

priority, cooperative, no_cluster, cluster = Asked(8), Asked(2, 0, (1,)), Asked(4, 0, (1, 1, 1)), Asked(4, 0, (2, 1, 1))
assert launched(priority, cooperative, no_cluster) == 0 and launched(cluster) == 801
values = (ctypes.c_float * 4)()
assert hip.hipMemcpyDtoH(values, array, ctypes.c_size_t(16)) == 0
assert hip.hipLaunchKernelExC(None, None, None) == 1
print("as frameworks ask", [*values])
"""


OF_THESE = (
    *(PROGRAMS / f"{name}.hsaco" for name in ("no_kernel", "variables")),
    ROOT / "sim_configs/examples/vector_add.hsaco",
)
OF_JAX = """
import ctypes, os
nodes = "/sys/class/kfd/kfd/topology/nodes"
found = [open(os.path.join(nodes, node, "properties")).read() for node in os.listdir(nodes)]
assert os.path.exists(nodes) and not os.path.exists("/sys/class/kfd_")
print(sorted(text.split("simd_count ")[1].split()[0] for text in found))
hip, library = ctypes.CDLL("libamdhip64.so.7"), ctypes.CDLL("libMIOpen.so.1")
handle = ctypes.c_void_p()
print(library.miopenCreateWithStream(None, None), [library.miopenDestroyTensorDescriptor() for _ in range(2)])
print(os.environ["XLA_FLAGS"].split()[-2:])
import jax_plugins.gpusim_convolutions
"""


@pytest.mark.skipif(Path("/sys/class/kfd").exists(), reason="the kernel's driver is there")
def test_jax_finds_the_card_and_libraries_that_say_that_they_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x")
    done = run(["--timing", "off", "--jax"], sys.executable, "-c", OF_JAX)
    simds, library, flags = done.stdout.splitlines()
    assert (simds, library) == ("['0', '16']", "0 [6, 6]") and flags.endswith("'--xla_dump_to=x']")
    assert done.stderr.count("miopenDestroyTensorDescriptor: libMIOpen.so.1 is not there") == 1
    assert "functions of theirs fail: libMIOpen.so.1, " in done.stderr and "=conv-rewriter --xla" in done.stderr
    assert "ModuleNotFoundError" not in done.stderr, "the plugin is not on the program's path"


OF_RCCL = """
import ctypes, os
nodes, c = "/sys/class/kfd/kfd/topology/nodes", ctypes.CDLL(None)
c.fopen64.restype, c.fgets.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p)
text = ctypes.create_string_buffer(16)
for node in sorted(os.listdir(nodes)):
    c.fgets(text, 16, c.fopen64(f"{nodes}/{node}/gpu_id".encode(), b"r"))
    print(node, text.value, os.listdir(f"{nodes}/{node}/io_links"))
"""


@pytest.mark.skipif(Path("/sys/class/kfd").exists(), reason="the kernel's driver is there")
def test_rccl_finds_the_gpu_in_the_driver_s_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert run(["--timing", "off"], sys.executable, "-c", OF_RCCL).returncode == 1
    (tmp_path / "librccl.so.1").touch()
    done = run(["--timing", "off"], sys.executable, "-c", OF_RCCL)
    assert done.stdout == "0 b'0\\n' []\n1 b'1\\n' []\n", done.stderr


def test_what_frameworks_ask_for_beside_kernels_is_there() -> None:
    """CuPy and XLA link these functions, and CuPy loads a module of a device function alone: it has no code."""
    done = run(["--timing", "off"], sys.executable, "-c", OF_FRAMEWORKS, *OF_THESE)
    assert done.returncode == 0 and done.stdout == "as frameworks ask [4.0, 4.0, 4.0, 4.0]\n", done.stdout + done.stderr
    assert "hipMemGetHandleForAddressRange is not supported" in done.stderr


SPARSE = """
import ctypes, sys
from types import SimpleNamespace
import numpy
from gpusim_spartan import region
hip = ctypes.CDLL("libamdhip64.so.5")
rows, columns = 64, 8
b = numpy.zeros((columns, rows), "f4")
b[:, ::9] = 1 + numpy.arange(columns)[:, None]
a = numpy.arange(rows * 256, dtype="f4").reshape(rows, 256) % 7
module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipModuleLoad(ctypes.byref(module), sys.argv[1].encode()) == 0
assert hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"sgemm_dib_gather") == 0
arrays = []
for host in (a, b, numpy.zeros((columns, 256), "f4")):
    arrays.append(ctypes.c_void_p())
    assert hip.hipMalloc(ctypes.byref(arrays[-1]), ctypes.c_size_t(host.nbytes)) == 0
    assert hip.hipMemcpy(arrays[-1], host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(host.nbytes), 1) == 0

def matrix(columns):
    data = SimpleNamespace(ptr=arrays[1].value)
    return SimpleNamespace(shape=(rows, columns), strides=(4, 4 * rows), dtype="float32", data=data)

try:
    with region(matrix(2048)):
        pass
except ValueError as error:
    print(error)
with region(matrix(columns)) as served:
    print(served)
    if served:
        values = (*arrays, *(ctypes.c_uint(value) for value in (256, columns, rows, 256, rows, 256)))
        given = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        assert hip.hipModuleLaunchKernel(kernel, 1, columns // 4, 1, 256, 1, 1, 0, None, given, None) == 0
        c = numpy.zeros((columns, 256), "f4")
        assert hip.hipMemcpy(c.ctypes.data_as(ctypes.c_void_p), arrays[2], ctypes.c_size_t(c.nbytes), 2) == 0
        print((c == b @ a).all())
"""


def test_a_program_s_sparse_region_is_served_by_the_engine(tmp_path: Path) -> None:
    code, written = ROOT / "workloads/kernels/sgemm_dib_gather.hsaco", tmp_path / "result.json"
    refused = "a matrix of (64, 2048) cannot be a sparse region; the simulator says why"
    done = run(["--engine", "default", "--json", str(written)], sys.executable, "-c", SPARSE, code)
    assert done.stdout.splitlines() == [refused, "True", "True"], done.stderr
    assert "524,288 bytes reach beyond its allocation" in done.stderr
    assert json.loads(written.read_text())["engine"]["requests"] > 0
    done = run(["--engine", "off", "--timing", "off"], sys.executable, "-c", SPARSE, code)
    assert done.stdout.splitlines() == [refused, "False"], done.stderr


@pytest.mark.parametrize("timing", ["on", "off"])
def test_a_program_s_accesses_beyond_lds_are_those_of_a_gpu(tmp_path: Path, timing: str) -> None:
    written = tmp_path / "result.json"
    done = run(["--timing", timing, "--json", str(written)], sys.executable, "-c", BEYOND_LDS, BEYOND)
    first, stored = [*range(100, 128), *[0] * 36], [*range(1000, 1028), *[0] * 36]
    added = [*(value + 1 for value in stored[:28]), *[0] * 37]
    two, last = [a ^ b for a, b in pairwise(added)], [*range(64, 100), *[7] * 28]
    values = [*first, *stored, *stored, *range(64, 100), *added[:28], *two, *added[:64], *last]
    assert done.stdout == f"0\n0\n{values}\n", done.stdout + done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("gpusim: kernel")]
    assert len(said) == 2, "once for each kind, not for each launch"
    assert "lane 28, address 0x200 (4 bytes), the workgroup has 512 bytes of LDS; reads 0, as on a GPU, 181 " in said[0]
    assert (
        "lane 28, address 0x200 (4 bytes), the workgroup has 512 bytes of LDS; not done, as on a GPU, 108 " in said[1]
    )
    (row,) = json.loads(written.read_text())["rows"]
    assert row["strays"] == {"LDS load": 362, "LDS store": 216}


@pytest.mark.parametrize("options", [["--check"], ["--timing", "off", "--bounds", "exact"]], ids=["check", "exact"])
def test_accesses_beyond_lds_are_faults_where_the_user_is_strict(options: list[str]) -> None:
    done = run(options, sys.executable, "-c", BEYOND_LDS, BEYOND)
    assert done.stdout == "719\n719\n", done.stdout + done.stderr
    assert "access outside the workgroup's LDS; workgroup 0, wavefront 0, lane 28, address 0x200" in done.stderr
