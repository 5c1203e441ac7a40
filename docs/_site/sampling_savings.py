"""What sampling leaves out now and what it left out when bars were not true: tables of explanation/sampling.md.

The version of then is that of commit 06f37252. Where only addresses differ, its bars were true in 52 % of the launches.
"""

import csv
import json
from itertools import pairwise
from statistics import median

from docs._site.pages import RESULTS, table
from gpusim.base.formats import FIXED_1, GROUPED_0, PERCENT, PERCENT_2

SAMPLING = RESULTS / "sampling"
THEN = SAMPLING / "earlier" / "suite.csv"
NOW = SAMPLING / "suite.json"
RUNS = SAMPLING / "savings.csv"
BANDS = (0, 10, 30, 100, 300, 10_000)  # waves of a launch, from which rows begin

Launch = tuple[float, float, bool, bool]  # waves, simulated share, whole, within its half-width


def by_waves_table() -> str:
    """By waves: the median share that is simulated, launches that run whole, and those within their half-widths."""
    with THEN.open(encoding="utf-8", newline="") as file:
        then = {
            row["name"]: (
                float(row["rounds"]),
                float(row["fraction"]),
                row["method"] == "whole",
                row["covered"] == "True",
            )
            for row in csv.DictReader(file)
        }
    now = {
        case["name"]: (case["rounds"], case["fraction"], case["method"] == "whole", case["covered"])
        for case in json.loads(NOW.read_text(encoding="utf-8"))["cases"]
    }
    if then.keys() != now.keys():
        raise ValueError(f"{THEN.name} and {NOW.name} have other launches: {sorted(then.keys() ^ now.keys())[:3]}")
    rows = []
    for low, high in pairwise(BANDS):
        names = [name for name, launch in now.items() if low <= launch[0] < high]
        cells = [_summary([version[name] for name in names]) for version in (then, now)]
        label = f"{low} to {high}" if high < BANDS[-1] else f"{low} and more"
        rows.append([label, str(len(names)), *(cell for pair in zip(*cells, strict=True) for cell in pair)])
    parts = ("simulated", "whole", "within")
    return table(["waves", "launches", *(f"{part}, {when}" for part in parts for when in ("then", "now"))], rows)


def _summary(launches: list[Launch]) -> tuple[str, str, str]:
    shares, wholes, covered = ([launch[place] for launch in launches] for place in (1, 2, 3))
    return PERCENT(median(shares)), str(sum(wholes)), str(sum(covered))


def runs_table() -> str:
    """Long runs: time with its half-width, the simulated share, and processor time, then and now."""
    with RUNS.open(encoding="utf-8", newline="") as file:
        rows = [
            [
                row["run"],
                row["model"],
                GROUPED_0(float(row["value"])),
                f"± {PERCENT_2(float(row['half_width']))}",
                PERCENT(float(row["fraction"])),
                f"{FIXED_1(1 / float(row['fraction']))} ×",
                GROUPED_0(float(row["cpu_s"])),
            ]
            for row in csv.DictReader(file)
        ]
    return table(["run", "model", "value", "half-width", "simulated", "less work", "CPU seconds"], rows)


SECTIONS = {"savings": by_waves_table, "long runs": runs_table}
