"""The machines on which the exact cases run, and the steps that their derivations share.

Each case runs on two machines: the shipped defaults, and one whose every latency is another, mostly odd, number. A
derivation that holds on both speaks of the specification and not of a number. Four compute units suffice. The DRAM's
latency is fixed, instructions are always there and addresses are not translated: only the cases about DRAM, fetch and
translation depend on these.

Cycles are counted from the dispatch of the first workgroup, in cycle 0.
"""

from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np

from gpusim.base.jit import JIT_DISABLED
from gpusim.model.core.cu.dispatch_spec import DispatchSpec
from gpusim.model.core.cu.spec import SIMDS, ComputeUnitSpec
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.simulator import simulate
from isa.device_memory import DeviceMemory
from isa.launch import Launch
from isa.object.code_object import Kernel
from memory.cache.instruction import InstructionCacheSpec
from memory.cache.l1_state import L1Spec
from memory.cache.l2_state import L2Spec
from memory.cache.scalar import ScalarCacheSpec
from memory.dram.spec import DramSpec
from memory.network.state import CrossbarSpec
from tests.support.assembly import Assembly
from tests.support.machines import simple

BUFFER = 0x1_0010_0000  # address of the data that the kernels use, written into them as a number
BUFFER_BYTES = 8 << 20
_CAPACITY_BYTES = 16 << 20
LANES = 64
TURN = SIMDS  # a SIMD's turn comes every fourth cycle


def machine(**parts: Any) -> GpuSpec:
    """The simple machine of four CUs; `parts` replace its parts."""
    return simple(**{"shader_arrays": 2, "cus_per_array": 2, **parts})


MI6 = machine()
ODD = machine(
    clock_ghz=1.0,
    cu=ComputeUnitSpec(
        branch_cycles=21,
        valu_scalar_cycles=22,
        branch_condition_cycles=7,
        lds_latency_cycles=61,
        lds_backlog_cycles=23,
        lds_write_passes=3,
        launch_cycles=29,
    ),
    dispatch=DispatchSpec(shader_engines=1, wavefront_cycles=3),
    l1=L1Spec(hit_latency_cycles=83, fill_latency_cycles=31, address_cycles=7),
    scalar_cache=ScalarCacheSpec(hit_latency_cycles=37),
    crossbar=CrossbarSpec(request_latency_cycles=27, response_latency_cycles=43),
    l2=L2Spec(latency_cycles=58, fill_latency_cycles=67),
    dram=DramSpec(model="ideal", ideal_latency_ns=149.0),
    instruction_cache=InstructionCacheSpec(model="ideal", hit_latency_cycles=17),
)
MACHINES = {"odd": ODD} if JIT_DISABLED else {"mi6": MI6, "odd": ODD}  # in plain Python one of them takes long enough


def run(kernel: Kernel, gpu: GpuSpec, workgroups: int = 1, wavefronts: int = 1, work_items: int = 0) -> RunFacts:
    """Execute and time a kernel, checked; `work_items` of a workgroup, if not whole wavefronts."""
    memory = DeviceMemory(_CAPACITY_BYTES)
    memory.allocate(BUFFER - 0x1_0000_1000 - 4096, "space in front of the buffer")
    buffer = memory.allocate(BUFFER_BYTES, "buffer")
    assert buffer.address == BUFFER
    memory.view(buffer, np.uint32)[:] = 0
    local = work_items or wavefronts * LANES
    launch = Launch(kernel, memory, b"", (local * workgroups, 1, 1), (local, 1, 1))
    return simulate(launch, gpu, checked=True, hotspots=True)


def cases(assembly: Assembly) -> Callable[..., RunFacts]:
    """What runs the assembly's kernels by their names: case(name, gpu, workgroups, wavefronts)."""

    def case(name: str, gpu: GpuSpec, workgroups: int = 1, wavefronts: int = 1) -> RunFacts:
        return run(assembly[name], gpu, workgroups, wavefronts)

    return case


# Pieces of kernels. v[1:2] = address of the buffer in all lanes: two instructions; a load of it: one line, four beats
BUFFER_LOW = BUFFER & 0xFFFF_FFFF  # the high half is 1
ONE_LINE = f"    v_mov_b32 v2, 1\n    v_mov_b32 v1, {BUFFER_LOW:#x}\n"
ONE_LINE_TURNS = 2 * TURN
LOAD = "    flat_load_dword v4, v[1:2]\n"
WAIT = "    s_waitcnt vmcnt(0)\n"
END = "    s_endpgm\n"


def turn(cycle: int, simd: int = 0) -> int:
    """The SIMD's first turn at or after `cycle`."""
    return cycle + (simd - cycle) % TURN


def turns(cycles: int) -> int:
    """The same for a distance from one of the SIMD's turns."""
    return turn(cycles)


def condition(gpu: GpuSpec) -> int:
    """From an instruction that changes SCC, VCC or EXEC to the conditional branch right after it that reads it."""
    return turns(TURN + gpu.cu.branch_condition_cycles)


def first_issue(gpu: GpuSpec, wavefront: int = 0, workgroup: int = 0, wavefronts: int = 1) -> int:
    """When a wavefront of a workgroup that finds its CU empty may issue first.

    The one shader engine launches workgroup k as soon as it has launched the k before it; a workgroup's wavefronts go
    to the SIMDs in turn, and each needs the launch latency.
    """
    dispatched = workgroup * wavefronts * gpu.dispatch.wavefront_cycles
    return turn(dispatched + gpu.cu.launch_cycles, wavefront % SIMDS)


def finished(end_issues: int) -> int:
    """Cycles of a run whose last s_endpgm issues in cycle `end_issues`."""
    return end_issues + 1


def after_wait(data: int, simd: int = 0) -> int:
    """When the instruction after an s_waitcnt issues: s_waitcnt takes the first turn with the data there."""
    return turn(data, simd) + TURN


def dram_cycles(gpu: GpuSpec) -> int:
    """Latency of the fixed-latency DRAM in core cycles."""
    return ceil(gpu.dram.ideal_latency_ns * gpu.clock_ghz)


# A load's stations, each counted from the one before. `look` is the cycle of its look-up, one after its issue.


def served(gpu: GpuSpec, look: int) -> int:
    """When L2 serves a packet that leaves an idle port: it crosses, enters the channel's queue, is served next."""
    return look + gpu.crossbar.request_latency_cycles + 1


def l2_hit(gpu: GpuSpec, look: int) -> int:
    """When the answer of a line that L2 holds arrives at the cache that asked."""
    return served(gpu, look) + gpu.l2.latency_cycles + gpu.crossbar.response_latency_cycles


def l2_miss(gpu: GpuSpec, look: int) -> int:
    """When the answer of a line that L2 fetches from an idle DRAM of fixed latency arrives."""
    return served(gpu, look) + dram_cycles(gpu) + gpu.l2.fill_latency_cycles + gpu.crossbar.response_latency_cycles


def l1_miss_data(gpu: GpuSpec, answer: int, beats: int = 4) -> int:
    """When a load's registers hold the data whose last answer arrives in cycle `answer` at an idle return path."""
    return answer + gpu.l1.fill_latency_cycles + beats


def l1_hit_data(gpu: GpuSpec, look: int, beats: int = 4) -> int:
    """The same for a load whose last line hits in cycle `look`."""
    return look + gpu.l1.hit_latency_cycles + beats
