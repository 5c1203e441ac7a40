"""The table of timed units: what is written from it says the same, and a row fits the machine."""

import inspect
import re
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.machine import MACHINE, machine_dtype
from gpusim.core.run_units import wake_everything
from gpusim.core.units import UNITS, Unit
from gpusim.core.write_units import WRITTEN
from memory.unit_classes import CLASSES, MOST_UNITS
from memory.wheel import due
from tests.support.scripted import Script, ScriptedRun


def named(path: str) -> Any:
    """What a row of the table names."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_what_is_written_is_that_of_the_table(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == WRITTEN[path](UNITS), "run `python -m gpusim.core.units`"


def test_the_files_can_be_written_before_what_a_row_names_exists() -> None:
    unit = Unit("NEW", "a new one", 40, "memory.new.new_tick", "new.units", state="memory.new.NEW")
    texts = {path.name: text((*UNITS[:-1], unit, UNITS[-1])) for path, text in WRITTEN.items()}
    assert "NEW = 18  # a new one" in texts["unit_classes.py"] and "DISPATCH = 20 " in texts["unit_classes.py"]
    assert "from memory.new import new_tick" in texts["run_units.py"]
    assert "    CU,\n    NEW,\n    RUN,\n" in texts["unit_states.py"]
    done = "import sys, gpusim.core.units, gpusim.core.write_units; print([n for n in sys.modules if 'memory' in n])"
    loaded = subprocess.run([sys.executable, "-c", done], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_each_state_is_in_the_machine_once() -> None:
    states = [named(unit.state) for unit in UNITS if unit.state is not None]
    assert list(MACHINE[-len(states) :]) == states
    assert len({state.name for state in MACHINE}) == len(MACHINE)


@pytest.mark.parametrize("engine_on", [0, 1])
def test_waking_everything_runs_every_unit_that_there_is_once(engine_on: int) -> None:
    gpu = GpuSpec(shader_arrays=3, cus_per_array=12)  # more CUs than a word of the wheel has bits
    m = ScriptedRun(gpu, [[Script().end()]]).m
    m.run.engine_on = engine_on
    fields = {unit.count for unit in UNITS if unit.count is not None}
    counts = {field: int(getattr(getattr(m, field.split(".")[0]), field.split(".")[1])) for field in fields}
    known = {"cu.cus": 36, "scalar.arrays": 3, "run.engine_on": engine_on}
    known |= {"map.l2_channels": gpu.l2.channels, "map.dram_channels": gpu.dram.channels}
    assert counts.items() >= known.items()
    wake_everything(m, 0)
    for unit in UNITS:
        expected = 1 if unit.count is None else counts[unit.count]
        assert due(m, 0, CLASSES[unit.wheel_class]) == (1 << expected) - 1, unit.wheel_class
    assert not m.wheel.row.any()  # no other cycle: `due` has taken all of this one off


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.wheel_class)
def test_a_row_fits_the_machine(unit: Unit) -> None:
    m = ScriptedRun(GpuSpec(shader_arrays=1, cus_per_array=1), [[Script().end()]]).m
    tick = named(unit.tick)
    names = getattr(tick, "py_func", tick).__code__.co_varnames
    assert names[:2] == ("m", "now")
    used = set(re.findall(r"\bm\.(\w+)", inspect.getsource(inspect.getmodule(tick))))  # type: ignore[arg-type]
    assert used <= set(machine_dtype().names or ()), "its state has to be named in gpusim/core/units.py"
    if unit.count is None:
        assert unit.alone
        return
    part, field = unit.count.split(".")
    count = int(getattr(getattr(m, part), field))
    assert 0 <= count <= MOST_UNITS[unit.wheel_class]
    if unit.rotating:
        assert count & (count - 1) == 0


def test_a_changed_row_changes_what_is_written() -> None:
    changed = (replace(UNITS[0], most=33), *UNITS[1:])
    numbers = {path.name: text(changed) for path, text in WRITTEN.items()}["unit_classes.py"]
    assert "CU_RESPONSE = 2 " in numbers
