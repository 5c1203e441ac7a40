"""Sums over GPUs, as transfers on a fabric: every GPU ends with the sum of what all of them had.

A step's transfers begin together, when those of the step before have ended. Adding takes no time of its own: it hides
behind the transfers.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import Any

from gpusim.lab.training.fabric import Fabric, Transfer

ALGORITHMS = ("ring", "tree")


def all_reduce(
    fabric: Fabric, gpus: Sequence[str], size_bytes: float, algorithm: str, purpose: Any = None
) -> Generator[Any, Any, None]:
    """Sum `size_bytes` of each GPU; a SimPy process.

    Args:
        algorithm: One of ALGORITHMS.
        purpose: As of `Fabric.transfer`.
    """
    for transfers in (_ring if algorithm == "ring" else _tree)(gpus, size_bytes):
        yield fabric.transfer(transfers, purpose)


def _ring(gpus: Sequence[str], size_bytes: float) -> Iterator[list[Transfer]]:
    """Yield the steps of a ring: 2 (n - 1), in each of which every GPU sends an n-th to the next one.

    After the first half each has an n-th of the sum, after the second half all of it (Patarasuk and Yuan, Bandwidth
    optimal all-reduce algorithms for clusters of workstations, 2009).
    """
    count = len(gpus)
    step = [Transfer(gpus[n], gpus[(n + 1) % count], size_bytes / count) for n in range(count)] if count > 1 else []
    for _ in range(2 * (count - 1)):
        yield step


def _tree(gpus: Sequence[str], size_bytes: float) -> Iterator[list[Transfer]]:
    """Yield the steps of a binomial tree: to its root and back, 2 ceil(log2 n), each with all bytes (Thakur,
    Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, 2005).
    """
    distances = [1 << level for level in range((len(gpus) - 1).bit_length())]
    up = [
        [Transfer(gpus[n + apart], gpus[n], size_bytes) for n in range(0, len(gpus) - apart, 2 * apart)]
        for apart in distances
    ]
    yield from up
    for step in reversed(up):
        yield [Transfer(one.target, one.source, one.size_bytes) for one in step]
