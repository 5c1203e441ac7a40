"""Launches that a grammar generates: address functions, work along the grid, places of change, sizes, GPUs.

A seed decides all of a launch, so that a suite nobody has seen is one number away. Launches are small enough to be
simulated in whole: some tenths of a second to some seconds of processor time.
"""

import re
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from gpusim.config.gpu import load_gpu
from gpusim.lab.checks.sampling.case import SamplingCase, SamplingLaunch
from isa.device_memory import DeviceMemory
from isa.kernarg import Pointer, pack
from isa.launch import Launch
from isa.object.code_object import Kernel, load_code_object
from workloads.toolchain.build import PLACED_KERNELS_DIR, code_object_path

GENERATED_GPUS = ("r9nano", "mi6", "mi60")
_WAVE_SLOTS = 40  # of a compute unit, on all of these GPUs
LEAST_INSTRUCTIONS = 200_000
"""Wavefront instructions of a launch at least, about."""
_INSTRUCTIONS = (LEAST_INSTRUCTIONS, 5 * LEAST_INSTRUCTIONS)
_ROUNDS = (20, 200)
_OCCUPANCIES = (1, 0.5, 0.25, 0.1)
_ELEMENTS = 1 << 22
_FAR_ELEMENTS = 1 << 27  # 512 MiB: more pages than an L1 TLB has entries
_PER_WAVEFRONT = 24  # instructions beside the repeated ones

KernelPlan = np.ndarray  # uint32 [workgroups, 4]: repetitions, step, mask, offset


def _halves(rng: np.random.Generator, count: int) -> np.ndarray:
    """Change once, somewhere between a sixth and five sixths of the grid."""
    return np.arange(count) >= count * rng.uniform(1 / 6, 5 / 6)


def _region(rng: np.random.Generator, count: int) -> np.ndarray:
    """Mark one region of two to eight per cent."""
    first, size = rng.uniform(0.1, 0.85), rng.uniform(0.02, 0.08)
    at = np.arange(count) / count
    return np.asarray((at >= first) & (at < first + size))


def _phases(rng: np.random.Generator, count: int) -> np.ndarray:
    """Alternate between two kinds three to twelve times."""
    return np.asarray(np.arange(count) * int(rng.integers(3, 13)) // count % 2 == 1)


def _scattered(rng: np.random.Generator, count: int) -> np.ndarray:
    """Mark workgroups at random, a tenth to a half of them."""
    return rng.random(count) < rng.uniform(0.1, 0.5)


def _nowhere(rng: np.random.Generator, count: int) -> np.ndarray:
    """Mark none: all workgroups are alike."""
    del rng
    return np.zeros(count, bool)


PLACES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "one change": _halves, "a region": _region, "phases": _phases, "scattered": _scattered, "no change": _nowhere,
}  # fmt: skip
GRADUAL = "gradual"


def _work(rng: np.random.Generator, count: int, name: str) -> np.ndarray:
    """Return float64 [workgroups], mean about 1: repetitions, relative."""
    if name == "ramp":
        low, high = rng.permutation([0.4, 1.6])
        return np.asarray(np.linspace(float(low), float(high), count))
    if name == "random":
        return rng.uniform(0.5, 1.5, count)
    if name == "late":
        return np.where(np.arange(count) < count * rng.uniform(0.4, 0.8), 0.7, 1.7)
    return np.ones(count)


WORKS = ("equal", "equal", "equal", "random", "ramp", "late")


class _Draw:
    """The random choices of one launch."""

    def __init__(self, seed: int, number: int, kind: str, gpu: str, scale: int) -> None:
        self.rng = np.random.default_rng([seed, number])
        self.spec = load_gpu(gpu)
        self.place = str(self.rng.choice([*PLACES, GRADUAL], p=[0.3, 0.14, 0.14, 0.12, 0.12, 0.18]))
        self.work = str(self.rng.choice(WORKS))
        self.more = int(self.rng.integers(0, 5))
        self.kind = kind
        self.local_size = int(self.rng.choice([64, 128, 256]))
        waves = self.local_size // 64
        units = self.spec.shader_arrays * self.spec.cus_per_array
        rounds = float(np.exp(self.rng.uniform(*np.log(_ROUNDS))))
        budget = scale * float(np.exp(self.rng.uniform(*np.log(_INSTRUCTIONS))))
        each = 6 + 4 * self.more
        most = budget * 2 / (_PER_WAVEFRONT + 2 * each)  # wavefronts
        fitting = [share for share in _OCCUPANCIES if rounds * share * _WAVE_SLOTS * units <= most]
        occupancy = float(self.rng.choice(fitting or _OCCUPANCIES[-1:]))
        resident = max(1, int(_WAVE_SLOTS * occupancy) // waves)
        own = 8192 if kind == "banks" else 0
        self.dynamic_lds = 0 if occupancy == 1 else max(min(65_536 // resident // 512 * 512, 32_768) - own, 0)
        self.count = int(min(rounds, max(most / waves / (resident * units), _ROUNDS[0])) * resident * units)
        self.repetitions = int(np.clip((budget / (self.count * waves) - _PER_WAVEFRONT) / each, 2, 64))

    @property
    def instructions(self) -> int:
        """Wavefront instructions of the launch, about."""
        each = _PER_WAVEFRONT + self.repetitions * (6 + 4 * self.more)
        return self.count * (self.local_size // 64) * each

    def level(self) -> np.ndarray:
        """Return float64 [workgroups] from 0 to 1: how much of the other kind each workgroup is."""
        if self.place == GRADUAL:
            low, high = self.rng.permutation([0.0, 1.0])
            return np.asarray(np.linspace(float(low), float(high), self.count))
        return PLACES[self.place](self.rng, self.count).astype(float)

    def plan(self, step: np.ndarray | int, mask: np.ndarray | int, offset: np.ndarray | int = 0) -> KernelPlan:
        """Return what each workgroup does."""
        plan = np.zeros((self.count, 4), np.uint32)
        plan[:, 0] = np.maximum(np.round(_work(self.rng, self.count, self.work) * self.repetitions), 1)
        plan[:, 1], plan[:, 2], plan[:, 3] = step, mask, offset
        return plan

    def launch(self, kernel: str, plan: KernelPlan, **arguments: "np.ndarray | int") -> SamplingLaunch:
        """Prepare the launch; a count of elements named y is space for what is written."""
        memory = DeviceMemory(self.spec.memory_mib << 20, architecture=self.spec.architecture)
        values: dict[str, object] = {"plan": Pointer(memory.upload(plan, "plan").address)}
        for name, value in arguments.items():
            values[name] = Pointer(memory.upload(value, name).address) if isinstance(value, np.ndarray) else value
        items = self.local_size * self.count
        if kernel != "counted":
            values["y"] = Pointer(memory.upload(np.zeros(items, np.uint32), "y").address)
        code = _kernel(kernel, self.spec.architecture)
        launch = Launch(
            code, memory, pack(code, {**values, "more": self.more}).block, (items, 1, 1), (self.local_size, 1, 1),
            dynamic_lds_bytes=self.dynamic_lds,
        )  # fmt: skip
        return SamplingLaunch(launch, self.spec)


@cache
def _kernel(name: str, gpu: str) -> Kernel:
    return load_code_object(code_object_path("placed", PLACED_KERNELS_DIR, gpu)).kernels[name]


def _between(level: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return powers of two between two, by how much of the other kind each workgroup is."""
    return np.asarray(1 << np.round(np.log2(low) + level * (np.log2(high) - np.log2(low))).astype(np.int64))


def _gather(draw: _Draw) -> SamplingLaunch:
    level, items = draw.level(), draw.local_size * draw.count
    of_item = np.repeat(level, draw.local_size)[np.minimum(np.arange(_ELEMENTS), items - 1)]
    anywhere = draw.rng.integers(0, _ELEMENTS, _ELEMENTS)
    there = np.where(draw.rng.random(_ELEMENTS) < of_item, anywhere, np.arange(_ELEMENTS))
    x = np.ones(_ELEMENTS, np.float32)
    return draw.launch("gathered", draw.plan(1, 0), list=there.astype(np.uint32), x=x, elements=_ELEMENTS)


def _window(draw: _Draw) -> SamplingLaunch:
    low, high = draw.rng.permutation([1 << int(draw.rng.integers(12, 18)), 1 << int(draw.rng.integers(19, 23))])
    return draw.launch(
        "strided", draw.plan(33, _between(draw.level(), low, high) - 1), x=np.ones(_ELEMENTS, np.float32)
    )


def _stride(draw: _Draw) -> SamplingLaunch:
    low, high = draw.rng.permutation([1, 1 << int(draw.rng.integers(2, 7))])
    return draw.launch(
        "strided", draw.plan(_between(draw.level(), low, high), _ELEMENTS - 1), x=np.ones(_ELEMENTS, np.float32)
    )


def _channels(draw: _Draw) -> SamplingLaunch:
    step = np.where(draw.level() > 0.5, 1 << int(draw.rng.integers(9, 13)), 33)
    return draw.launch("strided", draw.plan(step, _ELEMENTS - 1), x=np.ones(_ELEMENTS, np.float32))


def _pages(draw: _Draw) -> SamplingLaunch:
    mask = np.where(draw.level() > 0.5, _FAR_ELEMENTS - 1, (1 << 20) - 1)
    x = np.zeros(_FAR_ELEMENTS, np.float32)
    return draw.launch("strided", draw.plan((1 << int(draw.rng.integers(14, 18))) + 33, mask), x=x)


def _banks(draw: _Draw) -> SamplingLaunch:
    low, high = draw.rng.permutation([1, 1 << int(draw.rng.integers(2, 6))])
    return draw.launch("banked", draw.plan(_between(draw.level(), low, high), 0))


def _atomics(draw: _Draw) -> SamplingLaunch:
    low, high = draw.rng.permutation([1 << int(draw.rng.integers(4, 9)), 1 << int(draw.rng.integers(12, 17))])
    draw.repetitions = min(draw.repetitions, 6)
    return draw.launch(
        "counted", draw.plan(1, _between(draw.level(), low, high) - 1), bins=np.zeros(1 << 18, np.uint32)
    )


def _chase(draw: _Draw) -> SamplingLaunch:
    near = (np.arange(_ELEMENTS) + 64) & (_ELEMENTS - 1)
    size = _ELEMENTS // 2
    far = draw.rng.permutation(size)  # the second half is followed at random
    following = np.concatenate([near[:size] & (size - 1), size + far]).astype(np.uint32)
    offset = np.where(draw.level() > 0.5, size, 0)
    return draw.launch("chased", draw.plan(1, (1 << 18) - 1, offset), next=following)


def _values(draw: _Draw) -> SamplingLaunch:
    items = draw.local_size * draw.count // 64 + 4096
    level = np.repeat(draw.level(), draw.local_size // 64)[
        np.minimum(np.arange(items), draw.count * draw.local_size // 64 - 1)
    ]
    kind = (draw.rng.random(items) < 0.1 + 0.8 * level).astype(np.uint32)
    return draw.launch("decided", draw.plan(1, 0), kind=kind, x=np.ones(_ELEMENTS, np.float32), elements=_ELEMENTS)


KINDS: dict[str, Callable[[_Draw], SamplingLaunch]] = {
    "gather": _gather, "window": _window, "stride": _stride, "channels": _channels, "pages": _pages, "banks": _banks,
    "atomics": _atomics, "chase": _chase, "values": _values,
}  # fmt: skip


def generated_cases(seed: int, count: int, scale: int = 1) -> list[SamplingCase]:
    """Return the launches of a seed: kinds and GPUs in turn, all else at random.

    Args:
        seed: Decides what is drawn.
        count: Number of launches.
        scale: Factor of their instructions.
    """
    return [_case(seed, number, scale) for number in range(count)]


def scale_of(name: str) -> int:
    """Return the factor of a launch's instructions that its name, or that of its row, states."""
    stated = re.search(r" x(\d+) ", name)
    return int(stated[1]) if stated else 1


def _case(seed: int, number: int, scale: int) -> SamplingCase:
    kind = list(KINDS)[number % len(KINDS)]
    gpu = GENERATED_GPUS[number // len(KINDS) % len(GENERATED_GPUS)]
    draw = _Draw(seed, number, kind, gpu, scale)
    what = f"{draw.place}, {draw.work} work, {draw.count} workgroups of {draw.local_size}"
    name = f"{gpu} {kind} {f'x{scale} ' if scale > 1 else ''}{seed}-{number}"
    return SamplingCase(name, kind, what, partial(_make, seed, number, kind, gpu, scale), seed, draw.instructions)


def _make(seed: int, number: int, kind: str, gpu: str, scale: int) -> SamplingLaunch:
    return KINDS[kind](_Draw(seed, number, kind, gpu, scale))
