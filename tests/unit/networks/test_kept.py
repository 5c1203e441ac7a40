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


def test_only_what_was_asked_for_alike_serves(kept: LaunchCache) -> None:
    """Else what a store knows would decide the digits of a result."""
    kept.put(ONE, EXACT)
    kept.put(ONE.sampled(asked(0.02)), estimate(100))
    assert kept.get(ONE) == EXACT and kept.get(SPARSE) is None
    found = kept.get(ONE.sampled(asked(0.02, functional=True)))
    assert found is not None and found.sampling is not None, "the same windows"
    assert found.sampling.half_width("kernel", "cycles") == pytest.approx(100)
    others = (asked(0.5), asked(0.01), asked(0.02, confidence=0.99), asked(0.02, windows=4), asked(0.02, within=False))
    for other in others:
        assert kept.get(ONE.sampled(other)) is None, other


def test_what_was_to_be_sampled_and_ran_whole_says_why(kept: LaunchCache) -> None:
    whole = estimate(0, WHOLE)
    assert whole.sampling is not None
    whole.sampling = replace(whole.sampling, reason="its rounds are few")
    kept.put(ONE.sampled(asked(0.02)), whole)
    found = kept.get(ONE.sampled(asked(0.02)))
    assert found is not None and found.sampling is not None
    assert (found.sampling.method, found.sampling.reason) == (WHOLE, "its rounds are few")


def test_engines_have_estimates_of_their_own(tmp_path: Path) -> None:
    for size, there in ((256, False), (128, True)):
        held = LaunchCache(tmp_path / "s.db", GpuSpec(), engine_spec=EngineSpec(sib_kib=size))
        if size == 256:
            held.put(ONE, EXACT)
            held.put(SPARSE, EXACT)
        found = [held.get(one) is not None for one in (ONE, SPARSE)]
        assert found == [True, not there]
        held.close()
    held = LaunchCache(tmp_path / "s.db", GpuSpec(), fresh=True)
    assert held.get(ONE) is None
    held.close()


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
