"""Running the command line in a process of its own and interrupting it in the middle of a simulation."""

import os
import signal
import subprocess
import sys

import pytest

_MAIN = "from gpusim.base import progress; progress.PLAIN_INTERVAL_S = 0.2; from gpusim.cli.start import main; main()"


def interrupted(
    arguments: list[str],
    number: signal.Signals = signal.SIGINT,
    group: bool = False,
    awaited: str = "cycles",
    times: int = 2,
) -> str:
    """Send a signal when the command has reported its progress; what it writes to standard error from then on.

    group: the signal goes to all of its processes, as batch systems and `timeout` send it; awaited: what a line of
    progress has; times: how many such lines.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", _MAIN, *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=group,
    )
    assert process.stderr is not None
    reports = 0
    for line in process.stderr:
        reports += awaited in line
        if reports == times:  # from the first report on, the core is asked to stop
            break
    else:
        pytest.fail("the command ended before it reported any progress")
    (os.killpg if group else os.kill)(process.pid, number)
    rest = process.stderr.read()
    assert process.wait(timeout=60) == 130
    return rest
