"""What a launch's arrays hold while it is timed: the values that decide its time, and made-up numbers elsewhere.

Made-up numbers follow from the launch's class as its addresses do: a kernel takes a branch where all lanes agree, as
over zeros, which is some cycles in a launch, and equal launches are to take equal times.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gpusim.base.host_memory import repeat
from gpusim.jobs.networks.placement import PAGE_BYTES, LaunchPlacement, pointed_tensors
from isa.device_memory import VIRTUAL_BASE, DeviceMemory
from isa.launch import Launch
from workloads.operators.primitive import Primitive, TensorOperator
from workloads.operators.tensor import FLOAT, Operand, SampleFunction
from workloads.shapes import round_up

SEED = 1  # of the random generator for made-up values
BLOCK = 1 << 20  # elements, after which made-up values repeat
MOST_FILLED_BYTES = 1 << 29  # of a launch's memory with made-up values; the rest is zero and takes no memory


class ArrayContents(NamedTuple):
    """What an array holds when a launch begins."""

    address: int
    """First address in the launch's own memory."""
    size_bytes: int
    """Size of the whole array, of which a launch that takes it by parts may lack the beginning."""
    dtype: str
    """Type of the elements."""
    sampler: str
    """Name of the function that draws its numbers; empty: it holds values of the network's memory."""


def deciding(primitive: Primitive) -> dict[str, Operand]:
    """Return the operands whose values may decide the time."""
    skipped = primitive.skips_zeros_of
    return {name: operand for name, operand in primitive.takes.items() if operand.dtype.kind != "f" or name in skipped}


def describe_contents(
    operator: TensorOperator, launch: Launch, placement: LaunchPlacement
) -> tuple[ArrayContents, ...]:
    """Return what the arrays of a launch hold that it may read; all others are zero."""
    return tuple(contents for contents, _ in _arrays(operator, launch, placement))


def fill_arrays(operator: TensorOperator, launch: Launch, placement: LaunchPlacement, memory: DeviceMemory) -> None:
    """Fill a launch's arrays in its own memory.

    Args:
        operator: the launch's operator; values that decide the time lie in its tensors.
        launch: the launch over the operator's tensors.
        placement: places of the arrays.
        memory: the launch's own memory.
    """
    left = MOST_FILLED_BYTES
    for number, (contents, (name, operand)) in enumerate(_arrays(operator, launch, placement)):
        tensor = operator.tensors[name]
        taken_by = placement.find(tensor.address)
        allocated = taken_by.address + taken_by.size_bytes - contents.address
        start, size = contents.address - VIRTUAL_BASE, min(contents.size_bytes, allocated)
        if contents.sampler:
            size = min(size, left) // operand.dtype.itemsize * operand.dtype.itemsize
            left -= size
            repeat(memory.image[start : start + size].view(operand.dtype), draw_block(operand, number))
        else:
            skipped_bytes = max(taken_by.used - tensor.address, 0)
            values = tensor.array.reshape(-1).view(np.uint8)[skipped_bytes:]
            memory.image[start : start + len(values)] = values


def draw_block(operand: Operand, number: int) -> np.ndarray:
    """Return made-up values for an operand, which its array repeats. number: seeds the generator."""
    random = np.random.default_rng([SEED, number])
    return operand.data(random, (min(BLOCK, operand.size),)).astype(operand.dtype)


def make_up_values(operator: TensorOperator, sparsity: float) -> None:
    """Fill the operands whose values decide the time with random numbers, in whole.

    Args:
        operator: the operator, whose tensors are filled.
        sparsity: share of zeros, uniformly random, among the values of operands whose zeros are skipped.
    """
    decide = deciding(operator.primitive)
    for number, (name, operand) in enumerate(operator.primitive.takes.items()):
        if name not in decide:
            continue
        block = draw_block(operand, number)
        if name in operator.primitive.skips_zeros_of:
            random = np.random.default_rng([SEED, number, 1])
            block[random.random(len(block)) < sparsity] = 0
        repeat(operator.tensors[name].array.reshape(-1), block)


def list_discardable(operator: TensorOperator, launch: Launch, placement: LaunchPlacement) -> list[tuple[int, int]]:
    """Return address and size of results in the launch's own memory that nobody reads, whole pages of each.

    What is given back of them to the host holds again what it held at first: zeros, or pages that show made-up values.
    Small arrays, which are written and not shown, are not among them, nor are values that decide the time.
    """
    primitive, results = operator.primitive, []
    read = {name: contents for contents, (name, _) in _arrays(operator, launch, placement)}
    for name in (*primitive.gives, *primitive.workspace):
        tensor = operator.tensors[name]
        shown = tensor.size_bytes >= 2 * BLOCK * tensor.dtype.itemsize
        if name in pointed_tensors(operator, launch) and shown and (name not in read or read[name].sampler):
            place = placement.find(tensor.address)
            address = round_up(place.move(max(tensor.address, place.used)), PAGE_BYTES)
            end = (place.address + place.size_bytes) // PAGE_BYTES * PAGE_BYTES
            results.append((address, min(end, address + tensor.size_bytes // PAGE_BYTES * PAGE_BYTES) - address))
    return results


def _arrays(
    operator: TensorOperator, launch: Launch, placement: LaunchPlacement
) -> Iterator[tuple[ArrayContents, tuple[str, Operand]]]:
    """Yield the contents of the arrays that a launch points into and may read, each with its name and operand."""
    primitive, pointed = operator.primitive, pointed_tensors(operator, launch)
    decide = deciding(primitive)
    for name, operand in {**primitive.takes, **primitive.workspace}.items():
        if name not in pointed:
            continue
        tensor = operator.tensors[name]
        place = placement.find(tensor.address)
        made = name in primitive.workspace and (operand.dtype != FLOAT or bool(primitive.skips_zeros_of))
        sampler = "" if name in decide or made else _name(operand.data)
        address = place.move(max(tensor.address, place.used))
        yield ArrayContents(address, tensor.size_bytes, operand.dtype.str, sampler), (name, operand)


def _name(sampler: SampleFunction) -> str:
    return f"{sampler.__module__}.{sampler.__qualname__}"
