"""Another draw of the same machine: what a real one does not fix, such as where its arbiters point at a launch.

All are values of the state before the first cycle, so that no cycle costs more. What holds for good, latencies, sizes
and orders, stays as it is, and so does the phase of one DRAM channel against another: only when all of them refresh
changes. Starting from zero everywhere, as perturbation 0 does, is one of the draws.
"""

import numpy as np

from gpusim.base.jit import Machine
from gpusim.model.core.cu.configure import perturb_cus
from memory.cache.scalar import perturb_scalar_cache
from memory.dram.state import perturb_refresh
from memory.network.state import perturb_crossbar
from memory.translation.state import perturb_translation
from spartan.configure import perturb_engine

MOST = 1 << 32  # perturbations
MOST_DRAWS = 10_000  # of one run
DELAY_CYCLES = 256  # the first dispatch comes within as many cycles


def perturb(m: Machine, number: int) -> int:
    """Draw the initial state of a machine that has not begun; returns by how many cycles its first dispatch is late.

    number: which draw; 0 changes nothing and returns 0. The machine's caches and queues have to be empty.
    """
    if number == 0:
        return 0
    random = np.random.default_rng(number)
    cus, arrays, channels = int(m.cu.cus), int(m.scalar.arrays), int(m.map.l2_channels)
    perturb_crossbar(m, random, cus, arrays, channels)
    perturb_translation(m, random, cus)
    perturb_scalar_cache(m, random)
    perturb_engine(m, random, channels)
    perturb_cus(m, random)
    perturb_refresh(m, random)
    return int(random.integers(0, DELAY_CYCLES))
