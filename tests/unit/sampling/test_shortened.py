"""Are launches whose loads find nothing in L2 estimated from runs with shorter loops, and others not?"""

from functools import partial

import pytest

from gpusim.config.gpu import load_gpu
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.sampled import ITERATIONS
from gpusim.model.core.simulator import simulate
from gpusim.model.core.steering import Steerer
from gpusim.model.sampling import shortened
from gpusim.model.sampling.sampler import sampled
from gpusim.model.sampling.spec import SamplingSpec
from isa.device_memory import DeviceMemory
from isa.launch import Launch
from tests.unit.workloads.test_primitives import GPU
from workloads.operators.block_circulant import BlockCirculantBackwardWeights
from workloads.operators.primitive import build

pytestmark = pytest.mark.compiled_tier
# a compute unit with a channel: its oldest workgroups take all that it gives
ONE = ["shader_arrays=1", "cus_per_array=1", "dispatch.shader_engines=1", "l2.channels=1", "dram.channels=1"]
SMALL = load_gpu("mi6", [*ONE, "l2.size_kib=256"])


def launch(vectors: int, columns: int = 256) -> Launch:
    """The sum of the values of `vectors` products, by a workgroup of a wavefront for 16 x 16 weights of 64 rows; each
    value is loaded once.
    """
    made = BlockCirculantBackwardWeights((vectors, columns), 64, 16, "baseline")
    operator = build(made, DeviceMemory(1 << 29), GPU)
    (one,) = [one for one in operator.launches if one.kernel.name == "circulant_sum_values"]
    return one


def in_part(one: Launch) -> RunFacts:
    run = partial(simulate, one, SMALL)
    return sampled(lambda steerer: run(steerer=steerer), SamplingSpec(error=0.05))


def test_the_truth_lies_within_the_bar_though_wavefronts_wait_for_a_turn() -> None:
    one = launch(6400)
    found, whole = in_part(one), simulate(one, SMALL)
    held = found.sampling
    assert held is not None and held.method == ITERATIONS and not held.complete
    asked = "not as narrow as asked: ± 6.8 % for 5 %"
    assert held.reason == f"within workgroups: runs with 48, 96 and 192 of 800 iterations; {asked}"
    assert held.fraction == pytest.approx(336 / 800, rel=0.01)
    assert abs(found.cycles - whole.cycles) <= held.half_width("kernel", "cycles") < 0.07 * whole.cycles
    assert found.kernel.wavefront_instructions == whole.kernel.wavefront_instructions
    assert found.dram.reads == pytest.approx(whole.dram.reads, rel=0.01)
    assert held.half_width("kernel", "wavefront_instructions") < 1


def test_loops_too_short_for_three_runs_are_not_shortened() -> None:
    held = in_part(launch(2400, 32)).sampling
    assert held is not None and "runs with" not in held.reason


def test_what_l2_answers_is_not_told_by_shorter_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortened, "finds_nothing", lambda facts, spec: False)
    held = in_part(launch(6400, 32)).sampling
    assert held is not None and "L2 answers its later loads" in held.reason
    assert not held.complete  # it ran whole at last, on memory that the runs before had written to


def test_a_wavefront_that_no_look_met_in_its_loop_ends_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    attached = shortened.LoopShortener.attach

    def late(self: shortened.LoopShortener, launch: object) -> Steerer:
        steering = attached(self, launch)  # type: ignore[arg-type]
        steering.limit = 10**9
        return steering  # type: ignore[return-value]

    monkeypatch.setattr(shortened.LoopShortener, "attach", late)
    held = in_part(launch(6400, 32)).sampling
    assert held is not None and "at the end of their loops before a look at them" in held.reason
