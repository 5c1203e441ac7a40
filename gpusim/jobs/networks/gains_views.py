"""Columns of the tables of what layers gain by a value of a network's settings."""

from gpusim.base.formats import GROUPED_1, SHARE_0, SHARE_CHANGE
from gpusim.base.view import View, column

_GAIN = column("gain_us", "gain", GROUPED_1, "us")
_OF_ALL = column("of_all", write=SHARE_CHANGE)
FUSION = View(
    [
        column("layers"),
        column("apart_us", "apart", GROUPED_1, "us"),
        column("joined_us", "of it joined", GROUPED_1),
        column("fused_us", "fused", GROUPED_1, "us"),
        _GAIN,
        _OF_ALL,
        column("launches_less", write=str),
    ],
    "gains",
    "gain by fusion: ReLUs and pooling as the last step of kernels",
)
L1_BYPASS = View(
    [
        column("row"),
        column("through_us", "through L1", GROUPED_1, "us"),
        column("past_us", "past L1", GROUPED_1, "us"),
        _GAIN,
        column("of_row", "of the row", SHARE_CHANGE),
        _OF_ALL,
        column("hit_rate", "L1 hits", SHARE_0),
    ],
    "gains",
    "gain by loads that go past L1",
)
