"""Are launches estimated from others that begin alike, and from no others, with bars that hold the truth?"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from math import hypot
from typing import Any

import pytest

from gpusim.config.run import load_run
from gpusim.core.facts import RunFacts, combined
from gpusim.core.sampled import ITERATIONS, LAUNCHES, WINDOWS, Learned
from gpusim.core.simulator import simulate
from gpusim.jobs.gemm import GemmJob, gemm_problem
from gpusim.sampling.across import Across, Beginning, last_round
from gpusim.sampling.sampler import sampled
from gpusim.sampling.spec import SamplingSpec
from gpusim.sampling_check.few import product
from gpusim.store.records import plain_facts, restored_facts

pytestmark = pytest.mark.compiled_tier
GPU = {"shader_arrays": 1, "cus_per_array": 2, "name": "two CUs", "memory_mib": 64}
SPEC = SamplingSpec(error=0.05)


def run(columns: int, spec: SamplingSpec | None = SPEC, across: Across | None = None, terms: int = 64) -> RunFacts:
    """Simulate a product of 64 rows, whole without `spec`."""
    workload = {"kind": "gemm", "name": "x", "m": 64, "n": columns, "k": terms, "sparsity": 0, "seed": 1}
    config: Mapping[str, Any] = {"gpu": GPU, "workload": workload, "run": {"engine": "off"}}
    job = GemmJob(load_run(config), gemm_problem(load_run(config).workload))  # type: ignore[arg-type]
    simulated = partial(simulate, job.operator("sgemm").launches[0], job.gpu)
    return simulated() if spec is None else sampled(lambda steerer: simulated(steerer=steerer), spec, across=across)


@cache
def example() -> RunFacts:
    return run(24_000, across=Across("example"))


def learned() -> Learned:
    found = example().sampling
    assert found is not None and found.learned is not None
    return found.learned


@pytest.mark.parametrize("columns", [22_000, 30_000])
def test_a_launch_that_begins_alike_ends_there_and_the_bar_holds_the_truth(columns: int) -> None:
    found, whole = run(columns, across=Across("other", (learned(),))), run(columns, None)
    held = found.sampling
    assert held is not None and held.method == LAUNCHES and held.reason == "as example" and not held.complete
    assert held.fraction < 0.25 and held.simulated < 0.6 * example().sampling.simulated  # type: ignore[union-attr]
    for name in ("workgroups", "workgroups_total", "wavefronts", "wavefronts_ended", "wavefront_instructions"):
        assert found.kernel[name] == whole.kernel[name]
        assert held.half_width("kernel", name) == pytest.approx(0, abs=1e-6)
    assert abs(found.cycles - whole.cycles) <= held.half_width("kernel", "cycles") < 0.06 * whole.cycles
    assert found.cu.cycles == pytest.approx(found.cycles * 2, rel=1e-3)


def test_gradients_of_few_rounds_are_estimated_from_equal_grids() -> None:
    prepared = product("mi6", 64, 256, 9408)
    run = partial(simulate, prepared.launch, prepared.gpu)
    first = sampled(lambda steerer: run(steerer=steerer), SPEC, across=Across("first")).sampling
    assert first is not None and first.method == ITERATIONS and first.learned is not None and first.learned.pace is None
    then = sampled(lambda steerer: run(steerer=steerer), SPEC, across=Across("then", (first.learned,))).sampling
    assert then is not None and then.method == LAUNCHES and then.simulated < 0.5 * first.simulated
    larger = replace(first.learned, workgroups=first.learned.workgroups + 1)
    alone = sampled(lambda steerer: run(steerer=steerer), SPEC, across=Across("then", (larger,))).sampling
    assert alone is not None and alone.method == ITERATIONS
    assert alone.reason.endswith("not by first: it has too few rounds for their pace to hold")


@pytest.mark.parametrize("of", ["pace", "traffic", "doubt", "work"])
def test_what_contradicts_the_example_has_a_launch_sampled_alone(of: str) -> None:
    known, terms, spec = learned(), 64, SPEC
    looks = known.looks.copy()
    if of == "pace":
        looks[2] += 0.1 * (looks[2] - looks[1])
        said = "its pace differs by"
        looks[2, 0] = known.looks[2, 0]  # the same cycles
    elif of == "traffic":
        changed = known.looks[:, 0].argsort()  # every look
        apart = known.looks[-1] - known.looks[0]
        hits = [n for n in range(looks.shape[1]) if 0.2 < apart[n] / apart[l1_reads()] < 1.5]
        looks[changed[-1], hits] += 0.2 * apart[l1_reads()]
        looks[:, [0, work()]] = known.looks[:, [0, work()]]
        said = "of L1's requests"
    elif of == "doubt":
        spec, said = SamplingSpec(error=0.011), "they may differ by"
    else:
        terms, said = 96, "its workgroups have other work"
    across = Across("other", (replace(known, looks=looks),))
    held = run(22_000, spec, across, terms).sampling
    assert held is not None and held.method != LAUNCHES
    assert "; not by example: " in held.reason and said in held.reason


def l1_reads() -> int:
    return example().sampling.doubts[0].vector.at("l1", "read_transactions")  # type: ignore[union-attr]


def work() -> int:
    return example().sampling.doubts[0].vector.at("kernel", "wavefront_instructions")  # type: ignore[union-attr]


def test_what_an_example_is_off_by_is_shared() -> None:
    other = run(22_000, across=Across("other", (learned(),)))
    both = combined([example(), other]).sampling
    widths = [one.sampling.half_width("kernel", "cycles") for one in (example(), other)]  # type: ignore[union-attr]
    assert both is not None
    assert hypot(*widths) * 1.02 < both.half_width("kernel", "cycles") < sum(widths)
    assert both.left_out() == {
        WINDOWS: example().kernel.wavefront_instructions - example().sampling.simulated,  # type: ignore[union-attr]
        LAUNCHES: other.kernel.wavefront_instructions - other.sampling.simulated,  # type: ignore[union-attr]
    }


def test_a_store_keeps_what_others_may_learn() -> None:
    kept = restored_facts(plain_facts(example())).sampling
    assert kept is not None and kept.learned is not None
    mine, theirs = (run(22_000, across=Across("other", (known,))) for known in (learned(), kept.learned))
    assert mine.cycles == theirs.cycles
    assert mine.sampling.half_width("l2", "hits") == theirs.sampling.half_width("l2", "hits")  # type: ignore[union-attr]


def test_looks_are_those_before_anything_is_passed_over() -> None:
    import numpy as np

    beginning = Beginning(4)
    for cycles in (10, 10, 20, 30, 40):
        beginning.add(np.array([cycles, cycles * 2]), 0)
    assert beginning.checks is None
    beginning.add(np.array([50, 100]), 0)
    beginning.ended = True
    beginning.add(np.array([60, 120]), 0)
    checks = beginning.checks
    assert checks is not None and checks[:, 0].tolist() == [10, 30, 50]
    assert beginning.after(9)[1] == 100 and beginning.after(0)[1] == 20


@pytest.mark.parametrize(("rounds", "others", "apart"), [(16.5, 25.0, 1.0), (16.9, 25.1, 0.4), (3.25, 8.25, 0.0)])
def test_last_rounds_differ_by_half_a_round_at_most(rounds: float, others: float, apart: float) -> None:
    assert last_round(rounds, others) == last_round(others, rounds) == pytest.approx(apart)
