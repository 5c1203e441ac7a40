"""The page: one HTML file, made of results, that loads nothing and runs nothing but its own script."""

from collections.abc import Callable, Mapping, Sequence

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.html import Element, add, tag
from gpusim.base.intervals import differ
from gpusim.base.picture import KINDS
from gpusim.results.report.page import pictures, sweep
from gpusim.results.report.page.frame import frame
from gpusim.results.report.page.kernels import kernel_sections
from gpusim.results.report.page.parts import Sources, configuration, rows, sections, show_time_breakdown, summary
from gpusim.results.report.page.timeline_chart import timelines
from gpusim.results.report.result import Result
from gpusim.results.report.sweeps.points import SweepData
from gpusim.results.report.values import half_width

MOST_DETAILED = 6  # results with all their sections on one page
_NAMED = 8  # results that a sentence names


def page(
    results: Mapping[str, Result],
    sources: Sources,
    tell: Callable[[str], None] = lambda _: None,
    swept: SweepData | None = None,
) -> str:
    """Return the HTML page of results, given by the names of their files.

    The same results give the same page.

    Args:
        results: Results by name.
        sources: Lines of source files by name, for hot spots.
        tell: Hears what has been drawn of several.
        swept: The sweep whose best runs the results are.

    Raises:
        MissingExtraError: Matplotlib is not installed.
    """
    compared = swept if swept is not None else sweep.build_sweep_data(results) if len(results) > 1 else None
    detailed = dict(results) if swept is not None else select_detailed(results)
    title = compared.title if compared is not None else next(iter(results.values())).title
    heading = title if swept is not None else "gpusim: report"
    panels = []
    for number, (name, result) in enumerate(detailed.items(), 1):
        panels.append(_panel(f"r{number}", name, result, sources))
        if len(detailed) > 1:
            tell(f"{number} of {len(detailed)} results drawn: {name}")
    main: list[Element] = []
    if compared is not None:
        main += [_comparison(results, detailed, compared), _tabs(list(detailed), panels)]
    return frame(title, heading, [*main, *panels], swept.label if swept else ", ".join(results))


def picture_files(
    results: Mapping[str, Result],
    names: Sequence[str] = (),
    kinds: Sequence[str] = KINDS[:1],
    swept: SweepData | None = None,
) -> dict[str, bytes]:
    """Return pictures of the page by file name.

    Args:
        results: Results by name.
        names: Those wanted, such as `roofline`, of every result, or `r2-roofline`, of the second; without names all of
            a single result, and of several those that compare them, if there are any.
        kinds: `.svg`, `.png`, `.pdf`, and `.csv` for the numbers.
        swept: The sweep whose best runs the results are.

    Raises:
        UserError: No picture has that name.
    """
    of = swept if swept is not None else sweep.build_sweep_data(results) if len(results) > 1 else None
    compared = sweep.draw_main_pictures(of) if of is not None else []
    by_name = {picture.name: picture for picture in compared}
    for number, result in enumerate((results if swept is not None else select_detailed(results)).values(), 1):
        prefix = f"r{number}-" if of is not None else ""
        by_name |= {f"{prefix}{one.name}": one for drawn in pictures.draw_pictures(result).values() for one in drawn}
    for name in names:
        if not any(name in (key, picture.name) for key, picture in by_name.items()):
            valid = dict.fromkeys(picture.name for picture in by_name.values())
            raise UserError(f"--picture: {unknown_name('picture', name, valid)}")
    wanted = {key: one for key, one in by_name.items() if key in names or one.name in names} if names else by_name
    if compared and not names:
        wanted = {picture.name: picture for picture in compared}
    return {
        f"{key}{kind}": picture.numbers.csv().encode() if kind == ".csv" else picture.file(kind)
        for key, picture in wanted.items()
        for kind in kinds
    }


def select_detailed(results: Mapping[str, Result]) -> dict[str, Result]:
    """Return the results whose sections are shown, in their order: all of a few, else those of the best design.

    For the others COMPARED and the configuration are enough.
    """
    if len(results) <= MOST_DETAILED:
        return dict(results)
    chosen = sweep.best_runs(sweep.build_sweep_data(results))
    return {name: result for name, result in results.items() if name in chosen}


def _panel(prefix: str, name: str, result: Result, sources: Sources) -> Element:
    drawn = pictures.draw_pictures(result)
    first, timed = drawn.pop(pictures.ANSWER, []), drawn.pop(pictures.TIMELINE, [])
    parts = list(sections(result, drawn, prefix, sources))
    timeline, kernels = timelines(result, timed, prefix), kernel_sections(result, prefix, sources)
    parts += [kernels] if kernels is not None else []
    linked = [part for part in (timeline, *parts) if part is not None]
    links = [tag("li", tag("a", part[0].text or "", href=f"#{part.get('id')}")) for part in linked]
    find = tag("p", tag("label", "Find a metric: ", tag("input", type="search")), class_="find", hidden="")
    return tag(
        "article",
        tag("h2", result.title),
        tag("p", name, class_="tells"),
        tag("nav", tag("ul", links), aria_label="Sections"),
        show_time_breakdown(result, first, prefix),
        timeline,
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


def _comparison(results: Mapping[str, Result], detailed: Mapping[str, Result], compared: SweepData) -> Element:
    """Make the comparison of a sweep's points, or of several results, which may have nothing in common."""
    if compared.method != "results":
        return sweep.section(compared, list(detailed))
    made = sweep.section(compared, list(detailed) if len(detailed) < len(results) else (), link="Comparison")
    if not compared.axes:
        add(
            made,
            tag("p", "The results are of different kinds, or of equal configurations: no values stand side by side."),
            _fewest(results) if len({result.kind for result in results.values()}) == 1 else None,
        )
    return made


def _fewest(results: Mapping[str, Result]) -> Element | None:
    """Say which result has the fewest cycles, and which ones cannot be distinguished from it; None of a single one."""
    path = "kernel.cycles"
    timed = [
        ((result.last.number(path), half_width(result.last.tree, path) or 0.0), name)
        for name, result in results.items()
        if result.last.number(path)
    ]
    if len(timed) < 2:
        return None
    least, fastest = min(timed, key=lambda one: one[0][0])
    same = [name for cycles, name in timed if name != fastest and not differ(cycles, least)]
    text = f"The fewest cycles: {results[fastest].last.text(path)}, {fastest}."
    if same:
        listed = ", ".join(same) if len(same) <= _NAMED else f"{len(same)} more"
        text += f" Not distinguishable from it: {listed}."
    return tag("p", text)
