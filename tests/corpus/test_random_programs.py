"""Do random OpenCL programs give on the simulator what they give on the host's processor?"""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from isa.execution.emulator import run_functional
from isa.object.code_object import load_code_object
from tests.corpus.build import missing_tool
from tests.corpus.random_source import INPUTS, source
from tests.support.functional import Device

ITEMS = 100
PROGRAMS = {"-O0": 3, "-O1": 8, "-O3": 8}  # at -O0 they are ten times as long, and all alike
DAILY = [(19, "-O0", 1), (14, "-O1", 2), (19, "-O3", 3)]  # clang, flag, programs
NIGHTLY = [
    pytest.param(clang, flag, number, marks=pytest.mark.nightly)
    for clang in (14, 19)
    for flag, number in PROGRAMS.items()
]
COMMON = ["-x", "cl", "-cl-std=CL2.0", "-w", "-fwrapv", "-ffp-contract=off", "-cl-fp32-correctly-rounded-divide-sqrt"]
# LLVM 14 and 19 divide in 24 or 32 bits where an unsigned dividend has leading ones, which is the compiler's fault:
# such dividends are avoided, and one of the two places that do so is switched off.
DEVICE = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx803", "-nogpulib", "-mcode-object-version=4"]
DEVICE += ["-mllvm", "-amdgpu-codegenprepare-disable-idiv-expansion"]
HOST = ["-DHOST", "-O1", "-fPIC", "-shared", "-nostdlib"]


def inputs(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Integers of all magnitudes, floats between a thousandth and a thousand."""
    rng = np.random.default_rng(seed)
    integers = rng.integers(-(1 << 63), 1 << 63, (ITEMS, INPUTS)) >> rng.integers(0, 63, (ITEMS, INPUTS))
    floats = 10.0 ** rng.uniform(-3, 3, (ITEMS, INPUTS)) * rng.choice([-1, 1], (ITEMS, INPUTS))
    return integers, floats.astype(np.float32).astype(np.float64)


def compare(clang: int, flags: list[str], seeds: range, folder: Path) -> None:
    """Raises AssertionError where a result differs."""
    text, names = source(seeds)
    (folder / "programs.cl").write_text(text)
    compiler = [f"clang-{clang}", *COMMON, "programs.cl"]
    subprocess.run([*compiler, *HOST, "-o", "host.so", "-lm"], cwd=folder, check=True)
    subprocess.run([*compiler, *DEVICE, *flags, "-c", "-o", "programs.o"], cwd=folder, check=True)
    subprocess.run(["ld.lld-19", "-shared", "programs.o", "-o", "programs.hsaco"], cwd=folder, check=True)
    host, kernels = ctypes.CDLL(str(folder / "host.so")), load_code_object(folder / "programs.hsaco").kernels
    integers, floats = inputs(seeds.start)
    for name in names:
        device = Device()
        device.put("integers", integers), device.put("floats", floats)
        device.put("results", np.zeros((ITEMS, 8), np.int64)), device.put("numbers", np.zeros((ITEMS, 8)))
        run_functional(device.launch(kernels[name], ITEMS, 64, "integers", "floats", "results", "numbers", ITEMS))
        results, numbers = np.zeros((ITEMS, 8), np.int64), np.zeros((ITEMS, 8))
        arrays = [ctypes.c_void_p(array.ctypes.data) for array in (integers, floats, results, numbers)]
        host[name](*arrays, ctypes.c_uint(ITEMS))
        np.testing.assert_array_equal(device.get("results").reshape(ITEMS, 8), results, f"{name}: integers")
        np.testing.assert_array_equal(device.get("numbers").reshape(ITEMS, 8), numbers, f"{name}: floats")


@pytest.mark.parametrize(("clang", "flags", "programs"), [*DAILY, *NIGHTLY])
def test_same_as_on_the_host(clang: int, flags: str, programs: int, tmp_path: Path) -> None:
    reason = missing_tool(clang)
    if reason:
        pytest.skip(reason)
    seed = 1000 * clang + 100 * int(flags[-1])
    compare(clang, [flags], range(seed, seed + programs), tmp_path)
