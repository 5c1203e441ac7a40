"""gpusim.base.dataclass: its classes do what the standard library's do."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from functools import cached_property
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base.dataclass import dataclass

MAKERS: list[Any] = [dataclasses.dataclass, dataclass]


def point(make: Any, **asked: bool) -> Any:
    """A class with every kind of field, made by one of the two."""

    @make(**asked)
    class Point:
        """A point."""

        x: Any
        y: Any = 0
        hidden: Any = dataclasses.field(default=None, repr=False, compare=False)
        kept_apart: Any = dataclasses.field(default=None, hash=False)
        listed: list[Any] = dataclasses.field(default_factory=list, compare=False)

        @cached_property
        def double(self) -> Any:
            return self.x * 2

    return Point


BOTH = {(frozen, eq): [point(make, frozen=frozen, eq=eq) for make in MAKERS] for frozen in (0, 1) for eq in (0, 1)}
VALUES = st.integers(0, 2) | st.sampled_from([1.0, float("nan"), "a", (1, 2), [1]])
ARGUMENTS = st.lists(VALUES, min_size=0, max_size=6).map(tuple)


def outcome(function: Callable[[], Any]) -> Any:
    """What a call returns, or the error and what it says."""
    try:
        return function()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize(("frozen", "eq"), BOTH)
@given(first=ARGUMENTS, second=ARGUMENTS, name=st.sampled_from(["x", "y", "listed", "other"]))
def test_instances_do_what_those_of_the_standard_library_do(
    frozen: bool, eq: bool, first: tuple[Any, ...], second: tuple[Any, ...], name: str
) -> None:
    def seen(cls: Any) -> list[Any]:
        made = [outcome(lambda values=values: cls(*values)) for values in (first, second)]
        if not all(isinstance(one, cls) for one in made):
            return made
        one, other = made
        same = [one == other, one == cls(*first), one != other, one == first, one.__eq__(first) is NotImplemented]
        hashes = [outcome(lambda: hash(one) == hash(other)), outcome(lambda: hash(one) == hash(cls(*first)))]
        told = [repr(one), dataclasses.astuple(one), repr(dataclasses.replace(one, x=7)), repr(copy.deepcopy(one))]
        changed = [outcome(lambda: setattr(one, name, 5)), outcome(lambda: delattr(one, name)), repr(vars(one))]
        return [same, hashes, repr(told), changed, outcome(lambda: one.double)]

    theirs, ours = map(seen, BOTH[frozen, eq])
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("make", MAKERS)
def test_a_class_keeps_what_it_defines(make: Any) -> None:
    @make(frozen=True)
    class Named:
        name: str
        number: int = 0

        def __repr__(self) -> str:
            return f"<{self.name}>"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Named) and other.name == self.name

    assert repr(Named("a")) == "<a>"
    assert Named("a", 1) == Named("a", 2)
    assert hash(Named("a", 1)) != hash(Named("a", 2))  # Python's None in place of a hash was not the class's word


@pytest.mark.parametrize("make", MAKERS)
def test_families(make: Any) -> None:
    @make(frozen=True)
    class Base:
        x: int

    @make(frozen=True)
    class Derived(Base):
        y: int = 1

    class Free(Derived):
        pass

    assert Derived(1) == Derived(1, 1) != Base(1)
    assert repr(Derived(1)).endswith(".Derived(x=1, y=1)")
    free = Free(1)
    free.other = free.other = 2  # type: ignore[attr-defined] # no field, and no decorator of its own
    for name in ("x", "y"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(free, name, 3)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'other'"):
        Derived(1).other = 2


@pytest.mark.parametrize("make", MAKERS)
def test_a_value_may_hold_itself(make: Any) -> None:
    held: list[Any] = []
    held.append(point(make)(held))
    assert repr(held).count("Point(x=[...]") == 1


@dataclass(frozen=True)
class Pickled:
    """At the module's top, where a pickle finds it."""

    x: int
    y: tuple[int, ...] = ()


def test_pickles() -> None:
    assert pickle.loads(pickle.dumps(Pickled(1, (2,)))) == Pickled(1, (2,))


def test_what_it_has_not_is_refused() -> None:
    with pytest.raises(TypeError, match="order"):
        dataclass(order=True)
