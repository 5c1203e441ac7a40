"""Are the shipped engines what they say: the default the default, and Dong 2020's hardware what the thesis lists?"""

from pathlib import Path

import pytest

from docs._site import engine_page
from gpusim.base.errors import UserError
from gpusim.config.engine import load_engine
from gpusim.config.files import opened
from gpusim.config.network_run import load_settings
from gpusim.config.run import load_run
from gpusim.model.energy.area import engine_area
from spartan.engine_spec import EngineSpec

DONG = "dong2020"


@pytest.mark.generated
def test_the_default_is_written_out() -> None:
    assert engine_page.DEFAULT.read_text(encoding="utf-8") == engine_page.default_file(), "renew it with .ci/generate"
    assert load_engine("default") == EngineSpec()


def test_every_difference_is_in_the_table_with_its_reason() -> None:
    assert set(engine_page.reasons()) == set(engine_page.differences())


def test_the_hardware_is_that_of_section_6_6_3() -> None:
    engine = load_engine(DONG)
    assert (engine.shifters, engine.scan_bits_per_cycle, engine.address_calculators) == (1, 1, 1)
    assert engine.compaction_units == 32 and engine.sib_kib == 512
    assert engine.sram_kib == 1024 and engine.data_buffer_kib == 32  # half of the MI6's L2, all storage of the engine
    listed = {(part.where, part.what) for part in engine_area(engine) if part.in_source and part.count}
    # nothing but the directory, which the thesis does not give, comes beside what the thesis lists
    more = [part.what for part in engine_area(engine) if not part.in_source and part.extra and part.count]
    assert listed and more == ["bytes of a directory"]


def test_an_engine_is_named_or_laid_over_another(tmp_path: Path) -> None:
    assert load_run("layerB", ("engine=dong2020",)).engine == load_engine(DONG)
    changed = load_run("layerB", ("engine.shifters=2", "engine.base=dong2020"))
    assert changed.engine == load_engine(DONG, ("shifters=2",)) != load_engine(DONG)
    (tmp_path / "mine.yaml").write_text("base: dong2020\nprefetch_length: 3\n")
    mine = load_run("layerB", (f"engine={tmp_path / 'mine.yaml'}", "engine.sib_kib=256")).engine
    assert mine == load_engine(DONG, ("prefetch_length=3", "engine.sib_kib=256"))
    (tmp_path / "run.yaml").write_text("gpu: mi6\nengine: mine.yaml\nworkload: {kind: gemm, m: 4, n: 4, k: 4}\n")
    assert load_run(str(tmp_path / "run.yaml")).engine.prefetch_length == 3
    assert load_settings(opened("mi6", "gpus"), ("engine=dong2020",)).engine == load_engine(DONG)


@pytest.mark.parametrize(
    ("sets", "wrong"),
    [
        (("engine=dong202",), "did you mean 'dong2020'"),
        (("engine=r9nano",), "is a GPU, not a compaction engine"),
        (("engine=5",), "5 is not allowed: must be a mapping"),
        (("engine={base: 5}",), "base: must be the name of an engine's file"),
        (("engine=dong2020", "engine.shifter=2"), "did you mean 'shifters'"),
        (("engine=dong2020", "engine.sib_kib=513"), "+ 32 of data buffers = 1025 KiB do not fit"),
    ],
)
def test_what_is_no_engine_is_refused(sets: tuple[str, ...], wrong: str) -> None:
    with pytest.raises(UserError) as caught:
        load_run("layerB", ("run.engine=on", *sets))
    assert wrong in str(caught.value)


def test_an_engine_that_is_its_own_base_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").write_text("base: loop\nshifters: 2\n")
    with pytest.raises(UserError, match="refers back to itself"):
        load_engine(str(tmp_path / "loop.yaml"))


def test_entries_that_are_no_whole_sets_are_refused() -> None:
    from isa.region import SparseRegion
    from spartan.sib_layout import sib_layout

    region = SparseRegion(1 << 20, 5000, 10, 5056)
    assert sib_layout(EngineSpec(sib_ways=16), [region]).sets == 128
    with pytest.raises(
        ValueError, match=r"engine\.sib_ways: 2048 entries of 256 bytes .* no whole number of sets of 24"
    ):
        sib_layout(EngineSpec(sib_ways=24), [region])
