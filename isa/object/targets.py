"""Which GPU a code object is for: the ELF header's flags, and the notes of files from before they said so.

LLVM AMDGPU guide, "ELF header" and "note records". EF_AMDGPU_MACH came in 2018; what was built before has flags for
features alone (version 2's trap handler bit is 2), and a note that names the instruction set by numbers.

Code may be for one setting of a device alone, by the features of its target ID: SRAM-ECC, and page faults that are
replayed (xnack). A device has one setting of each, and takes code for this or for any setting, as ROCm's loader does.
"""

import os
import struct
from collections.abc import Callable, Iterable

from isa.opcodes import ARCHITECTURES, Architecture

MACH_MASK = 0xFF
_FIRST_MACH = 0x20  # lower numbers are R600's, which runs none of this; in version 2 those bits are features

# EF_AMDGPU_MACH_AMDGCN_...
GPUS_BY_MACH = {
    **dict(enumerate(("gfx600", "gfx601", "gfx700", "gfx701", "gfx702", "gfx703", "gfx704"), 0x20)),
    **dict(enumerate(("gfx801", "gfx802", "gfx803", "gfx810", "gfx900", "gfx902", "gfx904", "gfx906"), 0x28)),
    **dict(enumerate(("gfx908", "gfx909", "gfx90c", "gfx1010", "gfx1011", "gfx1012", "gfx1030", "gfx1031"), 0x30)),
    **dict(enumerate(("gfx1032", "gfx1033", "gfx602", "gfx705", "gfx805", "gfx1035", "gfx1034", "gfx90a"), 0x38)),
    **dict(enumerate(("gfx940", "gfx1100", "gfx1013", "gfx1150", "gfx1103", "gfx1036", "gfx1101", "gfx1102"), 0x40)),
    0x48: "gfx1200",
    0x4A: "gfx1151",
    0x4B: "gfx941",
    0x4C: "gfx942",
    0x4E: "gfx1201",
    0x4F: "gfx950",
}

NT_AMD_HSA_ISA_VERSION = ("AMD", 3)
NT_AMD_HSA_ISA_NAME = ("AMD", 11)


def supported() -> str:
    """Name the GPUs whose code objects are read, as text."""
    *others, last = ARCHITECTURES
    return f"{', '.join(others)} or {last}" if others else last


def architecture_of(gpu: str) -> Architecture | None:
    """Return the architecture of a GPU by its name, None of one whose code objects are not read."""
    return ARCHITECTURES.get(gpu)


XNACK_VARIABLE = "HSA_XNACK"  # ROCm's: 1 has page faults replayed
_FEATURE_BITS = {"xnack": 8, "sramecc": 10}  # EF_AMDGPU_FEATURE_..._V4: 0 none, 1 any, 2 off, 3 on
_OF_VERSION_3 = {"xnack": 0x100, "sramecc": 0x200}  # which can say "on" alone


def features_of(flags: int, abi_version: int) -> dict[str, str]:
    """Return the settings, '+' or '-', that a code object needs; a feature that may be either is left out.

    Args:
        flags: of the ELF header.
        abi_version: its EI_ABIVERSION.

    Returns:
        The settings by feature.
    """
    if abi_version < 2:
        return {name: "+" for name, bit in _OF_VERSION_3.items() if abi_version == 1 and flags & bit}
    states = {name: flags >> shift & 3 for name, shift in _FEATURE_BITS.items()}
    return {name: "-+"[state - 2] for name, state in states.items() if state >= 2}


def target_features(target: str) -> dict[str, str]:
    """Return the settings, '+' or '-', of a target ID such as 'gfx90a:sramecc+:xnack-', by feature."""
    return {feature[:-1]: feature[-1] for feature in target.split(":")[1:] if feature[-1:] in ("+", "-")}


def device_target(architecture: Architecture) -> str:
    """Return the target ID of a device with its setting: page faults are replayed where the user has it so."""
    replays = os.environ.get(XNACK_VARIABLE) == "1"
    return architecture.target.replace("xnack-", "xnack+") if replays else architecture.target


def is_runnable(features: dict[str, str], architecture: Architecture) -> bool:
    """Tell whether a device takes code that needs these settings.

    Args:
        features: of the code.
        architecture: the device's.

    Returns:
        Whether it has them all, or lacks the feature.
    """
    device = target_features(device_target(architecture))
    return all(device.get(name, state) == state for name, state in features.items())


def gpu_of(flags: int, notes: Callable[[], Iterable[tuple[str, int, bytes]]]) -> str | None:
    """Return the GPU's name by the file's header, or by its notes where the header names none; None: neither does.

    notes: gives (owner, type, contents) of each.
    """
    mach = flags & MACH_MASK
    if mach >= _FIRST_MACH:
        return GPUS_BY_MACH.get(mach, f"an unknown GPU (EF_AMDGPU_MACH 0x{mach:x})")
    for owner, kind, contents in notes():
        if (owner, kind) == NT_AMD_HSA_ISA_VERSION and len(contents) >= 16:
            _, _, major, minor, stepping = struct.unpack_from("<HHIII", contents)
            return f"gfx{major}{minor:x}{stepping:x}"
        if (owner, kind) == NT_AMD_HSA_ISA_NAME:
            return contents.rstrip(b"\0").decode("ascii", "replace").rpartition("-")[2]
    return None
