"""A monitored training as tables: what `gpusim net --monitor` puts into its result."""

from collections.abc import Mapping
from typing import Any

from gpusim.base.progress import percent
from gpusim.base.table import Column, Table
from gpusim.results.report.result import Result


def closed_loop_tables(result: Result) -> list[Table]:
    """Return the tables of the training under each policy, and of the passes; none of any other result."""
    held = result.last.tree.get("closed_loop")
    return [policies_table(held), passes_table(held)] if held else []


def policies_table(held: Mapping[str, Any]) -> Table:
    """Make a row for each policy: the whole training's time, of dense, what measuring takes, how it decided."""
    columns = [Column("decided by"), Column("training s", "{:,.2f}".format), Column("speed-up", "{:.3f}".format)]
    columns += [Column("measuring", "{:.2%}".format), Column("sparse", percent), Column("not as the oracle", percent)]
    columns += [Column("changes"), Column("which means")]
    dense = held["policies"][0]["time_us"]
    rows = [
        [
            one["policy"],
            one["time_us"] / 1e6,
            dense / one["time_us"],
            one["measuring_us"] / one["time_us"],
            one["sparse"],
            one["misjudged"],
            one["changes"],
            one["means"],
        ]
        for one in held["policies"]
    ]
    return Table(columns, rows, "training", f"{held['curves']}: {held['iterations']:,} iterations")


def passes_table(held: Mapping[str, Any]) -> Table:
    """Make a row for each pass that can skip zeros: its times, its break-even, how often it was sparse."""
    columns = [Column("layer"), Column("pass"), Column("dense us", "{:,.0f}".format)]
    columns += [Column("zeros"), Column("sparse us"), Column("line off", percent), Column("break-even", percent)]
    columns += [Column("measurement us", "{:,.0f}".format)]
    columns += [Column(one["policy"], percent) for one in held["policies"][2:]]
    rows = [
        [
            one["layer"],
            one["what"],
            one["dense_us"],
            ", ".join(f"{zeros:.0%}" for zeros in one["zeros"]),
            ", ".join(f"{time:,.0f}" for time in one["sparse_us"]),
            one["interpolation_error"],
            one["break_even"],
            held["measuring_us"][one["layer"]],
            *(policy["by_pass"][number] for policy in held["policies"][2:]),
        ]
        for number, one in enumerate(held["passes"])
    ]
    notes = [
        "line off: a point between two others from the line through these, relative, at most",
        "break-even: share of zeros from which the estimate is below the dense time; –: none",
        "last columns: sparse iterations",
    ]
    return Table(columns, rows, "passes", "passes that can skip zeros", notes=notes)
