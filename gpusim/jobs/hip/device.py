"""What a HIP program is told of the simulated GPU: attributes, and hipDeviceProp_t in the layouts of two releases.

Layouts and the attributes' order are those of hip_runtime_api.h (ROCm 5.7 and 6.4); values come from the configuration.
What gpusim does not have, mipmaps and cube maps, has size 0.
"""

import ctypes
from collections.abc import Iterator

from gpusim.jobs.hip.textures import MOST_ELEMENTS
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.gpu_spec import GpuSpec
from isa.architecture import LANES
from isa.image_resource import MOST_LAYERS, MOST_TEXELS
from isa.opcodes import ARCHITECTURES
from memory.dram.standards import STANDARDS

MOST_WORK_ITEMS = 1024  # of a workgroup
_MOST_GRID = (1 << 31) - 1
_ALIGNMENT = 256
_INSTRUCTION_CLOCK_KHZ = 27_000  # of s_memrealtime on GFX8 (LLVM AMDGPU guide: the constant-rate counter)
_DRIVER_SHARE = 0  # LDS that the driver keeps of a workgroup
# hipDeviceArch_t, from its lowest bit: whether a kernel may use it
_ABILITIES = (
    True,
    True,
    True,
    True,
    True,  # 32-bit atomics and exchange in memory and LDS, FP32 addition
    True,
    True,
    True,  # 64-bit atomics in memory and LDS, FP64
    True,
    True,
    True,
    False,  # votes, ballots, shuffles; funnel shifts
    True,
    False,
    False,
    True,
    False,  # system fences; __syncthreads_count, surfaces; 3D grids; dynamic parallelism
)

_I, _U, _Z, _P = ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p


class Properties5(ctypes.Structure):
    """hipDeviceProp_t until ROCm 5 (hipDeviceProp_tR0000)."""

    _fields_ = [
        ("name", ctypes.c_char * 256),
        ("totalGlobalMem", _Z),
        ("sharedMemPerBlock", _Z),
        ("regsPerBlock", _I),
        ("warpSize", _I),
        ("maxThreadsPerBlock", _I),
        ("maxThreadsDim", _I * 3),
        ("maxGridSize", _I * 3),
        ("clockRate", _I),
        ("memoryClockRate", _I),
        ("memoryBusWidth", _I),
        ("totalConstMem", _Z),
        ("major", _I),
        ("minor", _I),
        ("multiProcessorCount", _I),
        ("l2CacheSize", _I),
        ("maxThreadsPerMultiProcessor", _I),
        ("computeMode", _I),
        ("clockInstructionRate", _I),
        ("arch", _U),
        ("concurrentKernels", _I),
        ("pciDomainID", _I),
        ("pciBusID", _I),
        ("pciDeviceID", _I),
        ("maxSharedMemoryPerMultiProcessor", _Z),
        ("isMultiGpuBoard", _I),
        ("canMapHostMemory", _I),
        ("gcnArch", _I),
        ("gcnArchName", ctypes.c_char * 256),
        ("integrated", _I),
        ("cooperativeLaunch", _I),
        ("cooperativeMultiDeviceLaunch", _I),
        ("maxTexture1DLinear", _I),
        ("maxTexture1D", _I),
        ("maxTexture2D", _I * 2),
        ("maxTexture3D", _I * 3),
        ("hdpMemFlushCntl", _P),
        ("hdpRegFlushCntl", _P),
        ("memPitch", _Z),
        ("textureAlignment", _Z),
        ("texturePitchAlignment", _Z),
        ("kernelExecTimeoutEnabled", _I),
        ("ECCEnabled", _I),
        ("tccDriver", _I),
        *((f"cooperativeMultiDeviceUnmatched{what}", _I) for what in ("Func", "GridDim", "BlockDim", "SharedMem")),
        ("isLargeBar", _I),
        ("asicRevision", _I),
        ("managedMemory", _I),
        ("directManagedMemAccessFromHost", _I),
        ("concurrentManagedAccess", _I),
        ("pageableMemoryAccess", _I),
        ("pageableMemoryAccessUsesHostPageTables", _I),
    ]


class Properties6(ctypes.Structure):
    """hipDeviceProp_t from ROCm 6 on (hipDeviceProp_tR0600)."""

    _fields_ = [
        ("name", ctypes.c_char * 256),
        ("uuid", ctypes.c_char * 16),
        ("luid", ctypes.c_char * 8),
        ("luidDeviceNodeMask", _U),
        ("totalGlobalMem", _Z),
        ("sharedMemPerBlock", _Z),
        ("regsPerBlock", _I),
        ("warpSize", _I),
        ("memPitch", _Z),
        ("maxThreadsPerBlock", _I),
        ("maxThreadsDim", _I * 3),
        ("maxGridSize", _I * 3),
        ("clockRate", _I),
        ("totalConstMem", _Z),
        ("major", _I),
        ("minor", _I),
        ("textureAlignment", _Z),
        ("texturePitchAlignment", _Z),
        ("deviceOverlap", _I),
        ("multiProcessorCount", _I),
        ("kernelExecTimeoutEnabled", _I),
        ("integrated", _I),
        ("canMapHostMemory", _I),
        ("computeMode", _I),
        ("maxTexture1D", _I),
        ("maxTexture1DMipmap", _I),
        ("maxTexture1DLinear", _I),
        ("maxTexture2D", _I * 2),
        ("maxTexture2DMipmap", _I * 2),
        ("maxTexture2DLinear", _I * 3),
        ("maxTexture2DGather", _I * 2),
        ("maxTexture3D", _I * 3),
        ("maxTexture3DAlt", _I * 3),
        ("maxTextureCubemap", _I),
        ("maxTexture1DLayered", _I * 2),
        ("maxTexture2DLayered", _I * 3),
        ("maxTextureCubemapLayered", _I * 2),
        ("maxSurface1D", _I),
        ("maxSurface2D", _I * 2),
        ("maxSurface3D", _I * 3),
        ("maxSurface1DLayered", _I * 2),
        ("maxSurface2DLayered", _I * 3),
        ("maxSurfaceCubemap", _I),
        ("maxSurfaceCubemapLayered", _I * 2),
        ("surfaceAlignment", _Z),
        ("concurrentKernels", _I),
        ("ECCEnabled", _I),
        ("pciBusID", _I),
        ("pciDeviceID", _I),
        ("pciDomainID", _I),
        ("tccDriver", _I),
        ("asyncEngineCount", _I),
        ("unifiedAddressing", _I),
        ("memoryClockRate", _I),
        ("memoryBusWidth", _I),
        ("l2CacheSize", _I),
        ("persistingL2CacheMaxSize", _I),
        ("maxThreadsPerMultiProcessor", _I),
        ("streamPrioritiesSupported", _I),
        ("globalL1CacheSupported", _I),
        ("localL1CacheSupported", _I),
        ("sharedMemPerMultiprocessor", _Z),
        ("regsPerMultiprocessor", _I),
        ("managedMemory", _I),
        ("isMultiGpuBoard", _I),
        ("multiGpuBoardGroupID", _I),
        ("hostNativeAtomicSupported", _I),
        ("singleToDoublePrecisionPerfRatio", _I),
        ("pageableMemoryAccess", _I),
        ("concurrentManagedAccess", _I),
        ("computePreemptionSupported", _I),
        ("canUseHostPointerForRegisteredMem", _I),
        ("cooperativeLaunch", _I),
        ("cooperativeMultiDeviceLaunch", _I),
        ("sharedMemPerBlockOptin", _Z),
        ("pageableMemoryAccessUsesHostPageTables", _I),
        ("directManagedMemAccessFromHost", _I),
        ("maxBlocksPerMultiProcessor", _I),
        ("accessPolicyMaxWindowSize", _I),
        ("reservedSharedMemPerBlock", _Z),
        ("hostRegisterSupported", _I),
        ("sparseHipArraySupported", _I),
        ("hostRegisterReadOnlySupported", _I),
        ("timelineSemaphoreInteropSupported", _I),
        ("memoryPoolsSupported", _I),
        ("gpuDirectRDMASupported", _I),
        ("gpuDirectRDMAFlushWritesOptions", _U),
        ("gpuDirectRDMAWritesOrdering", _I),
        ("memoryPoolSupportedHandleTypes", _U),
        ("deferredMappingHipArraySupported", _I),
        ("ipcEventSupported", _I),
        ("clusterLaunch", _I),
        ("unifiedFunctionPointers", _I),
        ("reserved", _I * 63),
        ("hipReserved", _I * 32),
        ("gcnArchName", ctypes.c_char * 256),
        ("maxSharedMemoryPerMultiProcessor", _Z),
        ("clockInstructionRate", _I),
        ("arch", _U),
        ("hdpMemFlushCntl", _P),
        ("hdpRegFlushCntl", _P),
        *((f"cooperativeMultiDeviceUnmatched{what}", _I) for what in ("Func", "GridDim", "BlockDim", "SharedMem")),
        ("isLargeBar", _I),
        ("asicRevision", _I),
    ]


def _facts(gpu: GpuSpec) -> dict[str, int | bytes | list[int]]:
    """Return values by the names of either layout's members; members without a value are 0."""
    architecture = ARCHITECTURES[gpu.architecture]
    major, minor, stepping = architecture.version
    lds = gpu.cu.lds_kib << 10
    registers = gpu.cu.vgprs_per_lane * LANES * SIMDS
    pin_gbps = gpu.dram.pin_rate_gbps or STANDARDS[gpu.dram.standard].pin_rate_gbps.value
    return {
        "name": f"gpusim {gpu.name}".encode(),
        "gcnArchName": architecture.target.encode(),
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
        "arch": sum(can << bit for bit, can in enumerate(_ABILITIES)),
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


# hipDeviceAttribute_t in its order: the member of ROCm 6's properties with the same meaning, '' where there is none
_FIRST, _FIRST_OF_AMD = 0, 10_000
_ATTRIBUTES = (
    "ECCEnabled",
    "accessPolicyMaxWindowSize",
    "asyncEngineCount",
    "canMapHostMemory",
    "canUseHostPointerForRegisteredMem",
    "clockRate",
    "computeMode",
    "computePreemptionSupported",
    "concurrentKernels",
    "concurrentManagedAccess",
    "cooperativeLaunch",
    "cooperativeMultiDeviceLaunch",
    "deviceOverlap",
    "directManagedMemAccessFromHost",
    "globalL1CacheSupported",
    "hostNativeAtomicSupported",
    "integrated",
    "isMultiGpuBoard",
    "kernelExecTimeoutEnabled",
    "l2CacheSize",
    "localL1CacheSupported",
    "",
    "luidDeviceNodeMask",
    "major",
    "managedMemory",
    "maxBlocksPerMultiProcessor",
    "maxThreadsDim.0",
    "maxThreadsDim.1",
    "maxThreadsDim.2",
    "maxGridSize.0",
    "maxGridSize.1",
    "maxGridSize.2",
    "maxSurface1D",
    "maxSurface1DLayered.0",
    "maxSurface2D.0",
    "maxSurface2DLayered.0",
    "maxSurface3D.0",
    "maxSurfaceCubemap",
    "maxSurfaceCubemapLayered.0",
    "maxTexture1D",
    "maxTexture1DLayered.0",
    "maxTexture1DLinear",
    "maxTexture1DMipmap",
    "maxTexture2D.0",
    "maxTexture2D.1",
    "maxTexture2DGather.0",
    "maxTexture2DLayered.0",
    "maxTexture2DLinear.0",
    "maxTexture2DMipmap.0",
    "maxTexture3D.0",
    "maxTexture3D.1",
    "maxTexture3D.2",
    "maxTexture3DAlt.0",
    "maxTextureCubemap",
    "maxTextureCubemapLayered.0",
    "maxThreadsDim.0",
    "maxThreadsPerBlock",
    "maxThreadsPerMultiProcessor",
    "memPitch",
    "memoryBusWidth",
    "memoryClockRate",
    "minor",
    "multiGpuBoardGroupID",
    "multiProcessorCount",
    "",
    "pageableMemoryAccess",
    "pageableMemoryAccessUsesHostPageTables",
    "pciBusID",
    "pciDeviceID",
    "pciDomainID",
    "persistingL2CacheMaxSize",
    "regsPerBlock",
    "regsPerMultiprocessor",
    "reservedSharedMemPerBlock",
    "sharedMemPerBlock",
    "sharedMemPerBlockOptin",
    "sharedMemPerMultiprocessor",
    "singleToDoublePrecisionPerfRatio",
    "streamPrioritiesSupported",
    "surfaceAlignment",
    "tccDriver",
    "textureAlignment",
    "texturePitchAlignment",
    "totalConstMem",
    "totalGlobalMem",
    "unifiedAddressing",
    "",
    "warpSize",
    "memoryPoolsSupported",
    "",
    "hostRegisterSupported",
    "memoryPoolSupportedHandleTypes",
)
_ATTRIBUTES_OF_AMD = (
    "clockInstructionRate",
    "arch",
    "maxSharedMemoryPerMultiProcessor",
    "gcnArch",
    "",
    "",
    "",
    *(f"cooperativeMultiDeviceUnmatched{what}" for what in ("Func", "GridDim", "BlockDim", "SharedMem")),
    "isLargeBar",
    "asicRevision",
    "",
    "",
    "multiProcessorCount",
    "",
    "clockInstructionRate",
)


def attributes(gpu: GpuSpec) -> Iterator[tuple[int, int]]:
    """Yield number and value of each attribute that has one; a value beyond an int is the largest int."""
    facts = _facts(gpu)
    for first, names in ((_FIRST, _ATTRIBUTES), (_FIRST_OF_AMD, _ATTRIBUTES_OF_AMD)):
        for number, path in enumerate(names, first):
            name, _, index = path.partition(".")
            value = facts.get(name, 0)
            if isinstance(value, list):
                value = value[int(index)]
            if name and isinstance(value, int):
                yield number, min(value, _MOST_GRID)
