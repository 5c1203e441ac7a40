"""How compiling the core is divided among processes."""

import pytest

from gpusim.core.prepare import Share, shares


@pytest.mark.parametrize("processors", [2, 3, 4, 64])
@pytest.mark.parametrize("interpreter", [False, True])
def test_what_is_missing_is_compiled_once(processors: int, interpreter: bool) -> None:
    others = shares(processors, interpreter)
    assert len(others) < processors
    assert [share.rooms for share in others] == [True] + [False] * (len(others) - 1), "the first is waited for"
    assert sum(share.interpreter for share in others) == interpreter
    assert all(share.rooms or share.interpreter for share in others)


def test_one_processor_compiles_alone() -> None:
    assert shares(1, True) == shares(1, False) == ()


def test_a_third_processor_takes_the_interpreter() -> None:
    assert shares(3, True) == (Share(True, False), Share(False, True))
