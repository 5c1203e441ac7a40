"""One process compiles at a time, and one that was killed holds nobody up."""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from gpusim.base import progress
from gpusim.base.jit import compile_lock

HOLDER = """
import sys
from gpusim.base.jit.compile_lock import compile_lock
with compile_lock(), compile_lock():
    print("held", flush=True)
    sys.stdin.readline()
print("released", flush=True)
"""


def started(folder: Path) -> "subprocess.Popen[str]":
    environment = {**os.environ, "GPUSIM_CACHE_DIR": str(folder)}
    environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", HOLDER]
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def waits(process: "subprocess.Popen[str]") -> None:
    """Return when the process says that it waits."""
    assert process.stderr is not None
    assert "another process is compiling" in process.stderr.readline()


@pytest.mark.compiled_tier  # processes that wait for one another
@pytest.mark.parametrize("end", ["releases it", "is killed"])
def test_the_second_waits_until_the_first(end: str, tmp_path: Path) -> None:
    first = started(tmp_path)
    assert first.stdin and first.stdout and first.stdout.readline() == "held\n"
    second = started(tmp_path)
    assert second.stdin and second.stdout
    waits(second)
    assert select.select([second.stdout], [], [], 0.3)[0] == []  # it does not go on
    if end == "is killed":
        first.kill()
    else:
        first.stdin.write("\n")
        first.stdin.flush()
    assert second.stdout.readline() == "held\n"
    second.communicate("\n")
    first.communicate()
    assert second.returncode == 0


def test_a_system_without_locks_compiles_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_locks(*_: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setenv("GPUSIM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(progress, "_said", set())
    monkeypatch.setattr(compile_lock.fcntl, "flock", no_locks)
    with compile_lock.compile_lock():
        assert compile_lock._held == [True]
    assert compile_lock._held == []
    assert capsys.readouterr().err == ""
