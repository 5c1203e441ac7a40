"""Means that a text may name in braces, {FIGURE | DATA | WHAT}, so that no figure in it is typed.

FIGURE: one of runs with a base; DATA: the name of its data, or 'all'. WHAT: a comparison's or the engine's own speed-up
by its name (`ours`, `share`), a way's over the figure's base (`software`) or over another way (`engine over software`),
`zeros`, `limit`, both without padding (`map_zeros`, `map_limit`), a way's metric (`engine l2.hit_rate`) or the quotient
of two, each added up (`engine engine.accurate / engine.requests`).
"""

import re
from collections.abc import Callable, Mapping
from math import fsum

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.formats import PERCENT, TIMES
from gpusim.base.table import MISSING
from gpusim.lab.papers.formats import count
from gpusim.lab.papers.points import RunsFigure
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.specs.reproduction import ComparisonSpec
from gpusim.lab.papers.values import CaseRuns, list_groups, mean_of

ALL = "all"
_NAMED = re.compile(r"\{([^{}]*)\}")
_SHARES: Mapping[str, tuple[Callable[[float], str], Callable[[CaseRuns], float | None]]] = {
    "zeros": (PERCENT, lambda group: group.zeros),
    "map_zeros": (PERCENT, lambda group: group.map_zeros),
    "limit": (TIMES, lambda group: group.limit),
    "map_limit": (TIMES, lambda group: group.map_limit),
}
_KINDS = ("compared", "breakdown")  # of figures: others have several runs for each of their data
_FRACTIONS = ("rate", "fraction", "share")  # in names of metrics that are shown in percent


def filled(text: str, publication: Publication) -> str:
    """Replace the names in braces by their values, a dash where unknown; raise UserError for an unknown name."""
    return _NAMED.sub(lambda found: _quantity(found[1], publication), text)


def _quantity(named: str, publication: Publication) -> str:
    parts = [part.strip() for part in named.split("|")]
    if len(parts) != 3:
        raise UserError(f"{{{named}}}: expected {{FIGURE | DATA | WHAT}}")
    name, data, what = parts
    figures = {
        n: f for n, f in publication.figures.items() if isinstance(f, RunsFigure) and getattr(f, "kind", "") in _KINDS
    }
    if name not in figures:
        raise UserError(f"{{{named}}}: {unknown_name('figure', name, figures)}")
    figure = figures[name]
    if data not in (ALL, *figure.data):
        raise UserError(f"{{{named}}}: {unknown_name('data', data, (ALL, *figure.data))}")
    groups = [group for group in list_groups(publication, figure) if data in (ALL, group.data)]
    shown, value = _found(named, what, publication, figure, groups)
    return MISSING if value is None else shown(value)


def _found(
    named: str, what: str, publication: Publication, figure: RunsFigure, groups: list[CaseRuns]
) -> tuple[Callable[[float], str], float | None]:
    spec = publication.spec
    known = {**spec.comparisons, **({"share": spec.engine_share} if spec.engine_share else {})}
    over = getattr(figure, "base", None) or getattr(figure, "normalized_to", None)
    if over is not None:
        known |= {path: ComparisonSpec(title="", path=path, base=over) for path in figure.paths if path not in known}
    if what in known:
        pair = known[what]
        return TIMES, _mean(groups, lambda group: group.speedup(pair.path, pair.base))
    if what in _SHARES:
        write, of = _SHARES[what]
        return write, _mean(groups, of)
    faster, is_over, slower = what.partition(" over ")
    if is_over and {faster, slower} <= {*figure.paths}:
        return TIMES, _mean(groups, lambda group: group.speedup(faster, slower))
    path, _, metric = what.partition(" ")
    if not metric or path not in figure.paths:
        raise UserError(f"{{{named}}}: {unknown_name('quantity', what, [*known, *_SHARES])}")
    above, _, below = (part.strip() for part in metric.partition("/"))
    shown = PERCENT if below or above.endswith(_FRACTIONS) else count
    if not below:
        return shown, _mean(groups, lambda group: group.metric(path, above))
    sums = [fsum(group.metric(path, pair) or 0.0 for group in groups) for pair in (above, below)]
    return shown, sums[0] / sums[1] if sums[1] else None


def _mean(groups: list[CaseRuns], of: Callable[[CaseRuns], float | None]) -> float | None:
    return mean_of((of(group), group.count) for group in groups)
