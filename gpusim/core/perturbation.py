"""Another draw of the same machine: what a real one does not fix, such as where its arbiters point at a launch.

All are values of the state before the first cycle, so that no cycle costs more. What holds for good, latencies, sizes
and orders, stays as it is, and so does the phase of one DRAM channel against another: only when all of them refresh
changes. Starting from zero everywhere, as perturbation 0 does, is one of the draws.
"""

from typing import Any

import numpy as np

from gpusim.core.cu.spec import SIMDS
from gpusim.core.cu.state import NEXT_SLOT, SLOTS
from isa.opcodes.opcode import SMEM, VMEM
from memory.network.state import FIRST_SCALAR_PORT

MOST = 1 << 32  # perturbations
DELAY_CYCLES = 256  # the first dispatch comes within as many cycles


def perturb(m: Any, number: int) -> int:
    """Draw the initial state of a machine that has not begun; returns by how many cycles its first dispatch is late.

    number: which draw; 0 changes nothing and returns 0. The machine's caches and queues have to be empty.
    """
    if number == 0:
        return 0
    random = np.random.default_rng(number)
    cus, arrays, channels = int(m.cu.cus), int(m.scalar.arrays), int(m.map.l2_channels)
    ports = np.array([*range(cus), *range(FIRST_SCALAR_PORT, FIRST_SCALAR_PORT + arrays)])
    m.xbar.next_port[:channels] = random.choice(ports, channels)
    m.xbar.next_channel[ports] = random.integers(0, channels, len(ports))
    m.translation.next_tlb = random.choice(ports)
    m.scalar.next_cu[:arrays] = random.integers(0, int(m.scalar.cus_per_array), arrays)
    m.engine.next_channel = random.integers(0, channels)
    m.cu.fetch[:cus, NEXT_SLOT] = random.integers(0, SLOTS, cus)
    m.cu.served[:cus, [VMEM, SMEM]] = random.integers(0, SIMDS, (cus, 2))
    m.run.cu_next = random.integers(0, cus)
    _refresh_elsewhere(m, random)
    return int(random.integers(0, DELAY_CYCLES))


def _refresh_elsewhere(m: Any, random: np.random.Generator) -> None:
    """Have the refreshes of all channels begin earlier by the same part of their interval, at another set of banks."""
    dram = m.dram
    between = int(dram.refresh_interval) // max(int(dram.ranks), 1)  # ranks stay as far apart as they are
    earlier = int(random.integers(0, max(between, 1)))
    ranks, channel = int(dram.ranks), dram.channel
    channel["refresh_at"][:, :ranks] -= earlier
    channel["refresh_next"][:, :ranks] = random.integers(0, max(int(dram.refresh_sets), 1))
    channel["refresh_due"] -= earlier


def delay_dispatch(m: Any, cycles: int) -> None:
    """Have no workgroup of a launch that is about to begin be placed for as many cycles."""
    if cycles:
        m.run.engine_free[: int(m.run.engines)] = int(m.wheel.now) + cycles
