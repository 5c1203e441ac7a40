"""Does a table come out as it is written by hand below, wherever it goes?"""

import csv
import io
import json
import re

import pytest

from gpusim.base.html import written
from gpusim.base.table import Column, Table, TableCell, columns


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def on_terminal(table: Table, width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    table.show(out)
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()]


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


KERNELS = Table(
    [Column("kernel"), Column("time", unit="us", short="us"), Column("hits", percent, short="L2"), Column("why")],
    [
        ["copy", TableCell(1234.5678, "1,234.6 ± 2 %", "1,235"), 0.25, "a|b"],
        ["add\nfloats", 0.123456789, None, None],
    ],
    "kernels",
    "Two kernels",
    ["hits: of the L2", "times are measured"],
)


def test_a_pipe_has_lines_with_tabs_and_exact_values() -> None:
    out = io.StringIO()
    KERNELS.show(out)
    assert out.getvalue() == (
        "kernel\ttime us\thits\twhy\n"
        "copy\t1,234.6 ± 2 %\t25.0 %\ta|b\n"
        "add floats\t0.123456789\t\t\n"
        "hits: of the L2\ntimes are measured\n"
    )
    assert KERNELS.tabbed(heads=False).startswith("copy\t")


def test_a_terminal_has_columns_and_numbers_at_the_right(monkeypatch: pytest.MonkeyPatch) -> None:
    assert on_terminal(KERNELS, 80, monkeypatch) == [
        "Two kernels",
        "kernel            time us    hits  why",
        "copy        1,234.6 ± 2 %  25.0 %  a|b",
        "add floats       0.123457       –  –",
        "hits: of the L2",
        "times are measured",
    ]


def test_a_narrow_terminal_has_short_heads_and_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert on_terminal(KERNELS, 35, monkeypatch)[1:4] == [
        "kernel           us     L2 why",
        "copy          1,235 25.0 % a|b",
        "add floats 0.123457      – –",
    ]


def test_what_fits_no_terminal_is_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = on_terminal(Table(columns("word"), [["abcdefghij"]]), 5, monkeypatch)
    assert lines == ["word", "abcde", "fghij"]


def test_a_column_that_is_to_stay_whole_is_not_folded_while_another_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    path, text = "a.long.path.of_a_metric", "what it is, in words"
    lines = on_terminal(Table([Column("path", whole=True), Column("text")], [[path, text]]), 30, monkeypatch)
    assert lines[1].split()[0] == path and max(map(len, lines)) <= 30


def test_markup_is_text_and_a_style_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(columns("[b]x"), [["[red]y"], [TableCell(1, "z", style="bold yellow")]], notes=["[i]n"])
    assert on_terminal(table, 40, monkeypatch) == ["  [b]x", "[red]y", "     z", "[i]n"]


def test_markdown_escapes_what_would_part_cells() -> None:
    assert KERNELS.markdown() == (
        "Two kernels\n\n"
        "| kernel | time us | hits | why |\n"
        "| --- | ---: | ---: | --- |\n"
        "| copy | 1,234.6 ± 2 % | 25.0 % | a\\|b |\n"
        "| add floats | 0.123457 | – | – |\n"
        "\n- hits: of the L2\n- times are measured\n"
    )
    assert Table(columns("a"), [[TableCell(None, "x\ny")]]).markdown() == "| a |\n| --- |\n| x y |\n"


def test_csv_has_exact_values() -> None:
    assert KERNELS.csv() == 'kernel,time us,hits,why\ncopy,1234.5678,0.25,a|b\n"add\nfloats",0.123456789,,\n'
    quoted = Table(columns("a,b", 'c"d'), [['1,"2"', "\udc80\x07"], [True, 3]])
    assert list(csv.reader(io.StringIO(quoted.csv()))) == [["a,b", 'c"d'], ['1,"2"', "��"], ["True", "3"]]


def test_json_has_an_object_for_each_row() -> None:
    assert json.loads(KERNELS.json()) == [
        {"kernel": "copy", "time us": 1234.5678, "hits": 0.25, "why": "a|b"},
        {"kernel": "add\nfloats", "time us": 0.123456789, "hits": None, "why": None},
    ]
    assert json.loads(Table(columns("hash"), [[b"\x01\xff"]]).json()) == [{"hash": "01ff"}]


def test_a_page_has_texts_that_are_sorted_by_values() -> None:
    html = written(KERNELS.html())
    assert "<caption>Two kernels</caption>" in html and '<button type="button">time us</button>' in html
    assert '<th scope="row">copy</th><td class="number" data-v="1234.5678">1,234.6 ± 2 %</td>' in html
    assert '<td class="number" data-v="0.25">25.0 %</td><td>a|b</td>' in html
    assert "<button" not in written(KERNELS.html(sortable=False))


def test_an_empty_table_is_its_head(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = Table(columns("a", "b"), [])
    assert empty.tabbed() == "a\tb\n" and empty.csv() == "a,b\n" and empty.json() == "[]\n"
    assert empty.markdown() == "| a | b |\n| --- | --- |\n"
    assert on_terminal(empty, 40, monkeypatch) == ["a  b"]


def test_alignment_is_said_or_found() -> None:
    said = Table([Column("a", right=True), Column("b", right=False), Column("c")], [["x", 1, True], ["y", 2, None]])
    assert said.markdown().splitlines()[1] == "| ---: | --- | --- |"


def test_rows_and_columns_are_as_many() -> None:
    with pytest.raises(ValueError, match="shorter"):
        Table(columns("a", "b"), [["x"]]).markdown()
