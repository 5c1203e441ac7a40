"""What does `gpusim hip` end with when a launch is not run to its end?"""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import EXIT_INTERRUPTED
from gpusim.cli.hip import HipOptions, hip
from gpusim.cli.options import JobCommandOptions, LiveOptions, SamplingOptions, StoreOptions
from gpusim.jobs.hip import job, launching
from gpusim.jobs.hip.launching import ProgramLaunches
from gpusim.results.records.exit_code import EXIT_NOT_AS_EXPECTED


@pytest.mark.parametrize(
    ("interrupted", "launches", "code", "expected", "said"),
    [
        # it was told that its launch failed, and ended with 0 all the same
        (True, ProgramLaunches(partial=True), 0, EXIT_INTERRUPTED, "interrupted"),
        (True, ProgramLaunches(partial=True), 7, EXIT_INTERRUPTED, "interrupted"),
        (True, ProgramLaunches(), 0, 0, ""),  # it took the same Ctrl-C and ended as it liked
        (False, ProgramLaunches(partial=True), 0, 0, "its program ended"),  # it ended while a launch of it ran
        (False, ProgramLaunches(partial=True, stopped_by="cycle limit"), 0, EXIT_NOT_AS_EXPECTED, "cycle limit"),
        (False, ProgramLaunches(partial=True, stopped_by="a kernel's fault"), 3, 3, "a kernel's fault"),
        (False, ProgramLaunches(), 5, 5, ""),
    ],
)
def test_a_program_whose_launch_was_not_finished_has_not_succeeded(
    interrupted: bool,
    launches: ProgramLaunches,
    code: int,
    expected: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: Any,
    tmp_path: Path,
) -> None:
    def run_program(program: Any, reporter: Any, sessions: Any, stopped: Any) -> int:
        sessions()
        if interrupted:
            os.kill(os.getpid(), signal.SIGTERM)
        assert stopped() == interrupted
        return code

    monkeypatch.setattr(job, "run_program", run_program)
    monkeypatch.setattr(launching, "ProgramLaunches", lambda: launches)
    options = JobCommandOptions(json_file=tmp_path / "result.json")
    ended = hip(HipOptions(), options, SamplingOptions(), StoreOptions(), LiveOptions(), ["program"])
    assert ended == expected
    lines = capfd.readouterr().err.splitlines()
    assert [line for line in lines if line.endswith(": the results are partial")] == [
        f"{said}: the results are partial"
    ] * bool(said)
    result = (tmp_path / "result.json").read_text()
    assert f'"exit_code": {expected}' in result and (f'"stopped_by": "{said}"' in result) == bool(said)
