"""Do OpenCL's built-in functions, as the shipped header gives them, compute what OpenCL says?"""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import gpusim

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "tests/data/kernels/opencl_library.cl"
HEADER = ROOT / "workloads/toolchain/opencl.h"
FLAGS = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx803", "-nogpulib"]
FLAGS += ["-cl-kernel-arg-info", "-O3", "-Wall", "-Werror"]


def compiled(clang: str, folder: Path) -> Path:
    for tool in (clang, "ld.lld-19"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    relocatable, linked = folder / "library.o", folder / "library.hsaco"
    subprocess.run([clang, *FLAGS, "-include", HEADER, "-c", SOURCE, "-o", relocatable], check=True)
    subprocess.run(["ld.lld-19", "-shared", "--no-undefined", relocatable, "-o", linked], check=True)
    return linked


@pytest.fixture(scope="module", params=["committed", "clang-19", "clang-14"])
def code_object(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "committed":
        return SOURCE.with_suffix(".hsaco")
    return compiled(request.param, tmp_path_factory.mktemp("library"))


@pytest.fixture
def gpu() -> gpusim.Device:
    return gpusim.Device(gpusim.GpuSpec(memory_mib=16), timing=False, quiet=True)


def test_functions(code_object: Path, gpu: gpusim.Device) -> None:
    x = np.linspace(0.1, 6.0, 100).astype(np.float32)
    out = gpu.zeros((20, 100))
    gpu.launch(gpu.load(code_object)["functions"], 128, 64, [gpu.array(x), out, 100])
    v = x.astype(np.float64)
    expected = [
        np.sqrt(v),
        1 / np.sqrt(v),
        np.exp(v),
        np.log(v),
        v**1.5,
        np.sin(v),
        np.cos(v),
        np.tan(0.2 * v) / 10**v,
        np.floor(v),
        -np.floor(v + 0.5),
        np.minimum(v, 2) + np.maximum(v, 3),
        np.clip(v, 1, 2),
        np.maximum(v, 2.5) - np.minimum(v, 0.5),
        v + np.sign(v - 2) + (v >= 2),
        v * v + 3 + 8 + v,
        2 * v + 1 + v * v + v + (v + 3) / 2,
        np.exp(v) + np.exp(-v) + 1 + np.e + 4 * np.clip(v, 1, 2),
        np.sqrt(v) + 1 / np.sqrt(v) + np.log2(v) + np.hypot(v, 1),
        3 * v,
        1 + 4 + 8 * (v > 1),
    ]
    np.testing.assert_allclose(out.numpy(), expected, rtol=2e-6, atol=2e-6)


def test_vectors_move_and_convert(code_object: Path, gpu: gpusim.Device) -> None:
    x = np.random.default_rng(2).uniform(0, 200, 65).astype(np.float32)
    stored, out = gpu.zeros(65, np.uint8), gpu.zeros(33, np.int32)
    gpu.launch(gpu.load(code_object)["conversions"], 16, 16, [gpu.array(x), stored, out])
    np.testing.assert_array_equal(stored, [(255 + 7) % 256, *x[1:].astype(np.uint8)])
    np.testing.assert_array_equal(out, [*(2 * x[1:].astype(np.int32)[::2]), 13 + 3 + 3])


def test_places_with_an_offset_and_partial_workgroups(code_object: Path, gpu: gpusim.Device) -> None:
    nx, ny, nz = 5, 3, 2
    out = gpu.zeros((nz, ny, nx, 8), np.uint32)
    gpu.launch(gpu.load(code_object)["places"], (nx, ny, nz), (4, 2, 1), [out], global_offset=(7, 0, 1))
    z, y, x = np.indices((nz, ny, nx))
    size_x, size_y = np.where(x < 4, 4, 1), np.where(y < 2, 2, 1)
    at = 8 * (x + nx * (y + ny * z))
    clz = [[32 - int(v | 1).bit_length() for v in row] for row in at.reshape(-1, nx)]
    expected = [
        x + 7 | y << 8 | (z + 1) << 16,
        x % 4 | (y % 2) << 8 | (x // 4) << 16 | (y // 2) << 24,
        size_x | size_y << 8 | 4 << 16,
        nx | ny << 8 | nz << 16,
        2 | 2 << 8 | 3 << 16,
        x % 4 + size_x * (y % 2),
        np.bitwise_count(at) | np.reshape(clz, at.shape) << 8 | (1 << (at & 31)) << 16,
        (at << 24 & 0xFFFFFFFF) >> 12,
    ]
    for word, values in enumerate(expected):
        np.testing.assert_array_equal(out.numpy()[..., word], np.broadcast_to(values, at.shape) & 0xFFFFFFFF, str(word))


def test_atomics(code_object: Path, gpu: gpusim.Device) -> None:
    keys = np.random.default_rng(1).integers(0, 1 << 20, 300).astype(np.uint32)
    bins, facts = gpu.zeros(16, np.uint32), gpu.array(np.array([0, 0, -1, 0], np.int32))
    kernel = gpu.load(code_object)["atomics"]
    gpu.launch(kernel, 320, 64, [gpu.array(keys), bins, facts, 300, gpusim.Local(64)])
    np.testing.assert_array_equal(bins, np.bincount(keys & 15, minlength=16))
    np.testing.assert_array_equal(facts, [keys.max(), np.bitwise_xor.reduce(keys), 0, -600])
