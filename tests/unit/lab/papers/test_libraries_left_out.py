"""Are points of libraries that are not installed left out with one line, and conversions told from products?"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from gpusim.base.progress import Reporter
from gpusim.jobs.networks.library import ROOT_VARIABLE
from gpusim.lab.papers.page.quantities import filled
from gpusim.lab.papers.plan import plan_points
from gpusim.lab.papers.publication import Publication, Reproduction
from gpusim.lab.papers.records import PointRecord, ReproductionResults
from gpusim.lab.papers.running import PlanOutcome, PlanRunner, collected
from gpusim.results.store.keeper import StoreWriter
from tests.support.reproduction import INDEX, LAYER, loaded, made_up, results_of
from tests.unit.lab.papers.test_running import Pretended, Stop, done

PATHS = """paths:
  vendors: {title: vendor's dense, sparse: false, sets: {kernels.dense: rocblas}, seconds_per_gmac: 1}
  sparse: {title: vendor's sparse, sparse: true, sets: {kernels.sparse: rocsparse_csrmm}, seconds_per_gmac: 1}
"""
VENDORS = f"""
kind: breakdown
title: Libraries
source: Figure 3
cases: {{one: {{run: layerC, sets: {{workload.layer: {LAYER}}}}}}}
batches: [1]
data: {{half: {{workload.data: synthetic, workload.sparsity: 0.5}}}}
paths: [best, vendors, sparse]
base: vendors
conversions: {{sparse: [count_, convert_]}}
judged: {{sparse: [ours]}}
"""
LIBRARIES = ("librocblas.so.0", "librocsparse.so.0")


@pytest.fixture(name="reproduction")
def _reproduction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reproduction:
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "root"))
    (tmp_path / "root" / "usr/lib/x86_64-linux-gnu").mkdir(parents=True)
    index = INDEX.replace("paths:\n", PATHS).replace("[speed, cache, train, place]", "[vendors]")
    return loaded(tmp_path, index, vendors=VENDORS)


def run(tmp_path: Path, reproduction: Reproduction) -> PlanOutcome:
    plan = plan_points(reproduction, reproduction.figures)
    with StoreWriter(tmp_path / "store.db") as keeper:
        return PlanRunner(keeper, Pretended(done), Reporter(quiet=False), Stop()).run(plan)  # type: ignore[arg-type]


def install(tmp_path: Path, *libraries: str) -> None:
    for library in libraries:
        (tmp_path / "root" / "usr/lib/x86_64-linux-gnu" / library).touch()


def test_without_them_one_line_says_what_to_fetch(
    tmp_path: Path, reproduction: Reproduction, capfd: pytest.CaptureFixture[str]
) -> None:
    ran = run(tmp_path, reproduction)
    assert set(ran.left_out) == {"one 1 any vendors", "one 1 half sparse"} and (ran.ran, ran.errors) == (1, {})
    assert ran.sentence(3).startswith("1 of 3 points: 1 ran, 0 were there, 2 left out;")
    (said,) = [line for line in capfd.readouterr().err.splitlines() if "left out" in line]
    assert "librocblas.so.0 and librocsparse.so.0 are not there" in said
    assert "apt install librocblas0 librocsparse0, or gpusim packages libraries FOLDER" in said


def test_with_them_all_run_and_what_the_store_has_needs_none(tmp_path: Path, reproduction: Reproduction) -> None:
    install(tmp_path, LIBRARIES[0])
    assert set(run(tmp_path, reproduction).left_out) == {"one 1 half sparse"}
    install(tmp_path, LIBRARIES[1])
    ran = run(tmp_path, reproduction)
    assert (ran.ran, ran.found, ran.left_out) == (1, 2, {})
    for library in LIBRARIES:
        (tmp_path / "root" / "usr/lib/x86_64-linux-gnu" / library).unlink()
    again = run(tmp_path, reproduction)
    assert (again.ran, again.found, again.left_out) == (0, 3, {})


def test_what_was_known_earlier_stays_where_the_store_has_nothing(tmp_path: Path, reproduction: Reproduction) -> None:
    plan, earlier = (
        plan_points(reproduction, reproduction.figures),
        {"one 1 any vendors": made_up(7), "gone": made_up(1)},
    )
    with StoreWriter(tmp_path / "store.db") as keeper:
        results = collected("test", plan, keeper, {}, {}, ReproductionResults("test", earlier))
    assert results.points == {"one 1 any vendors": made_up(7)}


def converted(launches: Mapping[str, int]) -> PointRecord:
    held = made_up(sum(launches.values()), 0.5)
    return PointRecord(held.metrics, 0.0, 1.0, list(launches.items()), 1.0)


def test_all_kernels_that_convert_are_the_conversion(reproduction: Reproduction) -> None:
    cycles = {"best": 100, "vendors": 50, "sparse": 0}
    way = converted({"count_a": 10, "convert_b": 20, "multiply": 70})
    results = results_of(reproduction, cycles, **{"one 1 half sparse": way})
    figure, publication = reproduction.figures["vendors"], Publication(reproduction, results)
    (table,) = figure.tables(publication)
    assert table.rows[-1][4:] == [30, 70, 0.3, 0.5]
    found = {value.measure: value.value for value in figure.values(publication)}
    assert found == {"speedup": 0.5, "conversion_share": 0.3}
    assert filled("{vendors | half | sparse}", publication) == "0.50×", "over the figure's base"
