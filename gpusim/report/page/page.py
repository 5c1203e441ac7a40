"""The page: one HTML file, made of results, that loads nothing and runs nothing but its own script."""

from collections.abc import Callable, Mapping, Sequence

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.html import Element, beside, hashed, table, tag, written
from gpusim.base.intervals import differ
from gpusim.base.picture import KINDS
from gpusim.base.table import is_number
from gpusim.base.version import __version__
from gpusim.report.page import pictures, sweep
from gpusim.report.page.parts import Sources, answers, configuration, rows, sections, summary
from gpusim.report.result import Result
from gpusim.report.sections import SECTIONS
from gpusim.report.values import NOTHING, half_width

MOST_DETAILED = 6  # results with all their sections on one page
_FASTEST, _SLOWEST = 3, 1  # of more results, those whose sections are shown
_NAMED = 8  # results that a sentence names
COMPARED = ("kernel.cycles", "kernel.time_us", "kernel.occupancy", "l2.hit_rate", "dram.bytes")


def page(results: Mapping[str, Result], sources: Sources, tell: Callable[[str], None] = lambda _: None) -> str:
    """Return the HTML page of results, given by the names of their files.

    sources: lines of source files by name, for hot spots; tell: hears what has been drawn of several. The same results
    give the same page. Raises MissingExtraError without Matplotlib.
    """
    detailed = detailed_of(results)
    title = next(iter(results.values())).title if len(results) == 1 else f"{len(results)} results"
    panels = []
    for number, (name, result) in enumerate(detailed.items(), 1):
        panels.append(_panel(f"r{number}", name, result, sources))
        if len(detailed) > 1:
            tell(f"{number} of {len(detailed)} results drawn: {name}")
    body = tag(
        "body", tag("a", "To the results", href="#results", class_="skip"), tag("header", tag("h1", "gpusim: report"))
    )
    main = tag("main", id="results")
    if len(results) > 1:
        main.append(_comparison(results, detailed))
        main.append(_tabs(list(detailed), panels))
    main.extend(panels)
    body.extend([main, tag("footer", tag("p", f"Made by gpusim {__version__} from: {', '.join(results)}."))])
    script = beside(__file__, "page.js")
    body.append(tag("script", script))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"gpusim: {title}"),
        tag("style", beside(__file__, "page.css")),
    )
    return "<!DOCTYPE html>\n" + written(tag("html", head, body, lang="en")) + "\n"


def picture_files(
    results: Mapping[str, Result], names: Sequence[str] = (), kinds: Sequence[str] = KINDS[:1]
) -> dict[str, bytes]:
    """Return pictures of the page by file name.

    names: those wanted, such as `roofline`, of every result, or `r2-roofline`, of the second; without names all of a
    single result, and of several those that compare them, if there are any. kinds: `.svg`, `.png`, `.pdf`, and `.csv`
    for the numbers. Raises UserError for a name that no picture has.
    """
    compared = list(sweep.pictures_of(*sweep.points_of(results))) if len(results) > 1 else []
    found = {picture.name: picture for picture in compared}
    for number, result in enumerate(detailed_of(results).values(), 1):
        prefix = f"r{number}-" if len(results) > 1 else ""
        found |= {f"{prefix}{one.name}": one for drawn in pictures.pictures_of(result).values() for one in drawn}
    for name in names:
        if not any(name in (key, picture.name) for key, picture in found.items()):
            valid = dict.fromkeys(picture.name for picture in found.values())
            raise UserError(f"--picture: {unknown_name('picture', name, valid)}")
    wanted = {key: one for key, one in found.items() if key in names or one.name in names} if names else found
    if compared and not names:
        wanted = {picture.name: picture for picture in compared}
    return {
        f"{key}{kind}": picture.numbers.csv().encode() if kind == ".csv" else picture.file(kind)
        for key, picture in wanted.items()
        for kind in kinds
    }


def detailed_of(results: Mapping[str, Result]) -> dict[str, Result]:
    """Return the results whose sections are shown, in their order: all of a few, else the fastest and the slowest.

    For the others COMPARED and the configuration are enough.
    """
    if len(results) <= MOST_DETAILED:
        return dict(results)
    cycles = {name: result.last.number("kernel.cycles") for name, result in results.items()}
    timed = sorted((name for name in results if cycles[name]), key=lambda name: cycles[name]) or list(results)
    chosen = {*timed[:_FASTEST], *timed[-_SLOWEST:]}
    return {name: result for name, result in results.items() if name in chosen}


def _panel(prefix: str, name: str, result: Result, sources: Sources) -> Element:
    drawn = pictures.pictures_of(result)
    first = drawn.pop(pictures.ANSWER, [])
    parts = list(sections(result, drawn, prefix, sources))
    names = {f"{prefix}-{section.key}": section.title for section in SECTIONS}
    links = [tag("li", tag("a", names[part.get("id", "")], href=f"#{part.get('id')}")) for part in parts]
    find = tag("p", tag("label", "Find a metric: ", tag("input", type="search")), class_="find", hidden="")
    return tag(
        "article",
        tag("h2", result.title),
        tag("p", name, class_="tells"),
        tag("nav", tag("ul", links), aria_label="Sections"),
        answers(result, first, prefix),
        summary(result),
        rows(result),
        find,
        parts,
        configuration(result),
        id=prefix,
    )


def _tabs(names: Sequence[str], panels: Sequence[Element]) -> Element:
    """Make buttons that show one result; hidden until the script makes them work."""
    buttons = []
    for number, (name, panel) in enumerate(zip(names, panels, strict=True), 1):
        prefix = panel.get("id", "")
        buttons.append(tag("button", name, type="button", role="tab", id=f"tab{number}", aria_controls=prefix))
        panel.set("role", "tabpanel")
        panel.set("aria-labelledby", f"tab{number}")
    return tag("div", buttons, role="tablist", aria_label="Results", hidden="")


def _comparison(results: Mapping[str, Result], detailed: Mapping[str, Result]) -> Element:
    axes, points = sweep.points_of(results)
    named, left = axes[: sweep.MOST_AXES], axes[sweep.MOST_AXES :]
    remarks = [f"{len(left)} further values differ: {', '.join(left)}."] if left else []
    if not axes:
        remarks.append("The results are of different kinds, or of equal configurations: no values stand side by side.")
    if len(detailed) < len(results):
        remarks.append(
            f"Sections follow of the {_FASTEST} fastest results and of the slowest; all are in table and pictures."
        )
    alike = len({point.result.kind for point in points}) == 1  # a network is not slower than a layer
    first = points[0].result.last.number("kernel.cycles") if alike else 0
    rows = []
    for point in points:
        cycles = point.result.last.number("kernel.cycles")
        ratio = (f"{cycles / first:.3f}", cycles / first) if first and cycles else NOTHING
        values = [(sweep.said(value), value if is_number(value) else None) for value in map(point.values.get, named)]
        measured = [(point.result.last.text(path), point.result.last.get(path)) for path in COMPARED]
        rows.append((point.name, *values, *measured, ratio))
    heads = ("result", *named, *COMPARED, "cycles / first's")
    return tag(
        "section",
        tag("h2", "Comparison"),
        tag("p", "Columns: what differs in the configurations, then what was measured.", class_="tells"),
        [tag("p", remark, class_="remark") for remark in remarks],
        _fewest(points) if alike else None,
        table("Comparison of the results", heads, rows),
        [picture.element("c") for picture in sweep.pictures_of(axes, points)],
        id="comparison",
    )


def _fewest(points: Sequence[sweep.Point]) -> Element | None:
    """Say which result has the fewest cycles, and which ones cannot be distinguished from it; None of a single one."""
    path = "kernel.cycles"
    timed = [
        ((point.result.last.number(path), half_width(point.result.last.tree, path) or 0.0), point)
        for point in points
        if point.result.last.number(path)
    ]
    if len(timed) < 2:
        return None
    least, fastest = min(timed, key=lambda one: one[0][0])
    same = [point.name for cycles, point in timed if point is not fastest and not differ(cycles, least)]
    text = f"The fewest cycles: {fastest.result.last.text(path)}, {fastest.name}."
    if same:
        listed = ", ".join(same) if len(same) <= _NAMED else f"{len(same)} more"
        text += f" Not distinguishable from it: {listed}."
    return tag("p", text)


def _policy(script: str) -> str:
    """Return the content security policy: nothing is loaded, and only the page's own script runs, by its hash."""
    return (
        f"default-src 'none'; script-src {hashed(script)}; style-src 'unsafe-inline'; base-uri 'none'; "
        "form-action 'none'"
    )
