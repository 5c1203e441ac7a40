"""Are costs those of the nearest runs, is their own error said, and does asking for them run nothing?"""

from pathlib import Path

import pytest

from gpusim.cli.main import invoke
from gpusim.config.files import opened
from gpusim.config.run import load_run
from gpusim.jobs.estimates.run_costs import NOTE, CostEstimator, RunCost, SimilarRuns, estimate_job
from gpusim.jobs.kinds import make_run_job
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.work import describe_run
from tests.support.sweeps import nested, stored_sweep

SIB, BATCH = "engine.sib_kib", "workload.batch"


def costs(batch: int, sib: int) -> dict[str, float]:
    return {
        "simulator.cpu_s": 0.5 * batch + sib / 1000, "kernel.cycles": 1000.0 * batch,
        "simulator.peak_memory_mb": 100.0 + batch,
    }  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Path:
    points = [({BATCH: b, SIB: s}, {"": costs(b, s)}) for b in (1, 2, 8) for s in (16, 64, 256)]
    stored_sweep(tmp_path / "c.db", "costs", points)
    return tmp_path / "c.db"


def test_the_nearest_runs_decide(store: Path) -> None:
    with StoreReader(store) as results:
        like = SimilarRuns(results, "run")
        found = like.of(nested({BATCH: 8, SIB: 128}) | {"of": "costs"})
        same = like.of(nested({BATCH: 2, SIB: 64}) | {"of": "costs"})
        assert like.of(nested({BATCH: 4, SIB: 64}) | {"of": "costs"}) is None, "other work"
        assert SimilarRuns(results, "net").of({}) is None and SimilarRuns(results, "net").error() is None
        error = like.error()
    assert found is not None and found.cycles == pytest.approx(8000) and found.memory_mb == 108
    assert found.cpu_s == pytest.approx((4.016 * 4.064 * 4.256) ** (1 / 3))
    assert same is not None and same.cpu_s == pytest.approx(1.064), "the same work alone"
    assert error is not None and 1.0 < error < 2.0


def test_the_commands_say_what_it_would_cost_and_run_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["global_size=[64]", "arguments.n.value=64"]
    small += [f"arguments.{name}={{fill: 1, dtype: float32, shape: [64]}}" for name in "abc"]
    sets = [word for text in small for word in ("--set", text)]
    assert invoke(["exec", "vector_add", *sets, "--estimate", "--store"]) == 0
    assert "by bounds" in capfd.readouterr().out and not Path("gpusim.db").exists()
    axis = ["--set", "gpu.l1.fill_latency_cycles=60,61,62"]
    assert invoke(["sweep", "vector_add", *sets, "--set", "gpu.l1.fill_latency_cycles=60", "--set",
                   "gpu.l2.size_kib=512,1024", "--jobs", "1", "--quiet"]) == 0  # fmt: skip
    assert invoke(["sweep", "vector_add", *sets, *axis, "--estimate"]) == 0
    out = capfd.readouterr().out
    assert "3 points" in out and "estimated from 2 like runs" in out and "0 of 3 points are in the store" in out
    with StoreReader("gpusim.db") as results:
        assert len(results.table("runs")) == 2 and len(results.table("sweeps")) == 1


def test_the_notes_name_what_estimates_follow_from(tmp_path: Path) -> None:
    config = load_run(opened("layerC"), ["run.engine=off", "workload.batch=2", "run.verify=false"])
    estimator, job = CostEstimator(tmp_path / "none.db", "run"), make_run_job(config)
    assert estimator.from_similar(describe_run(config)) is None and estimator.notes() == []
    cost = estimator.from_launches(job)
    assert cost.cycles == estimate_job(job).cycles > 0
    assert estimator.notes("a remark")[:2] == [NOTE, "a remark"] and list(tmp_path.iterdir()) == []


def test_costs_of_runs_one_after_another_add_up_but_for_their_memory() -> None:
    costs = [RunCost(1.0, 10.0, 300.0), RunCost(2.0, 20.0, 100.0)]
    assert RunCost.total(costs) == RunCost(3.0, 30.0, 300.0)
    assert RunCost.total([]) == RunCost(0.0, 0.0, 0.0)
