"""What is said of a HIP program at its end: a table by kernel, and one JSON object with every launch."""

import json
import sys
from typing import Any, TextIO

from gpusim.hip.launching import KernelTotals, Launches
from gpusim.report.document import config_hash
from gpusim.report.layout import fitted
from gpusim.results import metrics
from isa.object.names import short

_HEAD = ("launches", "cycles", "time us", "share", "bound", "instructions")


def show(launches: Launches, out: TextIO | None = None) -> None:
    """Print the table: kernels by their cycles, those that were executed alone after them."""
    out = out or sys.stderr
    rows = [(*_cells(totals, launches), short(name)) for name, totals in _ordered(launches)]
    if not rows:
        print("gpusim: no kernel was launched", file=out)
        return
    table = [(*_HEAD, "kernel"), *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(_HEAD))]
    print(file=out)
    for row in table:
        cells = (cell.rjust(width) for cell, width in zip(row, widths, strict=False))
        print(fitted("  ".join((*cells, row[-1])), sum(widths) + 2 * len(widths), out), file=out)
    if launches.confidence is not None:
        print(file=out)
        print(fitted(_sampled(launches, launches.confidence), 0, out), file=out)


def document(launches: Launches, config: dict[str, Any], exit_code: int) -> dict[str, Any]:
    """The JSON object: the totals of each kernel, and each launch with its metrics in the order of the launches."""
    kernels = [
        {
            "name": name,
            "launches": totals.launches,
            "timed": totals.timed,
            "cycles": totals.cycles if totals.timed else None,
            "cycles_half_width": totals.half_width if totals.timed and launches.confidence is not None else None,
            "time_us": totals.time_us if totals.timed else None,
            "share": _share(totals, launches) if totals.timed else None,
            "bound": totals.bound or None,
            "workgroups": totals.workgroups,
            "wavefront_instructions": totals.instructions,
        }
        for name, totals in _ordered(launches)
    ]
    return {
        "schema_version": metrics.SCHEMA_VERSION,
        "partial": launches.partial,
        "config": config,
        "config_hash": config_hash(config),
        "exit_code": exit_code,
        "kernels": kernels,
        "launches": launches.kept,
    }


def as_json(result: dict[str, Any]) -> str:
    """The JSON text of `document`'s object: a line for each launch, of which there may be many thousand."""
    launches = ",\n".join(f"    {json.dumps(launch, allow_nan=False)}" for launch in result["launches"])
    head = json.dumps({**result, "launches": []}, indent=2, allow_nan=False).removesuffix("[]\n}")
    return f"{head}[\n{launches}\n  ]\n}}\n"


def _ordered(launches: Launches) -> list[tuple[str, KernelTotals]]:
    return sorted(launches.totals.items(), key=lambda item: (-item[1].cycles, -item[1].instructions, item[0]))


def _sampled(launches: Launches, confidence: float) -> str:
    """How much of the timed launches was simulated."""
    whole = sum(totals.timed_instructions for totals in launches.totals.values())
    simulated = sum(totals.simulated for totals in launches.totals.values())
    share = simulated / whole if whole else 1.0
    return f"sampled: {share:.1%} of the timed instructions simulated; half-widths (±) at {100 * confidence:g} %"


def _share(totals: KernelTotals, launches: Launches) -> float:
    whole = sum(other.cycles for other in launches.totals.values())
    return totals.cycles / whole if whole else 0.0


def _cells(totals: KernelTotals, launches: Launches) -> tuple[str, ...]:
    count = f"{totals.launches:,}"
    if not totals.timed:
        return count, "–", "–", "–", "–", f"{totals.instructions:,}"
    timed = "" if totals.timed == totals.launches else f" ({totals.timed:,} timed)"
    share = f"{100 * _share(totals, launches):.1f} %"
    cycles = f"{totals.cycles:,}"
    if totals.half_width:
        cycles += f" ± {max(1, round(totals.half_width)):,}"
    times = (cycles, f"{totals.time_us:,.1f}", share, totals.bound)
    return count + timed, *times, f"{totals.instructions:,}"
