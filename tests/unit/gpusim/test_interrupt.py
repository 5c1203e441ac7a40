"""Does Ctrl-C stop ordinary Python at once, and the compiled core by its flag?"""

import os
import signal

import pytest

from gpusim.base.interrupt import Interrupt


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ordinary_python_is_interrupted_at_once(number: int) -> None:
    with Interrupt() as interrupt, pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)
    assert interrupt.asked


def test_deferred_section_only_sees_the_flag_once() -> None:
    with Interrupt() as interrupt:
        interrupt.deferred = True
        press_ctrl_c()
        assert interrupt.asked
        with pytest.raises(KeyboardInterrupt):  # a second one does not wait
            press_ctrl_c()


def test_handler_is_restored() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        before = signal.getsignal(number)
        with Interrupt():
            assert signal.getsignal(number) != before
        assert signal.getsignal(number) == before
