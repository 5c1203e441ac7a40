"""Written by `tests.support.write_units` from the table in `units` beside it: change that, not this."""

from gpusim.base.jit import Machine, ctz, jit, prefetch
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
from memory.wheel import SIZE, due, far_due, near_due, turned, wake
from spartan.engine import engine_tick


@jit(outline=True)
def run_near_units(m: Machine, now, end):
    """Run what is due on the CUs' side of the crossbar up to cycle `end`; returns the cycle after the last one."""
    wheel = m.wheel
    while now < end:
        slot = now & (SIZE - 1)
        wheel.now = now
        if near_due(m, slot):
            if due(m, slot, TRANSLATION, 0):
                translation_tick(m, now)
            first = 0
            while True:
                units = due(m, slot, CU_RESPONSE, first)
                while units:
                    unit = first + ctz(units)
                    units &= units - 1
                    response_tick(m, now, unit)
                first += 64
                if first >= m.cu.cus:
                    break
            first = 0
            while True:
                units = due(m, slot, CU_RETURN, first)
                while units:
                    unit = first + ctz(units)
                    units &= units - 1
                    return_tick(m, now, unit)
                first += 64
                if first >= m.cu.cus:
                    break
            first = 0
            while True:
                units = due(m, slot, CU_LOOK_UP, first)
                while units:
                    unit = first + ctz(units)
                    units &= units - 1
                    prefetch(l1_address(m, now, first + ctz(units)))
                    look_up_tick(m, now, unit)
                first += 64
                if first >= m.cu.cus:
                    break
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
            first = 0
            while True:
                units = due(m, slot, CU_ISSUE, first)
                while units:
                    unit = first + ctz(units)
                    units &= units - 1
                    prefetch(simd_address(m, now, first + ctz(units)))
                    issue_tick(m, now, unit)
                first += 64
                if first >= m.cu.cus:
                    break
            if due(m, slot, DISPATCH, 0):
                dispatch_tick(m, now)
            wheel.running = -1
            wheel.active = now
            if m.run.fault or m.run.done == m.run.workgroups or m.parts.stops:
                return now + 1
        now += 1
    return end


@jit(outline=True)
def run_far_units(m: Machine, now, end):
    """Run what is due beyond the crossbar up to cycle `end`; returns the cycle after the last one."""
    wheel = m.wheel
    while now < end:
        slot = now & (SIZE - 1)
        wheel.far_now = now
        if far_due(m, slot):
            last = m.map.l2_channels - 1
            goes_first = now & last
            units = due(m, slot, L2_FILL, 0)
            if units:
                units = turned(units, goes_first, last)
            while units:
                unit = (ctz(units) + goes_first) & last
                units &= units - 1
                l2_fill_tick(m, now, unit)
            units = due(m, slot, L2_SERVE, 0)
            if units:
                units = turned(units, goes_first, last)
            while units:
                unit = (ctz(units) + goes_first) & last
                units &= units - 1
                l2_serve_tick(m, now, unit)
            units = due(m, slot, L2_TAKE, 0)
            if units:
                units = turned(units, goes_first, last)
            while units:
                unit = (ctz(units) + goes_first) & last
                units &= units - 1
                l2_take_tick(m, now, unit)
            if due(m, slot, ENGINE, 0):
                engine_tick(m, now)
            last = m.map.dram_channels - 1
            goes_first = now & last
            units = due(m, slot, DRAM, 0)
            if units:
                units = turned(units, goes_first, last)
            while units:
                unit = (ctz(units) + goes_first) & last
                units &= units - 1
                dram_tick(m, now, unit)
            wheel.far_running = -1
            wheel.far_active = now
        now += 1
    return end


@jit(cold=True)
def wake_everything(m: Machine, now):
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
