"""The sampled runs of a reproduction beside the same runs in whole: the table of docs/sampling.md."""

import csv

from docs._site.pages import RESULTS, table
from gpusim.base.formats import SHARE_1, SHARE_2

RUNS = RESULTS / "sampling" / "reproduction.csv"


def deviations_table() -> str:
    """By way: points, mean and largest deviation of the sampled cycles, and how often the truth was within the bar."""
    by_way: dict[str, list[tuple[float, float, float]]] = {}
    with RUNS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            deviation = abs(int(row["sampled_cycles"]) / int(row["whole_cycles"]) - 1)
            by_way.setdefault(row["way"], []).append((deviation, float(row["half_width"]), float(row["fraction"])))
    rows = []
    for way, held in by_way.items():
        deviations, count = [deviation for deviation, _, _ in held], len(held)
        within = sum(deviation <= bar for deviation, bar, _ in held)
        cells = [sum(deviations) / count, max(deviations), within / count, sum(share for _, _, share in held) / count]
        rows.append([f"`{way}`", str(count), SHARE_2(cells[0]), *(SHARE_1(cell) for cell in cells[1:])])
    head = ["way", "sampled points", "mean deviation", "largest", "within the bar", "simulated"]
    return table(head, [[cell.replace("%", " %") for cell in row] for row in rows])


SECTIONS = {"reproduction": deviations_table}
