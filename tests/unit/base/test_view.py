"""Does a view take each cell from its path, and does each format write what its name says?"""

from dataclasses import dataclass
from typing import Any

import pytest

from gpusim.base import formats
from gpusim.base.table import TableCell
from gpusim.base.view import View, column, value_at


@dataclass(frozen=True)
class Launch:
    """A launch with metrics as nested mappings."""

    kernel: str
    time_us: float
    metrics: Any


LAUNCHES = [Launch("copy", 1234.56, {"l1": {"hit_rate": 0.25}}), Launch("add", 7.0, {"l1": None})]
VIEW = View(
    [
        column("kernel"),
        column("time_us", "time", formats.GROUPED_1, "us", short="us", narrow=formats.GROUPED_0),
        column("metrics.l1.hit_rate", "L1", formats.SHARE_0),
        column(lambda launch: TableCell(launch.time_us > 8, "long" if launch.time_us > 8 else ""), "which"),
    ],
    "launches",
    "Launches",
)


def test_cells_come_from_attributes_keys_and_functions() -> None:
    table = VIEW.table(LAUNCHES, notes=["two"])
    assert (table.name, table.title, list(table.notes)) == ("launches", "Launches", ["two"])
    assert table.rows == [["copy", 1234.56, 0.25, (True, "long", "", "")], ["add", 7.0, None, (False, "", "", "")]]
    assert table.tabbed() == "kernel\ttime us\tL1\twhich\ncopy\t1,234.6\t25%\tlong\nadd\t7.0\t\t\ntwo\n"
    assert VIEW.table([], "None ran").title == "None ran"


def test_a_narrow_terminal_gets_the_narrow_format() -> None:
    table = VIEW.table(LAUNCHES)
    assert table._texts(table.rows[0], narrow=True) == ["copy", "1,235", "25%", "long"]
    assert table._heads(narrow=True) == ["kernel", "us", "L1", "which"]


def test_a_title_is_the_last_name_of_the_path() -> None:
    assert column("a.b.hit_rate").head == "hit rate"
    assert column("a.b.hit_rate", "").head == ""


def test_a_missing_key_is_none_and_a_missing_attribute_is_a_mistake() -> None:
    assert value_at({"a": {"b": None}}, "a.b.c") is None
    assert value_at({}, "a") is None
    with pytest.raises(AttributeError, match="cycles"):
        value_at(LAUNCHES[0], "cycles")


def test_a_view_with_further_columns() -> None:
    wider = View([column("a")], "name").with_columns(column("b"))
    assert wider.table([{"a": 1, "b": 2}]).rows == [[1, 2]]
    assert wider.name == "name"


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (formats.COUNT, 1234567, "1,234,567"),
        (formats.FIXED_0, 1234.5, "1234"),
        (formats.GROUPED_0, 1234.5, "1,234"),
        (formats.GROUPED_2, 1234.5, "1,234.50"),
        (formats.DIGITS_3, 12345.0, "1.23e+04"),
        (formats.PERCENT, 0.1234, "12.3 %"),
        (formats.PERCENT_CHANGE_0, 0.1234, "+12 %"),
        (formats.SHARE_1, 0.1234, "12.3%"),
        (formats.HUNDREDTH_PARTS, 0.1234, "12"),
        (formats.MILLISECONDS, 1234567.0, "1,234.6 ms"),
        (formats.MILLIONS_1, 1234567, "1.2"),
        (formats.amount, 1234.5, "1,234"),
        (formats.amount, 0.123456, "0.1235"),
        (formats.amount, True, "True"),
        (formats.amount, 1.7976931348623157e308, "1.798e+308"),
        (formats.scaled, 12345678, "12.3M"),
        (formats.scaled, -12, "-12"),
        (formats.three_digits, 99.94, "99.9"),
        (formats.three_digits, 99.96, "100"),
        (formats.duration, 61.4, "1 min 1 s"),
    ],
)
def test_formats(write: Any, value: float, text: str) -> None:
    assert write(value) == text


@pytest.mark.parametrize("digits", [0, 1, 2])
def test_shares_are_rounded_as_by_the_language(digits: int) -> None:
    write = (formats.SHARE_0, formats.SHARE_1, formats.SHARE_2)[digits]
    assert [write(n / 8000) for n in range(8001)] == [f"{n / 8000:.{digits}%}" for n in range(8001)]
