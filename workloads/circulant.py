"""Block-circulant matrices (Dong 2020, chapter 7): their blocks, what passes multiply, and what flows leave in memory.

A matrix of p x q blocks takes n vectors of q blocks to p blocks. Three arrays have an entry for each pair of blocks:
the weights w_ij, the inputs X_bj and the outputs a_bi, of which any two give the third, added up over the index that it
has not (7.1 to 7.3). Indices are `b` (vectors, n), `i` (rows of blocks, p) and `j` (columns, q) as there; a layout is
the order of an array's indices, the last one fastest before a block's frequencies.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal, get_args

from workloads.shapes import Shape

BLOCKS = (16, 32, 64)  # values of a block, for which there are transforms: those that the source evaluates
# as (a) of figure 7.2; as (b); the same with products in the mappings of algorithms 6 and 7, each also with what it
# stores laid out for the sums (8); with products that are added up at once (9)
BASELINE, FUSED = "baseline", "fused"
Flow = Literal["baseline", "optimised", "o1", "o1_sum", "o2", "o2_sum", "fused"]
Lanes = Literal["source", "wavefront"]  # places that a workgroup has: as for warps of 32, so that wavefronts are full
FLOWS, LANES = get_args(Flow), get_args(Lanes)
CHANNEL_BYTES = 256  # consecutive bytes in a memory channel


@dataclass(frozen=True)
class CirculantBlocks:
    """A matrix of `outputs` rows and `inputs` columns in circulant blocks, and n vectors that it multiplies.

    Rows and columns that are no multiple of the block are filled with zeros. The source fills them up to powers of two;
    blocks of zeros alone are left out here, which changes no result.
    """

    vectors: int
    """Vectors that are multiplied."""
    inputs: int
    """Columns of the matrix."""
    outputs: int
    """Rows of the matrix."""
    block: int
    """Side of a block."""

    @property
    def problem(self) -> str:
        """Why there is no such matrix, '' where there is."""
        if self.block not in BLOCKS:
            return f"block {self.block} is not allowed: must be {', '.join(map(str, BLOCKS[:-1]))} or {BLOCKS[-1]}"
        fit = [block for block in BLOCKS if block <= min(self.inputs, self.outputs)]
        if self.block in fit:
            return ""
        allowed = f"allowed are {', '.join(map(str, fit))}" if fit else "no block is as small as it"
        return f"block {self.block} is larger than its matrix of {self.outputs} × {self.inputs} values: {allowed}"

    @property
    def sizes(self) -> Mapping[str, int]:
        """The number of places of each index."""
        return {"b": self.vectors, "i": -(-self.outputs // self.block), "j": -(-self.inputs // self.block)}

    @property
    def bins(self) -> int:
        """Frequencies of a block, k' of the source."""
        return self.block // 2 + 1

    @property
    def products(self) -> int:
        """Pairs of blocks that are multiplied."""
        return prod(self.sizes.values())

    @property
    def macs(self) -> int:
        """Real multiply-accumulates of their frequencies, the first and the last of which are real."""
        return self.products * (4 * (self.bins - 2) + 2)

    def shape(self, layout: str) -> Shape:
        """Return the shape of an array of this layout, as pairs of floats."""
        return (*(self.sizes[index] for index in layout), self.bins, 2)


@dataclass(frozen=True)
class CirculantProduct:
    """A product of a pass of a circulant layer."""

    shared: str
    """Layout of the operand without a second index in the mappings."""
    other: str
    """Layout of the other operand."""
    result: str
    """Layout of the sums."""
    conjugated: bool
    """Conjugate the frequencies of `other`."""

    @property
    def summed(self) -> str:
        """The index that the sums go over."""
        (index,) = set("bij") - set(self.result)
        return index

    @property
    def mapping(self) -> str:
        """The indices of M1, M2 and M3 of algorithms 6 and 7."""
        (second,) = set(self.other) - {self.summed}
        (third,) = set(self.shared) - {self.summed}
        return self.summed + second + third


FORWARD = CirculantProduct("bj", "ij", "bi", conjugated=False)  # (7.1)
WEIGHTS = CirculantProduct("bi", "bj", "ij", conjugated=True)  # (7.2)
DATA = CirculantProduct("bi", "ij", "bj", conjugated=True)  # (7.3)
# layouts of the arrays that O1 and O2 have reorganised
_REORGANISED: Mapping[str, Mapping[CirculantProduct, tuple[str, ...]]] = {
    "o1": {FORWARD: (), WEIGHTS: ("bi", "bj"), DATA: ("ij",)},
    # printed as p x k x q, in which neighbouring work-items find no neighbours; DNNMark's code has q x p x k, of which
    # a workgroup reads one range
    "o2": {FORWARD: ("ij",), WEIGHTS: (), DATA: ()},
}


def mapping_of(flow: str) -> str:
    """Return 'o1' or 'o2' for flows with these mappings, '' for others."""
    way = flow.removesuffix("_sum")
    return way if way in _REORGANISED else ""


def reorganised(flow: str, product: CirculantProduct) -> tuple[str, ...]:
    """Return the layouts of the arrays that a flow has reorganised: their two indices change places."""
    return _REORGANISED[mapping_of(flow)][product] if mapping_of(flow) else ()


def products_layout(flow: str, product: CirculantProduct) -> str:
    """Return the layout of products that are stored: n x p x q, or with the summed index last."""
    return product.mapping[::-1] if flow.endswith("_sum") else "bij"


def count_padding_blocks(blocks: CirculantBlocks, flow: str) -> int:
    """Return the blocks of zeros that follow each row of blocks of the weights' frequencies.

    Forward, the fused kernel reads as many rows at a time as a workgroup has. Where they lie an even number of a memory
    channel's 256 bytes apart, they meet in few channels.

    Args:
        blocks: Blocks of the layer.
        flow: Pass of the layer.
    """
    if flow != FUSED:
        return 0
    bytes_of_block = 8 * blocks.bins
    is_even = blocks.sizes["j"] * bytes_of_block // CHANNEL_BYTES % 2 == 0
    return -(-CHANNEL_BYTES // bytes_of_block) if is_even else 0


def get_frequency_shape(blocks: CirculantBlocks, flow: str, layout: str) -> Shape:
    """Return the shape of an array's frequencies as passes hand them on: those of the weights with rows apart.

    Args:
        blocks: Blocks of the layer.
        flow: Pass of the layer.
        layout: Which array.
    """
    shape = blocks.shape(layout)
    return shape if layout != "ij" else (shape[0], shape[1] + count_padding_blocks(blocks, flow), *shape[2:])


def left(blocks: CirculantBlocks, flow: str, product: CirculantProduct, windows: bool) -> dict[str, Shape]:
    """Return the shapes of what a pass's launches leave for its later ones, by name.

    Args:
        blocks: Blocks of the layer.
        flow: Pass of the layer.
        product: How the products are added up.
        windows: The vectors are rows of im2col, which are made of maps and become maps.
    """
    baseline = flow == BASELINE
    arrays = {"bj": "x", "ij": "weight", "bi": "dy"}
    read = {FORWARD: ("bj", "ij"), WEIGHTS: ("bi", "bj"), DATA: ("bi", "ij")}[product]
    shapes: dict[str, Shape] = {}
    if baseline:
        shapes |= {f"{arrays[layout]}_transform": blocks.shape(layout) for layout in read}
        if product is not FORWARD:
            shapes[f"{arrays[product.other]}_reordered"] = (*blocks.shape(product.other)[:-2], blocks.block)
        shapes |= {"products": blocks.shape("bij"), "values": (*blocks.shape("bij")[:-2], blocks.block)}
    else:
        shapes |= {f"reorganised_{layout}": blocks.shape(layout[::-1]) for layout in reorganised(flow, product)}
        if flow != FUSED:
            shapes["products"] = blocks.shape(products_layout(flow, product))
        shapes["sums"] = blocks.shape(product.result)
    if windows:
        columns = {"x": blocks.inputs, "dx": blocks.inputs, "y": blocks.outputs, "dy": blocks.outputs}
        rows = {FORWARD: ("x", "y"), WEIGHTS: ("x", "dy") if baseline else ("dy",), DATA: ("dy", "dx")}[product]
        rows = rows if baseline or product is not DATA else ("dx",)
        shapes |= {f"{name}_rows": (blocks.vectors, columns[name]) for name in rows}
    return shapes


# The stages that figure 7.2 divides each pass into, of which section 8.1 asks whether they pay on GPUs of their own

STAGES = ("frequencies", "products", "values")
_FIRST, _LAST = ("circulant_transform", "circulant_reorder"), ("circulant_inverse", "circulant_sum_values")


def stage_of(kernel: str) -> str:
    """Return the stage of a kernel over vectors that are no windows."""
    return STAGES[0] if kernel.startswith(_FIRST) else STAGES[2] if kernel.startswith(_LAST) else STAGES[1]


def _frequencies(blocks: CirculantBlocks, flow: str) -> dict[CirculantProduct, dict[str, int]]:
    """Return the bytes of frequencies that each pass makes, by layout."""
    made = {FORWARD: ("bj", "ij"), WEIGHTS: ("bi",), DATA: ()}
    if flow == BASELINE:
        made |= {WEIGHTS: ("bi", "bj"), DATA: ("bi", "ij")}
    return {each: {one: 4 * prod(get_frequency_shape(blocks, flow, one)) for one in made[each]} for each in made}


def compute_passed_bytes(blocks: CirculantBlocks, flow: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the bytes of each array that goes from stage to stage in an iteration.

    Those of frequencies come first, then those of what is transformed back.

    Args:
        blocks: Blocks of the layer.
        flow: Pass of the layer.
    """
    made = tuple(size for one in _frequencies(blocks, flow).values() for size in one.values())
    back = ["bij" if flow == BASELINE else each.result for each in (FORWARD, WEIGHTS, DATA)]
    return made, tuple(4 * prod(blocks.shape(layout)) for layout in back)


def stage_bytes(blocks: CirculantBlocks, flow: str) -> tuple[int, int, int]:
    """Return the bytes that each stage holds: what an iteration keeps, and the most that a pass leaves between kernels.

    Arrays that go from one stage to the next one lie in the memory of both.

    Args:
        blocks: Blocks of the layer.
        flow: Pass of the layer.
    """
    frequencies, (_, back) = _frequencies(blocks, flow), compute_passed_bytes(blocks, flow)
    vectors = 4 * blocks.vectors * (blocks.inputs + blocks.outputs)
    weights = 4 * prod(blocks.sizes[index] for index in "ij") * blocks.block
    spare: list[tuple[int, int, int]] = []
    for each, of_pass in zip((FORWARD, WEIGHTS, DATA), back, strict=True):
        arrays = {name: 4 * prod(shape) for name, shape in left(blocks, flow, each, windows=False).items()}
        reordered = sum(size for name, size in arrays.items() if name.endswith("_reordered"))
        between = sum(size for name, size in arrays.items() if name.startswith("reorganised_"))
        made = sum(frequencies[each].values())
        if flow == BASELINE:
            spare.append((reordered + made, made + of_pass, of_pass + arrays["values"]))
        else:
            spare.append((made, between + arrays.get("products", 0) + of_pass, of_pass))
    weights_spectra = sum(sum(sizes.values()) for sizes in frequencies.values()) if flow != BASELINE else 0
    most = [max(sizes) for sizes in zip(*spare, strict=True)]
    return vectors + weights + most[0], weights_spectra + most[1], vectors + weights + most[2]
