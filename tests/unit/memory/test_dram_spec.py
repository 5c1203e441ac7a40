"""Parts and specification: are the tables complete, is nonsense refused?"""

import pytest
from pydantic import ValidationError

from memory.dram.controller import configure_dram
from memory.dram.spec import DramSpec, TimingOverrides, resolve
from memory.dram.standards import STANDARDS
from tests.unit.memory.dram_harness import machine, plain_spec

NOT_EVERYWHERE = {
    *("trp_all_ns", "t32aw_ns", "trfc_bank_ns", "trrefd_ns", "trefb_to_refb_ns"),
    *("tccd_long_write_clocks", "trtrs_clocks", "act_clocks", "column_clocks", "wdm_clocks", "wsm_clocks"),
}


@pytest.mark.parametrize("name", STANDARDS)
def test_every_value_of_a_standard_is_given_and_sourced(name):
    table = STANDARDS[name].timing
    everywhere = [f for f in TimingOverrides.model_fields if f not in NOT_EVERYWHERE]
    assert set(everywhere) <= set(table) <= set(TimingOverrides.model_fields)
    assert all(value.source for value in table.values())
    assert STANDARDS[name].organization_source and STANDARDS[name].pin_rate_gbps.source


def test_pin_bandwidth_of_the_shipped_gpus():
    assert DramSpec().bytes_per_s == pytest.approx(224e9)
    assert DramSpec(standard="hbm1", channels=32).bytes_per_s == pytest.approx(512e9)


def test_gddr5_clocks_are_those_of_the_speed_bin():
    t = resolve(DramSpec())
    bin7 = dict(trcd_read=21, trcd_write=18, trp=21, tras=49, trc=70, tcl=21, tcwl=6, trrd_short=10, tfaw=41, twr=21)
    assert {name: getattr(t, name) for name in bin7} == bin7
    assert (t.twtr_short, t.trtp, t.trfc, t.trefi) == (9, 2, 114, 3325)
    assert (t.burst_clocks, t.bursts_per_line, t.banks, t.lines_per_row) == (2, 2, 16, 32)


def test_override_in_ns_is_rounded_up_to_clocks():
    assert resolve(plain_spec(timing={"trp_ns": 12.001})).trp == 22


@pytest.mark.parametrize(
    "values",
    [
        {"standard": "gddr7"},
        {"channels": 6},
        {"write_low": 60},
        {"write_high": 65},
        {"read_queue": 0},
        {"timing": {"trcd_ns": 12}},
        {"timing": {"trc_ns": 1}},
        {"timing": {"tccd_long_clocks": 1}},
        {"timing": {"trefi_ns": 100}},
        {"timing": {"twtr_long_ns": 1}},
        {"timing": {"trrd_long_ns": 1}},
    ],
)
def test_nonsense_is_refused(values):
    with pytest.raises(ValidationError):
        DramSpec(**values)


def test_map_and_specification_must_agree():
    m = machine(plain_spec())
    with pytest.raises(ValueError, match="channels"):
        configure_dram(m, plain_spec(channels=2), 1e9)
