"""How compiling the core is divided among processes."""

import subprocess
import sys

import pytest

from gpusim.model.core import prepare
from gpusim.model.core.prepare import CompileShare, shares


@pytest.mark.parametrize("processors", [2, 3, 4, 64])
@pytest.mark.parametrize("interpreter", [False, True])
def test_what_is_missing_is_compiled_once(processors: int, interpreter: bool) -> None:
    others = shares(processors, interpreter)
    assert len(others) < processors
    assert [share.packages for share in others] == [True] + [False] * (len(others) - 1), "the first is waited for"
    assert sum(share.interpreter for share in others) == interpreter
    assert all(share.packages or share.interpreter for share in others)


def test_one_processor_compiles_alone() -> None:
    assert shares(1, True) == shares(1, False) == ()


def test_a_third_processor_takes_the_interpreter() -> None:
    assert shares(3, True) == (CompileShare(True, False), CompileShare(False, True))


@pytest.mark.parametrize(
    ("program", "received"),
    [("'4\\nabcd'", b"abcd"), ("'4\\nab'", None), ("'4'", None), ("''", None), ("'0\\n'", b"")],
)
def test_what_another_process_sends_is_taken_whole_or_not_at_all(program: str, received: bytes | None) -> None:
    command = [sys.executable, "-c", f"print({program}, end='')"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as helper:
        assert prepare._received(helper) == received


def test_what_was_done_ahead_counts_with_the_next_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter((0.0, 20.0, 30.0, 31.0, 40.0, 42.0))
    monkeypatch.setattr(prepare, "JIT_DISABLED", False)
    monkeypatch.setattr(prepare, "load", lambda entry_points: True)
    monkeypatch.setattr(prepare, "compile_interpreter", lambda: 0.0)
    monkeypatch.setattr("time.perf_counter", lambda: next(seconds))
    prepare.prepare_ahead()
    assert prepare.prepare_core() == 21.0
    assert prepare.prepare_core() == 2.0
