"""Written by `tests.support.write_units` from the table in `units` beside it: change that, not this."""

from gpusim.base.jit import ctz, ctz_from, jit, prefetch
from gpusim.model.core.cu.dispatch import dispatch_tick
from gpusim.model.core.cu.fetch import fetch_tick
from gpusim.model.core.cu.issue import issue_tick, simd_address
from gpusim.model.core.cu.memory_side import l1_address, look_up_tick, response_tick, return_tick, scalar_tick
from memory.cache.l2 import l2_serve_tick, l2_take_tick
from memory.cache.l2_fill import l2_fill_tick
from memory.dram.controller import dram_tick
from memory.translation.l2_tlb import translation_tick
from memory.unit_classes import (
    CU_ISSUE,
    CU_LOOK_UP,
    CU_RESPONSE,
    CU_RETURN,
    DISPATCH,
    DRAM,
    ENGINE,
    FETCH,
    L2_FILL,
    L2_SERVE,
    L2_TAKE,
    SCALAR,
    TRANSLATION,
)
from memory.wheel import due, wake
from spartan.engine import engine_tick


@jit(outline=True)
def _further_cu_response(m, now, slot):
    """Run those of the class from number 64 on."""
    for first in range(64, m.cu.cus, 64):
        units = due(m, slot, CU_RESPONSE, first)
        while units:
            response_tick(m, now, first + ctz(units))
            units &= units - 1


@jit(outline=True)
def _further_cu_return(m, now, slot):
    """Run those of the class from number 64 on."""
    for first in range(64, m.cu.cus, 64):
        units = due(m, slot, CU_RETURN, first)
        while units:
            return_tick(m, now, first + ctz(units))
            units &= units - 1


@jit(outline=True)
def _further_cu_look_up(m, now, slot):
    """Run those of the class from number 64 on."""
    for first in range(64, m.cu.cus, 64):
        units = due(m, slot, CU_LOOK_UP, first)
        while units:
            look_up_tick(m, now, first + ctz(units))
            units &= units - 1


@jit(outline=True)
def _further_cu_issue(m, now, slot):
    """Run those of the class from number 64 on."""
    for first in range(64, m.cu.cus, 64):
        units = due(m, slot, CU_ISSUE, first)
        while units:
            issue_tick(m, now, first + ctz(units))
            units &= units - 1


@jit(inline=True)
def run_units(m, now, slot):
    """Run all units that have something to do in cycle `now`, which is `slot` of the wheel."""
    if due(m, slot, TRANSLATION, 0):
        translation_tick(m, now)
    units = due(m, slot, CU_RESPONSE, 0)
    while units:
        unit = ctz(units)
        units &= units - 1
        response_tick(m, now, unit)
    if m.cu.cus > 64:
        _further_cu_response(m, now, slot)
    units = due(m, slot, CU_RETURN, 0)
    while units:
        unit = ctz(units)
        units &= units - 1
        return_tick(m, now, unit)
    if m.cu.cus > 64:
        _further_cu_return(m, now, slot)
    units = due(m, slot, CU_LOOK_UP, 0)
    while units:
        unit = ctz(units)
        units &= units - 1
        prefetch(l1_address(m, now, ctz(units)))
        look_up_tick(m, now, unit)
    if m.cu.cus > 64:
        _further_cu_look_up(m, now, slot)
    units = due(m, slot, SCALAR, 0)
    while units:
        unit = ctz(units)
        units &= units - 1
        scalar_tick(m, now, unit)
    units = due(m, slot, FETCH, 0)
    while units:
        unit = ctz(units)
        units &= units - 1
        fetch_tick(m, now, unit)
    goes_first = now & (m.map.l2_channels - 1)
    units = due(m, slot, L2_FILL, 0)
    while units:
        unit = ctz_from(units, goes_first)
        units ^= 1 << unit
        l2_fill_tick(m, now, unit)
    units = due(m, slot, L2_SERVE, 0)
    while units:
        unit = ctz_from(units, goes_first)
        units ^= 1 << unit
        l2_serve_tick(m, now, unit)
    units = due(m, slot, L2_TAKE, 0)
    while units:
        unit = ctz_from(units, goes_first)
        units ^= 1 << unit
        l2_take_tick(m, now, unit)
    if due(m, slot, ENGINE, 0):
        engine_tick(m, now)
    goes_first = now & (m.map.dram_channels - 1)
    units = due(m, slot, DRAM, 0)
    while units:
        unit = ctz_from(units, goes_first)
        units ^= 1 << unit
        dram_tick(m, now, unit)
    units = due(m, slot, CU_ISSUE, 0)
    while units:
        unit = ctz(units)
        units &= units - 1
        prefetch(simd_address(m, now, ctz(units)))
        issue_tick(m, now, unit)
    if m.cu.cus > 64:
        _further_cu_issue(m, now, slot)
    if due(m, slot, DISPATCH, 0):
        dispatch_tick(m, now)


@jit(cold=True)
def wake_everything(m, now):
    """Let every unit run in cycle `now`."""
    wake(m, TRANSLATION, now, 0)
    for unit in range(m.cu.cus):
        wake(m, CU_RESPONSE, now, unit)
    for unit in range(m.cu.cus):
        wake(m, CU_RETURN, now, unit)
    for unit in range(m.cu.cus):
        wake(m, CU_LOOK_UP, now, unit)
    for unit in range(m.scalar.arrays):
        wake(m, SCALAR, now, unit)
    for unit in range(m.scalar.arrays):
        wake(m, FETCH, now, unit)
    for unit in range(m.map.l2_channels):
        wake(m, L2_FILL, now, unit)
    for unit in range(m.map.l2_channels):
        wake(m, L2_SERVE, now, unit)
    for unit in range(m.map.l2_channels):
        wake(m, L2_TAKE, now, unit)
    for unit in range(m.run.engine_on):
        wake(m, ENGINE, now, unit)
    for unit in range(m.map.dram_channels):
        wake(m, DRAM, now, unit)
    for unit in range(m.cu.cus):
        wake(m, CU_ISSUE, now, unit)
    wake(m, DISPATCH, now, 0)
