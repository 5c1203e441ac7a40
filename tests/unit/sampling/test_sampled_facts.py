"""Do the half-widths of metrics follow from the doubts of counts, for one launch and for several?"""

from collections import Counter
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.model.core.count_vector import CountVector
from gpusim.model.core.facts import RunFacts, combined
from gpusim.model.core.sampled import WHOLE, WINDOWS, Replicates, Sampling, UncertaintyComponent
from gpusim.results import metrics
from gpusim.results.store.outcome import list_metric_values


def facts(cycles: int = 1000, hits: int = 60, misses: int = 40) -> RunFacts:
    return RunFacts.of(
        kernel={"name": "k", "cycles": cycles, "clock_ghz": 1.0, "wavefront_instructions": 5000},
        l2={
            "hits": hits,
            "misses": misses,
            "read_transactions": 100,
            "store_transactions": 0,
            "atomic_transactions": 0,
        },
        stalls_by_compute_unit={"issued": [10, 20]},
    )


def sampled(factor: float = 1.0, **off: float) -> RunFacts:
    """Facts that may be off by so much in each count, 'section__name' = deviation."""
    made = facts()
    vector = CountVector.of(made.sections)
    deviations = np.zeros((1, len(vector.timed)))
    for key, deviation in off.items():
        section, _, name = key.partition("__")
        deviations[0, vector.at(section, name)] = deviation
    doubt = UncertaintyComponent(vector, Replicates(factor, deviations))
    made.sampling = Sampling(0.95, WINDOWS, "", 100.0, 5000, 500, False, (doubt,))
    return made


def known(of: RunFacts) -> Sampling:
    assert of.sampling is not None
    return of.sampling


def half_width(of: RunFacts, path: str) -> float:
    return float(dict(metrics.leaves(metrics.launch_tree(of)))[path + metrics.SUFFIX])


def test_a_count_s_half_width_is_its_deviation() -> None:
    one = sampled(factor=4.0, kernel__cycles=30)
    assert half_width(one, "kernel.cycles") == pytest.approx(60)
    assert half_width(one, "kernel.time_us") == pytest.approx(0.06)
    assert half_width(one, "kernel.ipc") == pytest.approx(2 * (5 - 5000 / 1030))
    assert half_width(one, "l2.hits") == 0


def test_what_a_ratio_s_parts_share_is_no_error_of_it() -> None:
    both = sampled(l2__hits=6, l2__misses=4, l2__read_transactions=10)
    assert half_width(both, "l2.hits") == pytest.approx(6)
    assert half_width(both, "l2.hit_rate") == pytest.approx(0, abs=1e-12)


def test_lists_have_a_half_width_an_element() -> None:
    one = sampled()
    assert one.sampling is not None
    vector = one.sampling.doubts[0].vector
    one.sampling.doubts[0].replicates.deviations[0, vector.at("stalls_by_compute_unit", "issued") + 1] = 3
    tree = metrics.launch_tree(one)
    assert tree["stalls_by_compute_unit"]["issued_half_width"] == [0, 3]


def test_independent_launches_add_in_quadrature_and_the_same_one_in_full() -> None:
    a, b = sampled(kernel__cycles=30), sampled(kernel__cycles=40)
    assert half_width(combined([a, b]), "kernel.cycles") == pytest.approx(50)
    assert half_width(combined([a, a]), "kernel.cycles") == pytest.approx(60)
    assert half_width(combined([a, facts()]), "kernel.cycles") == pytest.approx(30)
    layer = combined([a, b])
    assert half_width(combined([layer, a]), "kernel.cycles") == pytest.approx(sqrt(60**2 + 40**2))
    assert combined([facts(), facts()]).sampling is None


def test_what_launches_share_adds_up_beside_what_is_their_own() -> None:
    """Two launches are off by 30 and 40 cycles together, and by 5 and 12 each: 70, and 13, in quadrature."""
    both = []
    for together, own in ((30, 5), (40, 12)):
        one, other = sampled(kernel__cycles=together), sampled(kernel__cycles=own)
        (shared,) = known(one).doubts
        shared = replace(shared, replicates=replace(shared.replicates, shared="what both are"))
        one.sampling = replace(known(one), doubts=(shared, *known(other).doubts))
        both.append(one)
    assert half_width(both[0], "kernel.cycles") == pytest.approx(sqrt(30**2 + 5**2))
    whole = combined(both)
    assert half_width(whole, "kernel.cycles") == pytest.approx(sqrt(70**2 + 13**2))
    assert known(whole).half_width("kernel", "cycles") == pytest.approx(sqrt(70**2 + 13**2))


def test_what_was_simulated_of_several() -> None:
    a, whole = sampled(kernel__cycles=1), facts()
    both = combined([a, a, whole]).sampling
    assert both is not None
    assert both.instructions == 15_000 and both.simulated == 5_500 and not both.complete
    assert both.rounds == 200
    a.sampling = replace(known(a), places=3, seen=0.4)
    both = combined([a, a, whole]).sampling
    assert both is not None
    assert both.places == 3 and both.seen == pytest.approx(1 - 2 * 0.6 / 3), "by instructions of all of them"


# launches by number; the negative ones were simulated whole, unasked
TREES = st.recursive(st.integers(-2, 3), lambda inner: st.lists(inner, min_size=1, max_size=4), max_leaves=12).filter(
    lambda tree: isinstance(tree, list)
)
ERRORS = (3.0, 40.0, 500.0, 6000.0)


def flat(tree: Any) -> list[int]:
    return [tree] if isinstance(tree, int) else [leaf for inner in tree for leaf in flat(inner)]


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_combinations_of_combinations_say_what_one_of_all_launches_says(tree: list[Any]) -> None:
    launches = {n: sampled(kernel__cycles=error) if n >= 0 else facts() for n, error in enumerate(ERRORS)}
    launches |= {-1: facts(), -2: facts()}

    def combination(of: Any) -> RunFacts:
        return launches[of] if isinstance(of, int) else combined([combination(inner) for inner in of])

    found, times = combination(tree), Counter(flat(tree))
    estimated = {n: count for n, count in times.items() if n >= 0}
    assert found.cycles == 1000 * times.total()
    if not estimated:
        assert found.sampling is None
        return
    assert found.sampling is not None
    whole = times.total() - sum(estimated.values())
    assert found.sampling.instructions == 5000 * times.total()
    assert found.sampling.simulated == 500 * len(estimated) + 5000 * whole, "each launch is simulated once"
    assert found.sampling.rounds == 100 * sum(estimated.values())
    in_all = sqrt(sum((count * ERRORS[n]) ** 2 for n, count in estimated.items()))
    assert found.sampling.half_width("kernel", "cycles") == pytest.approx(in_all)
    if whole == 0:  # others have fewer counts
        assert half_width(found, "kernel.cycles") == pytest.approx(in_all)


def test_methods_and_reasons_are_each_named_once() -> None:
    a, b = sampled(), sampled()
    a.sampling = replace(known(a), reason="steady")
    b.sampling = replace(known(b), method=WHOLE, reason="short", complete=True)
    found = known(combined([combined([a, b]), a, facts()]))
    assert (found.method, found.reason, found.complete) == ("windows + whole", "steady; short", False)


def test_values_have_the_half_widths_of_their_metrics() -> None:
    one = sampled(factor=4.0, kernel__cycles=30, l2__hits=5)
    tree = metrics.launch_tree(one)
    values = {value.name: value for value in list_metric_values(tree)}
    held = dict(metrics.leaves(tree))
    for name, value in values.items():
        width = held.get(name + metrics.SUFFIX)
        assert value.half_width == (None if isinstance(width, list) else width)
    assert values["kernel.cycles"].half_width == pytest.approx(60)
    assert values["l2.hits"].half_width == pytest.approx(10)
    assert values["kernel.name"].half_width is None and values["l2.misses"].half_width == 0
    assert not [name for name in values if name.endswith(metrics.SUFFIX) or name.startswith("sampling")]


def test_nothing_is_added_to_what_was_not_sampled() -> None:
    assert not [path for path, _ in metrics.leaves(metrics.launch_tree(facts())) if path.endswith(metrics.SUFFIX)]
    assert "sampling" not in metrics.launch_tree(facts())


def test_counts_are_added_up_and_stay_whole() -> None:
    made = facts()
    vector = CountVector.of(made.sections)
    more = np.zeros(len(vector.timed))
    more[vector.at("kernel", "cycles")] = 10.4
    more[vector.at("stalls_by_compute_unit", "issued")] = 2.6
    added = vector.added(made.sections, more)
    assert added["kernel"]["cycles"] == 1010 and added["kernel"]["name"] == "k"
    assert added["stalls_by_compute_unit"]["issued"] == [13, 20]
    assert made.kernel.cycles == 1000  # the facts themselves are as they were
    assert (vector.values(added) - vector.values(made.sections)).sum() == 13


def test_deviations_are_added_row_by_row_and_may_be_fractions() -> None:
    made = facts()
    vector = CountVector.of(made.sections)
    rows = np.arange(2.0 * len(vector.timed)).reshape(2, -1) + 0.25
    found = list(vector.deviated(made.sections, rows))
    for row, held in zip(rows, found, strict=True):
        assert (vector.values(held) == vector.values(made.sections) + row).all()
        assert held["kernel"]["name"] == "k"
    assert len(found[0]["stalls_by_compute_unit"]["issued"]) == 2
    assert made.kernel.cycles == 1000
