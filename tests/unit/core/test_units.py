"""The table of timed units: what the run loop is generated from says the same as what was generated."""

import inspect
import re

import pytest

from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.machine import machine_dtype
from gpusim.core.run_units import wake_everything
from gpusim.core.units import GENERATED, UNITS, Unit, generated
from memory.wheel import CLASSES, MOST_UNITS, due
from tests.support.scripted import Script, ScriptedRun


def test_the_generated_loop_is_that_of_the_table() -> None:
    assert GENERATED.read_text(encoding="utf-8") == generated(), "run `python -m gpusim.core.units`"


@pytest.mark.parametrize("engine_on", [0, 1])
def test_waking_everything_runs_every_unit_that_there_is_once(engine_on: int) -> None:
    gpu = GpuSpec(shader_arrays=3, cus_per_array=12)  # more CUs than a word of the wheel has bits
    m = ScriptedRun(gpu, [[Script().end()]]).m
    m.run.engine_on = engine_on
    wake_everything(m, 0)
    counts = {
        "CU_": 36,
        "SCALAR": 3,
        "FETCH": 3,
        "L2_": gpu.l2.channels,
        "DRAM": gpu.dram.channels,
        "ENGINE": engine_on,
    }
    counts |= {unit.wheel_class: 1 for unit in UNITS if unit.count is None}
    for name, number in CLASSES.items():
        (expected,) = (count for start, count in counts.items() if name.startswith(start))
        assert due(m, 0, number) == (1 << expected) - 1, name
    assert not m.wheel.row.any()  # no other cycle: `due` has taken all of this one off


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.wheel_class)
def test_a_row_fits_the_machine(unit: Unit) -> None:
    m = ScriptedRun(GpuSpec(shader_arrays=1, cus_per_array=1), [[Script().end()]]).m
    parameters = getattr(unit.tick, "py_func", unit.tick).__code__.co_varnames
    assert parameters[:2] == ("m", "now")
    used = set(re.findall(r"\bm\.(\w+)", inspect.getsource(inspect.getmodule(unit.tick))))
    assert used <= set(machine_dtype().names), "its state has to be entered in gpusim/core/machine.py"
    if unit.count is None:
        assert unit.alone
        return
    part, field = unit.count.split(".")
    count = int(getattr(getattr(m, part), field))
    assert 0 <= count <= MOST_UNITS[unit.wheel_class]
    if unit.rotating:
        assert count & (count - 1) == 0
