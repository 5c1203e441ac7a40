"""Are facts of launches that a store keeps found where they are good enough, and only there?"""

import multiprocessing
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpusim.jobs.networks.kept import LaunchCache
from gpusim.jobs.networks.launches import LaunchClass
from gpusim.model.core.count_vector import CountVector
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.sampled import WHOLE, WINDOWS, Replicates, Sampling, UncertaintyComponent
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.results.store.under_way import FOLDER
from spartan.engine_spec import EngineSpec

ONE = LaunchClass("k", "code", b"", (), ((64, 1, 1), (64, 1, 1), 0), (), "", True)
SPARSE = ONE._replace(regions=((16, 4),))
CYCLES = 10_000
EXACT = RunFacts.of(kernel={"name": "k", "cycles": CYCLES, "clock_ghz": 1.0})


def estimate(half_width: float, method: str = WINDOWS) -> RunFacts:
    """Facts whose cycles have this half-width."""
    facts = RunFacts.of(kernel={"name": "k", "cycles": CYCLES + 1, "clock_ghz": 1.0})
    vector = CountVector.of(facts.sections)
    deviations = np.zeros((1, sum(vector.sizes)))
    deviations[0, vector.at("kernel", "cycles")] = half_width / 2
    doubts = (UncertaintyComponent(vector, Replicates(4.0, deviations)),)
    facts.sampling = Sampling(0.95, method, "", 100.0, 5000.0, 500.0, False, doubts)
    return facts


def asked(error: float, **more: Any) -> SamplingSpec:
    return SamplingSpec(error=error, **more)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[LaunchCache]:
    held = LaunchCache(tmp_path / "s.db", GpuSpec())
    yield held
    held.close()


def cycles(facts: RunFacts | None) -> int | None:
    return None if facts is None else facts.cycles


def test_an_exact_one_serves_always(kept: LaunchCache) -> None:
    kept.put(ONE, EXACT)
    for sampling in (None, asked(0.5), asked(1e-9), asked(0.01, confidence=0.5)):
        assert kept.get(ONE, sampling) == EXACT
    assert kept.get(SPARSE) is None


def test_an_estimate_serves_where_it_is_good_enough(kept: LaunchCache) -> None:
    kept.put(ONE, estimate(100), asked(0.02))  # 1 % though 2 % were asked for
    for error, serves in ((0.5, True), (0.0101, True), (0.0099, False), (1e-9, False)):
        found = kept.get(ONE, asked(error))
        assert (found is not None) == serves
        if found is not None:
            assert found.sampling is not None
            assert found.sampling.half_width("kernel", "cycles") == pytest.approx(100)


def test_an_estimate_less_precise_than_was_asked_for_is_not_made_again(kept: LaunchCache) -> None:
    kept.put(ONE, estimate(900), asked(0.05))  # 9 % though 5 % were asked for
    for error, serves in ((0.05, True), (0.06, True), (0.1, True), (0.049, False)):
        assert (kept.get(ONE, asked(error)) is not None) == serves


def test_an_estimate_by_whole_workgroups_is_made_again_within_them_unless_it_is_good(kept: LaunchCache) -> None:
    kept.put(ONE, estimate(900), asked(0.05, within=False))
    assert kept.get(ONE, asked(0.05)) is None and kept.get(ONE, asked(0.05, within=False)) is not None
    assert kept.get(ONE, asked(0.1)) is not None


def test_an_estimate_serves_no_exact_run(kept: LaunchCache) -> None:
    kept.put(ONE, estimate(0.0), asked(0.02))
    assert kept.get(ONE) is None
    assert kept.get(ONE, asked(0.02)) is not None


def test_an_estimate_that_was_made_otherwise_does_not_serve(kept: LaunchCache) -> None:
    kept.put(ONE, estimate(10), asked(0.02))
    assert kept.get(ONE, asked(0.02, functional=True)) is not None, "the same windows"
    for other in (asked(0.02, confidence=0.99), asked(0.02, windows=4), asked(0.02, bias=0.003)):
        assert kept.get(ONE, other) is None


def test_an_exact_one_comes_before_an_estimate_and_stays(kept: LaunchCache) -> None:
    kept.put(ONE, estimate(10), asked(0.02))
    kept.put(ONE, EXACT)
    assert cycles(kept.get(ONE, asked(0.5))) == CYCLES
    kept.put(ONE, estimate(1), asked(0.02))
    assert cycles(kept.get(ONE, asked(0.5))) == cycles(kept.get(ONE)) == CYCLES


def test_what_was_to_be_sampled_and_ran_whole_is_exact(kept: LaunchCache) -> None:
    whole = estimate(0, WHOLE)
    assert whole.sampling is not None
    whole.sampling = replace(whole.sampling, reason="its rounds are few")
    kept.put(ONE, whole, asked(0.02))
    for sampling in (None, asked(1e-9), asked(0.02, confidence=0.5)):
        found = kept.get(ONE, sampling)
        assert found is not None and found.cycles == CYCLES + 1
        if sampling is None:
            assert found.sampling is None
        else:
            held = found.sampling
            assert held is not None and (held.method, held.reason) == (WHOLE, "its rounds are few")
            assert held.confidence == sampling.confidence, "sums have one"


def test_engines_have_estimates_of_their_own(tmp_path: Path) -> None:
    for size, there in ((256, False), (128, True)):
        held = LaunchCache(tmp_path / "s.db", GpuSpec(), engine_spec=EngineSpec(sib_kib=size))
        if size == 256:
            held.put(ONE, estimate(1), asked(0.02))
            held.put(SPARSE, estimate(1), asked(0.02))
        found = [held.get(one, asked(0.02)) is not None for one in (ONE, SPARSE)]
        assert found == [True, not there]
        held.close()
    held = LaunchCache(tmp_path / "s.db", GpuSpec(), fresh=True)
    assert held.get(ONE, asked(0.02)) is None
    held.close()


def test_one_made_by_whole_workgroups_serves_where_parts_of_them_may_be_passed_over(kept: LaunchCache) -> None:
    kept.put(ONE, estimate(100), asked(0.03, within=False))
    for sampling, serves in (
        (asked(0.03, within=True), True),
        (asked(0.05), True),
        (asked(0.03, within=True, confidence=0.99), False),
        (asked(0.0099, within=True), False),
    ):
        assert (kept.get(ONE, sampling) is not None) == serves, sampling
    kept.put(SPARSE, estimate(100), asked(0.03, within=True))
    assert kept.get(SPARSE, asked(0.03, within=False)) is None, "whole workgroups were asked for"


def test_a_class_is_one_process_at_a_time(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    ours, theirs = multiprocessing.Pipe()

    def do() -> None:
        held = LaunchCache(store, GpuSpec())
        theirs.send(held.hold(ONE))
        theirs.recv()
        held.release(ONE)
        theirs.send(True)
        theirs.recv()

    process = multiprocessing.get_context("fork").Process(target=do, daemon=True)
    process.start()
    assert ours.recv()
    kept, fresh = LaunchCache(store, GpuSpec()), LaunchCache(store, GpuSpec(), fresh=True)
    assert not kept.hold(ONE) and kept.hold(SPARSE) and fresh.hold(ONE)
    ours.send("release it")
    assert ours.recv() and kept.hold(ONE)
    process.kill()
    process.join()
    kept.close()
    assert not (tmp_path / FOLDER.format("s.db")).exists()
