"""Does bad input of every kind end in an exit code, and does the fuzz run see what does not?"""

import os
import random
import signal
from typing import Any

import pytest

from tests.fuzz import batches, tries
from tests.fuzz.damage import damaged
from tests.fuzz.inputs import Kind, kinds

EXAMPLES = int(os.environ.get("GPUSIM_FUZZ_EXAMPLES", "100"))


@pytest.mark.parametrize("examples", [max(1, EXAMPLES // 5), pytest.param(EXAMPLES, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", sorted(name for name, kind in kinds().items() if kind.share))
def test_bad_input_ends_in_an_exit_code(name: str, examples: int) -> None:
    first = random.Random().randrange(1 << 40) * tries.EXECUTED + 1  # others each time; objects are executed elsewhere
    count = min(examples, tries.EXECUTED - 2) if name == "objects" else examples
    report = batches.run(kinds()[name], seed=1, first=first, count=count, processes=1)
    assert not report.findings, report.text()
    assert report.outcomes.total() in (count, 0 if name == "caches" else count)


def _misbehave(data: Any, number: int) -> str:
    if number in (1, 4):
        raise KeyError("x")
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 6:
        while True:
            pass
    return "exit code 0"


def test_tracebacks_crashes_and_hangs_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "HANGS_S", 1)
    monkeypatch.setitem(tries.TRIES, "mine", _misbehave)
    report = batches.run(Kind("mine", lambda choose: choose.randbytes(3), 100), 1, 0, 9, 1)
    assert report.outcomes["mine", "exit code 0"] == 5
    found = sorted((f.number, f.count, f.what.splitlines()[-1][:20]) for f in report.findings.values())
    assert found == [(1, 2, "KeyError: 'x'"), (3, 1, "crashed: SIGKILL"), (6, 1, "hangs: no answer in ")]
    assert batches.made(Kind("mine", lambda choose: choose.randbytes(3), 100), 1, 3) in [
        f.data for f in report.findings.values()
    ], "an input follows from its number"


def test_damage_is_damage() -> None:
    original = bytes(range(256))
    results = {damaged(original, random.Random(seed)) for seed in range(50)}
    assert len(results) > 40
    assert damaged(original, random.Random(7)) == damaged(original, random.Random(7))
