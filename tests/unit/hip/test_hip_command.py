"""What does `gpusim hip` end with when it is interrupted?"""

import os
import signal
from typing import Any

import pytest

from gpusim.base.errors import EXIT_INTERRUPTED
from gpusim.cli.hip import HipOptions, hip_command
from gpusim.hip import launching, supervisor


@pytest.mark.parametrize(
    ("interrupted", "cut", "expected"),
    [
        (True, True, EXIT_INTERRUPTED),  # it was told that its launch failed, and ended with 0 all the same
        (True, False, 0),  # it took the same Ctrl-C and ended as it liked
        (False, True, 0),  # it ended while a launch of it ran
    ],
)
def test_a_program_whose_launch_was_interrupted_has_not_succeeded(
    interrupted: bool, cut: bool, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_program(program: Any, reporter: Any, new_session: Any, stopped: Any) -> int:
        new_session()
        if interrupted:
            os.kill(os.getpid(), signal.SIGTERM)
        assert stopped() == interrupted
        return 0

    monkeypatch.setattr(supervisor, "run_program", run_program)
    launches = launching.Launches(partial=cut)
    monkeypatch.setattr(launching, "Launches", lambda _: launches)
    assert hip_command(["program"], HipOptions(quiet=True)) == expected
