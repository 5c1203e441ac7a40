"""Launches whose workgroups execute the same instructions, and cost differently for the addresses that they access.

The kernels are those of the generated suite. Each has a short grid and a long one: where the cost is not seen to
change, more rounds give a larger error.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from gpusim.config.gpu import load_gpu
from gpusim.lab.checks.sampling.case import SamplingCase, SamplingLaunch
from isa.device_memory import DeviceMemory
from isa.kernarg import Pointer, pack
from isa.launch import Launch
from isa.object.code_object import load_code_object
from workloads.toolchain.build import PLACED_KERNELS_DIR, code_object_path

ADDRESSES = "addresses"
"""The kind of all these cases."""
_ROUNDS = (23, 91)
_LOCAL_SIZE = 256
_RESIDENT = 10  # workgroups of a compute unit: 40 wavefronts
_RESIDENT_WITH_LDS = 8  # of 8 KiB each
_ELEMENTS = 1 << 22
_STEP = 33  # elements, so that all channels are met

AddressPlan = np.ndarray  # uint32 [workgroups, 4]: repetitions, step, mask, offset


def address_cases(gpu: str) -> list[SamplingCase]:
    """Return the cases for a GPU."""
    kinds: tuple[tuple[str, str, Callable[[str, int], SamplingLaunch]], ...] = (
        ("gather", "a list, from the half of the grid on at random", _gather),
        ("bank conflicts", "32 lanes meet in a bank, in the last third", _banks),
        ("outgrown L2", "512 KiB are read, from the half of the grid on 16 MiB", _window),
    )
    return [
        SamplingCase(f"{gpu} {name} {rounds} rounds", ADDRESSES, what, partial(make, gpu, rounds))
        for name, what, make in kinds
        for rounds in _ROUNDS
    ]


def _plan(gpu: str, rounds: int, resident: int, repetitions: int) -> AddressPlan:
    spec = load_gpu(gpu)
    plan = np.zeros((rounds * resident * spec.shader_arrays * spec.cus_per_array, 4), np.uint32)
    plan[:, 0], plan[:, 1] = repetitions, 1
    return plan


def _launch(gpu: str, kernel: str, plan: AddressPlan, **arguments: "np.ndarray | int") -> SamplingLaunch:
    spec = load_gpu(gpu)
    memory = DeviceMemory(spec.memory_mib << 20, architecture=spec.architecture)
    items = _LOCAL_SIZE * len(plan)
    held = {"plan": plan, "y": np.zeros(items, np.uint32), **arguments, "more": 0}
    values = {
        name: Pointer(memory.upload(value, name).address) if isinstance(value, np.ndarray) else value
        for name, value in held.items()
    }
    code = load_code_object(code_object_path("placed", PLACED_KERNELS_DIR, spec.architecture)).kernels[kernel]
    return SamplingLaunch(Launch(code, memory, pack(code, values).block, (items, 1, 1), (_LOCAL_SIZE, 1, 1)), spec)


def _gather(gpu: str, rounds: int) -> SamplingLaunch:
    plan = _plan(gpu, rounds, _RESIDENT, 1)
    items = _LOCAL_SIZE * len(plan)
    elements = 1 << (items - 1).bit_length()
    places = np.arange(elements, dtype=np.uint32)
    places[items // 2 : items] = np.random.default_rng(1).integers(0, elements, items - items // 2)
    return _launch(gpu, "gathered", plan, list=places, x=np.ones(elements, np.float32), elements=elements)


def _banks(gpu: str, rounds: int) -> SamplingLaunch:
    plan = _plan(gpu, rounds, _RESIDENT_WITH_LDS, 8)
    plan[len(plan) * 2 // 3 :, 1] = 32
    return _launch(gpu, "banked", plan)


def _window(gpu: str, rounds: int) -> SamplingLaunch:
    plan = _plan(gpu, rounds, _RESIDENT, 4)
    plan[:, 1], plan[:, 2] = _STEP, (1 << 17) - 1
    plan[len(plan) // 2 :, 2] = _ELEMENTS - 1
    return _launch(gpu, "strided", plan, x=np.ones(_ELEMENTS, np.float32))
