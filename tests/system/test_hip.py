"""Do unmodified HIP programs run on the simulated GPU: do they compute, end and fail as on a card?"""

import ctypes.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import chdir
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.cli.main import invoke
from gpusim.config.gpu import load_gpu
from gpusim.jobs.hip import session
from gpusim.jobs.hip.building import COMPILERS
from gpusim.jobs.hip.launching import Launcher
from gpusim.jobs.hip.recording import HostWrite, record
from gpusim.jobs.hip.supervisor import HostProgram
from gpusim.jobs.vendor import library_product
from isa.execution.emulator import run_functional
from isa.object.bundle import code_objects
from tests.support.bundles import HOST, bundle, compressed, entry
from tests.support.invoked import invoked
from workloads.data.operands import SyntheticOperands
from workloads.shapes import GemmShape
from workloads.toolchain.compilers import find_hip_tools, without_library
from workloads.toolchain.errors import KernelBuildError
from workloads.vendor.libraries import VENDOR_PRODUCTS

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests/hip/programs"
GPUSIM = [sys.executable, "-c", "from gpusim.cli.start import main; main()", "hip"]
SMALL = ["--set", "shader_arrays=1", "--set", "memory_mib=64"]

pytestmark = [
    pytest.mark.compiled_tier,
    pytest.mark.skipif(
        sys.platform != "linux" or os.uname().machine != "x86_64" or not any(map(shutil.which, COMPILERS)),
        reason="HIP programs need x86-64 Linux and a C++ compiler",
    ),
]


def start(options: list[str], *program: object, **more: object) -> "subprocess.Popen[str]":
    """A `gpusim hip` of its own, to be watched or ended while it runs."""
    return subprocess.Popen(
        [*GPUSIM, *options, "--", *map(str, program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **more,  # type: ignore[call-overload]
    )


def run(options: list[str], *program: object) -> "subprocess.CompletedProcess[str]":
    """A program under `gpusim hip`, which runs in this process."""
    return invoked(["hip", *SMALL, *options, "--", *map(str, program)])


def case(name: str, *options: str, program: str = "runtime", more: tuple[object, ...] = ()) -> str:
    """Standard output of a case that ended with code 0."""
    done = run(["--timing", "off", *options], PROGRAMS / program, name, *more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


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
    assert "gpusim: clCreateImage is not supported\n" in done.stderr


@pytest.mark.parametrize("program", ["runtime", "runtime6"])
def test_the_device_is_the_configured_gpu(program: str) -> None:
    told = case("device", "--gpu", "mi6", "--set", "clock_ghz=1.5", program=program)
    assert told.startswith("gpusim MI6, gfx803, 4 CUs, 1500 MHz, 64 MiB, 2048 KiB of L2, 224 GB/s")


def test_memory_of_every_kind() -> None:
    assert case("memory").endswith(f"{64 << 20} bytes in all\n")


def test_occupancy_is_the_models() -> None:
    assert case("occupancy").startswith("10 blocks of 256 a CU, 2 with 32 KiB of LDS; best 40 x 256")


def test_modules_are_loaded_and_begin_anew(tmp_path: Path) -> None:
    with (PROGRAMS / "runtime").open("rb") as file:
        (code,) = code_objects(file)
    (tmp_path / "module.co").write_bytes(code)
    case("module", more=(tmp_path / "module.co",))


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


def test_a_forked_process_cannot_use_the_gpu_and_one_it_starts_can() -> None:
    done = run(["--timing", "off"], PROGRAMS / "runtime", "fork")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "forked" in done.stderr and "gfx803" in done.stdout


def test_programs_are_compiled_while_they_run() -> None:
    try:
        find_hip_tools()
    except KernelBuildError as missing:
        done = run(["--timing", "off"], PROGRAMS / "runtime", "compile")
        assert done.returncode == 1 and str(missing).split(";")[0] in done.stdout
    else:
        assert case("compile") == "_Z5twiceIiEvPT_\n"


def objects(*more: str) -> "subprocess.CompletedProcess[str]":
    done = run(["--timing", "off", "--quiet"], sys.executable, PROGRAMS / "objects.py", *more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.skipif(without_library() is None, reason="no clang with lld")
def test_code_objects_are_made_by_actions_of_comgr() -> None:
    done = objects()
    assert done.stdout.startswith("0 \n10 12 14\n1 twice.hip:3:")
    assert ": error: use of undeclared identifier 'two'" in done.stdout
    assert "no code can be made for amdgcn-amd-amdhsa--gfx1100; there is amdgcn-amd-amdhsa--gfx803 alone" in done.stderr


def test_comgr_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    case("basic")  # the runtime library is built, or was, before no compiler is found
    monkeypatch.setenv("PATH", "/nonexistent")
    assert objects().stdout.startswith("1 gpusim: this action needs clang-19 with ld.lld-19")


def test_a_spawned_process_that_inherits_nothing_is_served() -> None:
    said = "0 \n10 12 14\n" if without_library() else "1 gpusim: this action needs clang-19"
    assert objects("child").stdout.startswith(said)


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
    done = run(["--timing", "off", "--bounds", "loose"], PROGRAMS / "edges", "beyond", 2000)
    assert done.stdout == "hipSuccess\n" and done.stderr.count("access outside every allocation") == 1
    done = run(["--timing", "off", "--bounds", "loose"], PROGRAMS / "edges", "beyond", 600000)
    assert done.stdout == "hipErrorLaunchFailure\n"
    done = run(["--timing", "off"], PROGRAMS / "edges", "beyond", 2000)
    assert done.stdout == "hipErrorLaunchFailure\n"


@pytest.mark.parametrize("limit", [("--max-cycles", "20000"), ("--timing", "off", "--max-seconds", "0.3")])
def test_a_kernel_that_waits_for_the_program_is_ended_at_a_limit(limit: tuple[str, ...]) -> None:
    done = run([*limit, "--quiet"], PROGRAMS / "edges", "waiting")
    assert done.returncode == 1 and done.stdout == "hipErrorLaunchTimeOut\n"
    assert done.stderr.count("'wait_for' was ended after") == 1 and "waits for ever" in done.stderr


def test_what_a_launch_waits_for_before_its_first_instruction_is_none_of_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passed_s, run_launch = [0.0], Launcher.run

    def compile_first(launcher: Launcher, launch: Any, observer: Any, serve: Any) -> Any:
        passed_s[0] += 100  # as the compilation of the core takes
        assert observer(None), "the launch would be ended before its first instruction"
        return run_launch(launcher, launch, observer, serve)

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


@pytest.mark.parametrize(
    ("gpu", "instead"), [("gfx906", ", or run it with --gpu mi50 or mi60"), ("gfx942", ""), ("gfx942:xnack+", "")]
)
def test_code_for_another_gpu_alone_is_no_code(tmp_path: Path, gpu: str, instead: str) -> None:
    (tmp_path / "module.co").write_bytes(bundle(entry(gpu, b"\x7fELF" + bytes(100)), (HOST, b"")))
    done = run(["--timing", "off"], PROGRAMS / "runtime", "module", tmp_path / "module.co")
    assert done.returncode == 1 and done.stdout.endswith("hipErrorNoBinaryForGpu\n")
    built = f"no code for gfx803: the program was built for {gpu}; build it with --offload-arch=gfx803"
    assert f"{built}{instead}\n" in done.stderr


def test_a_single_code_object_for_another_gpu_is_no_code(tmp_path: Path) -> None:
    with (PROGRAMS / "runtime_gfx9").open("rb") as file:
        (code,) = code_objects(file, "gfx906")
    (tmp_path / "module.co").write_bytes(code)
    done = run(["--timing", "off"], PROGRAMS / "runtime", "module", tmp_path / "module.co")
    assert done.returncode == 1 and done.stdout.endswith("hipErrorNoBinaryForGpu\n")
    assert "no code for gfx803: the program was built for gfx906; " in done.stderr


# a program, a case, a GPU: parts for gfx900 and for gfx906:sramecc+:xnack- lie in one fat binary
GFX9_CASES = [
    ("runtime_gfx9", "basic", "mi25", "sum 249750.0\n"),
    ("runtime_gfx9", "device", "mi50", "gpusim MI50, gfx906:sramecc+:xnack-, 3 CUs"),
    ("runtime_gfx9", "print", "mi50", "before\nlane 0 of kernel: 0.00\n"),
    ("runtime_gfx9", "compile", "mi50", "_Z5twiceIiEvPT_\n"),
    ("edges_gfx9", "launches", "mi25", ""),
    ("edges_gfx9", "deep", "mi25", ""),  # private memory by flat addresses and by SCRATCH, of a depth not known before
    ("edges_gfx9", "deep", "mi50", ""),
    ("edges_gfx9", "heap", "mi50", ""),
]


@pytest.mark.parametrize(("program", "name", "gpu", "told"), GFX9_CASES, ids=[" ".join(c[:3]) for c in GFX9_CASES])
def test_a_program_of_gfx9_computes(program: str, name: str, gpu: str, told: str) -> None:
    if name == "compile":
        try:
            find_hip_tools("gfx906")
        except KernelBuildError as missing:
            pytest.skip(str(missing))
    assert case(name, "--gpu", gpu, program=program).startswith(told)


@pytest.mark.parametrize("options", [(), ("--check",)], ids=["timed", "checked"])
def test_a_grid_of_gfx9_synchronizes(options: tuple[str, ...]) -> None:
    done = run([*options, "--quiet", "--gpu", "mi50"], PROGRAMS / "edges_gfx9", "grid", 8)
    assert done.returncode == 0 and done.stdout == "hipSuccess\n", done.stdout + done.stderr


def test_a_program_for_gfx803_alone_has_no_code_for_gfx906() -> None:
    done = run(["--timing", "off", "--gpu", "mi60"], PROGRAMS / "runtime", "basic")
    assert done.returncode != 0
    assert "no code for gfx906: the program was built for gfx803; build it with --offload-arch=gfx906" in done.stderr


def test_a_compressed_module_is_decompressed(tmp_path: Path) -> None:
    with (PROGRAMS / "runtime").open("rb") as file:
        (code,) = code_objects(file)
    (tmp_path / "module.co").write_bytes(compressed(bundle(entry("gfx803", code))))
    case("module", more=(tmp_path / "module.co",))


def test_streams_and_events_are_simulated_time(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = run(["--json", str(file)], PROGRAMS / "runtime", "streams")
    assert done.returncode == 0, done.stdout + done.stderr
    kernels, copy, whole = (float(text) for text in re.findall(r"([\d.]+) ms", done.stdout))
    assert whole < kernels + copy
    result = json.loads(file.read_text())
    assert result["exit_code"] == 0 and not result["partial"]
    (row,) = result["rows"]
    launches = result["launches"]
    assert (result["kind"], result["total"]["launches"], result["host"]["launches"]) == ("hip", 5, 5)
    assert row["launches"] == row["timed"] == len(launches) == 5
    assert row["cycles"] == sum(one["kernel"]["cycles"] for one in launches) == result["kernel"]["cycles"]
    for path in ("kernel.wavefront_instructions", "l1.transactions", "l2.transactions", "dram.bytes"):
        group, name = path.split(".")
        whole = sum(one[group][name] for one in launches)
        assert row["metrics"][group][name] == result[group][name] == whole > 0, path
    assert all(one["l2"] for one in launches)
    times = [(one["launch"]["started_us"], one["launch"]["ended_us"]) for one in launches]
    assert all(before[1] <= after[0] for before, after in pairwise(times))
    assert kernels == pytest.approx((times[3][1] - times[0][0] + 5) / 1e3, abs=2e-4)  # and a launch's 5 us
    assert re.search(r"^5\t.*\t100\.0%\t[\w ]+ \d+%\t.*\tadd_one$", done.stderr, re.MULTILINE)


def test_kernels_of_several_streams_run_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = run(["--json", str(file)], PROGRAMS / "runtime", "overlap")
    assert done.returncode == 0, done.stdout + done.stderr
    serial, beside, *_ = (float(text) for text in re.findall(r"([\d.]+) ms", done.stdout))
    assert beside < 0.3 * serial
    launches = json.loads(file.read_text())["launches"]
    spans = [(one["launch"]["started_us"], one["launch"]["ended_us"]) for one in launches]
    assert all(before[1] + 5 == pytest.approx(after[0]) for before, after in pairwise(spans[:4]))
    assert max(start for start, _ in spans[4:8]) < min(end for _, end in spans[4:8])


def test_a_sampled_program_has_all_its_results_and_half_widths(tmp_path: Path) -> None:
    rows, launches = {}, {}
    for timing, sampling in (("on", []), ("sample", ["--sample", "--error", "5%"])):
        file = tmp_path / f"{timing}.json"
        options = ["--set", "cus_per_array=1", "--json", str(file), *sampling]
        done = run(options, PROGRAMS / "runtime", "grid", 1000)
        assert done.returncode == 0, done.stdout + done.stderr
        result = json.loads(file.read_text())
        (rows[timing],), launches[timing] = result["rows"], result["launches"]
    sampled, whole = launches["sample"][0], launches["on"][0]
    assert sampled["sampling"]["fraction"] < 0.8 and "sampling" not in whole
    assert result["sampling"]["fraction"] == rows["sample"]["sampling"]["fraction"] and "sampling" not in rows["on"]
    assert sampled["kernel"]["workgroups"] == 1000
    assert rows["sample"]["cycles_half_width"] > 0 and "cycles_half_width" not in rows["on"]
    assert rows["sample"]["cycles"] == pytest.approx(rows["on"]["cycles"], rel=0.01)
    assert "half-widths (±) at 95 %" in done.stderr and re.search(r"[\d,]+ ± [\d,]+", done.stderr)


def test_runs_of_a_store_are_reported_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, clock in (("streams", "1"), ("streams", "2"), ("overlap", "1")):
        done = run(["--store", "s.db", "--set", f"clock_ghz={clock}", "--quiet"], PROGRAMS / "runtime", name)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "is kept" not in done.stderr, "a program is run each time"
    for number in ("1", "2", "3"):
        assert invoke(["results", "show", number, "--store", "s.db", "--json", f"{number}.json"]) == 0
    first, faster, other = (json.loads(Path(f"{number}.json").read_text()) for number in (1, 2, 3))
    assert [one["config"]["program"][1] for one in (first, faster, other)] == ["streams", "streams", "overlap"]
    for one in (first, faster, other):
        assert one["kind"] == "hip"
        assert len({stream["stream"] for stream in one["streams"]}) == len(one["streams"])
        assert sum(stream["kernels"] for stream in one["streams"]) == len(one["launches"])
    assert [len(one["launches"]) for one in (first, faster, other)] == [5, 5, sum(r["launches"] for r in other["rows"])]
    assert {stream["stream"] for stream in other["streams"]} >= {"1", "2", "3", "4"}
    capfd.readouterr()
    assert invoke(["compare", "1", "2", "--store", "s.db"]) == 0
    out = capfd.readouterr().out
    assert "gpu.clock_ghz\t1.0\t2.0" in out and "add_one" in out and "\nall\t" in out
    assert invoke(["compare", "1:add_one", "2.json:add_one", "--store", "s.db", "--json", "-"]) == 0
    (part,) = json.loads(capfd.readouterr().out)["parts"]
    assert part["time_us"] == [first["rows"][0]["time_us"], faster["rows"][0]["time_us"]]
    pytest.importorskip("matplotlib")
    assert invoke(["report", "1", "2.json", "--store", "s.db", "--html", "r.html", "--quiet"]) == 0
    page = Path("r.html").read_text()
    assert page.count("<article") == 2 and page.count("<caption>by stream, of ") == 2
    comparison = page.partition('id="comparison"')[2].partition("</section>")[0]
    assert all(f">{one['kernel']['cycles']:,}<" in comparison for one in (first, faster)), "beside their clocks"
    assert page.count(">add_one</td>") == 4, "of each in the summary and among its rows"


def test_a_timeline_shows_the_launches_and_copies_of_each_stream(tmp_path: Path) -> None:
    read_trace = pytest.importorskip("tests.support.trace_reader").read_trace
    file, timeline = tmp_path / "result.json", tmp_path / "t.pftrace"
    done = run(["--json", str(file), "--timeline", str(timeline)], PROGRAMS / "runtime", "overlap")
    assert done.returncode == 0, done.stdout + done.stderr
    result, trace = json.loads(file.read_text()), read_trace(timeline)
    launches = [one["launch"] for one in result["launches"]]
    assert "timeline of" in done.stderr and trace.below() == ["run"]
    kernels = sorted(trace.of("kernel"), key=lambda one: one.begin)
    expected = sorted((one["started_us"], one["ended_us"]) for one in launches)
    assert [(one.begin, one.end) for one in kernels] == [pytest.approx(one, abs=1e-3) for one in expected]
    assert len(trace.of("copy")) == sum(one["copies"] for one in result["streams"])
    for stream in result["streams"]:
        own = trace.of("kernel", f"stream {stream['stream']}: kernels")
        assert len(own) == stream["kernels"]
        assert sum(one.cycles for one in own) == pytest.approx(stream["kernel_us"], abs=0.01)


def test_a_timeline_of_cycles_is_drawn_where_one_is_asked_for(tmp_path: Path) -> None:
    read_trace = pytest.importorskip("tests.support.trace_reader").read_trace
    for name, options in (("window", ["--window", "0:2000"]), ("whole", ["--timeline-of", "cycles"])):
        file = tmp_path / f"{name}.pftrace"
        done = run(["--timeline", str(file), *options, "--kernels", "^sum$"], PROGRAMS / "runtime", "basic")
        assert done.returncode == 0, done.stdout + done.stderr
        assert read_trace(file).of("wavefront"), "what happens within a launch"


def test_a_launch_that_reaches_its_most_cycles_fails_and_so_does_the_run(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = run(["--max-cycles", "500", "--json", str(file)], PROGRAMS / "runtime", "basic")
    result = json.loads(file.read_text())
    assert done.returncode != 0 and result["partial"] and result["stopped_by"] == "cycle limit"
    assert result["exit_code"] == done.returncode and result["kernel"]["cycles"] == 500
    assert "PARTIAL, cycle limit" in done.stderr and "cycle limit: the results are partial" in done.stderr


def test_costliest_instructions_and_details_are_those_of_any_job(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = run(["--hotspots", "--details", "--checked", "--json", str(file)], PROGRAMS / "runtime", "basic")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "sum 249750.0\n", "standard output is the program's own"
    assert "  kernel.wavefront_instructions " in done.stderr and "Memory" in done.stderr
    hotspots = json.loads(file.read_text())["hotspots"]
    assert hotspots and {spot["kernel"] for spot in hotspots} <= {"_Z3sumPKdPdi", "_Z5scalePKfPfi"}


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
        (["--kernels", "("], "no regular expression"),
        (["--root", "."], "has no lib64/ld-linux-x86-64.so.2"),
        (["--json", "no/such/folder.json"], "does not exist"),
    ],
)
def test_options_that_cannot_be_are_refused(options: list[str], words: str) -> None:
    done = run(options, "true")
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr


def test_codes_of_programs_that_are_no_hip_programs() -> None:
    assert run([], "sh", "-c", "exit 7").returncode == 7
    killed = run([], "sh", "-c", "kill -9 $$")
    assert killed.returncode == 128 + 9 and "SIGKILL" in killed.stderr
    missing = run([], "./no-such-program")
    assert missing.returncode == 2 and "cannot be started" in missing.stderr
    assert "/: cannot be started: is a folder" in run([], "/").stderr
    assert run([]).returncode == 2


def test_without_the_simulator_a_program_is_told_so() -> None:
    from gpusim.jobs.hip.built import libraries

    environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries())}
    done = subprocess.run(
        [PROGRAMS / "runtime", "device"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "hipErrorNoDevice" in done.stdout and "gpusim hip -- PROGRAM" in done.stderr


def ended(process_id: int) -> bool:
    """Whether a process is gone, or only waits for its parent."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def child_of(process_id: int) -> int:
    """The program that a `gpusim hip` has started, once it runs and has the device's memory mapped."""
    for _ in range(600):
        found = Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()
        for child in map(int, found):
            if "gpusim device memory" in Path(f"/proc/{child}/maps").read_text():
                return child
        time.sleep(0.1)
    raise AssertionError("no program")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_of_a_simulator_that_is_killed(number: signal.Signals) -> None:
    process = start([*SMALL, "--timing", "off"], PROGRAMS / "runtime", "endless")
    child = child_of(process.pid)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == (-9 if number == signal.SIGKILL else 130)
    for _ in range(100):
        if ended(child):
            return
        time.sleep(0.1)
    raise AssertionError("the program goes on")


def test_a_simulator_ends_with_its_program() -> None:
    process = start([*SMALL, "--timing", "off"], PROGRAMS / "runtime", "endless")
    os.kill(child_of(process.pid), signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + 9 and "SIGKILL" in err


def test_two_programs_at_once_share_neither_memory_nor_simulator(tmp_path: Path) -> None:
    program, results = tmp_path / "together", [tmp_path / f"{number}.json" for number in (5, 9)]
    compiler = next(filter(None, map(shutil.which, COMPILERS)))
    subprocess.run([compiler, str(PROGRAMS / "together.cpp"), "-o", str(program), "-ldl"], check=True)
    code = ROOT / "tests/data/kernels/hip_kernels.hsaco"
    both = [
        start([*SMALL, "--timing", "off", "--json", str(file)], program, code, file.stem, stdin=subprocess.PIPE)
        for file in results
    ]
    for step in ("allocated", "filled", "counted"):  # each by both, before the next one by either
        said = [process.stdout.readline().split() for process in both]  # type: ignore[union-attr]
        assert [words[:1] for words in said] == [[step]] * 2, "".join(p.communicate(timeout=60)[1] for p in both)
        assert said[0] == said[1], "at different addresses nothing that is shared would be seen"
        for process in both:
            process.stdin.write("\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
    for process in both:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, out + err
    served = [{launch["launch"]["process"] for launch in json.loads(file.read_text())["launches"]} for file in results]
    assert [len(processes) for processes in served] == [1, 1] and served[0] != served[1]
    assert [len(json.loads(file.read_text())["launches"]) for file in results] == [5, 5]


@pytest.mark.parametrize("execute", [True, False])
def test_what_was_recorded_runs_again(execute: bool) -> None:
    gpu = load_gpu("mi6", ["memory_mib=64"])
    program = HostProgram([str(PROGRAMS / "runtime"), "rewrite"])
    recording = record(program, gpu, Reporter(quiet=True), execute)
    assert len(recording.launches) == 2 and recording.memory is not None
    assert recording.code_of_exit == (0 if execute else 1)  # it looks at what was not computed
    if not execute:
        return
    *_, held = recording.allocations  # although it was freed
    for _ in range(2):
        recording.begin()
        for step in recording.steps:
            if isinstance(step, HostWrite):
                step.again()
            else:
                run_functional(step)
        found = recording.memory.view(held, np.int32)
        assert found[4] == 2 and found[5] == 101


@pytest.mark.skipif(ctypes.util.find_library("rocblas") is not None, reason="rocBLAS is installed")
def test_a_library_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUSIM_VENDOR_ROOT", raising=False)
    data = SyntheticOperands(0.5, 1)
    for product in VENDOR_PRODUCTS.values():
        with pytest.raises(UserError, match=rf"{product.library} is not there: .*apt install {product.package}"):
            library_product(product, GemmShape(4, 4, 4), data, load_gpu("mi6", ["memory_mib=64"]))


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
assert cl.clEnqueueMarkerWithWaitList(queue, 1, listed, None) == -59  # CL_INVALID_OPERATION, and a line says why
waiter = threading.Thread(target=lambda: called.append(("waited", cl.clWaitForEvents(1, listed))))
waiter.start()
assert cl.clSetUserEventStatus(event, 1) == -30 and cl.clSetUserEventStatus(event, 0) == 0
waiter.join()
assert sorted(called, key=str) == [("waited", 0), 0] and cl.clSetUserEventStatus(event, 0) == -59
assert cl.clEnqueueMarkerWithWaitList(queue, 1, listed, None) == 0 and info(event, 0x11D3) == 0
assert cl.clReleaseEvent(event) == 0
event, listed = made()
assert cl.clSetUserEventStatus(event, -7) == 0 and cl.clWaitForEvents(1, listed) == -14
assert cl.clEnqueueMarkerWithWaitList(queue, 1, listed, None) == -14
print("events are set")
"""


def test_user_events_are_set_by_the_program() -> None:
    done = run(["--timing", "off"], sys.executable, "-c", USER_EVENTS)
    assert done.returncode == 0 and done.stdout == "events are set\n", done.stdout + done.stderr
    assert done.stderr.count("waits for a user event before its status is set is not supported") == 1


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
