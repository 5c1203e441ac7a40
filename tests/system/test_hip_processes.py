"""The processes of a HIP program and of its simulator: forked, killed, two at once, without a simulator."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from gpusim.jobs.hip.building import COMPILERS
from tests.support.daily import parametrize_daily
from tests.support.hip_programs import PROGRAMS, ROOT, SMALL, pytestmark, run, start

__all__ = ["pytestmark"]


def test_a_forked_process_cannot_use_the_gpu_and_one_it_starts_can() -> None:
    done = run(["--timing", "off"], PROGRAMS / "runtime", "fork")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "forked" in done.stderr and "gfx803" in done.stdout


def test_codes_of_programs_that_are_no_hip_programs() -> None:
    assert run([], "sh", "-c", "exit 7").returncode == 7
    killed = run([], "sh", "-c", "kill -9 $$")
    assert killed.returncode == 128 + 9 and "SIGKILL" in killed.stderr
    missing = run([], "./no-such-program")
    assert missing.returncode == 2 and "cannot be started" in missing.stderr
    assert "/: cannot be started: is a folder" in run([], "/").stderr
    assert run([]).returncode == 2


def test_without_the_simulator_a_program_is_told_so() -> None:
    from gpusim.jobs.hip.built import libraries

    environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries())}
    done = subprocess.run(
        [PROGRAMS / "runtime", "device"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "hipErrorNoDevice" in done.stdout and "gpusim hip -- PROGRAM" in done.stderr


def ended(process_id: int) -> bool:
    """Whether a process is gone, or only waits for its parent."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def child_of(process_id: int) -> int:
    """The program that a `gpusim hip` has started, once it runs and has the device's memory mapped."""
    for _ in range(600):
        found = Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()
        for child in map(int, found):
            if "gpusim device memory" in Path(f"/proc/{child}/maps").read_text():
                return child
        time.sleep(0.1)
    raise AssertionError("no program")


@parametrize_daily("number", [signal.SIGKILL, signal.SIGTERM], [0])
def test_nothing_is_left_of_a_simulator_that_is_killed(number: signal.Signals) -> None:
    process = start([*SMALL, "--timing", "off"], PROGRAMS / "runtime", "endless")
    child = child_of(process.pid)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == (-9 if number == signal.SIGKILL else 130)
    for _ in range(100):
        if ended(child):
            return
        time.sleep(0.1)
    raise AssertionError("the program goes on")


def test_a_simulator_ends_with_its_program() -> None:
    process = start([*SMALL, "--timing", "off"], PROGRAMS / "runtime", "endless")
    os.kill(child_of(process.pid), signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + 9 and "SIGKILL" in err


def test_two_programs_at_once_share_neither_memory_nor_simulator(tmp_path: Path) -> None:
    program, results = tmp_path / "together", [tmp_path / f"{number}.json" for number in (5, 9)]
    compiler = next(filter(None, map(shutil.which, COMPILERS)))
    subprocess.run([compiler, str(PROGRAMS / "together.cpp"), "-o", str(program), "-ldl"], check=True)
    code = ROOT / "tests/data/kernels/hip_kernels.hsaco"
    both = [
        start([*SMALL, "--timing", "off", "--json", str(file)], program, code, file.stem, stdin=subprocess.PIPE)
        for file in results
    ]
    for step in ("allocated", "filled", "counted"):  # each by both, before the next one by either
        said = [process.stdout.readline().split() for process in both]  # type: ignore[union-attr]
        assert [words[:1] for words in said] == [[step]] * 2, "".join(p.communicate(timeout=60)[1] for p in both)
        assert said[0] == said[1], "at different addresses nothing that is shared would be seen"
        for process in both:
            process.stdin.write("\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
    for process in both:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, out + err
    served = [{launch["launch"]["process"] for launch in json.loads(file.read_text())["launches"]} for file in results]
    assert [len(processes) for processes in served] == [1, 1] and served[0] != served[1]
    assert [len(json.loads(file.read_text())["launches"]) for file in results] == [5, 5]
