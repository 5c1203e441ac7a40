"""Messages between a HIP program's runtime library and the simulator.

A program's process connects to the socket that `SOCKET_VARIABLE` names (Linux: abstract, no file; the same user's
processes alone are served) and sends one byte with two file descriptors: one end of a socket pair of its own, and an
empty memory file for the device's memory. From then on it speaks over that pair alone. By name, since some processes
inherit no descriptors: those that Python's multiprocessing starts close them. A request is a header (operation, bytes
that follow), the operation's values (`ProtocolOperation.layout`, little-endian), then its `tail`; it is answered if its
operation says so: status (a HipError), bytes that follow, bytes. Requests that are not answered are done in order
before the next one that is; their errors come with its answer.
"""

from dataclasses import dataclass
from enum import IntEnum

from gpusim.base.version import __version__
from gpusim.jobs.hip.errors import HipError
from isa.addresses import VIRTUAL_BASE

SOCKET_VARIABLE = "GPUSIM_HIP_SOCKET"
HOST_POINTERS_VARIABLE = "GPUSIM_HIP_HOST_POINTERS"  # set: as `HostProgram.host_pointers` says
DRIVER_VARIABLE = "GPUSIM_DRIVER"  # folder with the kernel driver's files, for the library that is loaded first
EXIT_SIMULATOR_GONE = 70  # of a program whose simulator has ended before it
REQUEST = "<II"
ANSWER = "<iI"
NO_STREAM = 0  # the default stream


class Copied(IntEnum):
    """What the simulated clock must know about bytes that the program moved."""

    TO_DEVICE = 0
    WITHIN_DEVICE = 1
    FROM_DEVICE = 2
    ON_HOST = 3


class ArgumentKind(IntEnum):
    """What an argument of a kernel is, of those that a program passes."""

    VALUE = 0
    GLOBAL = 1
    LOCAL = 2
    OTHER = 3  # a pipe, a queue
    IMAGE = 4
    SAMPLER = 5


class Source(IntEnum):
    """What is compiled while a program runs, and what it becomes: code, if nothing else is said."""

    HIP = 0
    OPENCL = 1
    OPENCL_OBJECT = 2  # OpenCL C, into bitcode that is linked later
    OBJECTS = 3  # such bitcode, which is linked into code
    LIBRARY = 4  # the same, into bitcode that is linked again


NO_OFFSET = 0xFFFFFFFF  # of a hidden argument that a kernel does not have


@dataclass(frozen=True)
class ProtocolOperation:
    """An operation of the protocol."""

    number: int
    """Number on the wire."""
    name: str
    """Name of the operation."""
    layout: str
    """Values as `struct` lays them out."""
    tail: str = ""
    """What follows the values; empty: nothing."""
    answer: str | None = None
    """What the answer contains; None: no answer."""


OPS = (
    ProtocolOperation(
        1,
        "HELLO",
        "<I",
        "gpusim's version",
        "capacity (u64), attributes (count, pairs; i32), 2 properties, architecture (texts), refused attributes (count;"
        " of each number (i32), name)",
    ),
    ProtocolOperation(2, "ALLOCATE", "<QI", "", "address (u64)"),
    ProtocolOperation(3, "FREE", "<Q"),
    ProtocolOperation(4, "LOAD", "<", "code object, or compressed bundle", "module (u64)"),
    ProtocolOperation(5, "UNLOAD", "<Q", "", ""),
    ProtocolOperation(
        6,
        "FUNCTION",
        "<Q",
        "name",
        "function (u64); u32: 6 facts, required workgroup (3), offsets of the hidden global offsets (3); arguments"
        " (count; of each offset, size, ArgumentKind, alignment (u32), name, type)",
    ),
    ProtocolOperation(7, "SYMBOL", "<Q", "name", "address (u64), bytes (u64)"),
    ProtocolOperation(8, "LAUNCH", "<QQ3I3III", "kernel arguments"),
    ProtocolOperation(9, "COPIED", "<QQII"),
    ProtocolOperation(10, "SETTLE", "<", "", "what kernels printed"),
    ProtocolOperation(11, "NEW_STREAM", "<QI"),
    ProtocolOperation(12, "RECORD", "<QQ"),
    ProtocolOperation(13, "WAIT", "<QQ"),
    ProtocolOperation(14, "ELAPSED", "<QQ", "", "milliseconds (f32)"),
    ProtocolOperation(15, "OCCUPANCY", "<QII", "", "workgroups of a compute unit (u32), of the GPU (u32)"),
    ProtocolOperation(16, "BLOCK_SIZE", "<QII", "", "work-items of a workgroup (u32), workgroups of the GPU (u32)"),
    ProtocolOperation(
        17,
        "COMPILE",
        "<II",
        "texts, each after its bytes (u32)",
        "lowered names, log, code: texts",
    ),
    ProtocolOperation(18, "WAITED", "<Q"),
    ProtocolOperation(19, "EVENT_WAITED", "<Q"),
    ProtocolOperation(20, "PREPARE", "<Q3II", "", "workgroups that the GPU holds at a time (u32)"),
    ProtocolOperation(
        21,
        "TRANSLATE",
        "<II",
        "ISA, folder, options (count), data objects (count; of each its kind (u32), name, contents): texts",
        "log, results: as the data objects",
    ),
    ProtocolOperation(
        22, "NO_CODE", "<", "GPUs that a module has code for", "nothing: the status says what is missing"
    ),
    ProtocolOperation(23, "KERNELS", "<Q", "", "names of a module's kernels: count, texts"),
    ProtocolOperation(24, "COMMAND", "<QQ"),
    ProtocolOperation(25, "TIMES", "<Q", "", "of a command: asked for, at its turn, started, ended: nanoseconds (u64)"),
    ProtocolOperation(26, "IMAGE", "<Q14I", "", "16 words of a texture or surface object"),
    ProtocolOperation(27, "LINE", "<II", "file, function of a Python program's line: texts"),
    ProtocolOperation(28, "REGION", "<4Q", "", "whether an engine serves it (u32)"),
    ProtocolOperation(29, "SAMPLER", "<3I", "", "4 words of a sampler"),
)


def header() -> str:
    """Return the C++ header with which the library is built: what both sides have to agree on."""
    lines = ["#pragma once", f'#define GPUSIM_VERSION "{__version__}"', f'#define GPUSIM_SOCKET "{SOCKET_VARIABLE}"']
    lines.append(f'#define GPUSIM_HOST_POINTERS "{HOST_POINTERS_VARIABLE}"')
    lines.append(f'#define GPUSIM_DRIVER "{DRIVER_VARIABLE}"')
    lines.append(f"constexpr unsigned long GPUSIM_BASE = {VIRTUAL_BASE:#x}ul;")
    lines.append(f"constexpr int GPUSIM_EXIT_GONE = {EXIT_SIMULATOR_GONE};")
    lines.append("enum Op : unsigned {")
    lines += [f"  OP_{op.name} = {op.number}," for op in OPS]
    for kind in (Copied, ArgumentKind, Source):
        prefix = kind.__name__.removesuffix("Kind").upper()
        lines += ["};", f"enum {kind.__name__} : unsigned {{", *(f"  {prefix}_{c.name} = {c.value}," for c in kind)]
    lines += ["};", f"constexpr unsigned NO_OFFSET = {NO_OFFSET:#x};"]
    lines += ["enum : int {", *(f"  {e.hip_name} = {e.value}," for e in HipError), "};"]
    lines += ["#define GPUSIM_ERRORS(X) \\"]
    lines += [f'  X({e.hip_name}, "{e.text}") \\' for e in HipError]
    return "\n".join((*lines, "", ""))
