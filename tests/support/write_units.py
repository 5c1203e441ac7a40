"""Writes the files that follow from the table of timed units: `python -m tests.support.write_units`.

They are kept as files so that they can be read, stepped through, type-checked and cached. The run loop holds a loop for
each class of units: one loop that tells classes apart would mispredict its branch at every other visit.

Nothing of what the table names is imported here, so that the files can be written before it exists.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from gpusim.model.core.levels import LEVELS
from gpusim.model.core.unit import Unit
from gpusim.model.core.units import UNITS

_ROOT = Path(__file__).parents[2]
_WORD_BITS = 32  # of a row of the wheel; memory.wheel asserts that classes are numbered by its words
_HOST_LINE_WORDS = 16
_MASK_BITS = 64  # units that `due` tells of at a time
_LINE = 120
_DOCSTRING = "Written by `tests.support.write_units` from the table in `units` beside it: change that, not this."

_STOPS = """            if m.run.fault or m.run.done == m.run.workgroups or m.parts.stops:
                return now + 1
"""

Units = tuple[Unit, ...]


def _imports(paths: Iterable[str]) -> str:
    """Return import statements for `module.name` paths, constants first in each, as the formatter writes them."""
    names: dict[str, set[str]] = {}
    for path in paths:
        module, _, name = path.rpartition(".")
        names.setdefault(module, set()).add(name)
    lines = []
    for module in sorted(names, key=_by_numbers):
        found = sorted(names[module], key=lambda name: (not name.isupper(), not name[0].isupper(), _by_numbers(name)))
        statement = f"from {module} import {', '.join(found)}"
        if len(statement) > _LINE:
            statement = f"from {module} import (\n" + "".join(f"    {name},\n" for name in found) + ")"
        lines.append(statement)
    return "\n".join(lines)


def _by_numbers(name: str) -> list[str | int]:
    """Return what orders names as the formatter does: numbers in them by value."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _called(path: str) -> str:
    return path.rpartition(".")[2]


def unit_classes(units: Units) -> str:
    """Return the source text of memory/unit_classes.py."""
    constants, classes, most, number = "", "", "", 0
    near, far = _sides(units)
    for unit in near + far:
        if unit in far[:1]:
            number = -(-number // _HOST_LINE_WORDS) * _HOST_LINE_WORDS  # threads that run the sides share no line
            constants += f"\n# beyond the crossbar\nFIRST_BEYOND = {number}\n"
        constants += f"{unit.wheel_class} = {number}  # {unit.meaning}\n"
        classes += f'    "{unit.wheel_class}": {unit.wheel_class},\n'
        most += f'    "{unit.wheel_class}": {unit.most},\n'
        number += -(-unit.most // _WORD_BITS)
    return f'''"""{_DOCSTRING}

Classes of timed units in the wake-up wheel, on either side of the crossbar in the order in which they run within a
cycle, and what is attached to the crossbar.
"""

{constants}
CLASSES = {{
{classes}}}

MOST_UNITS = {{
{most}}}

# caches that send requests: first port, ports, class that takes answers, class that sends
PORTS = {{
{_attached((level.section, level.most, level.port) for level in LEVELS if level.port)}}}

# caches that take requests: first destination, destinations, class that takes them, that serves them, that fills lines
DESTINATIONS = {{
{_attached((level.section, level.most, level.destination) for level in reversed(LEVELS) if level.destination)}}}
'''


def _attached(levels: Iterable[tuple[str, int, tuple[str, ...]]]) -> str:
    """Return source lines of what is attached to one side of the crossbar, numbered one after another."""
    lines, first = "", 0
    for section, most, classes in levels:
        lines += f'    "{section}": ({first}, {most}, {", ".join(classes)}),\n'
        first += most
    return lines


def unit_states(units: Units) -> str:
    """Return the source text of gpusim/model/core/unit_states.py."""
    states = [unit.state for unit in units if unit.state is not None]
    calls = [unit.configure.removesuffix(")").split("(") for unit in units if unit.configure is not None]
    named = ["gpusim.base.jit.Machine", "gpusim.model.core.gpu_spec.GpuSpec", "memory.l2_share.L2Share"]
    uses = _imports([*states, *(path for path, _ in calls), *named])
    listed = "".join(f"    {_called(path)},\n" for path in states)
    configure = "".join(f"    {_called(path)}(m, {given})\n" for path, given in calls)
    return f'''"""{_DOCSTRING}"""

{uses}

STATES = (
{listed})


def configure_units(m: Machine, gpu: GpuSpec, l2_taken: L2Share | None) -> None:
    """Set up the units' parts of a zeroed machine record. l2_taken: the share of L2 that caches nothing."""
{configure}'''


def _run(unit: Unit, before: Unit | None) -> list[str]:
    """Return source lines that run the units of a class that are due; `before` is the class that ran last."""
    tick = _called(unit.tick)
    if unit.alone:
        return [f"if due(m, slot, {unit.wheel_class}, 0):", f"    {tick}(m, now)"]
    lines = []
    if unit.rotating:
        if before is None or not before.rotating or before.count != unit.count:
            lines = [f"last = m.{unit.count} - 1", "goes_first = now & last"]
        lines += [f"units = due(m, slot, {unit.wheel_class}, 0)"]
        lines += ["if units:", "    units = turned(units, goes_first, last)"]
        lines += ["while units:", "    unit = (ctz(units) + goes_first) & last", "    units &= units - 1"]
    elif unit.most > _MASK_BITS:
        lines += ["first = 0", "while True:", f"    units = due(m, slot, {unit.wheel_class}, first)"]
        lines += ["    while units:", "        unit = first + ctz(units)", "        units &= units - 1"]
    else:
        lines += [f"units = due(m, slot, {unit.wheel_class}, 0)"]
        lines += ["while units:", "    unit = ctz(units)", "    units &= units - 1"]
    many = unit.most > _MASK_BITS
    if unit.prefetch is not None:
        # the one after the last has an address that nobody reads
        place = "first + ctz(units)" if many else "ctz(units)"
        lines.append(f"{'    ' * many}    prefetch({_called(unit.prefetch)}(m, now, {place}))")
    lines.append(f"{'    ' * many}    {tick}(m, now, unit)")
    if many:  # in a loop around and not beside: the ticks become part of the run loop once, and its code stays small
        lines += [f"    first += {_MASK_BITS}", f"    if first >= m.{unit.count}:", "        break"]
    return lines


def _wake(unit: Unit) -> list[str]:
    if unit.count is None:
        return [f"wake(m, {unit.wheel_class}, now, 0)"]
    return [f"for unit in range(m.{unit.count}):", f"    wake(m, {unit.wheel_class}, now, unit)"]


def _sides(units: Units) -> tuple[list[Unit], list[Unit]]:
    """Return the classes on the CUs' side of the crossbar, and those beyond it."""
    near, far = ([unit for unit in units if unit.beyond_crossbar == beyond] for beyond in (False, True))
    return near, far


def _side(name: str, meaning: str, chosen: Sequence[Unit], now: str = "", stops: str = "") -> str:
    """Return the source text of the function that runs one side. now: beginning of the side's fields of the wheel."""
    lines = [line for unit, before in zip(chosen, (None, *chosen), strict=False) for line in _run(unit, before)]
    run = "".join(f"            {line}\n" for line in lines)
    return f'''@jit(outline=True)
def run_{name}_units(m: Machine, now, end):
    """Run what is due {meaning} up to cycle `end`; returns the cycle after the last one."""
    wheel = m.wheel
    while now < end:
        slot = now & (SIZE - 1)
        wheel.{now}now = now
        if {name}_due(m, slot):
{run}            wheel.{now}running = -1
            wheel.{now}active = now
{stops}        now += 1
    return end
'''


def run_units(units: Units) -> str:
    """Return the source text of gpusim/model/core/run_units.py."""
    uses = [f"gpusim.base.jit.{name}" for name in ("Machine", "ctz", "jit", "prefetch")]
    uses += [
        "memory.wheel.SIZE",
        "memory.wheel.due",
        "memory.wheel.far_due",
        "memory.wheel.near_due",
        "memory.wheel.turned",
        "memory.wheel.wake",
        *(f"memory.unit_classes.{unit.wheel_class}" for unit in units),
    ]
    uses += [path for unit in units for path in (unit.tick, unit.prefetch) if path is not None]
    near, far = _sides(units)
    wake = "".join(f"    {line}\n" for unit in units for line in _wake(unit))
    return f'''"""{_DOCSTRING}"""

{_imports(uses)}


{_side("near", "on the CUs' side of the crossbar", near, stops=_STOPS)}

{_side("far", "beyond the crossbar", far, "far_")}

@jit(cold=True)
def wake_everything(m: Machine, now):
    """Let every unit run in cycle `now`."""
{wake}'''


WRITTEN = {
    _ROOT / "memory" / "unit_classes.py": unit_classes,
    _ROOT / "gpusim" / "model" / "core" / "unit_states.py": unit_states,
    _ROOT / "gpusim" / "model" / "core" / "run_units.py": run_units,
}


def write(units: Units) -> None:
    """Write the files of a table of units."""
    for path, text in WRITTEN.items():
        path.write_text(text(units), encoding="utf-8")


if __name__ == "__main__":
    write(UNITS)
