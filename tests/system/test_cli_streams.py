"""Do files and streams of the command line behave: inputs stay, pipes work, what is closed or interrupted is quiet?"""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpusim.cli import main
from gpusim.cli.main import invoke
from gpusim.config.files import SHIPPED

START = [sys.executable, "-m", "gpusim.cli.start"]
UNTIMED = ["--set", "run.timing=false"]
# send a signal when a module is looked for, before it is imported
_SENT = """
import os, signal, sys
class Send:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.{number})
from gpusim.cli.start import main
sys.meta_path.insert(0, Send())
sys.argv = ["gpusim", "exec", "vector_add"]
main()
"""


@pytest.fixture
def execution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An execution of the user's own, every input a file of its own."""
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.ones(100, np.float32))
    np.save("c.npy", np.full(100, 3, np.float32))
    (tmp_path / "mine.yaml").write_text("base: mi6\nmemory_mib: 16\n")
    (tmp_path / "k.hsaco").write_bytes((SHIPPED / "examples" / "vector_add.hsaco").read_bytes())
    (tmp_path / "k.yaml").write_text(
        """
gpu: mine.yaml
code_object: k.hsaco
global_size: [100]
local_size: [64]
arguments:
  a: {npy: a.npy}
  b: {fill: 2, dtype: float32, shape: [100]}
  c: {fill: .nan, dtype: float32, shape: [100], expected: c.npy}
  n: {value: 100, dtype: uint32}
"""
    )
    return tmp_path


@pytest.mark.parametrize("name", ["k.yaml", "mine.yaml", "k.hsaco", "a.npy", "c.npy"])
@pytest.mark.parametrize("how", ["itself", "link", "hard link"])
def test_no_output_takes_the_place_of_an_input(execution: Path, name: str, how: str, capfd) -> None:  # type: ignore[no-untyped-def]
    target = execution / "out"
    if how == "link":
        target.symlink_to(name)
    elif how == "hard link":
        target.hardlink_to(execution / name)
    else:
        target = execution / name
    before = (execution / name).read_bytes()
    for arguments in (
        ["--json", str(target)],
        ["--timeline", str(target)],
        ["--set", f"arguments.a.output={target}"],
    ):
        assert invoke(["exec", "k.yaml", *UNTIMED, *arguments]) == 2
        assert "is read by this run" in capfd.readouterr().err
    assert (execution / name).read_bytes() == before


def test_no_output_takes_the_place_of_another(execution: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["exec", "k.yaml", "--json", "x", "--timeline", "./x"]) == 2
    assert "--timeline x: is also the file of --json" in capfd.readouterr().err
    kept = execution / "kept"
    kept.mkdir()
    (kept / "config.yaml").write_text((SHIPPED / "layerB.yaml").read_text())
    before = (kept / "config.yaml").read_text()
    assert invoke(["run", str(kept / "config.yaml"), "--out", str(kept)]) == 2
    assert "is read by this run" in capfd.readouterr().err
    assert (kept / "config.yaml").read_text() == before


def test_json_to_standard_output_leaves_the_report_to_standard_error(execution: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["exec", "k.yaml", *UNTIMED, "--json", "-"]) == 0
    captured = capfd.readouterr()
    result = json.loads(captured.out)
    assert result["verification"]["passed"] is True
    assert result["config"]["arguments"]["c"]["fill"] == ".nan"
    assert "verified               passed" in captured.err
    assert invoke(["exec", "k.yaml", *UNTIMED, "--json", "-", "--quiet"]) == 0
    captured = capfd.readouterr()
    assert json.loads(captured.out)
    assert captured.err == ""
    assert not (execution / "-").exists()


def test_nan_is_compared_and_named(execution: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    nothing = ["--set", "arguments.n.value=0", "--set", "arguments.c.expected=.nan"]
    assert invoke(["exec", "k.yaml", *UNTIMED, *nothing]) == 0
    assert invoke(["exec", "k.yaml", *UNTIMED, "--set", "arguments.n.value=0"]) == 1
    assert "c: 100 of 100 elements differ by more than allowed; first at [0]: nan" in capfd.readouterr().err
    integers = ["--set", "arguments.c={fill: .nan, dtype: int32, shape: [100]}"]
    assert invoke(["exec", "k.yaml", *UNTIMED, *integers]) == 2
    assert "arguments.c.fill: nan is not allowed: must be a whole number" in capfd.readouterr().err


def test_a_wrong_result_is_one_line_where_all_else_is_quiet(execution: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    assert (
        invoke(["exec", "k.yaml", *UNTIMED, "--quiet", "--set", "arguments.c.expected=1", "--json", "wrong.json"]) == 1
    )
    captured = capfd.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("gpusim: k: the result is WRONG: error 2, allowed is")


def test_an_array_of_other_elements_is_refused(execution: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    np.save("a.npy", np.ones(100, np.float64))
    assert invoke(["exec", "k.yaml", *UNTIMED]) == 2
    assert "argument 0 'a': expected a device array of float32 (float*), found one of float64" in capfd.readouterr().err


def test_a_configuration_may_come_through_a_pipe(execution: Path) -> None:
    script = f"{sys.executable} -m gpusim.cli.start show <(echo 'base: mi6')"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "36 compute units" in done.stdout


@pytest.mark.parametrize(
    ("closed", "arguments", "code"), [(1, ["metrics"], 0), (2, ["show", "mi7"], 2), (0, ["--version"], 0)]
)
def test_closed_streams_are_quiet(closed: int, arguments: list[str], code: int, tmp_path: Path) -> None:
    line = " ".join([*START, *arguments, f"{closed}{'<' if closed == 0 else '>'}&-"])
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, "")


def test_a_reader_that_goes_is_no_error() -> None:
    process = subprocess.Popen([*START, "metrics"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() in (0, 1)


def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*START, "metrics"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "gpusim: error: standard output: No space left on device\n")


def test_an_error_that_is_not_standard_output_s_is_not_said_of_it(monkeypatch: pytest.MonkeyPatch, capfd) -> None:  # type: ignore[no-untyped-def]
    def command_line() -> None:
        raise OSError(errno.EFBIG, "File too large")

    monkeypatch.setattr(main, "command_line", command_line)
    assert invoke(["metrics"]) == 2
    assert capfd.readouterr() == ("\n", "gpusim: error: File too large\n")


def test_an_output_that_cannot_be_written_is_found_before_the_run(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    for place in ("/proc/x.json", f"/dev/fd/x{tmp_path.name}.json"):  # where root cannot write either
        assert invoke(["exec", "vector_add", "--json", place]) == 2
        said = capfd.readouterr()
        assert said.err.startswith(f"gpusim: error: --json {place}: cannot be written: ") and not said.out
    assert invoke(["exec", "vector_add", *UNTIMED, "--quiet", "--json", str(tmp_path / "x.json")]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_a_stream_of_ascii_gets_what_it_can_hold() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*START, "show", "mi6", "--values"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("module", "number"),
    [("typer", "SIGINT"), ("numpy", "SIGTERM"), ("pydantic", "SIGHUP"), ("gpusim.jobs.running.runner", "SIGINT")],
)
def test_a_signal_while_modules_are_imported(module: str, number: str) -> None:
    script = _SENT.format(module=module, number=number)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "gpusim: interrupted\n")


def test_a_history_in_no_folder_is_refused_and_makes_none(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["bench", "--history", str(tmp_path / "new" / "h.jsonl")]) == 2
    assert "does not exist" in capfd.readouterr().err
    assert invoke(["bench", "--history", str(tmp_path / "h.jsonl"), "--only", "none"]) == 2
    assert list(tmp_path.iterdir()) == []


def test_signals_are_restored_after_a_run() -> None:
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    assert invoke(["exec", "vector_add", *UNTIMED, "--set", "gpu.memory_mib=16", "--quiet"]) == 0
    assert [signal.getsignal(number) for number in numbers] == before
