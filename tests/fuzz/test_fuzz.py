"""Damaged code objects and random programs: an error, or a run; never a crash, a hang, a traceback, a stray access.

GPUSIM_FUZZ_EXAMPLES: how many of each kind to try.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from tests.corpus.build import BASE, committed
from tests.fuzz.mutants import Mutant, Worker, mutants, originals, primed_programs, programs

EXAMPLES = int(os.environ.get("GPUSIM_FUZZ_EXAMPLES", "60"))
# half of them: these fill 350 registers before they begin
PRIMED = settings(max_examples=max(1, EXAMPLES // 2), deadline=None, suppress_health_check=list(HealthCheck))
FAST = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
SLOW_PRIMED = settings(max_examples=max(1, EXAMPLES // 20), deadline=None, suppress_health_check=list(HealthCheck))
SLOW = settings(max_examples=max(1, EXAMPLES // 10), deadline=None, suppress_health_check=list(HealthCheck))


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


@FAST
@given(mutant=mutants())
def test_damaged_objects(compiled: Worker, mutant: Mutant) -> None:
    _sound(compiled.attempt(mutant.data))


@FAST
@given(mutant=programs())
def test_random_programs(compiled: Worker, mutant: Mutant) -> None:
    _sound(compiled.attempt(mutant.data))


@PRIMED
@given(mutant=primed_programs())
def test_random_programs_with_addresses(compiled: Worker, mutant: Mutant) -> None:
    _sound(compiled.attempt(mutant.data))


@SLOW_PRIMED
@given(mutant=primed_programs())
def test_random_programs_with_addresses_make_no_stray_access(checked: Worker, mutant: Mutant) -> None:
    _sound(checked.attempt(mutant.data))


@SLOW
@given(mutant=mutants())
def test_damaged_objects_make_no_stray_access(checked: Worker, mutant: Mutant) -> None:
    _sound(checked.attempt(mutant.data))


@SLOW
@given(mutant=programs())
def test_random_programs_make_no_stray_access(checked: Worker, mutant: Mutant) -> None:
    _sound(checked.attempt(mutant.data))


def test_undamaged_objects_run_or_reach_the_limit(compiled: Worker) -> None:
    for original in originals():
        answer = compiled.attempt(original.data)
        assert answer == "ran" or "ExecutionFault" in answer, answer
    assert compiled.attempt(committed(BASE)["elementwise"]) == "ran"
    assert compiled.attempt(b"\x7fELF").startswith("refused CodeObjectError")
