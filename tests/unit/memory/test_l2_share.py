"""Is what an engine's share leaves of L2 a cache, and is any other share refused with those that can be?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gpusim.base.errors import UserError
from gpusim.config.run import load_run
from memory.cache.l2_state import L2Spec
from memory.l2_share import L2Share, sets_and_ways_left
from spartan.engine_spec import EngineSpec


@given(st.integers(1, 64), st.integers(0, 12), st.data())
def test_every_number_of_ways_but_all_can_be_taken(ways: int, log_sets: int, data: st.DataObject) -> None:
    taken = data.draw(st.integers(0, ways - 1))
    assert sets_and_ways_left(1 << log_sets, ways, L2Share(taken / ways, "ways")) == (1 << log_sets, ways - taken)
    with pytest.raises(ValueError, match=f"of L2's {ways} ways"):
        sets_and_ways_left(1 << log_sets, ways, L2Share((taken + 0.5) / ways, "ways"))


@given(st.integers(0, 12), st.data())
def test_sets_are_halved_again_and_again(log_sets: int, data: st.DataObject) -> None:
    halvings = data.draw(st.integers(0, log_sets))
    sets = 1 << log_sets
    assert sets_and_ways_left(sets, 16, L2Share(1 - 0.5**halvings, "sets")) == (sets >> halvings, 16)
    with pytest.raises(ValueError, match=r"l2_share 0, 0\.5"):
        sets_and_ways_left(sets << 1, 16, L2Share(0.25, "sets"))


def test_the_share_is_half_of_the_sets_unless_said_otherwise() -> None:
    l2 = L2Spec()
    assert l2.cache_kib() == 2048 and l2.sets_and_ways(EngineSpec().l2_taken) == (128, 16)
    assert l2.cache_kib(EngineSpec(l2_share=0.25, l2_partition="ways").l2_taken) == 1536
    assert l2.cache_kib(EngineSpec(l2_share=0).l2_taken) == 2048
    with pytest.raises(ValidationError):
        EngineSpec(l2_share=1)


@pytest.mark.parametrize(
    ("sets", "wrong"),
    [
        (("engine.l2_share=0.25",), "engine.l2_share: 0.25 of L2's 256 sets a channel leaves 192, not a power of two"),
        (("engine.l2_share=0.3", "engine.l2_partition=ways"), "0.3 of L2's 16 ways is 4.8 of them"),
        (("engine.l2_share=0.97", "engine.l2_partition=ways"), "from 0 to 15/16 = 0.9375"),
        (
            ("engine.l2_share=0.25", "engine.l2_partition=ways"),
            "do not fit the part of L2 that the engine takes (512 KiB",
        ),
        (
            ("engine.l2_share=0.5625", "engine.l2_partition=ways", "gpu.l2.replacement=plru"),
            "replacement 'plru' of 7 ways",
        ),
        (("engine.l2_partition=way",), "did you mean 'ways'"),
        (("engine.l2_share=1",), "must be less than 1"),
    ],
)
def test_a_share_that_cannot_be_is_refused(sets: tuple[str, ...], wrong: str) -> None:
    with pytest.raises(UserError) as caught:
        load_run("layerB", ("run.engine=on", *sets))
    assert wrong in str(caught.value)


def test_without_a_share_the_engines_memories_may_have_any_size() -> None:
    load_run("layerB", ("run.engine=on", "engine.l2_share=0", "engine.sib_kib=4096"))
    load_run("layerB", ("run.engine=off", "engine.l2_share=0.25"))  # nothing takes it
