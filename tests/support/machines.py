"""The machines that tests run on, each made from one of these: simple parts, or parts that are always full.

Composed machines of a few units, for harnesses, are records of other layouts: `allow_further_layouts`.
"""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import gpusim.model.core.machine  # noqa: F401  operations on records are compiled for its layout, whoever runs them
from gpusim.base.jit import JIT_DISABLED, cache_folders, registered
from gpusim.model.core.cu.dispatch_spec import DispatchSpec
from gpusim.model.core.gpu_spec import GpuSpec
from memory.cache.instruction import InstructionCacheSpec
from memory.cache.l1_state import L1Spec
from memory.cache.l2_state import L2Spec
from memory.cache.scalar import ScalarCacheSpec
from memory.dram.spec import DramSpec
from memory.network.state import CrossbarSpec
from memory.translation.spec import TranslationSpec

LINE = 0x4000000  # a line that scripted kernels use, and those after it


def ready(**parts: Any) -> GpuSpec:
    """MI6 whose instructions are always there and whose addresses are not translated; `parts` replace its parts.

    It has one shader engine: workgroups begin one after another, a wavefront a cycle.
    """
    free = {
        "dispatch": DispatchSpec(shader_engines=1),
        "instruction_cache": InstructionCacheSpec(model="ideal"),
        "translation": TranslationSpec(model="off"),
    }
    return GpuSpec(**{**free, **parts})


def simple(**parts: Any) -> GpuSpec:
    """The same with a DRAM of fixed latency: for cases that depend on none of the three."""
    return ready(**{"dram": DramSpec(model="ideal", ideal_latency_ns=100.0), **parts})


def tight(**parts: Any) -> GpuSpec:
    """Four CUs whose queues, caches and TLBs are so small that they run full at once."""
    small = {
        "shader_arrays": 2,
        "cus_per_array": 2,
        "crossbar": CrossbarSpec(
            request_latency_cycles=2, response_latency_cycles=2, request_queue_packets=2, response_queue_packets=1
        ),
        "l1": L1Spec(size_kib=1, mshrs=3, mshr_targets=6, queue_instructions=2, return_entries=3, stores_in_flight=5),
        "scalar_cache": ScalarCacheSpec(size_kib=1, ways=2, mshrs=2, queue_instructions=1),
        "instruction_cache": InstructionCacheSpec(size_kib=1, ways=2, mshrs=2, banks=2),
        "translation": TranslationSpec(
            page_kib=4,
            l1_entries=3,
            l1_mshrs=2,
            port_queue=1,
            l2_entries=8,
            l2_ways=2,
            l2_latency_cycles=3,
            l2_lookups_per_cycle=1,
            l2_mshrs=2,
            walkers=1,
            walk_cycles=20,
        ),
        "l2": L2Spec(
            latency_cycles=2,
            size_kib=64,
            channels=2,
            ways=2,
            mshrs_per_channel=3,
            mshr_targets_per_channel=7,
            input_queue_packets=2,
        ),
    }
    return GpuSpec(**{**small, **parts})


def altered(gpu: GpuSpec, **parts: dict[str, Any]) -> GpuSpec:
    """The machine with some values of its parts replaced: altered(gpu, l2={"size_kib": 64})."""
    new = {name: getattr(gpu, name).model_copy(update=values) for name, values in parts.items()}
    return GpuSpec.model_validate({**dict(gpu), **new})


def allow_further_layouts() -> None:
    """Have functions compiled for whatever record they meet: what compiles the core ends that."""
    if not JIT_DISABLED:
        folders: set[Path] = set()
        with patch.object(cache_folders, "close", folders.add):  # once, not for each of 560 dispatchers
            for function in registered("timing"):
                function.dispatcher.disable_compile(False)
        for folder in folders:
            cache_folders.close(folder)
