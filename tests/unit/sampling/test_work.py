"""Are strata of alike workgroups found where work changes, in amount or in kind, and nowhere else?"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.model.sampling.work import WorkgroupInstructions

RESIDENT = 40


def cuts(blocks: np.ndarray) -> list[int]:
    strata = WorkgroupInstructions(blocks).strata(RESIDENT)
    assert strata[0].start == 0 and strata[-1].end == len(blocks)
    assert all(one.end == other.start for one, other in pairwise(strata))
    assert sum(one.share for one in strata) == pytest.approx(1)
    return [one.start for one in strata[1:]]


def alike(count: int, work: int = 100) -> np.ndarray:
    return np.tile([work, work // 2, 0, 0, 0, 0, 0, 0], (count, 1)).astype(np.int64)


def test_alike_workgroups_are_one_stratum() -> None:
    assert cuts(alike(1000)) == []
    noisy = alike(3000)
    noisy[:, 0] = np.random.default_rng(1).poisson(100, 3000)
    assert cuts(noisy) == []


@given(st.integers(50, 950))
def test_a_change_of_work_is_found_to_the_workgroup(at: int) -> None:
    assert at in cuts(np.concatenate([alike(at), alike(1000 - at, 2000)]))


def test_a_change_of_kind_is_found_where_the_amount_is_the_same() -> None:
    blocks = alike(1000)
    blocks[600:] = blocks[600:, ::-1]
    assert cuts(blocks) == [600]


def test_a_triangle_has_several_strata() -> None:
    blocks = alike(4000)
    blocks[:, 0] = 10 + np.arange(4000) // 4
    found = cuts(blocks)
    assert 4 <= len(found) <= 60 and len([one for one in found if one < 2000]) > len(found) / 2


def test_rare_heavy_workgroups_make_a_stratum_uneven() -> None:
    blocks = alike(8000)
    blocks[np.random.default_rng(2).random(8000) < 0.005, 0] *= 20
    (one,) = WorkgroupInstructions(blocks).strata(RESIDENT)
    assert 8 < one.unevenness < 20 and one.longest_waves == one.unevenness
    assert one.end_doubt(100) == pytest.approx(0.1 * one.unevenness / 100)
    (even,) = WorkgroupInstructions(alike(100)).strata(RESIDENT)
    assert (even.longest_waves, even.end_doubt(100)) == (1, 0)


def test_work_of_a_part_of_the_grid() -> None:
    work = WorkgroupInstructions(np.concatenate([alike(10), alike(10, 200)]))
    assert work.of(range(8, 12)) == 2 * 150 + 2 * 300 and work.total == 4500
    first, last = work.strata(4)
    assert (first.share, first.share_after, last.share_after) == (pytest.approx(1 / 3), pytest.approx(2 / 3), 0)


def test_workgroups_of_equal_work_are_cut_where_something_else_changes() -> None:
    first, last = WorkgroupInstructions(alike(1000)).strata(RESIDENT, [400])
    assert (first.end, last.start, first.alike, first.share_after) == (400, 400, True, 0)
