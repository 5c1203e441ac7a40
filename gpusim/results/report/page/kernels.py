"""What the page has of a program beside what any result has: a section for each kernel, and its launches."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpusim.base.formats import COUNT, GROUPED_1
from gpusim.base.html import Element, table, tag
from gpusim.base.table import MISSING
from gpusim.results.report.page.parts import Sources, sections, summary
from gpusim.results.report.result import Result, RunMetrics
from gpusim.results.report.rows import views_of
from gpusim.results.report.values import format_metric

_MOST_KERNELS = 24  # with sections of their own: the longest
_MOST_LAUNCHES = 1000


def kernel_sections(result: Result, prefix: str, sources: Sources) -> Element | None:
    """Make a section for each kernel of a program, the longest first; None for other results."""
    if not views_of(result).rows_are_kernels:
        return None
    kernels = list(_kernel_results(result))
    if not kernels:
        return None
    made = [
        tag(
            "details",
            tag("summary", f"{number}. {kernel.what}"),
            summary(kernel),
            list(sections(kernel, {}, f"{prefix}-k{number}", sources)),
            id=f"{prefix}-k{number}",
        )
        for number, kernel in enumerate(kernels[:_MOST_KERNELS], 1)
    ]
    more = len(kernels) - len(made)
    left = f"{more} more: gpusim report --only kernel=NAME makes a page of one." if more else None
    return tag(
        "section",
        tag("h3", "Kernels"),
        tag("p", "each kernel by itself: the sum of its timed launches", class_="tells"),
        made,
        tag("p", left) if left else None,
        _launches(result),
        id=f"{prefix}-kernels",
    )


def _kernel_results(result: Result) -> Iterator[Result]:
    """Yield each timed kernel of a program as a result of its own."""
    for row in result.rows:
        if row.values.get("cycles") is None:
            continue
        name, timed = row.values["name"], row.values["timed"]
        spots = {
            key: [spot for spot in result.last.tree.get(key) or () if spot["kernel"] == name]
            for key in ("access_patterns", "hotspots")
        }
        tree = {**row.measured.tree, **spots, "timed": timed, "launch_groups": row.values.get("launch_groups")}
        tree["kernel"] = {**tree["kernel"], "name": name}  # which the sum has once for each launch
        launches = f"{COUNT(timed)} launch{'es' * (timed != 1)}"
        column = RunMetrics("", tree, row.measured.gpu)
        yield Result(f"{column.kernel}: {launches}", result.machine, [column], result.config, {"kind": result.kind})


def _launches(result: Result) -> Element | None:
    """Make the table of launches, by whose numbers `--only` selects them; None where they were not kept."""
    launches = [launch for launch in result.document.get("launches") or () if "launch" in launch]
    if not launches:
        return None
    rows = [_launch_row(index, launch) for index, launch in enumerate(launches[:_MOST_LAUNCHES], 1)]
    title = f"Launches: the first {len(rows)} of {len(launches)}" if len(rows) < len(launches) else "Launches"
    heads = ("launch", "kernel", "stream", "work-items", "workgroups of", "cycles", "start, us", "issued")
    return tag("details", tag("summary", f"All {COUNT(len(launches))} launches"), table(title, heads, rows))


def _launch_row(index: int, launch: Mapping[str, Any]) -> tuple[Any, ...]:
    place, kernel = launch["launch"], launch["kernel"]
    number, cycles = place.get("number", index), kernel.get("cycles")
    started = place.get("started_us")
    sizes = (" × ".join(map(str, place[name])) for name in ("global_size", "local_size"))
    return (
        (COUNT(number), number),
        format_metric("kernel.name", place["kernel"]),
        (str(place.get("stream", 0)), place.get("stream", 0)),
        *sizes,
        MISSING if cycles is None else (COUNT(cycles), cycles),
        MISSING if started is None else (GROUPED_1(started), started),
        (COUNT(kernel["wavefront_instructions"]), kernel["wavefront_instructions"]),
    )
