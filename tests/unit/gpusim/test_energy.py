"""Energy and area: small machines by hand, a stream beside cited figures, what a configuration may say."""

from typing import Any

import pytest
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.config.run import load_run
from gpusim.model.core.facts import RunFacts, combined
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.energy.area import CELLS, added_um2, engine_area
from gpusim.model.energy.dram import POWER, burst_pj_per_bit, dram_energies
from gpusim.model.energy.model import EnergyModel
from gpusim.model.energy.spec import DramEnergySpec, EnergySpec
from gpusim.results import metrics
from gpusim.results.metrics.energy import ENERGY
from gpusim.results.metrics.metric import collect_formula_inputs
from gpusim.results.records.record import RunRecord
from gpusim.results.report.document import config_hash
from memory.cache.l2_state import L2Spec
from memory.dram.spec import DramSpec
from memory.dram.timing import resolve
from spartan.engine_spec import EngineSpec
from tests.support.daily import given_daily

AT_45_NM = EnergySpec(process_nm=45)
# 128 KiB of L2 a channel: powers of four of the 8 KiB that a word's energy is given for
SIXTEEN_CHANNELS = GpuSpec(l2=L2Spec(channels=16))


def facts(**sections: dict[str, Any]) -> RunFacts:
    return RunFacts.of(**sections)


def energy_of(model: EnergyModel, launch: RunFacts) -> dict[str, Any]:
    """The energies of a launch, by what the metrics call them."""
    return {metric.path.partition(".")[2]: metric.value(collect_formula_inputs(launch, model)) for metric in ENERGY}


def gpu(standard: str = "gddr5", **dram: Any) -> GpuSpec:
    spec = GpuSpec()
    return spec.model_copy(update={"dram": DramSpec(standard=standard, **dram)})


def test_commands_of_gddr5_by_hand() -> None:
    # tRC = 40 ns, tRAS = 28 ns: 1.5 V (490 mA 40 ns - 450 mA 28 ns - 250 mA 12 ns) = 1.5 x 4000 mA ns
    found = dram_energies(DramSpec(), DramEnergySpec())
    assert found.activate_pj == pytest.approx(6000)
    # 1.5 V (1080 - 450) mA over 32 pins of 6 Gb/s
    assert found.read_pj_per_bit == pytest.approx(1.5 * 630 / 192)
    assert found.write_pj_per_bit == pytest.approx(1.5 * 710 / 192)
    # tRFC = 65 ns, rounded up to 114 clocks of 1.75 GHz: 1.5 V (450 - 250) mA 65.14 ns
    assert found.refresh_pj == pytest.approx(300 * 114 / 1.75)
    assert found.background_mw == pytest.approx(1.5 * 450)


def test_dram_of_a_launch_by_hand() -> None:
    model = EnergyModel.of(EnergySpec(), gpu())
    counts = {"activates": 10, "bytes_read": 6400, "bytes_written": 640, "refreshes": 2}
    launch = facts(dram=counts, kernel={"cycles": 2474, "clock_ghz": 1.237})
    found = energy_of(model, launch)
    assert found["dram_activate_uj"] == pytest.approx(10 * 6000e-6)
    assert found["dram_read_uj"] == pytest.approx(6400 * 8 * 4.921875e-6)
    assert found["dram_write_uj"] == pytest.approx(640 * 8 * 5.546875e-6)
    assert found["dram_pins_uj"] == pytest.approx(7040 * 8 * 4e-6)
    assert found["dram_refresh_uj"] == pytest.approx(2 * 300 * 114 / 1.75 * 1e-6)
    # eight channels of 675 mW for 2 us
    assert found["dram_background_uj"] == pytest.approx(8 * 0.675 * 2)
    assert found["dram_uj"] == pytest.approx(0.06 + 0.252 + 0.0284 + 0.22528 + 0.039085714285714285 + 10.8, rel=1e-9)
    assert found["dram_pj_per_bit"] == pytest.approx(found["dram_uj"] * 1e6 / (7040 * 8))


def test_every_rank_stands_by() -> None:
    """Four channels of two ranks, 250 mW each, for 3000 cycles of 1.5 GHz: 2 W for 2 us."""
    spec = EnergySpec(dram=DramEnergySpec(background_mw=250))
    model = EnergyModel.of(spec, gpu("ddr4", channels=4, ranks=2))

    def background_uj(**sections: dict[str, Any]) -> float | None:
        found: float | None = energy_of(model, facts(**sections))["dram_background_uj"]
        return found

    assert background_uj(kernel={"cycles": 3000, "clock_ghz": 1.5}) == pytest.approx(4.0)
    assert background_uj(kernel={"cycles": 3000}) is None  # whose clock is not known
    assert background_uj() is None


@pytest.mark.parametrize(
    ("standard", "least", "most"), [("gddr5", 11.7, 14.0), ("hbm1", 3.5, 3.9), ("hbm2", 2.6, 3.92)]
)
def test_a_stream_takes_about_what_is_published(standard: str, least: float, most: float) -> None:
    # AMD 2015: 30 W and 9 W for 320 GB/s of GDDR5 and HBM; O'Connor et al. 2017: 14 and 3.92 pJ a bit, the latter with
    # more activations than a stream has
    timing, found = resolve(DramSpec(standard=standard)), dram_energies(DramSpec(standard=standard), DramEnergySpec())
    assert None not in (found.read_pj_per_bit, found.io_pj_per_bit, found.activate_pj, found.background_mw)
    by_the_bit = found.read_pj_per_bit + found.io_pj_per_bit + found.activate_pj / (8 * timing.row_bytes)
    standing_by = found.background_mw / (8e-9 * timing.channel_bytes_per_s)
    assert least < by_the_bit + standing_by < most


def test_a_bank_s_refresh_is_a_part_of_all_banks() -> None:
    launch = facts(dram={"refreshes": 16})
    whole, by_bank = (
        energy_of(EnergyModel.of(EnergySpec(), gpu("hbm1", **dram)), launch)["dram_refresh_uj"]
        for dram in ({}, {"refresh": "per_bank"})
    )
    assert by_bank == pytest.approx(whole / 8)  # pairs of 16 banks


# pseudo channels of a channel, by JEDEC's standards: each refreshes its own half of the rows by its own command
PSEUDO_CHANNELS = {"gddr5": 1, "ddr4": 1, "hbm1": 1, "hbm2": 2, "hbm3": 2}


@pytest.mark.parametrize("standard", PSEUDO_CHANNELS)
def test_all_banks_are_refreshed_once_in_each_interval_whatever_the_commands(standard: str) -> None:
    """Eight channels for a thousand intervals: the energy of eight thousand refreshes of all banks."""
    spec = EnergySpec(dram=DramEnergySpec(refresh_pj=1e6))
    commands = 8 * 1000 * PSEUDO_CHANNELS[standard]
    found = energy_of(EnergyModel.of(spec, gpu(standard)), facts(dram={"refreshes": commands}))
    assert found["dram_refresh_uj"] == pytest.approx(8 * 1000 * 1.0)


def test_sram_by_hand() -> None:
    spec = SIXTEEN_CHANNELS
    model = EnergyModel.of(AT_45_NM, spec, EngineSpec(sib_kib=512, prefetch_buffer_kib=512, compaction_units=16))
    assert spec.l1.size_kib == 16 and spec.l2.size_kib / spec.l2.channels == 128
    assert model.l1_line_pj == pytest.approx(8 * 10 * 2**0.5)
    assert model.l2_line_pj == pytest.approx(8 * 10 * 4)
    assert model.lds_cycle_pj == pytest.approx(32 * 10 * 0.5 / 2)  # 32 banks of 2 KiB, four bytes of each
    assert model.sib_word_pj == pytest.approx(10 * 2)  # 32 KiB beside an L2 channel
    assert model.buffer_line_pj == pytest.approx(8 * 10 * 2)  # 32 KiB of a unit
    assert model.compaction_pj == pytest.approx(16 * 0.6)


def test_caches_and_engine_of_a_launch_by_hand() -> None:
    model = EnergyModel.of(AT_45_NM, SIXTEEN_CHANNELS, EngineSpec(compaction_units=16))
    launch = facts(
        l1={"hits": 1, "misses": 10, "mshr_merges": 100},
        l2={"hits": 1, "misses": 2, "mshr_merges": 4, "fills": 8, "sparse_fills": 16, "write_backs": 32},
        cu={"lds_busy_cycles": 1000},
        engine={"requests": 7, "lines_fetched": 11, "accurate": 3, "responses": 5},
    )
    found = energy_of(model, launch)
    assert found["l1_uj"] == pytest.approx(121 * model.l1_line_pj * 1e-6)
    assert found["l2_uj"] == pytest.approx(63 * 320e-6)
    assert found["lds_uj"] == pytest.approx(1000 * 80e-6)
    assert found["sib_uj"] == pytest.approx((7 * 2 + 11) * 20e-6)
    assert found["cmi_uj"] == pytest.approx(8 * 20e-6)
    assert found["prefetch_buffer_uj"] == pytest.approx(10 * 160e-6)
    assert found["compaction_uj"] == pytest.approx(11 * 9.6e-6)
    assert found["engine_uj"] == pytest.approx((25 * 20 + 8 * 20 + 10 * 160 + 11 * 9.6) * 1e-6)
    assert found["total_uj"] is None  # DRAM was not counted


def test_the_engine_of_a_launch_that_compacted_on_writing_by_hand() -> None:
    """Nine dense lines become four compacted ones; two of them are read, and a request lies past the end."""
    model = EnergyModel.of(AT_45_NM, SIXTEEN_CHANNELS, EngineSpec(compaction_units=16))
    written = {"compacted_written": 4, "compacted_fetched": 2, "lines_handed_over": 9}
    engine = {"requests": 3, "lines_fetched": 0, "accurate": 0, "responses": 3, **written}
    l2 = {"hits": 1, "misses": 3, "mshr_merges": 0, "fills": 0, "sparse_fills": 3, "write_backs": 0}
    launch = facts(engine=engine, l2=l2)
    found = energy_of(model, launch)
    assert found["l2_uj"] == pytest.approx((7 + 9) * 320e-6)
    assert found["sib_uj"] == pytest.approx(3 * 2 * 20e-6)
    assert found["cmi_uj"] == pytest.approx(1 * 20e-6)
    assert found["prefetch_buffer_uj"] == pytest.approx(2 * (3 - 2 + 4) * 160e-6)
    assert found["compaction_uj"] == pytest.approx(9 * 9.6e-6)


def test_energies_scale_with_the_process() -> None:
    wide, narrow = (EnergyModel.of(EnergySpec(process_nm=nm), GpuSpec(), EngineSpec()) for nm in (45, 22.5))
    for name in ("l1_line_pj", "l2_line_pj", "lds_cycle_pj", "sib_word_pj", "buffer_line_pj", "compaction_pj"):
        assert getattr(narrow, name) == pytest.approx(getattr(wide, name) / 2)
    assert narrow.dram == wide.dram
    assert EnergySpec().scale == pytest.approx(28 / 45)


def test_what_is_not_known_is_not_invented() -> None:
    assert set(POWER) == {"gddr5", "hbm1", "hbm2"}
    unknown = EnergyModel.of(EnergySpec(), gpu("gddr6"))
    launch = facts(dram={"activates": 3})
    assert energy_of(unknown, launch)["dram_activate_uj"] is None
    given = DramEnergySpec(activate_pj=2000)
    for standard in ("gddr6", "gddr5"):
        model = EnergyModel.of(EnergySpec(dram=given), gpu(standard))
        assert energy_of(model, launch)["dram_activate_uj"] == 6e-3


def full_facts(times: int, engine: bool) -> RunFacts:
    dram = dict.fromkeys(("activates", "bytes_read", "bytes_written", "refreshes"), 64 * times)
    l2 = dict.fromkeys(("hits", "misses", "mshr_merges", "fills", "sparse_fills", "write_backs"), times)
    sections: dict[str, dict[str, Any]] = {
        "kernel": {"name": "k", "cycles": 100 * times, "clock_ghz": 1.0},
        "dram": dram,
        "l1": dict.fromkeys(("hits", "misses", "mshr_merges"), times),
        "l2": l2,
        "cu": {"lds_busy_cycles": times},
    }
    if engine:
        sections["engine"] = dict.fromkeys(("requests", "lines_fetched", "accurate", "responses"), times)
    return facts(**sections)


@given_daily(25, 100, st.lists(st.integers(1, 1000), min_size=1, max_size=4), st.booleans())
def test_the_energy_of_launches_is_the_sum_of_theirs_and_of_its_parts(times: list[int], engine: bool) -> None:
    model = EnergyModel.of(EnergySpec(), GpuSpec(), EngineSpec() if engine else None)
    launches = [full_facts(n, engine) for n in times]
    whole, *parts = (metrics.launch_tree(each, model)["energy"] for each in (combined(launches), *launches))
    for name, value in whole.items():
        if name.endswith("_uj") and value is not None:
            assert value == pytest.approx(sum(part[name] for part in parts))
    dram = [name for name in whole if name.startswith("dram_") and name.endswith("_uj") and name != "dram_uj"]
    assert len(dram) == 6 and whole["dram_uj"] == pytest.approx(sum(whole[name] for name in dram))
    if engine:
        inside = ("sib_uj", "cmi_uj", "prefetch_buffer_uj", "compaction_uj")
        assert whole["engine_uj"] == pytest.approx(sum(whole[name] for name in inside))
    else:
        assert whole["engine_uj"] is None
    total = whole["dram_uj"] + whole["l1_uj"] + whole["l2_uj"] + whole["lds_uj"] + (whole["engine_uj"] or 0.0)
    assert whole["total_uj"] == pytest.approx(total)


def test_energy_is_reported_per_launch_normalized_and_only_where_asked_for() -> None:
    model = EnergyModel.of(EnergySpec(), GpuSpec())
    dense, sparse = (metrics.to_tree(RunRecord(False, "k", [full_facts(n, False)], energy=model)) for n in (4, 2))
    assert metrics.normalized(sparse, dense)["energy.total_uj"] == pytest.approx(0.5)
    assert metrics.to_tree(RunRecord(False, "k", [full_facts(4, False)]))["energy"] is None
    assert metrics.launch_tree(full_facts(4, False))["energy"] is None
    assert len({metric.path for metric in ENERGY}) == len(ENERGY) == len(dense["energy"])


def test_a_configuration_may_change_it_and_is_the_same_simulation() -> None:
    given = load_run("layerB.yaml", ["energy.process_nm=14", "energy.dram.activate_pj=5", "energy.enabled=false"])
    assert (given.energy.process_nm, given.energy.dram.activate_pj, given.energy.enabled) == (14, 5, False)
    assert config_hash(given.resolved()) == config_hash(load_run("layerB.yaml").resolved())
    with pytest.raises(UserError, match="process_nm"):
        load_run("layerB.yaml", ["energy.process_n=14"])


def test_the_source_s_list_of_area_by_hand() -> None:
    engine = EngineSpec(compaction_units=2, shifters=1, scan_bits_per_cycle=1)
    parts = engine_area(engine, AT_45_NM)
    listed = {(part.where, part.what): part for part in parts if part.in_source}
    assert len(listed) == 9
    assert listed["compaction units", "comparators"].count == 32
    # a shifter's bit, a multiplier, an adder; 32 comparators, converters and bits; 2 x 16 places of 15 2-to-1 x 32 bits
    um2 = 6 + 3495 + 137 + 32 * (137 + 680 + 6) + 2 * 16 * 15 * 32 * 2
    assert added_um2(parts, source_alone=True) == pytest.approx(um2)
    # as configured no further shifter; directory of 16 384 entries, and 1024 lines of data buffers
    bit = 0.16 * (45 / 28) ** 2 / 0.6
    assert added_um2(parts) == pytest.approx(um2 + 8 * bit * (16_384 * 3 + 1024 * 64))


def test_storage_in_l2_is_no_area_of_the_engine_s() -> None:
    small, large = (engine_area(EngineSpec(sib_kib=512, prefetch_buffer_kib=kib)) for kib in (64, 512))
    assert added_um2(small) == added_um2(large)
    assert sum(part.um2 for part in large) > sum(part.um2 for part in small)
    assert all(cell.source for cell in CELLS.values())


def test_a_burst_s_energy_by_hand() -> None:
    assert burst_pj_per_bit(2.0, 300, 100, 100) == 4.0  # 400 mW over 100 Gb/s
