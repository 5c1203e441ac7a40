"""Do the estimates of dense GEMM kernels leave out none that may be the fastest? Held to the page's simulated ones."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs._site.dense_kernels import GPUS, HEAD, SHAPES, WIDE
from gpusim.jobs.running.choice import find_contenders
from gpusim.jobs.running.dense_choice import dense_candidates
from workloads.operators.gemm_estimates import ESTIMATED, estimates
from workloads.operators.operator import GpuFacts
from workloads.shapes import GemmShape

PAGE = Path(__file__).resolve().parents[3] / "docs" / "results" / "kernels.md"
FACTS = {"mi6": GpuFacts(36, 1 << 16), "r9nano": GpuFacts(64, 1 << 16)}
MOST_OVER_BEST = 1.02  # of the choice


def rows() -> list[dict[str, str]]:
    found = re.search("<!-- dense -->\n(.*?)\n<!-- end of dense -->", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()]
    assert tuple(cells[0]) == HEAD
    return [dict(zip(HEAD, line, strict=True)) for line in cells[2:]]


def test_the_page_has_every_shape_on_every_gpu() -> None:
    texts = [f"{shape.m} × {shape.n} × {shape.k}" for shape in SHAPES]
    assert [(row[HEAD[0]], row["GPU"]) for row in rows()] == [(text, gpu) for text in texts for gpu in GPUS]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['GPU']} {row[HEAD[0]]}")
def test_the_simulated_cycles_lie_between_both_ends(row: dict[str, str]) -> None:
    shape = GemmShape(*(int(size) for size in row[HEAD[0]].split(" × ")))
    cycles = {name: int(row[f"`{name}`"].replace(",", "")) for name in WIDE}
    found = estimates(shape, FACTS[row["GPU"]])
    assert {one.kernel for one in found} == set(WIDE)
    best = min(cycles, key=lambda name: cycles[name])
    # sgemm_wide multiplies less than its tile where columns are few, and is then far from the fastest
    looked_at = [one for one in found if cycles[one.kernel] < 3 * cycles[best]]
    assert all(one.least <= cycles[one.kernel] <= one.most for one in looked_at)
    asked = find_contenders(dense_candidates(shape, FACTS[row["GPU"]]))
    assert best in [one.name for one in asked]
    chosen = row["chosen"].strip("`")
    assert cycles[chosen] <= MOST_OVER_BEST * cycles[best]
    assert row["by"] == ("estimate" if len(asked) == 1 else "measurement")


@given(m=st.integers(1, 3000), n=st.integers(1, 3000), k=st.integers(1, 5000), units=st.integers(1, 100))
def test_every_shape_has_a_kernel_in_question(m: int, n: int, k: int, units: int) -> None:
    shape, gpu = GemmShape(m, n, k), GpuFacts(units, 1 << 16)
    found = estimates(shape, gpu)
    assert find_contenders(dense_candidates(shape, gpu)) and [one.least for one in found] == sorted(
        one.least for one in found
    )
    # no kernel multiplies faster than all SIMDs together
    assert all(one.least >= m * n * k / (units * 4 * 16) for one in found)
    assert all(one.least < one.most for one in found)


def test_a_kernel_whose_tiles_do_not_fit_is_left_out() -> None:
    small = GpuFacts(36, 8 << 10)
    assert "sgemm_wide" not in [one.kernel for one in estimates(GemmShape(512, 512, 512), small)]


def test_large_products_are_the_estimated_kernel_s_without_measuring() -> None:
    found = find_contenders(dense_candidates(GemmShape(512, 2048, 4608), FACTS["mi6"]))
    assert [one.name for one in found] == [ESTIMATED]
