"""Are plain data of a file checked against their type, with a message that names path, value and what is allowed?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.base.plain_data import parse_as, read_json


@dataclass(frozen=True)
class _Row:
    name: str
    sizes: tuple[int, int]
    time_us: float | None = None


@dataclass(frozen=True)
class _Table:
    rows: list[_Row]


def test_lists_stand_for_tuples_and_whole_numbers_for_others() -> None:
    assert parse_as(_Table, {"rows": [{"name": "a", "sizes": [1, 2], "time_us": 3}]}, "f") == _Table(
        [_Row("a", (1, 2), 3.0)]
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], r"^f\.json: \[\] is not allowed: must be a mapping of keys to values; hint$"),
        ({}, r"^f\.json: rows: is required but missing; hint$"),
        ({"rows": [{"sizes": [1, 2]}]}, r"rows\.0\.name: is required but missing"),
        (
            {"rows": [{"name": "a", "sizes": [1, True]}]},
            r"rows\.0\.sizes\.1: true is not allowed: must be a whole number",
        ),
        (
            {"rows": [{"name": "a", "sizes": [1, 2], "time_us": "3"}]},
            r"rows\.0\.time_us: \"3\" is not allowed: must be a n",
        ),
        ({"rows": [{"name": "a", "sizes": [1, 2], "time_us": float("inf")}]}, r"rows\.0\.time_us: NaN and infinities"),
    ],
)
def test_other_data_are_refused_with_their_place(data: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse_as(_Table, data, "f.json", "hint")


def test_what_is_no_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(UserError, match=r"a\.json: cannot be read: No such file"):
        read_json(path)
    path.write_text("[" * 100_000)
    with pytest.raises(UserError, match=r"a\.json: is no JSON"):
        read_json(path)
    path.write_bytes(b"\xff")
    with pytest.raises(UserError, match=r"a\.json: is no JSON"):
        read_json(path)
    path.write_text("[" + " " * (1 << 20) + "]")
    with pytest.raises(UserError, match="is larger than 1 MiB"):
        read_json(path, 1 << 20)
