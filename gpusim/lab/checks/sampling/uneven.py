"""Launches whose work differs along the grid, in amount or in kind: sorted rows, triangles, late and heavy ones."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from gpusim.config.gpu import load_gpu
from gpusim.lab.checks.sampling.case import SamplingCase, SamplingLaunch
from isa.device_memory import DeviceMemory
from isa.kernarg import Pointer, pack
from isa.launch import Launch
from isa.object.code_object import Kernel, load_code_object
from workloads.toolchain.build import BENCH_KERNELS_DIR, code_object_path

UNEVEN = "uneven"  # the kind of all these cases
_WORKGROUPS = 20_480  # of 256 work-items: 57 rounds on MI6, 32 on the R9 Nano
_LIGHT, _HEAVY = 12, 20  # loop rounds of a light workgroup, times more of a heavy one
_ELEMENTS = 1 << 22
_ROWS = 1 << 20
_WAVEFRONT_ROWS = 1 << 16
_PIXELS = 2048


def uneven_cases(gpu: str) -> list[SamplingCase]:
    """Return the cases for a GPU."""
    looped: tuple[tuple[str, str, Callable[[], np.ndarray]], ...] = (
        ("ramp", "looped", _ramp),
        ("falling ramp", "looped", lambda: _ramp()[::-1]),
        ("late 75%", "looped", lambda: _heavy_from(0.75)),
        ("late 96%", "looped", lambda: _heavy_from(0.96)),
        ("spike", "looped", _spike),
        ("block", "looped", _block),
        ("rare heavy", "looped", _rare),
        ("ramp of loads", "streamed", _ramp),
        ("late 75% of loads", "streamed", lambda: _heavy_from(0.75)),
        ("rare heavy of loads", "streamed", _rare),
    )
    made = [
        SamplingCase(f"{gpu} {name}", UNEVEN, kernel, partial(_by_table, gpu, kernel, work))
        for name, kernel, work in looped
    ]
    for kernel, rows, longest in (("csr_scalar", _ROWS, 256), ("csr_vector", _WAVEFRONT_ROWS, 4096)):
        for order in ("falling", "rising"):
            make = partial(_csr, gpu, kernel, rows, longest, order)
            made.append(SamplingCase(f"{gpu} {kernel} {order}", UNEVEN, f"{rows} rows of up to {longest}", make))
    made.append(SamplingCase(f"{gpu} two phases", UNEVEN, "arithmetic, then loads", lambda: _two_phases(gpu)))
    made.append(SamplingCase(f"{gpu} mandelbrot", UNEVEN, f"{_PIXELS}^2 pixels", lambda: _mandelbrot(gpu)))
    return made


def _ramp() -> np.ndarray:
    """Make work that grows along the grid, as a triangle's rows."""
    return 1 + np.arange(_WORKGROUPS) * 4 * _LIGHT // _WORKGROUPS


def _heavy_from(part: float) -> np.ndarray:
    work = np.full(_WORKGROUPS, _LIGHT)
    work[round(part * _WORKGROUPS) :] *= _HEAVY
    return work


def _spike() -> np.ndarray:
    """Make a peak of a hundredth of the grid's width at two fifths of it."""
    apart = (np.arange(_WORKGROUPS) / _WORKGROUPS - 0.4) / 0.01
    return np.asarray(_LIGHT * (1 + (_HEAVY - 1) * np.exp(-(apart**2))), np.int64)


def _block() -> np.ndarray:
    """Make 512 heavy workgroups one after another."""
    work = np.full(_WORKGROUPS, _LIGHT)
    work[_WORKGROUPS * 3 // 10 :][:512] *= _HEAVY
    return work


def _rare() -> np.ndarray:
    """Make one workgroup of two hundred heavy, at random."""
    heavy = np.random.default_rng(1).random(_WORKGROUPS) < 0.005
    return np.where(heavy, _LIGHT * _HEAVY, _LIGHT)


@cache
def _kernel(name: str) -> Kernel:
    return load_code_object(code_object_path("uneven", BENCH_KERNELS_DIR)).kernels[name]


def _launch(gpu: str, kernel: str, items: tuple[int, int], local: tuple[int, int], **arguments: Any) -> SamplingLaunch:
    """Prepare a launch; arrays among its arguments go into device memory."""
    spec = load_gpu(gpu)
    memory = DeviceMemory(spec.memory_mib << 20, architecture=spec.architecture)
    values = {
        name: Pointer(memory.upload(value, name).address) if isinstance(value, np.ndarray) else value
        for name, value in arguments.items()
    }
    block = pack(_kernel(kernel), values).block
    return SamplingLaunch(Launch(_kernel(kernel), memory, block, (*items, 1), (*local, 1)), spec)


def _by_table(gpu: str, kernel: str, make: Callable[[], np.ndarray]) -> SamplingLaunch:
    work = make()
    items = 256 * len(work)
    more = {"x": np.ones(_ELEMENTS, np.float32), "elements": _ELEMENTS} if kernel == "streamed" else {}
    table = work.astype(np.uint32)
    return _launch(gpu, kernel, (items, 1), (256, 1), work=table, y=np.zeros(items, np.float32), **more)


def _csr(gpu: str, kernel: str, rows: int, longest: int, order: str) -> SamplingLaunch:
    """Prepare a sparse product of rows sorted by length, few of them long: the k-th longest has longest / k^0.6."""
    rng = np.random.default_rng(2)
    lengths = np.ceil(longest / (1 + np.arange(rows) / 64) ** 0.6).astype(np.int64)
    lengths = lengths if order == "falling" else lengths[::-1]
    begins = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
    count = int(begins[-1])
    local = 64 if kernel == "csr_vector" else 256
    items = rows * (local if kernel == "csr_vector" else 1)
    return _launch(
        gpu, kernel, (items, 1), (local, 1),
        begins=begins, places=rng.integers(0, rows, count).astype(np.uint32), values=np.ones(count, np.float32),
        x=np.ones(rows, np.float32), y=np.zeros(rows, np.float32),
    )  # fmt: skip


def _two_phases(gpu: str) -> SamplingLaunch:
    items = 256 * _WORKGROUPS
    return _launch(
        gpu, "two_phases", (items, 1), (256, 1),
        x=np.ones(_ELEMENTS, np.float32), y=np.zeros(items, np.float32),
        first=_WORKGROUPS * 3 // 5, rounds=_LIGHT, elements=_ELEMENTS,
    )  # fmt: skip


def _mandelbrot(gpu: str) -> SamplingLaunch:
    steps = np.zeros(_PIXELS * _PIXELS, np.uint32)
    return _launch(gpu, "mandelbrot", (_PIXELS, _PIXELS), (16, 16), steps=steps, width=_PIXELS, height=_PIXELS, most=96)
