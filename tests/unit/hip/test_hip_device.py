"""Is the GPU that a program is told of the one of the configuration, laid out as AMD's headers say?"""

import ctypes
import re
from pathlib import Path

import pytest

from gpusim.config.gpu import load_gpu
from gpusim.jobs.hip import compilation
from gpusim.jobs.hip.device import (
    Properties5,
    Properties6,
    _list_attributes,
    attributes,
    properties,
    refused_attributes,
)
from workloads.toolchain.errors import KernelBuildError

# sizeof and offsetof of g++ over hip_runtime_api.h of ROCm 5.7.1 and 6.4.3
LAYOUTS = {
    Properties5: (
        792,
        {
            **{"totalGlobalMem": 256, "multiProcessorCount": 336, "l2CacheSize": 340, "arch": 356},
            **{"maxSharedMemoryPerMultiProcessor": 376, "gcnArchName": 396, "memPitch": 712, "isLargeBar": 764},
            "managedMemory": 772,
        },
    ),
    Properties6: (
        1472,
        {
            **{"totalGlobalMem": 288, "memPitch": 312, "multiProcessorCount": 388, "l2CacheSize": 616},
            **{"managedMemory": 652, "gcnArchName": 1160, "maxSharedMemoryPerMultiProcessor": 1416, "arch": 1428},
            "isLargeBar": 1464,
        },
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout(layout: type[ctypes.Structure]) -> None:
    size, offsets = LAYOUTS[layout]
    assert ctypes.sizeof(layout) == size
    assert {name: getattr(layout, name).offset for name in offsets} == offsets


def test_values_are_the_configurations() -> None:
    gpu = load_gpu("mi6", ["memory_mib=1024", "clock_ghz=1.5"])
    first, second = properties(gpu)
    for told in (Properties5.from_buffer_copy(first), Properties6.from_buffer_copy(second)):
        assert told.name == b"gpusim MI6" and told.gcnArchName == b"gfx803"
        assert (told.major, told.minor, told.warpSize) == (8, 0, 64)
        assert told.totalGlobalMem == 1 << 30 and told.clockRate == 1_500_000
        assert told.multiProcessorCount == 36 and list(told.maxThreadsDim) == [1024] * 3
        bandwidth = 2 * told.memoryClockRate * 1e3 * told.memoryBusWidth / 8
        assert bandwidth == pytest.approx(gpu.dram.bytes_per_s, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "target", "number"),
    [
        ("mi25", "gfx900:xnack-", 900),
        ("mi60", "gfx906:sramecc+:xnack-", 906),
        ("mi100", "gfx908:sramecc+:xnack-", 908),
        ("mi210", "gfx90a:sramecc+:xnack-", 910),
    ],
)
def test_the_architecture_is_the_gpus(name: str, target: str, number: int) -> None:
    first, second = properties(load_gpu(name))
    for told in (Properties5.from_buffer_copy(first), Properties6.from_buffer_copy(second)):
        assert told.gcnArchName == target.encode() and (told.major, told.minor) == (9, 0)
    assert Properties5.from_buffer_copy(first).gcnArch == number


def test_programs_are_compiled_for_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(gpu: str) -> None:
        raise KernelBuildError(f"no compiler for {gpu}")

    monkeypatch.setattr(compilation, "find_hip_tools", missing)
    done = compilation.compile_program(compilation.CompileRequest("", "program"), "gfx906")
    assert not done.code and done.log == "gpusim: no compiler for gfx906\n"


# numbers of hipDeviceAttribute_t (hip_runtime_api.h of ROCm 6.4.3)
NUMBERS = {0: "ECCEnabled", 5: "clockRate", 19: "l2CacheSize", 23: "major", 63: "multiProcessorCount", 87: "warpSize"}
MORE = {
    56: "maxThreadsPerBlock",
    59: "memoryBusWidth",
    74: "sharedMemPerBlock",
    81: "textureAlignment",
    88: "memoryPoolsSupported",
}


def test_attributes_are_the_properties() -> None:
    gpu = load_gpu("r9nano")
    told = Properties6.from_buffer_copy(properties(gpu)[1])
    known = dict(attributes(gpu))
    for number, name in (NUMBERS | MORE).items():
        assert known[number] == getattr(told, name), name
    assert known[26] == known[55] == 1024 and known[31] == (1 << 31) - 1
    assert known[10011] == told.isLargeBar == 1 and known[10015] == gpu.cus
    assert known[10014] == known[10016] == known[10018] == 1 and known[10019] == 256
    assert 92 not in known and 10021 not in known


def test_images_of_the_device_are_those_that_its_instructions_read() -> None:
    assert dict(attributes(load_gpu("mi50", {"architecture": "gfx90a"})))[10014] == 0
    assert dict(attributes(load_gpu("mi50")))[10014] == 1


HEADER = Path("/usr/include/hip/hip_runtime_api.h")  # of Debian's libamdhip64-dev


def attributes_of_header() -> dict[int, set[str]]:
    """Names of hipDeviceAttribute_t by their numbers, from the header that is installed."""
    found = re.search(r"enum hipDeviceAttribute_t \{(.*?)\} hipDeviceAttribute_t;", HEADER.read_text(), re.DOTALL)
    assert found is not None
    numbers: dict[str, int] = {}
    for item in re.sub(r"//.*", "", found[1]).split(","):
        name, _, value = (part.strip() for part in item.partition("="))
        if name:
            last = next(reversed(numbers.values()), -1)
            numbers[name] = last + 1 if not value else int(value) if value.isdigit() else numbers[value]
    named: dict[int, set[str]] = {}
    for name, number in numbers.items():
        if not name.endswith(("Begin", "End")):
            named.setdefault(number, set()).add(name)
    return named


@pytest.mark.skipif(not HEADER.exists(), reason="HIP's headers are not installed")
def test_each_attribute_of_the_header_has_a_value_or_is_refused_by_its_name() -> None:
    known, refused = dict(attributes(load_gpu("r9nano"))), dict(refused_attributes())
    assert not set(known) & set(refused)
    named = {number: name for number, name, _ in _list_attributes()}
    for number, names in attributes_of_header().items():
        assert number in known or number in refused, names
        assert named[number] in names or any("Unused" in name for name in names)
    assert refused[10005] == "hipDeviceAttributeHdpMemFlushCntl" and refused[64] == "hipDeviceAttributeName"
