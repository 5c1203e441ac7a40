"""What how-to/hip.md says of the runtime's functions, from their table, and two runs of a program."""

import json
import re
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from gpusim.base.formats import COUNT, FIXED_1, FIXED_2
from gpusim.jobs.hip.functions import COMGR_TABLE, OPENCL_TABLE, functions

ROOT = Path(__file__).resolve().parents[2]
LAUNCHES = "tests/hip/programs/launches.py"
MANY, SMALL, LARGE = 2000, 256, 1 << 20  # launches, work-items
PROGRAM = "tests/hip/programs/runtime"  # in the repository, so that the page needs no compiler of HIP

# by the beginning of the name; the first that fits
_GROUPS = (
    ("graphs, stream capture", r"hip(Drv)?Graph|hipUserObject|hipStream\w*Capture|hipThreadExchange"),
    (
        "textures, surfaces, arrays",
        r"(_Z\d+)?hip\w*(Tex|Array|Surface|Mipmap|ChannelDesc)|__hipRegister(Tex|Surf)|hipMemcpy(Ato|DtoA|HtoA)",
    ),
    ("compilation at run time", r"hiprtc|hipLink"),
    ("code objects (`libamd_comgr.so.2`)", r"amd_comgr"),
    ("OpenCL (`libOpenCL.so.1`)", r"cl[A-Z]"),
    ("other processes, other programming interfaces", r"hipIpc|hipGraphics|hipGL|hip\w*External"),
    (
        "virtual memory, pools",
        r"hipMem(Address|Create|Export|Import|Map|Unmap|Release|Retain|Set(?=Acc)|GetAcc|GetAllocation|Pool)"
        r"|hip\w*MemPool|hipMallocFromPool",
    ),
    (
        "launches, modules, variables",
        r"__hip(?!GetPCH)|hip(Ext|Hcc|Drv)?(Module|Launch)|_Z|hip(Configure|Setup)|hip\w*Symbol|hipKernelName|hipGetFunc",
    ),
    ("occupancy, attributes of kernels", r"hipOccupancy|hipFunc"),
    ("streams, events", r"hipStream|hipEvent|hipGetStream|hipExtStream"),
    ("memory, copies", r"hip(Mem|Malloc|Free|Host|Pointer|DrvMemcpy|DrvPointer|ExtMalloc)"),
    ("device, contexts, errors", r""),
)


def functions_table() -> str:
    """A line for each group: how many gpusim has of how many, and those that it has not where they are few."""
    held: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for function in (*functions(), *functions(COMGR_TABLE), *(f for f in functions(OPENCL_TABLE) if f.exported)):
        name = next(title for title, pattern in _GROUPS if re.match(pattern, function.name))
        held[name].append((function.name, function.implemented))
    lines = ["| functions | implemented | not |", "| --- | --- | --- |"]
    for title, _ in reversed(_GROUPS):
        missing = sorted(name for name, there in held[title] if not there)
        named = ", ".join(f"`{name}`" for name in missing) if len(missing) <= 12 else f"{len(missing)}"
        lines.append(f"| {title} | {len(held[title]) - len(missing)} of {len(held[title])} | {named} |")
    return "\n".join(lines)


def two_runs() -> str:
    """Commands that keep, report and compare two runs of a program, each with what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        store = ["--store", f"{folder}/hip.db"]
        run = ["hip", "--gpu", "r9nano", *store, "--", PROGRAM, "streams"]
        warm = [*run[:3], "--set", "caches=warm", *run[3:]]
        commands = (run, warm, ["report", "1", *store, "--html", f"{folder}/hip.html"], ["compare", "1", "2", *store])
        said = []
        for arguments in commands:
            done = subprocess.run(
                [sys.executable, "-m", "gpusim", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
            )
            shown = f"$ gpusim {' '.join(arguments)}\n{done.stdout}{done.stderr}"
            said.append(shown.replace(f"{folder}/", "").rstrip())
    return "```\n" + "\n\n".join(said) + "\n```"


def _run_s(command: list[str]) -> float:
    """Run a Python command; its CPU seconds and those of all that it started, the least of three."""

    def used_s() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    taken = []
    for _ in range(3):
        before = used_s()
        subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, check=True)
        taken.append(used_s() - before)
    return min(taken)


_BY_DEVICE = f"""
import sys, gpusim, numpy as np
gpu = gpusim.Device("r9nano")
arrays = [gpu.zeros(({LARGE},), np.float32) for _ in range(3)]
kernel = gpu.load("sim_configs/examples/vector_add.hsaco")["vector_add"]
run = gpu.launch(kernel, global_size=({LARGE},), local_size=(256,), args=[*arrays, {LARGE}])
open(sys.argv[1], "w").write(str(run.to_dict()["kernel"]["cycles"]))
"""


def costs() -> str:
    """What a program and its launches cost the host, and a timed one beside the same by Python's Device."""
    with tempfile.TemporaryDirectory() as folder:
        result, cycles = Path(folder) / "result.json", Path(folder) / "cycles"

        def program_s(timing: str, launches: int, items: int) -> float:
            options = ["--gpu", "r9nano", "--timing", timing, "--quiet", "--json", str(result)]
            of_it = [sys.executable, LAUNCHES, str(launches), str(items)]
            return _run_s(["-m", "gpusim", "hip", *options, "--", *of_it])

        none_s, many_s = program_s("off", 0, SMALL), program_s("off", MANY, SMALL)
        launch_ms = 1e3 * (many_s - none_s) / MANY
        timed_s = program_s("on", 1, LARGE)
        by_program = json.loads(result.read_text())["kernel"]["cycles"]
        by_device_s = _run_s(["-c", _BY_DEVICE, str(cycles)])
        by_device = int(cycles.read_text())
    lines = [
        "| what | cycles | CPU time |",
        "| --- | --- | --- |",
        f"| start and end of a program | – | {FIXED_2(none_s)} s |",
        f"| a launch of {SMALL} work-items without timing, one of {COUNT(MANY)} | – | {FIXED_2(launch_ms)} ms |",
        f"| a program with a timed launch of {COUNT(LARGE)} work-items | {COUNT(by_program)} | {FIXED_1(timed_s)} s |",
        f"| the same by Python's `Device` | {COUNT(by_device)} | {FIXED_1(by_device_s)} s |",
    ]
    return "\n".join(lines)
