"""The kinds of layers by the names that network files use.

To add one: its class in the file of its family, with its NAME, and a case in
tests/unit/workloads/test_network_kinds.py.
"""

from collections.abc import Iterator, Mapping
from types import ModuleType

from workloads.networks import (
    block_circulant,
    convolution,
    fully_connected,
    joins,
    moves,
    normalization,
    permuted_diagonal,
    pointwise,
    pooling,
    products,
)
from workloads.networks.kind import LayerKind

_PRODUCTS = (convolution, fully_connected, block_circulant, permuted_diagonal)
FAMILIES = (*_PRODUCTS, pooling, normalization, pointwise, joins, products, moves)


def _kinds(family: ModuleType) -> Iterator[type[LayerKind]]:
    """Yield the kinds that a module defines, in its order: the classes with a name of their own."""
    for value in vars(family).values():
        if isinstance(value, type) and value.__module__ == family.__name__ and "NAME" in vars(value):
            yield value


KINDS: Mapping[str, type[LayerKind]] = {kind.NAME: kind for family in FAMILIES for kind in _kinds(family)}
