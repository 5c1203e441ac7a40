"""`python -m docs._site.network_caches RESULT.json ...`: what warm caches between launches change of an iteration.

The results are of `gpusim net --json`, of each network with `gpu.caches` flushed and warm, in any order. Prints a page.
"""

import json
import sys
from pathlib import Path
from typing import Any

from gpusim.base.formats import DIGITS_2, GROUPED_1, SHARE_1, SHARE_CHANGE, SIGNED_1
from gpusim.base.table import Table, columns

Tree = dict[str, Any]
# what a launch finds, and whether its dirty lines are written back before it ends → what the page calls it
SETTINGS = {
    ("flushed", False): "flushed",
    ("flushed", True): "flushed, written back at its end",
    ("warm", False): "warm",
}


def page(results: list[Tree]) -> str:
    """Return the page; raises ValueError where a network's results differ in more than caches, or one is partial."""
    held: dict[str, dict[str, Tree]] = {}
    for result in results:
        if result["partial"]:
            raise ValueError(f"{result['network']}: the result is partial")
        gpu = result["config"]["gpu"]
        name = SETTINGS[gpu["caches"], gpu["l2"]["flush_at_end"]]
        held.setdefault(result["network"], {})[name] = result
    numbers = ("time us", "to flushed", "L2 hits", "DRAM reads MB", "DRAM writes MB")
    heads = columns("network", "caches at a launch") + columns(*numbers, right=True)
    rows = []
    for network, found in held.items():
        if set(found) != set(SETTINGS.values()):
            raise ValueError(f"{network}: expected results with {'; '.join(SETTINGS.values())}")
        if any(_others(one) != _others(found["flushed"]) for one in found.values()):
            raise ValueError(f"{network}: the results differ in more than caches")
        rows += [_row(name, found[name], found["flushed"]) for name in SETTINGS.values()]
    first = results[0]
    phase = "training" if first["phase"] == "train" else first["phase"]
    return Table(heads, rows, title=f"One iteration, {phase}, batch {first['batch']}", notes=_said(held)).markdown()


def _others(result: Tree) -> Tree:
    """Return the configuration without what the page compares."""
    gpu = result["config"]["gpu"]
    l2 = {name: value for name, value in gpu["l2"].items() if name != "flush_at_end"}
    return {**result["config"], "gpu": {**gpu, "caches": None, "l2": l2}}


def _row(name: str, one: Tree, flushed: Tree) -> list[str]:
    total, whole = one["total"], flushed["total"]
    bar = total.get("time_us_half_width")
    return [
        one["network"],
        name,
        GROUPED_1(total["time_us"]) + (f" ± {DIGITS_2(100 * bar / total['time_us'])}%" if bar else ""),
        SHARE_CHANGE(total["time_us"] / whole["time_us"] - 1),
        SHARE_1(one["l2"]["hit_rate"]),
        GROUPED_1(one["dram"]["bytes_read"] / 1e6),
        GROUPED_1(one["dram"]["bytes_written"] / 1e6),
    ]


def _said(held: dict[str, dict[str, Tree]]) -> list[str]:
    """Return how much of warm launches' time is that of lines that they find, and of lines that they write back."""
    said = []
    for network, found in held.items():
        cycles = {name: one["total"]["cycles"] for name, one in found.items()}
        flushed, written_back, warm = (cycles[name] for name in SETTINGS.values())
        writing, finding = (
            f"{SIGNED_1(100 * ratio - 100)}%" for ratio in (written_back / flushed, warm / written_back)
        )
        said.append(
            f"{network}: to write back what launches leave dirty takes {writing}, in no launch's time by default;"
            f" beside that, warm caches change the time by {finding}."
        )
    return said


if __name__ == "__main__":
    print(page([json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:]]), end="")
