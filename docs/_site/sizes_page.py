"""results/sizes.md from the sweeps in results/sweeps/sizes, tables and sentences alike.

Every sentence is chosen by a predicate on the points: another model gives other sentences.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from docs._site.pages import SWEEPS, table
from docs._site.swept_csv import swept_of
from gpusim.base.formats import GENERAL, GROUPED_0, SHARE_0, SHARE_1
from gpusim.results.report.sweeps.answers import describe_best_designs, find_best_design
from gpusim.results.report.sweeps.effects import compute_effects
from gpusim.results.report.sweeps.points import Design, SweepData, SweepPoint, format_axis_value, names

SIB, BUFFER, SHARE = "engine.sib_kib", "engine.prefetch_buffer_kib", "engine.l2_share"
CYCLES, LOST = "kernel.cycles", "engine.sib_evictions"
HEAD = ("layer", "share of L2", "SIB of 16 KiB", "64", "256", "512", "the prefetch buffer changes that by at most",
        "entries lost at 16 KiB")  # fmt: skip
SIZES_KIB = (16, 64, 256, 512)
DEFAULT_SHARE = 0.5
CONSTRAINT = f"{SIB} + {BUFFER} <= 2048 * {SHARE}"


def sweep(name: str) -> SweepData:
    """One of the stored sweeps."""
    found = swept_of(SWEEPS / "sizes" / f"{name}.csv", name, (CONSTRAINT,), **{CYCLES: "minimize"})
    return replace(found, method="search" if name == "search" else "grid")


def cycles_table(name: str) -> str:
    """Thousand cycles with the best prefetch buffer, by layer, share and SIB."""
    found = sweep(name)
    by = [path for path in ("config", SHARE) if path in found.axes]
    rows = []
    for key, held in found.groups(by).items():
        layer, share = key if len(key) > 1 else (key[0], DEFAULT_SHARE)
        sizes = {kib: [p.measured[CYCLES][0] for p in held if p.values[SIB] == kib] for kib in SIZES_KIB}
        there = {kib: cycles for kib, cycles in sizes.items() if cycles}
        apart = max(max(cycles) / min(cycles) - 1 for cycles in there.values())
        lost = max(p.measured[LOST][0] for p in held if p.values[SIB] == SIZES_KIB[0])
        cells = [GROUPED_0(min(there[kib]) / 1000) if kib in there else "" for kib in SIZES_KIB]
        rows.append([layer, format_axis_value(share), *cells, SHARE_1(apart), GROUPED_0(lost)])
    return table(HEAD, rows)


def conclusions(name: str) -> str:
    """What the table says, by layer."""
    found = sweep(name)
    return "\n".join(f"- {line}" for line in (*_sib(found), *_buffer(found), *_share(found)))


def _sib(found: SweepData) -> Iterator[str]:
    """The least SIB from which on a larger one changes nothing, and whether entries are lost below."""
    enough: dict[object, list[str]] = {}
    for layer in found.axes["config"]:
        one = found.at({"config": layer})
        sizes = [kib for kib in one.axes[SIB] if _as_the_largest(one, kib)]
        enough.setdefault(sizes[0], []).append(str(layer))
    for kib, layers in enough.items():
        one = [place for place in found.places if place.values["config"] in layers]
        where, losses = f"on {_listed(layers)}", _losses(one, kib)
        if kib == found.axes[SIB][-1]:
            yield f"{where} the SIB matters up to the largest that was run, {format_axis_value(kib)} KiB{losses}"
        else:
            yield (
                f"{where} a SIB of more than {format_axis_value(kib)} KiB changes nothing, whatever else is"
                f" chosen{losses}"
            )


def _losses(places: Sequence[SweepPoint], enough: object) -> str:
    below = [p.measured[LOST][0] for p in places if p.values[SIB] < enough]
    above = [p.measured[LOST][0] for p in places if p.values[SIB] >= enough]
    if below and min(below) > 0 == max(above):
        return ": every smaller one loses entries, and it loses none"
    return ": no size loses an entry" if not any(below + above) else ""


def _as_the_largest(swept: SweepData, kib: object) -> bool:
    """Whether cycles are the same at this SIB and at all larger ones, with all else equal."""
    larger = [p for p in swept.places if p.values[SIB] >= kib]
    groups: dict[tuple[object, ...], set[float]] = {}
    for p in larger:
        groups.setdefault(tuple(v for path, v in p.values.items() if path != SIB), set()).add(p.measured[CYCLES][0])
    return all(len(cycles) == 1 for cycles in groups.values())


def _buffer(found: SweepData) -> Iterator[str]:
    lossless = [p for p in found.places if p.measured[LOST][0] == 0]
    lossy = [p for p in found.places if p.measured[LOST][0] > 0]
    for places, where in ((lossless, "where no entry is lost"), (lossy, "where entries are lost")):
        changes = _changes(places, BUFFER)
        if changes:
            costs = any(first < last for first, last in changes)
            most = max(abs(last / first - 1) for first, last in changes)
            gains = any(first > last for first, last in changes)
            how = "gains or costs" if costs and gains else "costs" if costs else "gains" if gains else "changes"
            yield f"{where} the largest prefetch buffer {how} at most {SHARE_1(most)} beside the smallest"


def _share(found: SweepData) -> Iterator[str]:
    if SHARE not in found.axes:
        return
    by_layer = {
        str(layer): _changes([p for p in found.places if p.values["config"] == layer], SHARE)
        for layer in found.axes["config"]
    }
    always = [layer for layer, changes in by_layer.items() if all(last > first for first, last in changes)]
    if always:
        least = min(last / first - 1 for layer in always for first, last in by_layer[layer])
        most = max(last / first - 1 for layer in always for first, last in by_layer[layer])
        yield (
            f"the largest share of L2 beside the smallest costs {SHARE_1(least)} to {SHARE_1(most)} on "
            f"{_listed(always)}, whatever else is chosen"
        )
    others = [layer for layer in by_layer if layer not in always]
    if others:
        yield f"on {_listed(others)} a larger share of L2 does not always cost"


def _changes(places: Sequence[SweepPoint], axis: str) -> list[tuple[float, float]]:
    """Cycles at the smallest and the largest value of an axis, of points that differ in it alone."""
    groups: dict[tuple[object, ...], list[SweepPoint]] = {}
    for p in places:
        groups.setdefault(tuple(v for path, v in p.values.items() if path != axis), []).append(p)
    held = [sorted(group, key=lambda p: p.values[axis]) for group in groups.values() if len(group) > 1]
    return [(group[0].measured[CYCLES][0], group[-1].measured[CYCLES][0]) for group in held]


def _listed(layers: Sequence[str]) -> str:
    return layers[0] if len(layers) == 1 else f"{', '.join(layers[:-1])} and {layers[-1]}"


def said_by(name: str) -> str:
    """The answers of the product itself."""
    return "\n".join(f"- {line}" for line in describe_best_designs(sweep(name)))


def agreement() -> str:
    """Whether a search of a quarter of the points comes to what the grid does."""
    grid, search = sweep("sgemm_dib_tiled"), sweep("search")
    (best, least), (found, reached) = _best(grid), _best(search)
    share = len(search.places) / len(grid.places)
    equal = [one.values for one in grid.designs(CYCLES) if one.mean is not None and one.mean[0] == least]
    lines = [f"The search ran {len(search.places)} points, {SHARE_0(share)} of the grid's."]
    if reached == least:
        lines.append(f"Its best design is {'one of' if found.values in equal else 'as good as'} the grid's best.")
    else:
        lines.append(
            f"Its best design takes {SHARE_1(reached / least - 1)} more than the grid's, {names(best.values)}."
        )
    if best.memory_kib != found.memory_kib:
        sizes = f"{GENERAL(best.memory_kib)} KiB, and {GENERAL(found.memory_kib)} KiB by the search"
        lines.append(f"They do not agree about the least memory for it: {sizes}.")
    orders = [[one.axis for one in compute_effects(one, CYCLES).axes] for one in (grid, search)]
    if orders[0] == orders[1]:
        lines.append(f"Both say that {orders[0][0]} matters most, then {', then '.join(orders[0][1:])}.")
    else:
        said = [", ".join(one) for one in orders]
        lines.append(f"They do not agree about what matters most: {said[0]}, and by the search {said[1]}.")
    none = [
        sorted(one.axis for one in compute_effects(swept, CYCLES).axes if one.by_workload.get(("layerC",)) == 0)
        for swept in (grid, search)
    ]
    if none[0] == none[1] and none[0]:
        lines.append(f"Both say that layer C does not depend on {_listed(none[0])}.")
    elif none[0] != none[1]:
        lines.append("They do not agree about layer C.")
    return " ".join(lines)


def _best(swept: SweepData) -> tuple[Design, float]:
    best = find_best_design([one for one in swept.designs(CYCLES) if one.mean is not None], least=True)
    assert best.mean is not None
    return best, best.mean[0]


_KERNELS = ("sgemm_dib_tiled", "dib_algorithm3")
SECTIONS: dict[str, Callable[[], str]] = {
    **{name: partial(cycles_table, name) for name in _KERNELS},
    **{f"conclusions of {name}": partial(conclusions, name) for name in _KERNELS},
    **{f"said by {name}": partial(said_by, name) for name in ("sgemm_dib_tiled", "search")},
    "agreement": agreement,
}
