"""HIP and OpenCL programs under `gpusim hip`: where they lie, and how tests run them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpusim.jobs.hip.building import COMPILERS
from tests.support.invoked import invoked

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

BEYOND = PROGRAMS / "beyond_lds.hsaco"
BEYOND_LDS = """
import ctypes, sys
hip = ctypes.CDLL("libamdhip64.so.5")
module, kernel, out = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipModuleLoadData(ctypes.byref(module), open(sys.argv[1], "rb").read()) == 0
assert hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"beyond_lds") == 0
assert hip.hipMalloc(ctypes.byref(out), 1792) == 0
values = (ctypes.c_int * 448)()
for _ in range(2):
    first = ctypes.c_int(100)
    of_kernel = (ctypes.c_void_p * 2)(ctypes.addressof(out), ctypes.addressof(first))
    hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, of_kernel, None)
    code = hip.hipMemcpy(values, out, 1792, 2)
    print(code)
if code == 0:
    print([*values])
"""


def start(options: list[str], *program: object, **more: object) -> "subprocess.Popen[str]":
    """A `gpusim hip` of its own, to be watched or ended while it runs."""
    process: subprocess.Popen[str] = subprocess.Popen(
        [*GPUSIM, *options, "--", *map(str, program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **more,  # type: ignore[call-overload]
    )
    return process


def run(options: list[str], *program: object) -> "subprocess.CompletedProcess[str]":
    """A program under `gpusim hip`, which runs in this process."""
    return invoked(["hip", *SMALL, *options, "--", *map(str, program)])


def case(name: str, *options: str, program: str = "runtime", more: tuple[object, ...] = ()) -> str:
    """Standard output of a case that ended with code 0."""
    done = run(["--timing", "off", *options], PROGRAMS / program, name, *more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
