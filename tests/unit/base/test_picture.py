"""Is a picture drawn alike each time, on the ground that it asks for, and are its numbers a table?"""

from dataclasses import replace
from typing import Any

import pytest

from gpusim.base.picture import Picture

pytest.importorskip("matplotlib")


def draw(figure: Any) -> None:
    figure.subplots().plot([1, 2], [3, 4], label="line")


LINE = Picture("line", "A line", "It rises from 3 to 4.", ("x", "y"), [(1, 3.14159), (2000, None)], draw, (2.0, 1.0))


def test_a_file_is_the_same_each_time_and_framed_where_that_is_said() -> None:
    framed = replace(LINE, framed=True)
    for kind in (".svg", ".png", ".pdf"):
        assert LINE.file(kind) == LINE.file(kind) != framed.file(kind) == framed.file(kind)
    assert b"fill: #ffffff" in framed.file(".svg") and b"fill: #ffffff" not in LINE.file(".svg")


def test_the_numbers_are_a_table_of_the_picture_s_name() -> None:
    assert (LINE.numbers.name, LINE.numbers.title) == ("line", "A line")
    assert LINE.numbers.csv() == "x,y\n1,3.14159\n2000,\n"
    assert LINE.numbers.markdown().splitlines()[-2:] == ["| 1 | 3.142 |", "| 2,000 | – |"]
