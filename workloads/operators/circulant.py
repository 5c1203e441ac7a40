"""Launches that multiply by block-circulant matrices: transforms, products and sums of frequencies, reordering.

A grid is that of table 7.2 or of algorithms 6 to 9 of Dong 2020; the printed (M - N + 1) / N is M / N rounded up, and
in algorithm 6 M counts frequencies, as in DNNMark's code, so that a work-item has one.
"""

from math import prod
from typing import Any

import numpy as np

from isa.kernarg import Local, Pointer
from isa.launch import Launch
from workloads.circulant import (
    BASELINE,
    FLOWS,
    FORWARD,
    FUSED,
    CirculantBlocks,
    CirculantProduct,
    count_padding_blocks,
    mapping_of,
)
from workloads.operators.launching import GROUP, divisor, launch, words
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import OperatorError
from workloads.operators.tensor import Tensor

LANES_OF_BLOCK = {16: 2, 32: 4, 64: 4}  # workloads/kernels/circulant_transform.h
WAVEFRONT, WORKGROUP = 64, 1024  # lanes; most work-items


def strides(blocks: CirculantBlocks, layout: str, order: str, of_block: int | None = None, more: int = 0) -> np.ndarray:
    """Return the steps along the indices in `order`, in elements; 0 for those that the array has not.

    Args:
        of_block: Elements of a block, None: its frequencies.
        more: Blocks that follow those of the last index.
    """
    elements, steps = blocks.bins if of_block is None else of_block, []
    sizes = {**blocks.sizes, layout[-1]: blocks.sizes[layout[-1]] + more}
    for index in order:
        after = layout[layout.index(index) + 1 :] if index in layout else ""
        steps.append(elements * prod(sizes[n] for n in after) if index in layout else 0)
    return words(*steps)


def reuse(blocks: CirculantBlocks, product: CirculantProduct, lanes: str) -> int:
    """Return DR for O2 and the fused kernel: places of an index that a workgroup has, whose work-items share a value.

    lanes: 'source': 1024 / k (7.6), or all places if these are fewer, as in DNNMark; 'wavefront': so many that of all
    lanes of the launch's wavefronts the fewest have nothing to do, the largest such.
    """
    places = blocks.sizes[product.mapping[1]]
    if lanes == "source":
        return min(WORKGROUP // blocks.block, places)

    def launched(share: int) -> int:
        return -(-places // share) * -(-blocks.bins * share // WAVEFRONT)

    return min(range(min(WORKGROUP // blocks.bins, places), 0, -1), key=launched)


def o1_size(blocks: CirculantBlocks, product: CirculantProduct, lanes: str) -> tuple[int, int]:
    """Return N and DR (7.5) of O1; `lanes`: N is a multiple of the warp of 32, or of the wavefront."""
    size = max(blocks.block, 32 if lanes == "source" else WAVEFRONT)
    return size, min(WORKGROUP // size, blocks.sizes[product.mapping[1]])


def transform(blocks: CirculantBlocks, x: Tensor, y: Tensor, rows: int, of_row: int, width: int) -> Launch:
    """Return the launch that gives the frequencies of `rows` rows of `of_row` blocks, with `width` values each."""
    return _transform("transform", "x", "y", blocks, x, y, rows, of_row, width)


def inverse(blocks: CirculantBlocks, y: Tensor, x: Tensor, rows: int, of_row: int, width: int) -> Launch:
    """Return the launch that gives the values of the blocks of rows, `width` of each row."""
    return _transform("inverse", "y", "x", blocks, y, x, rows, of_row, width)


def _transform(
    what: str,
    read: str,
    written: str,
    blocks: CirculantBlocks,
    x: Tensor,
    y: Tensor,
    rows: int,
    of_row: int,
    width: int,
) -> Launch:
    count = rows * of_row
    values = {read: _at(x), written: _at(y), "by_blocks": divisor(of_row), "width": width, "count": count}
    groups = -(-count * LANES_OF_BLOCK[blocks.block] // GROUP)
    return launch("circulant", f"circulant_{what}_{blocks.block}", x.memory, (groups,), values)


def reorder(blocks: CirculantBlocks, x: Tensor, y: Tensor, rows: int, of_row: int, width: int) -> Launch:
    """Return the launch that stores w' or X' of the source: the values of each block in the order 1, k, k-1, ..., 2."""
    count = rows * of_row * blocks.block
    values = {"x": _at(x), "y": _at(y), "by_row": divisor(of_row * blocks.block), "block": blocks.block}
    values |= {"width": width, "count": count}
    return launch("circulant", "circulant_reorder", x.memory, (-(-count // GROUP),), values)


def reorganise(blocks: CirculantBlocks, x: Tensor, y: Tensor, layout: str) -> Launch:
    """Return the launch that stores an array of a layout in the reverse one."""
    rows, columns = (blocks.sizes[index] for index in layout)
    count = rows * columns * blocks.bins
    values = {"x": _at(x), "y": _at(y), "by_row": divisor(rows * blocks.bins), "by_block": divisor(blocks.bins)}
    groups = (-(-count // GROUP),)
    return launch("circulant", "circulant_reorganise", x.memory, groups, {**values, "columns": columns, "count": count})


def multiply(
    blocks: CirculantBlocks, product: CirculantProduct, layouts: tuple[str, str, str], tensors: tuple[Tensor, Tensor,
    Tensor], flow: str, lanes: str,
) -> Launch:  # fmt: skip
    """Return the launch that stores the products.

    Args:
        layouts: Layouts of shared, other and result.
        tensors: Tensors: shared, other and result.
    """
    way, order = mapping_of(flow), product.mapping
    # table 7.2: a workgroup for each pair of blocks, in the order q, p, n
    order = order if way else "jib"
    values: dict[str, Any] = dict(zip(("shared", "other", "result"), map(_at, tensors), strict=True))
    steps = [strides(blocks, layout, order) for layout in layouts]
    values |= dict(zip(("by_shared", "by_other", "by_result"), steps, strict=True))
    firsts, seconds, thirds = (blocks.sizes[index] for index in order)
    name = _name(f"multiply{'_' if way else ''}{way}", product if flow != BASELINE else FORWARD)
    memory = tensors[0].memory
    if way == "o1":
        size, share = o1_size(blocks, product, lanes)
        count = firsts * blocks.bins
        values |= {"by_block": divisor(blocks.bins), "lanes": size, "share": share, "count": count}
        values |= {"seconds": seconds, "held": Local(8 * size)}
        groups = (-(-count // size), -(-seconds // share), thirds)
        return launch("circulant", name, memory, groups, values, (size, share, 1))
    if way == "o2":
        share = reuse(blocks, product, lanes)
        values |= {"share": share, "seconds": seconds, "held": Local(8 * blocks.bins)}
        groups = (firsts, -(-seconds // share), thirds)
        return launch("circulant", name, memory, groups, values, (blocks.bins, share, 1))
    return launch("circulant", name, memory, (firsts, seconds, thirds), values, (blocks.bins, 1, 1))


def fused(
    blocks: CirculantBlocks,
    product: CirculantProduct,
    tensors: tuple[Tensor, Tensor, Tensor],
    lanes: str,
    gpu: GpuFacts,
) -> Launch:
    """Return the launch of algorithm 9; raise OperatorError where its workgroup has no space in the LDS."""
    summed, second, third = tuple(product.mapping)
    order, share = second + third + summed, reuse(blocks, product, lanes)
    held_bytes = 2 * share * blocks.bins * 8
    if held_bytes > gpu.lds_bytes:
        raise OperatorError(
            f"flow {FUSED} with block {blocks.block}: a workgroup of {share * blocks.bins} work-items needs"
            f" {held_bytes} bytes of LDS; a compute unit has {gpu.lds_bytes}: allowed are {', '.join(FLOWS[:-1])}"
        )
    values: dict[str, Any] = dict(zip(("shared", "other", "result"), map(_at, tensors), strict=True))
    more = count_padding_blocks(blocks, FUSED) if product.other == "ij" else 0
    steps = [
        strides(blocks, product.shared, order),
        strides(blocks, product.other, order, more=more),
        strides(blocks, product.result, order),
    ]
    values |= dict(zip(("by_shared", "by_other", "by_result"), steps, strict=True))
    values |= {"bins": blocks.bins, "share": share, "firsts": blocks.sizes[second], "depth": blocks.sizes[summed]}
    values["held"] = Local(held_bytes)
    groups = (1, -(-blocks.sizes[second] // share), blocks.sizes[third])
    return launch("circulant", _name("fused", product), tensors[0].memory, groups, values, (blocks.bins, share, 1))


def add_up(blocks: CirculantBlocks, product: CirculantProduct, layout: str, products: Tensor, result: Tensor) -> Launch:
    """Return the launch of algorithm 8, over the frequencies of products of a layout."""
    order = product.mapping[1:] + product.summed
    values = {"x": _at(products), "y": _at(result), "depth": blocks.sizes[product.summed]}
    values |= {"by_x": strides(blocks, layout, order), "by_y": strides(blocks, product.result, order)}
    groups = tuple(blocks.sizes[index] for index in order[:2])
    return launch("circulant", "circulant_sum", products.memory, groups, values, (blocks.bins, 1, 1))


def add_up_values(
    blocks: CirculantBlocks, product: CirculantProduct, products: Tensor, result: Tensor, width: int
) -> Launch:
    """Return the launch of the baseline's sums, over the values of products; `width`: values of a row of the result."""
    order = product.result[::-1] + product.summed  # table 7.2: (p, n) forward
    values = {"x": _at(products), "y": _at(result), "depth": blocks.sizes[product.summed]}
    values |= {"by_x": strides(blocks, "bij", order, blocks.block), "by_y": words(blocks.block, width, 0)}
    values |= {"block": blocks.block, "width": width}
    groups = tuple(blocks.sizes[index] for index in order[:2])
    return launch("circulant", "circulant_sum_values", products.memory, groups, values, (blocks.block, 1, 1))


def _name(what: str, product: CirculantProduct) -> str:
    return f"circulant_{what}{'_conjugate' if product.conjugated else ''}"


def _at(tensor: Tensor) -> Pointer:
    """Return the tensor as an argument, whose elements kernels may take as pairs."""
    return Pointer(tensor.address)
