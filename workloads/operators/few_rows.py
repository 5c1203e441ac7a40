"""Products of few rows with large weights, as a language model's with one token: each weight is read once.

The tiles of other products have 64 columns and more, whose multiply-accumulates are made whether there are such or not.
"""

from isa.device_memory import DeviceMemory
from isa.kernarg import Pointer
from isa.launch import Launch
from workloads.operators.launching import GROUP, divisor, launch
from workloads.operators.tensor import HALF, Tensor
from workloads.operators.tiles import QUAD

QUADS, VALUES, HALVES = "quads", "values", "halves"  # how weights are read: FP32 by four or one, FP16 by eight
OUTPUTS = {1: 2, 2: 2, 4: 2, 8: 4}  # of a workgroup, by rows at most, as workloads/kernels/few_rows.cl has kernels
OUTPUTS_OF_HALVES = 4
WIDTHS = {QUADS: QUAD, VALUES: 1, HALVES: 8}
MOST_ROWS = max(OUTPUTS)
LANE_STEPS, WAVEFRONT_STEPS = 6, 3  # additions over lanes, and over wavefronts
LEAST_DEPTH = 128  # of a sum: a shorter one costs less by tiles than to add up over lanes


def few_rows(rows: int, depth: int) -> bool:
    """Return whether a product is computed so; the shape alone decides, so that results are the same on every GPU."""
    return rows <= MOST_ROWS and depth >= LEAST_DEPTH


def longest_sum(depth: int, half: bool = False) -> int:
    """Return the additions that an element's value goes through at most. half: weights are FP16."""
    width = WIDTHS[HALVES if half else QUADS]
    return -(-depth // (GROUP * width)) * width + LANE_STEPS + WAVEFRONT_STEPS


def product_of_few_rows(
    operands: tuple[Tensor | Pointer, Tensor | Pointer, Tensor | Pointer], bias: Tensor | None,
    memory: DeviceMemory, sizes: tuple[int, int, int], leading: tuple[int, int], relu: bool = False,
) -> Launch:  # fmt: skip
    """Return the launch of C = A·B + bias, in layout "tn" of workloads.operators.tiles.product.

    Raise ValueError for more rows n than the kernels have.

    Args:
        relu: Values below 0 become 0.
        operands: A, B, C, of which A may be FP16.
        sizes: Sizes m, n, k.
        leading: Elements between stored rows of A and of B, with FP16 multiples of 8, as k.
        bias: Vector [m].
    """
    columns, rows, depth = sizes
    if rows > MOST_ROWS:
        raise ValueError(f"{rows} rows; allowed are at most {MOST_ROWS}")
    quads = not any(size % QUAD for size in (depth, *leading))
    by = HALVES if operands[0].dtype == HALF else QUADS if quads else VALUES
    held = next(most for most in OUTPUTS if rows <= most)
    outputs = OUTPUTS_OF_HALVES if by == HALVES else OUTPUTS[held]
    kernel = f"few_rows_{held}_{by}"
    names = dict(zip(("a_matrix", "b_matrix", "c_matrix"), operands, strict=True))
    shape = {"m": columns, "n": rows, "k": depth, "lda": leading[0], "ldb": leading[1]}
    chunks = -(-depth // (GROUP * WIDTHS[by]))
    last = {"bias": bias or operands[2], "biases": columns if bias else 0, "rectify": int(relu)}
    values = {**names, **shape, **last, "by_chunks": divisor(chunks)}
    source = "few_rows_half" if by == HALVES else "few_rows"
    return launch(source, kernel, memory, (-(-columns // outputs),), values)
