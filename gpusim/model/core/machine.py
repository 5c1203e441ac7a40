"""The machine: one record that holds the state of every unit, configured from a GPU's specification."""

from functools import cache, lru_cache
from typing import Any

import numpy as np

from gpusim.base.jit import Machine, RecordTemplate, new_record, record_dtype
from gpusim.model.core.cu.configure import configure_grid
from gpusim.model.core.cu.slices import SLICES
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.occupancy import Occupancy
from gpusim.model.core.side_by_side import SIDES
from gpusim.model.core.unit_states import STATES, configure_units
from isa.launch import Launch
from memory.address_map import ADDRESS_MAP, configure_address_map
from memory.cache.access import ACCESS
from memory.dram.mapping import channel_masks
from memory.dram.state import decide_no_clock_ahead
from memory.l2_share import L2Share
from memory.network.state import CROSSBAR, configure_crossbar
from memory.parts import PARTS, lay_machine_out
from memory.ports import PORTS
from memory.timeline import TIMELINE
from memory.unit_classes import DISPATCH
from memory.waiting import WAITING
from memory.wheel import WHEEL, wake_at_start

# the parts that no timed unit has to itself come first
MACHINE = (
    WHEEL,
    TIMELINE,
    ADDRESS_MAP,
    WAITING,
    PARTS,
    PORTS,
    CROSSBAR,
    SIDES,
    SLICES,
    ACCESS,
    *STATES,
)


@cache
def machine_dtype() -> np.dtype:
    """Return the structured dtype of the machine record, which is the same for every configuration."""
    return record_dtype(MACHINE)


lay_machine_out(machine_dtype)


def new_machine(
    gpu: GpuSpec,
    launch: Launch,
    fit: Occupancy,
    l2_taken: L2Share | None = None,
    again: bool = False,
    huge_pages: bool = False,
) -> Any:
    """Return a machine record ready for the launch but for the producer's addresses and the engine's regions.

    Args:
        l2_taken: The share of L2 that the compaction engine takes, None: the launch has no engine.
        again: Keep a template of what the GPU alone decides, so that its next machine is made in a fraction of the
            time.
        huge_pages: The run is long (see `new_record`).
    """
    if again and RecordTemplate.AVAILABLE:
        m = _template(gpu, l2_taken).copy()
    else:
        m = new_record(machine_dtype(), huge_pages)
        _configure(m, gpu, l2_taken)
    configure_grid(m, launch, fit.waves_per_simd, fit.workgroups_per_cu)
    return m


@lru_cache(maxsize=4)
def _template(gpu: GpuSpec, l2_taken: L2Share | None) -> RecordTemplate:
    template = RecordTemplate(machine_dtype())
    _configure(template.record, gpu, l2_taken)
    return template


def _configure(m: Machine, gpu: GpuSpec, l2_taken: L2Share | None) -> None:
    """Set up a zeroed record as a machine of the GPU, empty and before its first cycle."""
    m.wheel.running = m.wheel.far_running = -1
    interleave = gpu.l2.interleave_bytes
    configure_address_map(m, interleave, gpu.l2.channel_matrix, channel_masks(gpu.dram, interleave))
    l2 = gpu.l2
    answers = l2.channels, l2.latency_cycles, l2.mshr_targets_per_channel, l2.port_bytes
    configure_crossbar(m, gpu.crossbar, *answers)
    configure_units(m, gpu, l2_taken)
    m.run.engine_on = int(l2_taken is not None)
    if l2_taken is not None:
        decide_no_clock_ahead(m)  # a kernel may end before a prefetch is answered
    m.wheel.now = 0
    wake_at_start(m, DISPATCH)
