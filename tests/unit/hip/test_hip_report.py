"""Is the JSON of a HIP program its object, with a line for each launch?"""

import json
from typing import Any

import pytest

from gpusim.hip.launching import Launches
from gpusim.hip.report import as_json, document


@pytest.mark.parametrize("count", [0, 1, 3])
def test_each_launch_is_a_line(count: int) -> None:
    kept: list[dict[str, Any]] = [{"launch": {"kernel": f"k{n}"}, "kernel": {"cycles": None}} for n in range(count)]
    result = document(Launches(kept=kept), {"gpu": {"name": "one"}}, 3)
    text = as_json(result)
    assert json.loads(text) == result and text.endswith("\n")
    lines = [line for line in text.splitlines() if '"k' in line and "cycles" in line]
    assert [json.loads(line.rstrip(",")) for line in lines] == kept


def test_what_json_has_no_number_for_is_refused() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        as_json(document(Launches(kept=[{"kernel": {"cycles": float("nan")}}]), {}, 0))
