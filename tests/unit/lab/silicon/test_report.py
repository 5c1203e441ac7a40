"""Does every row that was not run whole say so, with how far off it may be: table, JSON, picture, summary figures?"""

import io
import json
from pathlib import Path

import pytest

from gpusim.lab.silicon import report, views
from gpusim.lab.silicon.compare import CorrelationPoint, groups
from gpusim.lab.silicon.measured import ProductPoint, load_measured
from gpusim.lab.silicon.picture import picture
from gpusim.lab.silicon.prediction import EXTRAPOLATED, SAMPLED, WHOLE, Prediction
from gpusim.lab.versions.model import present_version

TABLE, _ = load_measured("rocblas-r9nano")
EARLIER = Path(__file__).resolve().parents[4] / "results" / "correlation" / "rocblas-r9nano-extrapolated.json"


def row(k: int, modelled_us: float, simulated: float, half_width_us: float | None) -> CorrelationPoint:
    point = ProductPoint("NN", 1000, 1000, k, 100.0, "kernel")
    return CorrelationPoint(Prediction(point, modelled_us, None, 1, 1, "valu", 0.5, simulated, half_width_us), 10.0)


ROWS = [row(1, 100.0, 1.0, 0.0), row(2, 110.0, 0.25, 7.5), row(3, 150.0, 0.1, None)]
FOUND = report.SavedComparison(ROWS, None, False, "", [])


def cells(page: str, k: int) -> list[str]:
    line = next(line for line in page.splitlines() if line.startswith(f"| NN 1000x1000x{k} "))
    return [cell.strip() for cell in line.split("|")[1:-1]]


def test_the_page_marks_each_row_and_has_its_bar() -> None:
    page = views.markdown(TABLE, FOUND)
    place = {name: at for at, name in enumerate(column.name for column in views.point_table(ROWS).columns)}
    bars = {k: (cells(page, k)[place["± us"]], cells(page, k)[place["run"]]) for k in (1, 2, 3)}
    assert bars == {1: ("–", "whole"), 2: ("7.5", "sampled from 25.0 %"), 3: ("unknown", "extrapolated from 10.0 %")}
    assert "Of these run whole: 1; sampled, each with its half-width (±): 1; extrapolated from two shorter" in page


def test_the_terminal_says_the_same() -> None:
    out = io.StringIO()
    views.show(TABLE, FOUND, out)
    assert "\t7.5\t" in out.getvalue() and "\tunknown\t" in out.getvalue()
    assert "sampled from 25.0 %" in out.getvalue() and "extrapolated from 10.0 %" in out.getvalue()


def test_whole_rows_have_figures_of_their_own() -> None:
    found = groups(ROWS)
    assert found["all"].mean_absolute_error == pytest.approx((0.1 + 0.2 + 0.6) / 3)
    assert {how: found[how].mean_absolute_error for how in ("run whole", SAMPLED, EXTRAPOLATED)} == pytest.approx(
        {"run whole": 0.1, SAMPLED: 0.2, EXTRAPOLATED: 0.6}
    )


def test_json_has_the_bar_and_is_read_again() -> None:
    result = json.loads(json.dumps(report.document(TABLE, FOUND)))
    points = [one["point"] for one in result["rows"]]
    assert [one["run"] for one in points] == [WHOLE, SAMPLED, EXTRAPOLATED]
    assert [one["kernels_half_width_us"] for one in points] == [0.0, 7.5, None]
    assert report.restored(result) == FOUND


def test_the_picture_marks_what_was_not_run_whole() -> None:
    pytest.importorskip("matplotlib")
    made = picture(ROWS, "title")
    assert "3 points, 1 of them run whole" in made.alt
    assert [line[2] for line in made.rows] == [WHOLE, SAMPLED, EXTRAPOLATED]
    rate = 2 * 1000 * 1000 * 2 / 120e-6 * 1e-9
    assert [line[-1] for line in made.rows] == [0.0, pytest.approx(rate * 7.5 / 120), None]
    drawn = made.file(".svg").decode()
    assert "sampled, with its half-width" in drawn and "extrapolated, half-width unknown" in drawn
    assert "half-width" not in picture(ROWS[:1], "title").file(".svg").decode()


def test_an_earlier_result_marks_all_that_its_own_file_says_was_run_in_part() -> None:
    """By the shares of the file itself."""
    held = [row["point"] for row in json.loads(EARLIER.read_text(encoding="utf-8"))["rows"]]
    page = views.markdown(TABLE, report.restored(json.loads(EARLIER.read_text(encoding="utf-8"))))
    marks = [line.split(" | ")[-2] for line in page.splitlines() if line.count(" | ") == 9]
    marked = [mark.startswith("extrapolated from") for mark in marks if mark.startswith(("whole", "extrapolated from"))]
    assert marked == [one["simulated_share"] < 1 for one in held]
    assert 0 < sum(marked) < len(marked)


def test_versions_of_rows_are_read_as_they_were_written() -> None:
    earlier = report.restored(json.loads(EARLIER.read_text(encoding="utf-8")))
    assert earlier.versions == {} and "versions" not in report.document(TABLE, earlier)
    label = earlier.rows[0].prediction.point.label
    versions = {label: present_version(sampled=True, more=("silicon",))}
    written = json.loads(json.dumps(report.document(TABLE, earlier._replace(versions=versions))))
    assert report.restored(written).versions == versions
