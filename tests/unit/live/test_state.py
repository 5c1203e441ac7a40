"""What the live view's server makes of a run's messages."""

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.results.live.snapshot import RATES, STATES
from gpusim.results.live.state import MOST_SAMPLES, SCHEMA, History, RunState
from tests.structure.imports import ROOT
from tests.support.daily import given_daily

WORKS = st.sampled_from(["", "conv1", "conv1: part", "point 3"])


def moment(work: str = "", title: str = "k", cycle: int = 10, count: int = 1, depth: int = 0) -> dict[str, Any]:
    return {
        **{"kind": "moment", "work": work, "title": title, "unit": "workgroups", "text": "half", "cycle": cycle},
        **{"workgroups": 1, "workgroups_total": 2, "instructions": 5, "done": 0.5},
        "rates": dict.fromkeys(RATES, 1.25),
        "counts": {"l1.hits": count, "l2.hits": 2 * count},
        "compute_units": [{"workgroups": 1, "states": [1] * len(STATES), "stalls": [0] * 9}],
        "queues": [{"name": "loads", "entries": depth, "fullest": depth, "units": 1}],
    }


def state_of(*messages: dict[str, Any]) -> RunState:
    state = RunState({"title": "t", "version": "1", "process": 1})
    for message in messages:
        state.take(message)
    return state


def begun(work: str = "", title: str = "k") -> dict[str, Any]:
    return {"kind": "begun", "work": work, "title": title, "unit": "workgroups"}


@given(st.integers(0, 5 * MOST_SAMPLES))
@settings(max_examples=20)
def test_a_history_is_evenly_spaced_and_bounded_and_has_the_first_sample(samples: int) -> None:
    history = History()
    for number in range(samples):
        history.add({"n": number})
    kept = [sample["n"] for sample in history.samples]
    assert len(kept) <= MOST_SAMPLES
    assert kept == list(range(0, samples, history.stride))


def test_a_new_state_is_empty() -> None:
    document = RunState({"title": "t", "version": "1", "process": 1}).document()
    assert document | {"schema": SCHEMA, "outcome": None, "launch": None, "launches": [], "overall": []} == document


def test_a_launch_is_shown_with_its_history_and_its_deepest_queues() -> None:
    state = state_of(begun(), *(moment(cycle=10 * n, count=n, depth=5 - n) for n in (1, 2, 3)))
    launch = state.document(counter="l2.hits")["launch"]
    assert launch["history"]["cycle"] == [10, 20, 30]
    assert launch["history"]["counter"] == {"name": "l2.hits", "values": [2, 4, 6]}
    assert launch["history"]["rates"]["L1 hit rate"] == {"unit": "%", "values": [1.25] * 3}
    assert launch["queues"] == [{"name": "loads", "entries": 2, "fullest": 2, "units": 1, "peak": 4}]
    assert launch["counts"] == {"l1.hits": 3, "l2.hits": 6}
    assert state.document(counter="l2.mrs")["launch"]["history"]["counter"] is None


def test_the_reader_chooses_the_launch_and_gets_the_first_that_runs_without_a_choice() -> None:
    state = state_of(begun("a"), moment("a"), begun("b"), moment("b"), {"kind": "ended", "work": "a"})
    assert state.document()["launch"]["work"] == "b"
    assert state.document("a")["launch"]["work"] == "a"
    assert state.document("none")["launch"]["work"] == "b"
    assert [launch["running"] for launch in state.document()["launches"]] == [False, True]


def test_a_launch_that_has_ended_stays_until_the_next_begins() -> None:
    state = state_of(begun("", "k1"), moment("", "k1"), {"kind": "ended", "work": ""})
    assert [one["title"] for one in state.document()["launches"]] == ["k1"]
    state.take(begun("", "k2"))
    assert [one["title"] for one in state.document()["launches"]] == ["k2"]
    assert state.document()["launch"]["queues"] == []


def test_a_moment_whose_launch_s_begin_was_dropped_begins_it() -> None:
    state = state_of(begun("", "k1"), moment("", "k1", 50), moment("", "k2", 3))
    assert [one["title"] for one in state.document()["launches"]] == ["k2"]
    assert state.document()["launch"]["history"]["cycle"] == [3]


def test_a_process_that_has_left_has_no_progress_of_its_own_and_no_running_launch() -> None:
    parts = [
        {"kind": "overall", "work": w, "done": 1, "total": 2, "unit": "steps", "text": ""} for w in ("", "a", "a: b")
    ]
    state = state_of(*parts, begun("a: b"), begun("ab"), {"kind": "left", "work": "a"})
    assert [part["work"] for part in state.document()["overall"]] == [""]
    assert {one["work"]: one["running"] for one in state.document()["launches"]} == {"a: b": False, "ab": True}


def test_the_end_ends_all_and_stops_the_clock() -> None:
    state = state_of(begun("a"), {"kind": "end", "outcome": "interrupted"})
    first, second = state.document(), state.document()
    assert first["outcome"] == "interrupted" and first["seconds"] == second["seconds"]
    assert not first["launches"][0]["running"]
    state.wait(10**9, 3600.0)  # nothing more will come


@given_daily(
    30,
    100,
    st.lists(
        st.one_of(
            WORKS.map(begun),
            st.builds(moment, WORKS, st.sampled_from(["k", "l"]), st.integers(0, 9)),
            st.builds(lambda kind, work: {"kind": kind, "work": work}, st.sampled_from(["ended", "left"]), WORKS),
            st.just({"kind": "said", "text": "x"}),
            WORKS.map(lambda w: {"kind": "overall", "work": w, "done": 0, "total": 0, "unit": "steps", "text": ""}),
        ),
        max_size=30,
    ),
)
def test_any_order_of_messages_gives_a_state_whose_number_counts_them(messages: list[dict[str, Any]]) -> None:
    state = state_of(*messages)
    document = state.document()
    assert document["number"] == len(messages)
    assert (document["launch"] is None) == (document["launches"] == [])


def test_the_documentation_has_every_field() -> None:
    table = (
        (ROOT / "docs" / "how-to" / "live.md")
        .read_text(encoding="utf-8")
        .split("<!-- fields -->")[1]
        .split("<!-- end")[0]
    )
    rows = {row.split("`")[1]: row for row in table.splitlines() if row.startswith("| `")}
    document = state_of(
        begun(), moment(), {"kind": "overall", "work": "", "done": 0, "total": 1, "unit": "u", "text": ""}
    )
    found = document.document(counter="l1.hits")
    assert list(rows) == list(found)
    launch = found["launch"]
    named = {"run": found["run"], "overall": found["overall"][0], "launches": found["launches"][0], "launch": launch}
    for field, value in named.items():
        assert set(re.findall(r"`(\w+)`", rows[field])) - {field} >= set(value), field
    inner = {*launch["history"], *launch["compute_units"][0], *launch["queues"][0]}
    assert inner <= set(re.findall(r"`(\w+)`", rows["launch"]))
    assert f"table: {SCHEMA} |" in rows["schema"]
