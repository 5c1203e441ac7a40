"""Do Ctrl-C, SIGTERM and a timeout stop ordinary Python at once, and the compiled core by their flag?"""

import os
import signal
import time

import pytest

from gpusim.base.errors import UserError
from gpusim.base.interrupt import INTERRUPTED, OUT_OF_TIME, Interrupt, interrupt_python


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ordinary_python_is_interrupted_at_once(number: int) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # SIGHUP is ignored where the tests run under nohup
    try:
        with Interrupt() as interrupt, pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    finally:
        signal.signal(number, before)
    assert interrupt.asked and interrupt.reason == INTERRUPTED


def test_a_closed_terminal_ends_nothing_that_is_to_outlive_it() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with Interrupt() as interrupt:
            os.kill(os.getpid(), signal.SIGHUP)
        assert not interrupt.asked
    finally:
        signal.signal(signal.SIGHUP, before)


def test_deferred_section_only_sees_the_flag_once() -> None:
    with Interrupt() as interrupt:
        interrupt.deferred = True
        press_ctrl_c()
        assert interrupt.asked
        with pytest.raises(KeyboardInterrupt):  # a second one does not wait
            press_ctrl_c()


def test_time_that_is_over_is_a_reason_of_its_own() -> None:
    with Interrupt() as interrupt, pytest.raises(KeyboardInterrupt), interrupt.timeout(0.01):
        while True:
            time.sleep(0.01)
    assert interrupt.asked and interrupt.reason == OUT_OF_TIME


def test_the_first_reason_stays() -> None:
    with Interrupt() as interrupt, interrupt.timeout(1000):
        interrupt.deferred = True
        signal.raise_signal(signal.SIGALRM)
        with pytest.raises(KeyboardInterrupt):
            press_ctrl_c()
    assert interrupt.reason == OUT_OF_TIME


def test_the_timer_ends_with_its_block() -> None:
    with Interrupt() as interrupt:
        with interrupt.timeout(1000):
            assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
        with interrupt.timeout(None):
            assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


@pytest.mark.parametrize("seconds", [float("inf"), 1e12, 1e20])
def test_a_time_beyond_what_timers_count_is_no_limit(seconds: float) -> None:
    with Interrupt() as interrupt, interrupt.timeout(seconds):
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_time_that_is_no_number_is_refused() -> None:
    with Interrupt() as interrupt, pytest.raises(UserError, match="--timeout nan"), interrupt.timeout(float("nan")):
        pass


def test_handlers_are_restored() -> None:
    stopping, numbers = (signal.SIGINT, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    before = [signal.getsignal(number) for number in numbers]
    with Interrupt() as interrupt:
        assert all(signal.getsignal(n) != handler for n, handler in zip(stopping, before, strict=False))
        assert signal.getsignal(signal.SIGALRM) == before[2]  # a script may have an alarm of its own
        with interrupt.timeout(1000):
            assert signal.getsignal(signal.SIGALRM) != before[2]
        assert signal.getsignal(signal.SIGALRM) == before[2]
    assert [signal.getsignal(number) for number in numbers] == before


def test_python_is_interrupted_by_both_signals() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    try:
        interrupt_python()
        for number in numbers:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
