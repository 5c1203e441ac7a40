"""What all tests share: the compiled core, `sum` without floats, no deadline for Hypothesis, no ignored signals."""

import gc
import os
import signal
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings

from tests.support import float_sums

# threads of PyTorch and of NumPy's products spin while they wait, on cores that the suite's other processes need
os.environ.setdefault("OMP_NUM_THREADS", "1")  # OpenBLAS takes it too
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored below nohup, and so by the commands that the tests interrupt
float_sums.install()
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collect the tests without looking for garbage among them; they stay, so that it is not looked for there later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Compile the core once, before the workers would each do it."""
    from gpusim.model.core.prepare import prepare_core  # imports the compiler: most files' tests need none of it

    prepare_core()
