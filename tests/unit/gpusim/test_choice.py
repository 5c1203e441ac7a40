"""Is the fastest candidate chosen, by as few measurements as bounds and estimates allow?"""

from dataclasses import dataclass
from math import inf

import pytest
from hypothesis import strategies as st

from gpusim.jobs.running.choice import Candidate, Measured, MeasurementRequest, choose, choose_all, likeliest
from gpusim.results.records.record import KernelChoice
from tests.support.daily import given_daily


@dataclass(frozen=True)
class Known:
    """A candidate, and what it takes in fact."""

    candidate: Candidate
    cycles: int


@st.composite
def sets_of_known(draw: st.DrawFn) -> list[Known]:
    found = []
    for number in range(draw(st.integers(1, 6))):
        cycles = draw(st.integers(1, 50))
        least = draw(st.integers(0, cycles))
        most = draw(st.one_of(st.just(inf), st.integers(max(cycles, least), 99)))
        found.append(Known(Candidate(str(number), least, most), cycles))
    return found


def measuring(known: list[Known], asked: list[MeasurementRequest]) -> "Measure":
    return Measure({one.candidate.name: one.cycles for one in known}, asked)


@dataclass
class Measure:
    """Stops at what was asked for, as a simulation does."""

    cycles: dict[str, int]
    asked: list[MeasurementRequest]

    def __call__(self, question: MeasurementRequest) -> Measured:
        self.asked.append(question)
        taken = self.cycles[question.name]
        return None if taken > question.most else taken


@given_daily(40, 100, known=sets_of_known())
def test_the_fastest_is_chosen_and_what_is_said_of_the_others_is_true(known: list[Known]) -> None:
    asked: list[MeasurementRequest] = []
    choice = choose([one.candidate for one in known], measuring(known, asked))
    cycles = {one.candidate.name: one.cycles for one in known}
    assert cycles[choice.kernel] == min(cycles.values())
    assert choice.cycles.items() <= cycles.items() and list(choice.cycles.values()) == sorted(choice.cycles.values())
    assert all(cycles[name] >= least for name, least in choice.at_least.items())
    assert {choice.kernel} | choice.cycles.keys() | choice.at_least.keys() | choice.estimated.keys() == cycles.keys()
    names = [one.name for one in asked]
    assert len(set(names)) == len(names) and choice.cycles.keys() <= set(names)
    least = {one.candidate.name: one.candidate.least for one in known}
    # none is begun that takes at least what the fastest before it did, and the most promising ones come first
    assert all(least[one.name] < one.most for one in asked)
    assert [least[name] for name in names] == sorted(least[name] for name in names)


@given_daily(30, 100, questions=st.lists(sets_of_known(), max_size=5))
def test_several_are_chosen_side_by_side_as_each_is_alone(questions: list[list[Known]]) -> None:
    found = choose_all(
        {number: [one.candidate for one in known] for number, known in enumerate(questions)},
        lambda asked: {number: measuring(questions[number], [])(one) for number, one in asked.items()},
    )
    alone = [choose([one.candidate for one in known], measuring(known, [])) for known in questions]
    assert list(found.values()) == alone and list(found) == list(range(len(questions)))


def test_figures_are_compared_and_nothing_is_measured() -> None:
    figures = [Candidate(name, cycles, cycles) for name, cycles in (("a", 5), ("b", 3), ("c", 3), ("d", inf))]
    assert choose(figures) == KernelChoice("b", {}, {}, {"a": 5, "b": 3, "c": 3})


def test_estimates_that_do_not_overlap_decide() -> None:
    found = [Candidate("bound", 100), Candidate("range", 50, 90), Candidate("slow", 95, 120)]
    assert choose(found) == KernelChoice("range", {}, {"bound": 100, "slow": 95})


@pytest.mark.parametrize("known", [{"b": 70}, {}])
def test_what_cannot_be_run_is_left_out(known: dict[str, int]) -> None:
    found = [Candidate("a", 10), Candidate("b", 20)]
    choice = choose(found, lambda asked: known.get(asked.name, inf))
    assert choice.cycles == known and not choice.at_least
    assert not known or choice.kernel == "b"


def test_the_likeliest_has_the_lowest_upper_end() -> None:
    assert likeliest([Candidate("a", 10), Candidate("b", 20, 40), Candidate("c", 5, 50)]).name == "b"
    assert likeliest([Candidate("a", 10), Candidate("b", 9)]).name == "b"
