"""The table of timed units: what is written from it says the same, and a row fits the machine."""

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.machine import MACHINE, machine_dtype
from gpusim.model.core.run_units import wake_everything
from gpusim.model.core.units import UNITS, Unit
from memory.unit_classes import CLASSES, MOST_UNITS
from memory.wheel import due
from tests.support.machine_stub import STUB, record_stub
from tests.support.scripted import Script, ScriptedRun
from tests.support.write_units import WRITTEN


def named(path: str) -> Any:
    """What a row of the table names."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


@pytest.mark.generated
@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_what_is_written_is_that_of_the_table(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == WRITTEN[path](UNITS), "run `python -m tests.support.write_units`"


def test_the_stub_of_the_machine_record_is_that_of_the_states() -> None:
    text = record_stub()
    assert STUB.read_text(encoding="utf-8") == text, "run `python -m tests.support.machine_stub`"
    for state in MACHINE:
        assert all(re.search(rf"^    {name}: ", text, re.MULTILINE) for name in state.fields), state.name


def test_the_files_can_be_written_before_what_a_row_names_exists() -> None:
    units = (
        Unit("FIRST", "runs first", 33, "memory.first.first_tick", "first.units", state="memory.first.FIRST"),
        Unit("NEW", "a new one", 1, "memory.new.new_tick", configure="memory.new.configure_new(gpu.l1)"),
        Unit("LAST", "runs last", 32, "memory.last.last_tick", "last.units", state="memory.last.LAST"),
    )
    texts = {path.name: text(units) for path, text in WRITTEN.items()}
    # a class is numbered by the first of its words of 32 bits
    assert "FIRST = 0  # runs first\nNEW = 2  # a new one\nLAST = 3  # runs last\n" in texts["unit_classes.py"]
    assert "from memory.new import new_tick" in texts["run_units.py"]
    assert "            if due(m, slot, NEW, 0):\n                new_tick(m, now)\n" in texts["run_units.py"]
    assert "    FIRST,\n    LAST,\n)" in texts["unit_states.py"]
    assert "    configure_new(m, gpu.l1)\n" in texts["unit_states.py"]
    done = (
        "import sys, gpusim.model.core.units, tests.support.write_units;"
        " print([n for n in sys.modules if 'memory' in n])"
    )
    loaded = subprocess.run([sys.executable, "-c", done], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_each_state_is_in_the_machine_once() -> None:
    states = [named(unit.state) for unit in UNITS if unit.state is not None]
    assert list(MACHINE[-len(states) :]) == states
    assert len({state.name for state in MACHINE}) == len(MACHINE)


@pytest.mark.plain_tier  # the laws of tests/unit/core/test_laws.py run what is compiled
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
        assert due(m, 0, CLASSES[unit.wheel_class], 0) == (1 << expected) - 1, unit.wheel_class
    assert not m.wheel.row.any()  # no other cycle: `due` has taken all of this one off


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.wheel_class)
def test_a_row_fits_the_machine(unit: Unit) -> None:
    m = ScriptedRun(GpuSpec(shader_arrays=1, cus_per_array=1), [[Script().end()]]).m
    tick = named(unit.tick)
    names = getattr(tick, "py_func", tick).__code__.co_varnames
    assert names[:2] == ("m", "now")
    used = set(re.findall(r"\bm\.(\w+)", inspect.getsource(inspect.getmodule(tick))))  # type: ignore[arg-type]
    assert used <= set(machine_dtype().names or ()), "its state has to be named in gpusim/model/core/units.py"
    if unit.count is None:
        assert unit.alone
        return
    part, field = unit.count.split(".")
    count = int(getattr(getattr(m, part), field))
    assert 0 <= count <= MOST_UNITS[unit.wheel_class]
    if unit.rotating:
        assert count & (count - 1) == 0
