"""Is an engine that is sized by launch as large as the launch's columns need, and no larger than configured?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isa.region import SparseRegion
from memory.l2_share import sets_and_ways_left
from spartan.engine_spec import EngineSpec
from spartan.sib_layout import sib_layout
from spartan.sizing import sized_for

BY_LAUNCH = EngineSpec(l2_sizing="launch")


def region(rows: int, columns: int) -> SparseRegion:
    return SparseRegion(1 << 20, rows, columns, 64 * (-(-rows // 64)))


def test_layer_c_needs_less_than_half_of_l2() -> None:
    """512 columns of 256 bytes, and of eight lines: 128 and 256 KiB, three of the sixteen ways of 2 MiB."""
    sized = sized_for(BY_LAUNCH, [region(4608, 512)], 2048, 16)
    assert (sized.sib_kib, sized.prefetch_buffer_kib, sized.l2_share, sized.l2_partition) == (128, 256, 3 / 16, "ways")
    whole = sized_for(BY_LAUNCH, [region(4608, 2048)], 2048, 16)
    assert (whole.sib_kib, whole.prefetch_buffer_kib, whole.l2_share) == (512, 512, 0.5)


def test_what_is_fixed_stays() -> None:
    fixed = EngineSpec()
    assert sized_for(fixed, [region(4608, 1)], 2048, 16) is fixed


@given(st.integers(1, 8000), st.integers(1, 9000), st.sampled_from([0, 1, 16]), st.sampled_from([0.0, 0.5]))
def test_every_column_has_an_entry_as_far_as_the_sib_goes(rows: int, columns: int, ways: int, share: float) -> None:
    spec = EngineSpec(l2_sizing="launch", sib_ways=ways, l2_share=share)
    regions = [region(rows, columns)]
    sized = sized_for(spec, regions, 2048, 16)
    assert sib_layout(sized, regions).entries >= min(columns, sib_layout(spec, regions).entries)
    assert sized.sib_kib <= spec.sib_kib and sized.prefetch_buffer_kib <= spec.prefetch_buffer_kib
    assert sized.buffer_lines >= min(columns, spec.buffer_lines)
    _, left = sets_and_ways_left(128, 16, sized.l2_taken)
    if share:
        assert (16 - left) * 128 >= sized.sram_kib > (16 - left - 1) * 128
    else:
        assert left == 16


def test_an_engine_that_would_fill_l2_is_refused() -> None:
    with pytest.raises(ValueError, match="leave nothing of an L2 of 512 KiB"):
        sized_for(BY_LAUNCH, [region(4608, 2048)], 512, 16)
