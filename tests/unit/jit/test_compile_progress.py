"""The time that a compilation will still take: true of steady work, and never nonsense."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base.jit import compile, compile_progress
from gpusim.base.jit.compile_progress import BYTES_PER_S, Forecast
from gpusim.base.processors import share_left
from gpusim.base.progress import Reporter, reporting


@given(st.floats(0.05, 20.0), st.integers(5, 60))
def test_steady_work_is_foretold(speed: float, steps: int) -> None:
    # each step of a tenth of the work takes as long as the machine's speed says
    work = 100_000.0
    whole = work / (BYTES_PER_S * speed)
    forecast = Forecast(work, 0.0)
    for k in range(1, steps):
        forecast.done(work / steps, whole * k / steps)
        share, left = forecast.estimate(whole * k / steps)
        assert share == pytest.approx(k / steps)
        guess = 0.5 / (0.5 + whole * k / steps)  # how much the first guess still counts
        assert left == pytest.approx(whole - whole * k / steps, rel=0.01 + guess * max(speed, 1 / speed))


def test_at_first_the_guess_holds() -> None:
    assert Forecast(10 * BYTES_PER_S, 0.0).line(0.0) == "0 %, 10 s left"


def test_the_first_guess_is_less_where_others_want_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    reporter = Reporter()
    monkeypatch.setattr(reporter, "say", said.append)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    for others in (0.0, 2.0, 6.0):
        monkeypatch.setattr("os.getloadavg", lambda others=others: (others, 0.0, 0.0))
        with reporting(reporter), compile_progress.compiling("it", 10 * BYTES_PER_S, processes=2):
            pass
    assert [line.split(",")[0] for line in said] == [f"gpusim: compiling it: about {s} s" for s in (10, 20, 40)]


def test_where_the_system_does_not_tell_the_guess_is_that_of_a_quiet_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.getloadavg")
    assert share_left(2) == 1.0


def test_a_long_step_counts_while_it_runs_and_is_not_over_before_it_is() -> None:
    forecast = Forecast(20 * BYTES_PER_S, 0.0)
    forecast.done(10 * BYTES_PER_S, 10.0)
    forecast.begin(10 * BYTES_PER_S, 10.0)
    assert forecast.line(15.0) == "75 %, 5 s left"
    late = [forecast.estimate(now) for now in (19.0, 30.0, 60.0)]
    assert [share for share, _ in late] == [pytest.approx(0.95)] * 3
    assert late[0][1] < late[1][1] < late[2][1]  # twice as slow, twice as long to go
    forecast.done(10 * BYTES_PER_S, 60.0)
    assert forecast.line(60.0) == "100 %, 0 s left"


# of a first start's first process: CPU seconds since it began to compile, and the byte code compiled on the way by
# then; after the last of them the optimizer takes the entry points, until OPTIMIZED
SECONDS = (0.0, 1.1, 2.2, 3.3, 4.4, 5.4, 6.5, 7.6, 8.8, 9.8, 11.0, 12.1, 13.2, 14.0, 15.4, 16.5)
COMPILED = (
    *(0, 5552, 12016, 19576, 27212, 35602, 43760, 55248, 64742),
    *(73416, 83040, 91286, 98750, 106448, 111514, 123058),
)
ALL_FUNCTIONS, OPTIMIZED = 144_104, 24.3


@pytest.mark.parametrize("slowness", [0.4, 0.8, 1.0, 1.6, 3.0])
def test_of_a_first_start_the_time_left_is_foretold_from_its_first_third_on(slowness: float) -> None:
    last_step = compile._OPTIMIZING["timing"] * ALL_FUNCTIONS
    forecast, before = Forecast(COMPILED[-1] + last_step, 0.0), 0.0
    for now in np.arange(0.1, OPTIMIZED, 0.1):
        compiled = float(np.interp(now, SECONDS, COMPILED))
        if compiled > before:
            forecast.done(compiled - before, now * slowness)
            if compiled == COMPILED[-1]:
                forecast.begin(last_step, now * slowness)
            before = compiled
        left = OPTIMIZED - now
        if now >= OPTIMIZED / 3 and left > 2:
            assert forecast.estimate(now * slowness)[1] == pytest.approx(left * slowness, rel=0.3), now


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1e5), st.floats(0, 100)), max_size=30))
def test_shares_and_times_stay_sensible(events: list[tuple[bool, float, float]]) -> None:
    forecast, now, last = Forecast(1e5, 0.0), 0.0, 0.0
    for ends, work, passed in events:
        now += passed
        share, left = forecast.estimate(now)
        assert 0.0 <= share <= 1.0 and left >= 0.0
        (forecast.done if ends else forecast.begin)(work, now)
        if ends:
            assert forecast.estimate(now)[0] >= min(last, 1.0)
            last = forecast.estimate(now)[0]


def test_it_is_said_when_it_begins_and_while_it_lasts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compile_progress, "_INTERVAL_S", 0.001)
    reporter = Reporter()
    said: list[str] = []
    monkeypatch.setattr(reporter, "say", said.append)
    with reporting(reporter), compile_progress.compiling("the core", 1000.0):
        with compile_progress.compiling("a part of it", 10.0):
            compile_progress.done(500.0)
        begun = len(said) + 1  # the first one after that may have been made before
        while len(said) < begun + 2:
            time.sleep(0.001)
    assert said[0].startswith("gpusim: compiling the core: about ")
    assert all(line.startswith("gpusim: compiling the core: 50 %, ") for line in said[begun:])
    compile_progress.done(1.0)  # outside of any: nothing to note
    assert compile_progress._running == []
