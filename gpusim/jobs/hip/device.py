"""What a HIP program is told of the simulated GPU: attributes, and hipDeviceProp_t in the layouts of two releases.

device.txt has the layouts and the attributes' order; values come from the configuration.
What gpusim does not have, mipmaps and cube maps, has size 0.
"""

import ctypes
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from gpusim.jobs.hip.textures import MOST_ELEMENTS
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.gpu_spec import GpuSpec
from isa.architecture import LANES
from isa.image_resource import MOST_LAYERS, MOST_TEXELS
from isa.object.targets import device_target
from isa.opcodes import ARCHITECTURES
from memory.dram.standards import STANDARDS

MOST_WORK_ITEMS = 1024  # of a workgroup
_MOST_GRID = (1 << 31) - 1
_ALIGNMENT = 256
_INSTRUCTION_CLOCK_KHZ = 27_000  # of s_memrealtime on GFX8 (LLVM AMDGPU guide: the constant-rate counter)
_SAMPLE = "image_sample_l"  # of a level of detail: gfx90a has no such sampling any more
_MOST_VGPRS = 256  # of a work-item; twice as many where accumulation registers are part of them, by granules of 8
_DRIVER_SHARE = 0  # LDS that the driver keeps of a workgroup
# hipDeviceArch_t: 17 bits; a kernel may not use funnel shifts, __syncthreads_count, surfaces, dynamic parallelism
_ABILITIES = (1 << 17) - 1 & ~(1 << 11 | 1 << 13 | 1 << 14 | 1 << 16)
_TABLE = Path(__file__).with_name("device.txt")
_TYPES: dict[str, Any] = {
    "char": ctypes.c_char,
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "size_t": ctypes.c_size_t,
    "pointer": ctypes.c_void_p,
}


@cache
def _table() -> dict[str, list[str]]:
    """Read device.txt: the lines below each of its heads."""
    sections: dict[str, list[str]] = {}
    head = ""
    for line in _TABLE.read_text("utf-8").splitlines():
        if line.startswith("  "):
            sections[head].append(line.strip())
        elif line and line[0] != "#":
            head = line
            sections[head] = []
    return sections


def _structure(name: str) -> type[ctypes.Structure]:
    fields = []
    for kind, member in map(str.split, _table()[name]):
        member, _, count = member.rstrip("]").partition("[")
        fields.append((member, _TYPES[kind] * int(count) if count else _TYPES[kind]))
    return type(name, (ctypes.Structure,), {"_fields_": fields})


Properties5 = _structure("hipDeviceProp_tR0000")
Properties6 = _structure("hipDeviceProp_tR0600")


def _facts(gpu: GpuSpec) -> dict[str, int | bytes | list[int]]:
    """Return values by the names of either layout's members; members without a value are 0."""
    architecture = ARCHITECTURES[gpu.architecture]
    major, minor, stepping = architecture.version
    lds = gpu.cu.lds_kib << 10
    registers = gpu.cu.vgprs_per_lane * LANES * SIMDS
    pin_gbps = gpu.dram.pin_rate_gbps or STANDARDS[gpu.dram.standard].pin_rate_gbps.value
    return {
        "name": f"gpusim {gpu.name}".encode(),
        "gcnArchName": device_target(architecture).encode(),
        "gcnArch": 100 * major + 10 * minor + stepping,
        "uuid": f"gpusim {architecture.name} #0".encode(),
        "totalGlobalMem": gpu.memory_mib << 20,
        "sharedMemPerBlock": lds,
        "sharedMemPerBlockOptin": lds,
        "sharedMemPerMultiprocessor": lds,
        "maxSharedMemoryPerMultiProcessor": lds,
        "reservedSharedMemPerBlock": _DRIVER_SHARE,
        "regsPerBlock": registers,
        "regsPerMultiprocessor": registers,
        "warpSize": LANES,
        "memPitch": _MOST_GRID,
        "maxThreadsPerBlock": MOST_WORK_ITEMS,
        "maxThreadsDim": [MOST_WORK_ITEMS] * 3,
        "maxGridSize": [_MOST_GRID] * 3,
        "clockRate": round(gpu.clock_ghz * 1e6),
        # programs take twice the clock times the width for the bandwidth
        "memoryClockRate": round(pin_gbps * 1e6 / 2),
        "memoryBusWidth": round(gpu.dram.bytes_per_s * 8 / (pin_gbps * 1e9)),
        "totalConstMem": _MOST_GRID,
        "major": major,
        "minor": minor,
        "multiProcessorCount": gpu.cus,
        "l2CacheSize": gpu.l2.size_kib << 10,
        "maxThreadsPerMultiProcessor": gpu.cu.waves_per_simd * SIMDS * LANES,
        "maxBlocksPerMultiProcessor": gpu.cu.waves_per_simd * SIMDS,
        "clockInstructionRate": _INSTRUCTION_CLOCK_KHZ,
        "arch": _ABILITIES,
        "concurrentKernels": 0,
        "deviceOverlap": 1,
        "asyncEngineCount": 1,
        "pciBusID": 1,
        "canMapHostMemory": 1,
        "unifiedAddressing": 1,
        "cooperativeLaunch": 1,
        "textureAlignment": _ALIGNMENT,
        "texturePitchAlignment": _ALIGNMENT,
        **_images(),
        "isLargeBar": 1,
        "managedMemory": 1,
        "directManagedMemAccessFromHost": 1,
        "globalL1CacheSupported": 1,
        "localL1CacheSupported": 1,
        "memoryPoolsSupported": 1,
        "unifiedFunctionPointers": 1,
        # attributes that are no members
        "imageSupport": int(any(one.mnemonic == _SAMPLE for one in architecture.tables["mimg"].values())),
        "fineGrainSupport": 1,  # memory of device and host is one memory file
        "canUseStreamWaitValue": 0,
        "virtualMemoryManagementSupported": 0,
        "numberOfXccs": 1,
        "maxAvailableVgprsPerThread": min(gpu.cu.vgprs_per_lane, _MOST_VGPRS * (architecture.vgpr_granule // 4)),
    }


def _images() -> dict[str, int | bytes | list[int]]:
    """Return the largest textures and surfaces, in texels and layers; of a pitched one the pitch in texels too."""
    plane, volume = [MOST_TEXELS] * 2, [MOST_TEXELS, MOST_TEXELS, MOST_LAYERS]
    sizes: dict[str, int | bytes | list[int]] = {"maxTexture1DLinear": MOST_ELEMENTS}
    sizes |= {"maxTexture2DLinear": [MOST_TEXELS] * 3, "maxTexture2DGather": plane, "maxTexture3DAlt": volume}
    for kind in ("maxTexture", "maxSurface"):
        sizes |= {f"{kind}1D": MOST_TEXELS, f"{kind}2D": plane, f"{kind}3D": volume}
        sizes |= {f"{kind}1DLayered": [MOST_TEXELS, MOST_LAYERS], f"{kind}2DLayered": volume}
    return {**sizes, "surfaceAlignment": _ALIGNMENT}


def properties(gpu: GpuSpec) -> tuple[bytes, bytes]:
    """Return hipDeviceProp_t of ROCm 5 and of ROCm 6."""
    return _filled(Properties5(), gpu), _filled(Properties6(), gpu)


def _filled(structure: ctypes.Structure, gpu: GpuSpec) -> bytes:
    names = {name for name, *_ in structure._fields_}
    for name, value in _facts(gpu).items():
        if name in names:
            setattr(structure, name, getattr(structure, name).__class__(*value) if isinstance(value, list) else value)
    return bytes(structure)


def _list_attributes() -> Iterator[tuple[int, str, str]]:
    """Yield number, name and source of the value of each attribute that device.txt has; the source '-': refused."""
    for first in (0, 10_000):
        for number, row in enumerate(_table()[f"hipDeviceAttribute_t {first}"], first):
            name, source = row.split()
            yield number, f"hipDeviceAttribute{name}", source


def attributes(gpu: GpuSpec) -> Iterator[tuple[int, int]]:
    """Yield number and value of each attribute that has one; a value beyond an int is the largest int."""
    facts = _facts(gpu)
    for number, _, source in _list_attributes():
        member, _, index = source.partition(".")
        value = facts.get(member, 0)
        if isinstance(value, list):
            value = value[int(index)]
        if source != "-" and isinstance(value, int):
            yield number, min(value, _MOST_GRID)


def refused_attributes() -> list[tuple[int, str]]:
    """List number and name of each attribute of ROCm's header that has no value."""
    return [(number, name) for number, name, source in _list_attributes() if source == "-"]
