"""Do kernels with AMD's device library, OpenCL's and HIP's, compute what NumPy computes, in FP64 too?

Their code objects are committed; nobody needs a compiler.
"""

from pathlib import Path

import numpy as np
import pytest

import gpusim
from gpusim.base.progress import Reporter

KERNELS = Path(__file__).resolve().parents[2] / "data/kernels"


@pytest.fixture(scope="module")
def gpu() -> gpusim.Device:
    return gpusim.Device(gpusim.GpuSpec(memory_mib=16), timing=False, quiet=True)


@pytest.fixture(scope="module")
def opencl(gpu: gpusim.Device) -> gpusim.Module:
    return gpu.load(KERNELS / "device_library.hsaco")


@pytest.fixture(scope="module")
def hip(gpu: gpusim.Device) -> gpusim.Module:
    return gpu.load(KERNELS / "hip_kernels.hsaco")


def ulps(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest distance in units in the last place of `found`'s type."""
    spacing = np.spacing(np.abs(expected).astype(found.dtype)).astype(np.float64)
    return float(np.max(np.abs(found.astype(np.float64) - expected) / spacing))


def test_double_precision(gpu: gpusim.Device, opencl: gpusim.Module) -> None:
    import math

    x = np.concatenate([np.linspace(0.01, 30, 90), [123456789.123, 1e-300, 1e-9, 1e5, 700.25, 2.0]])
    out = gpu.zeros((12, 96), np.float64)
    gpu.launch(opencl["doubles"], 96, 64, [gpu.array(x), out, 96])
    got = out.numpy()
    np.testing.assert_array_equal(got[0], np.floor(x))  # 123456789 and not 123456792
    np.testing.assert_array_equal(got[1], x)  # 1e-300 and not 0
    np.testing.assert_array_equal(got[2], np.sqrt(x))
    with np.errstate(over="ignore"):
        expected = [1 / np.sqrt(x), np.exp(x), np.log(x), np.sin(x), np.tan(x), x**1.5]
    for k, values in enumerate(expected, 3):
        finite = np.isfinite(values)
        np.testing.assert_array_equal(got[k][~finite], values[~finite])
        assert ulps(got[k][finite], values[finite]) <= 4, k  # OpenCL C specification: at most 16; NumPy's own beside
    assert ulps(got[9], x * x - x) <= 1 << 20 and np.all(np.abs(got[9] - (x * x - x)) <= np.spacing(x * x))
    assert ulps(got[10], np.arctan2(x, 2.0)) <= 6
    assert ulps(got[11], np.array([math.erf(v) for v in x])) <= 16


def test_half_precision(gpu: gpusim.Device, opencl: gpusim.Module) -> None:
    x = np.linspace(0.1, 50, 300).astype(np.float16)
    out = gpu.zeros((2, 300), np.float16)
    gpu.launch(opencl["halves"], 320, 64, [gpu.array(x), out, 300])
    v = x.astype(np.float64)
    np.testing.assert_array_equal(out.numpy()[0], np.sqrt(v).astype(np.float16))
    expected = (np.floor(v).astype(np.float16) + np.cos(v).astype(np.float16)).astype(np.float64)
    assert np.all(np.abs(out.numpy()[1] - expected) <= 2 * np.spacing(np.abs(v).astype(np.float16)))


def test_single_precision_of_large_arguments(gpu: gpusim.Device, opencl: gpusim.Module) -> None:
    x = np.linspace(0.5, 9.5, 256).astype(np.float32)
    out = gpu.zeros((3, 256), np.float32)
    gpu.launch(opencl["singles"], 256, 64, [gpu.array(x), out, 256])
    v = x.astype(np.float64)
    far = (x * np.float32(1e5)).astype(np.float64)
    for k, values in enumerate((np.exp(v), np.sin(far), v ** np.float64(np.float32(3.3)))):
        assert ulps(out.numpy()[k], values) <= (4, 4, 16)[k], k  # OpenCL C specification, section 7.4


def test_functions_of_work_groups(gpu: gpusim.Device, opencl: gpusim.Module) -> None:
    x = np.random.default_rng(3).integers(-1000, 1000, 1024).astype(np.int32)
    out = gpu.zeros((1024, 3), np.int32)
    gpu.launch(opencl["groups"], 1024, 256, [gpu.array(x), out])
    groups = x.reshape(4, 256)
    before = np.cumsum(groups, axis=1) - groups
    expected = [np.repeat(groups.sum(1), 256), before.ravel(), np.repeat(groups.max(1), 256)]
    np.testing.assert_array_equal(out.numpy(), np.stack(expected, axis=1))


@pytest.mark.parametrize(
    ("name", "dtype", "group"),
    [("scaled_sum<float, 256u>", np.float32, 256), ("scaled_sum<double, 128u>", np.float64, 128)],
)
def test_hip_template_with_shared_memory_and_lane_exchange(
    gpu: gpusim.Device, hip: gpusim.Module, name: str, dtype: type, group: int
) -> None:
    x = np.random.default_rng(1).integers(-50, 50, 2000).astype(dtype)
    out = gpu.zeros(3, dtype)
    gpu.launch(hip[name], 3 * group, group, {"in": gpu.array(x), "out": out, "factor": 0.5, "n": 2000})
    chunks = [x[i : i + group] for i in range(0, 2000, group)]
    np.testing.assert_array_equal(out, [0.5 * sum(c.sum() for c in chunks[k::3]) for k in range(3)])


def test_hip_atomics_and_dynamic_shared_memory(gpu: gpusim.Device, hip: gpusim.Module) -> None:
    keys = np.random.default_rng(2).integers(0, 1 << 30, 500).astype(np.uint32)
    bins = gpu.zeros(64, np.uint32)
    gpu.launch(hip["histogram"], 512, 128, [gpu.array(keys), bins, 500], dynamic_lds_bytes=256)
    np.testing.assert_array_equal(bins, np.bincount(keys % 64, minlength=64))


def test_hip_double_precision_in_two_dimensions(gpu: gpusim.Device, hip: gpusim.Module) -> None:
    out = gpu.zeros((16, 16), np.float64)
    gpu.launch(hip["waves"], (16, 16), (8, 8), [out, 0.25])
    at = np.arange(256).reshape(16, 16)
    expected = np.sin(at * 0.01 + 0.25) * np.exp(-at * 0.01) + np.floor(123456789.123 + at)
    np.testing.assert_allclose(out, expected, rtol=1e-15)


def test_names_of_cpp_kernels_are_shown_and_found(hip: gpusim.Module) -> None:
    assert "scaled_sum<float, 256u>(float* in, float* out, float factor, uint n)" in repr(hip)
    assert "damped::waves(double* out, double by)" in repr(hip["waves"])
    assert hip["damped::waves"] is hip["_ZN6damped5wavesEPdd"]
    assert "histogram" in hip and "scaled_sum" not in hip
    with pytest.raises(gpusim.KernelNameError, match=r"may be any of scaled_sum<double, 128u>, scaled_sum<float"):
        hip["scaled_sum"]


def test_a_call_to_the_host_is_named(gpu: gpusim.Device) -> None:
    prints = gpu.load(KERNELS / "prints.hsaco")["prints"]
    with pytest.raises(gpusim.ExecutionFault, match=r"the kernel can call the host \(printf, .*and there is none"):
        gpu.launch(prints, 64, 64, [gpu.zeros(64)])


def test_faults_name_cpp_kernels_as_they_are_written(gpu: gpusim.Device, hip: gpusim.Module) -> None:
    with pytest.raises(gpusim.ExecutionFault, match=r"kernel 'damped::waves', pc 0x\w+ \(flat_store_dwordx2") as caught:
        gpu.launch(hip["waves"], (64, 64), (8, 8), [gpu.zeros(8, np.float64), 0.25])
    assert "the host" not in str(caught.value)


def test_progress_names_cpp_kernels_as_they_are_written(
    gpu: gpusim.Device, hip: gpusim.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles = []
    following = Reporter.following
    monkeypatch.setattr(Reporter, "following", lambda self, title: titles.append(title) or following(self, title))
    gpu.launch(hip["waves"], (16, 16), (8, 8), [gpu.zeros((16, 16), np.float64), 0.25])
    assert titles == ["damped::waves"]
