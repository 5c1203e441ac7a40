"""Is a reading marked where its neighbours contradict it, by the measurements alone?"""

from dataclasses import replace

import pytest

from gpusim.lab.silicon import report, views
from gpusim.lab.silicon.compare import UNCONTRADICTED, CorrelationPoint, groups
from gpusim.lab.silicon.measured import LIKE, ProductPoint, load_measured, read_table
from gpusim.lab.silicon.neighbours import with_neighbours
from gpusim.lab.silicon.prediction import Prediction

HIP = "Cijk_A{a}_B{b}_SB_MT16x16x4_SE_ISA000_GSU{gsu}_SU0_SUS0_WG8_8_1_WGM8"
# readings of rocBLAS's table for gfx906, FP32, K = 128, N = 4
READINGS = {("NN", 5888): 179.7, ("TN", 5888): 36.8, ("TT", 5888): 39.2, ("NN", 2944): 31.5, ("TT", 5056): 118.4}


def product(transposes: str, m: int, time_us: float, k: int = 128, split: int = 1) -> ProductPoint:
    kernel = HIP.format(
        a="ilk" if transposes[0] == "N" else "lik", b="ljk" if transposes[1] == "N" else "jlk", gsu=split
    )
    return ProductPoint(transposes, m, 4, k, time_us, kernel)


def over(*points: ProductPoint) -> list[float | None]:
    return [point.over_neighbours for point in with_neighbours(points) if isinstance(point, ProductPoint)]


def test_readings_of_rocblas_that_contradict_their_neighbours() -> None:
    points = with_neighbours([product(*key, time_us) for key, time_us in READINGS.items()])
    marked = [point.label for point in points if isinstance(point, ProductPoint) and point.is_contradicted]
    assert marked == ["NN 5888x4x128", "TT 5056x4x128"]


def test_a_reading_needs_two_neighbours_of_the_same_work() -> None:
    first, second = product("NN", 1600, 10.0), product("NT", 3200, 20.0)
    assert over(first, second, product("NN", 1600, 80.0)) == [pytest.approx(0.2), pytest.approx(20 / 45), 80 / 15]
    for other in (
        product("NN", 3216, 80.0),  # more than twice the workgroups of the first
        product("NN", 1600, 80.0, k=129),
        product("NN", 1600, 80.0, split=2),
        replace(product("NN", 1600, 80.0), kernel=product("NN", 1, 1.0).kernel.replace("_ISA000_", "_ISA906_")),
        replace(product("NN", 1600, 80.0), kernel="of another library"),
    ):
        assert over(first, second, other)[::2] == [None, None], other


def test_the_bounds_are_three_times_and_a_third() -> None:
    near = product("NN", 1600, 10.0)
    for factor, contradicts in ((2.99, False), (3.0, True), (0.34, False), (1 / 3, True)):
        assert replace(near, over_neighbours=factor).is_contradicted == contradicts
    assert not near.is_contradicted


def test_no_shipped_reading_is_contradicted() -> None:
    for name in (LIKE, "vega10-sgemm", "vega10-hgemm", "vega20-sgemm", "vega20-hgemm", "vega20-dgemm"):
        table, document = load_measured(name)
        points = with_neighbours(read_table(table, document, document.path.parent / table.points))
        products = [point for point in points if isinstance(point, ProductPoint)]
        assert sum(one.over_neighbours is not None for one in products) >= 8, name
        assert not [one.label for one in products if one.is_contradicted]


def test_both_means_are_given() -> None:
    table, _ = load_measured(LIKE)
    sound, wrong = product("NN", 1600, 10.0), replace(product("NN", 3200, 80.0), over_neighbours=4.0)
    rows = [CorrelationPoint(Prediction(p, 12.0, None, 1, 1, "valu", 0.5, 1.0), 0.0) for p in (sound, wrong)]
    found = groups(rows)
    assert (found["all"].count, found[UNCONTRADICTED].count) == (2, 1)
    assert found[UNCONTRADICTED].mean_absolute_error == pytest.approx(0.2)
    saved = report.SavedComparison(rows, None, False, "", [])
    page = views.markdown(table, report.restored(report.document(table, saved)))
    assert "whole, reading 4.0 x its neighbours'" in page and "Of these 1 have a reading that is 3 times" in page
    assert UNCONTRADICTED not in groups(rows[:1])
