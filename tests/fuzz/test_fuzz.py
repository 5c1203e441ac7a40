"""Damaged code objects and random programs: an error, or a run; never a crash, a hang, a traceback, a stray access.

GPUSIM_FUZZ_EXAMPLES: how many of each kind to try.
"""

import os
from collections.abc import Iterator

import pytest

from tests.corpus.build import BASE, committed
from tests.fuzz.mutants import Mutant, Worker, mutants, originals, primed_programs, programs
from tests.support.daily import given_daily

EXAMPLES = int(os.environ.get("GPUSIM_FUZZ_EXAMPLES", "60"))


def share(part: int) -> tuple[int, int]:
    """Examples of a kind, daily and nightly: a part of all."""
    return max(1, EXAMPLES // part // 4), max(1, EXAMPLES // part)


FAST = share(1)
PRIMED = share(2)  # these fill 350 registers before they begin
SLOW, SLOW_PRIMED = share(10), share(20)


@pytest.fixture(scope="module")
def compiled() -> Iterator[Worker]:
    """The compiled interpreter."""
    worker = Worker(checked=False)
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def checked() -> Iterator[Worker]:
    """The same interpreter in Python, every raw access checked."""
    worker = Worker(checked=True)
    yield worker
    worker.close()


def _sound(answer: str) -> None:
    assert answer == "ran" or answer.startswith("refused "), answer.replace("\\n", "\n")


@given_daily(*FAST, mutant=mutants())
def test_damaged_objects(compiled: Worker, mutant: Mutant) -> None:
    _sound(compiled.attempt(mutant.data))


@given_daily(*FAST, mutant=programs())
def test_random_programs(compiled: Worker, mutant: Mutant) -> None:
    _sound(compiled.attempt(mutant.data))


@given_daily(*PRIMED, mutant=primed_programs())
def test_random_programs_with_addresses(compiled: Worker, mutant: Mutant) -> None:
    _sound(compiled.attempt(mutant.data))


@given_daily(*SLOW_PRIMED, mutant=primed_programs())
def test_random_programs_with_addresses_make_no_stray_access(checked: Worker, mutant: Mutant) -> None:
    _sound(checked.attempt(mutant.data))


@given_daily(*SLOW, mutant=mutants())
def test_damaged_objects_make_no_stray_access(checked: Worker, mutant: Mutant) -> None:
    _sound(checked.attempt(mutant.data))


@given_daily(*SLOW, mutant=programs())
def test_random_programs_make_no_stray_access(checked: Worker, mutant: Mutant) -> None:
    _sound(checked.attempt(mutant.data))


def test_undamaged_objects_run_or_reach_the_limit(compiled: Worker) -> None:
    for original in originals():
        answer = compiled.attempt(original.data)
        assert answer == "ran" or "ExecutionFault" in answer, answer
    assert compiled.attempt(committed(BASE)["elementwise"]) == "ran"
    assert compiled.attempt(b"\x7fELF").startswith("refused CodeObjectError")
