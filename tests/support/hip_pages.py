"""What docs/hip.md says of the runtime's functions, from their table, and what it shows of two runs of a program."""

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from gpusim.hip.functions import COMGR_TABLE, functions

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "tests/hip/programs/runtime"  # in the repository, so that the page needs no compiler of HIP

# by the beginning of the name; the first that fits
_GROUPS = (
    ("graphs, stream capture", r"hip(Drv)?Graph|hipUserObject|hipStream\w*Capture|hipThreadExchange"),
    (
        "textures, surfaces, arrays",
        r"hip\w*(Tex|Array|Surface|Mipmap|ChannelDesc)|__hipRegister(Tex|Surf)|hipMemcpy(Ato|DtoA|HtoA)",
    ),
    ("compilation at run time", r"hiprtc|hipLink"),
    ("code objects (`libamd_comgr.so.2`)", r"amd_comgr"),
    ("other processes, other programming interfaces", r"hipIpc|hipGraphics|hipGL|hip\w*External"),
    (
        "virtual memory, pools",
        r"hipMem(Address|Create|Export|Import|Map|Unmap|Release|Retain|Set(?=Acc)|GetAcc|GetAllocation|Pool)"
        r"|hip\w*MemPool|hipMallocFromPool",
    ),
    (
        "launches, modules, variables",
        r"__hip(?!GetPCH)|hip(Ext|Hcc)?(Module|Launch)|_Z|hip(Configure|Setup)|hip\w*Symbol|hipKernelName|hipGetFunc",
    ),
    ("occupancy, attributes of kernels", r"hipOccupancy|hipFunc"),
    ("streams, events", r"hipStream|hipEvent|hipGetStream|hipExtStream"),
    ("memory, copies", r"hip(Mem|Malloc|Free|Host|Pointer|DrvMemcpy|DrvPointer|ExtMalloc)"),
    ("device, contexts, errors", r""),
)


def functions_table() -> str:
    """A line for each group: how many gpusim has of how many, and those that it has not where they are few."""
    held: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for function in (*functions(), *functions(COMGR_TABLE)):
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
