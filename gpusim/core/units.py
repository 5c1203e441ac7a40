"""The timed units, in the order in which they run within a cycle: the table that the run loop is written from.

`python -m gpusim.core.units` writes `gpusim/core/run_units.py`, which holds a loop for each class of units: one loop
that tells classes apart would mispredict its branch at every other visit. It is kept as a file so that it can be read,
stepped through and cached; a test holds it to this table. A new timed unit is its file, its class in `memory.wheel`
(the units below the core wake one another by class, and know nothing of this table) and its row here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.core.cu.dispatch import dispatch_tick
from gpusim.core.cu.fetch import fetch_tick
from gpusim.core.cu.issue import issue_tick, simd_address
from gpusim.core.cu.memory_side import l1_address, look_up_tick, response_tick, return_tick, scalar_tick
from memory.cache.l2 import l2_serve_tick, l2_take_tick
from memory.cache.l2_fill import l2_fill_tick
from memory.dram.controller import dram_tick
from memory.translation.l2_tlb import translation_tick
from memory.wheel import CLASSES, MOST_UNITS
from spartan.engine import engine_tick


@dataclass(frozen=True)
class Unit:
    """A class of timed units.

    wheel_class: its name in memory.wheel; tick: runs one of them, tick(m, now, unit), or tick(m, now) where there can
    be only one; count: the field of the machine record that says how many there are, None: one; rotating: within a
    cycle they run from one that rotates with the cycle (count is then a power of two), else by number; prefetch: gives
    the address of what tick(m, now, unit) reads first, fetched into the host's cache while the unit before it runs.
    """

    wheel_class: str
    tick: Callable[..., Any]
    count: str | None = None
    rotating: bool = False
    prefetch: Callable[..., Any] | None = None

    @property
    def alone(self) -> bool:
        """Whether there can be only one."""
        return MOST_UNITS[self.wheel_class] == 1


UNITS = (
    Unit("TRANSLATION", translation_tick),
    Unit("CU_RESPONSE", response_tick, "cu.cus"),
    Unit("CU_RETURN", return_tick, "cu.cus"),
    Unit("CU_LOOK_UP", look_up_tick, "cu.cus", prefetch=l1_address),
    Unit("SCALAR", scalar_tick, "scalar.arrays"),
    Unit("FETCH", fetch_tick, "scalar.arrays"),
    # channels that want the same slot of a queue in one cycle: each goes first as often
    Unit("L2_FILL", l2_fill_tick, "map.l2_channels", rotating=True),
    Unit("L2_SERVE", l2_serve_tick, "map.l2_channels", rotating=True),
    Unit("L2_TAKE", l2_take_tick, "map.l2_channels", rotating=True),
    Unit("ENGINE", engine_tick, "run.engine_on"),
    Unit("DRAM", dram_tick, "map.dram_channels", rotating=True),
    Unit("CU_ISSUE", issue_tick, "cu.cus", prefetch=simd_address),
    Unit("DISPATCH", dispatch_tick),
)
assert [unit.wheel_class for unit in UNITS] == list(CLASSES), "UNITS and memory.wheel's classes differ"

GENERATED = Path(__file__).with_name("run_units.py")
_DOCSTRING = "Written from the table in gpusim/core/units.py by `python -m gpusim.core.units`: change that, not this."


def _imports() -> str:
    """Import statements of what the generated functions use."""
    names: dict[str, set[str]] = {"gpusim.jit": {"ctz", "ctz_from", "jit", "prefetch"}}
    names["memory.wheel"] = {"due", "wake", *CLASSES}
    for unit in UNITS:
        for function in (unit.tick, unit.prefetch):
            if function is not None:
                names.setdefault(function.__module__, set()).add(function.__name__)
    constants_first = {module: sorted(found, key=lambda n: (not n.isupper(), n)) for module, found in names.items()}
    lines = []
    for module in sorted(names):
        statement = f"from {module} import {', '.join(constants_first[module])}"
        if len(statement) > 120:
            statement = f"from {module} import (\n" + "".join(f"    {n},\n" for n in constants_first[module]) + ")"
        lines.append(statement)
    return "\n".join(lines)


def _run(unit: Unit, before: Unit | None) -> list[str]:
    """Lines that run the units of a class that have something to do; `before` is the class that ran last."""
    tick = unit.tick.__name__
    if unit.alone:
        return [f"if due(m, slot, {unit.wheel_class}):", f"    {tick}(m, now)"]
    lines = [f"units = due(m, slot, {unit.wheel_class})"]
    if unit.rotating:
        if before is None or not before.rotating or before.count != unit.count:
            lines.insert(0, f"goes_first = now & (m.{unit.count} - 1)")
        lines += ["while units:", "    unit = ctz_from(units, goes_first)"]
    else:
        lines += ["while units:", "    unit = ctz(units)"]
    lines.append("    units ^= 1 << unit" if unit.rotating else "    units &= units - 1")
    if unit.prefetch is not None:
        # the one after the last has an address that nobody reads
        lines.append(f"    prefetch({unit.prefetch.__name__}(m, now, ctz(units)))")
    return [*lines, f"    {tick}(m, now, unit)"]


def _wake(unit: Unit) -> list[str]:
    """Lines that wake all units of a class."""
    if unit.count is None:
        return [f"wake(m, {unit.wheel_class}, now, 0)"]
    return [f"for unit in range(m.{unit.count}):", f"    wake(m, {unit.wheel_class}, now, unit)"]


def generated() -> str:
    """Source text of gpusim/core/run_units.py."""
    run = "".join(
        f"    {line}\n" for unit, before in zip(UNITS, (None, *UNITS), strict=False) for line in _run(unit, before)
    )
    wake = "".join(f"    {line}\n" for unit in UNITS for line in _wake(unit))
    return f'''"""{_DOCSTRING}"""

{_imports()}


@jit(inline=True)
def run_units(m, now, slot):
    """Run all units that have something to do in cycle `now`, which is `slot` of the wheel."""
{run}

@jit(cold=True)
def wake_everything(m, now):
    """Let every unit run in cycle `now`."""
{wake}'''


if __name__ == "__main__":
    GENERATED.write_text(generated(), encoding="utf-8")
