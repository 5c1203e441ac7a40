"""`dataclass` as the standard library has it, for classes that are made at every start.

The standard library compiles the source of six methods for a frozen class: for a start's hundred classes it took a
sixth of it. Here it compiles `__init__` alone; the others are closures over the names of the fields. They do the same,
but a frozen instance takes 2.3 microseconds to make in place of 1.2, and a dictionary's memory: classes of which there
are many instances, those of an instruction, stay with the standard library's. All classes of one family are of one
kind. A type checker sees the standard library's decorator.
"""

import dataclasses
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True):
        """The class with `__init__` and `__repr__`; `eq`: with comparison, `frozen`: and, unchangeable, with a hash.

        A method that the class itself has stays. Errors: those of the standard library; `FrozenInstanceError` where a
        frozen instance would change.
        """
        return _made(cls, frozen, eq) if cls else lambda cls: _made(cls, frozen, eq)


def _made(cls: Any, frozen: bool, eq: bool) -> Any:
    own = {
        name for name, value in vars(cls).items() if name != "__hash__" or value
    }  # None: the class has `__eq__` alone
    dataclasses.dataclass(eq=False, repr=False)(cls)
    fields = dataclasses.fields(cls)
    methods: dict[str, Any] = {"__repr__": _repr([field.name for field in fields if field.repr])}
    if eq:
        hashed = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
        methods["__eq__"] = _eq(_values([field.name for field in fields if field.compare]))
        methods["__hash__"] = _hash(_values(hashed)) if frozen else None
    if frozen:
        methods |= _guards(cls, frozenset(field.name for field in fields))
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    return cls


def _values(names: list[str]) -> Any:
    """A function of an instance: the values of these fields as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _repr(names: list[str]) -> Any:
    @recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _eq(values: Any) -> Any:
    def __eq__(self: Any, other: Any) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash(values: Any) -> Any:
    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _guards(cls: Any, names: frozenset[str]) -> dict[str, Any]:
    """`__init__` may set each field once; a class derived without the decorator may have more that is no field."""

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if name in self.__dict__ if name in names else type(self) is cls:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if name in names or type(self) is cls:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}
