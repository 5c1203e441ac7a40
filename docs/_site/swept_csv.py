"""A sweep out of the CSV that `gpusim sweep --csv` wrote, for pages whose figures are stored as such files."""

import csv
from pathlib import Path
from typing import Any

from gpusim.base.axis_roles import roles_of
from gpusim.results.report.sweeps.points import VARIANT, SweepData, SweepPoint, ordered

_BEFORE, _AFTER = "point", "run"  # columns between which the axes stand
_WIDTH = "_half_width"


def swept_of(path: Path, title: str, constraints: tuple[str, ...] = (), **objectives: str) -> SweepData:
    """The points that have ended, with every column behind the variant as a metric."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    heads = list(rows[0])
    paths = heads[heads.index(_BEFORE) + 1 : heads.index(_AFTER)]
    metrics = [head for head in heads[heads.index(VARIANT) + 1 :] if not head.endswith(_WIDTH)]
    several = len({row[VARIANT] for row in rows}) > 1
    places = []
    for row in rows:
        values = {head: _number(row[head]) for head in (*paths, *[VARIANT] * several)}
        found = {m: (float(row[m]), float(row.get(m + _WIDTH) or 0)) for m in metrics if _is_number(row[m])}
        places.append(SweepPoint(int(row["point"]), values, found, f"run {row['run']}"))
    axes = {path: ordered(one.values[path] for one in places) for path in (*paths, *[VARIANT] * several)}
    return SweepData(
        title, path.stem, axes, roles_of(axes, {}), places, objectives=objectives, constraints=constraints,
        planned=len(places),
    )  # fmt: skip


def _is_number(text: str) -> bool:
    return isinstance(_number(text), int | float)


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
