"""Does each kind of layer have the shapes, parameters and work that counting by hand gives?"""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from workloads.networks.convolution import ConvolutionLayer
from workloads.networks.kind import LayerKind, ShapeError
from workloads.networks.kinds import KINDS
from workloads.networks.pooling import MaxPool
from workloads.networks.windows import positions
from workloads.shapes import Shape

Case = tuple[str, dict[str, Any], list[Shape], Shape, dict[str, Shape], int, int]
# kind, values, inputs; output, parameters, multiply-accumulates, operations
ITS_WORK = (33 * 36, 2 * 33 * 36)
CASES: list[Case] = [
    (
        "convolution",
        {"filters": 4, "kernel": 3},
        [(2, 5, 5)],
        (4, 3, 3),
        {"weight": (4, 2, 3, 3), "bias": (4,)},
        648,
        1296,
    ),
    (
        "convolution",
        {"filters": 4, "kernel": (1, 3), "stride": (2, 1), "padding": (0, 1), "groups": 2, "bias": False},
        [(2, 5, 5)],
        (4, 3, 5),
        {"weight": (4, 1, 1, 3)},
        180,
        360,
    ),
    (
        "convolution",
        {"filters": 1, "kernel": 3, "dilation": 2, "padding": (1, 0, 0, 2), "bias": False},
        [(1, 5, 5)],
        (1, 2, 3),
        {"weight": (1, 1, 3, 3)},
        54,
        108,
    ),
    ("fully_connected", {"outputs": 7}, [(2, 3, 3)], (7,), {"weight": (7, 18), "bias": (7,)}, 126, 252),
    ("fully_connected", {"outputs": 7, "bias": False}, [(5,)], (7,), {"weight": (7, 5)}, 35, 70),
    # 33 rows and 36 columns are filled up to 48 and 48
    (
        "block_circulant",
        {"outputs": 33, "block": 16},
        [(4, 3, 3)],
        (33,),
        {"weight": (3, 3, 16), "bias": (33,)},
        1188,
        2376,
    ),
    (
        "permuted_diagonal",
        {"outputs": 33, "block": 16},
        [(4, 3, 3)],
        (33,),
        {"weight": (3, 3, 16), "bias": (33,)},
        1188,
        2376,
    ),
    (
        "block_circulant_convolution",
        {"filters": 70, "kernel": 3, "padding": (1, 1, 1, 1), "block": 64, "bias": False},
        [(8, 2, 3)],
        (70, 2, 3),
        {"weight": (2, 2, 64)},
        70 * 72 * 6,
        2 * 70 * 72 * 6,
    ),
    ("max_pool", {"kernel": 3, "stride": 2}, [(2, 8, 7)], (2, 3, 3), {}, 0, 162),
    ("max_pool", {"kernel": 3, "stride": 2, "ceil": True}, [(2, 8, 7)], (2, 4, 3), {}, 0, 216),
    ("max_pool", {"kernel": 2}, [(2, 8, 7)], (2, 4, 3), {}, 0, 96),
    ("average_pool", {"whole": True}, [(2, 8, 7)], (2, 1, 1), {}, 0, 112),
    ("average_pool", {"kernel": 2, "stride": 1, "padding": (0, 0, 1, 1)}, [(1, 2, 2)], (1, 2, 2), {}, 0, 16),
    ("lrn", {"size": 5}, [(2, 3, 3)], (2, 3, 3), {}, 0, 14 * 18),
    ("batch_norm", {}, [(2, 3, 3)], (2, 3, 3), {"scale": (2,), "bias": (2,)}, 0, 72),
    ("batch_norm", {"mode": "per_activation"}, [(2, 3, 3)], (2, 3, 3), {"scale": (2, 3, 3), "bias": (2, 3, 3)}, 0, 72),
    ("relu", {}, [(2, 3, 3)], (2, 3, 3), {}, 0, 18),
    ("sigmoid", {}, [(5,)], (5,), {}, 0, 20),
    ("tanh", {}, [(5,)], (5,), {}, 0, 5),
    ("softmax", {}, [(5,)], (5,), {}, 0, 25),
    ("softmax", {}, [(5, 2, 3)], (5, 2, 3), {}, 0, 150),
    ("dropout", {}, [(5,)], (5,), {}, 0, 5),
    ("add", {}, [(5,), (5,), (5,)], (5,), {}, 0, 10),
    ("multiply", {}, [(5, 2, 2), (5, 2, 2)], (5, 2, 2), {}, 0, 20),
    ("fully_connected", {"outputs": 7, "each": True}, [(4, 5)], (4, 7), {"weight": (7, 5), "bias": (7,)}, 140, 280),
    ("layer_norm", {}, [(4, 5)], (4, 5), {"scale": (5,), "bias": (5,)}, 0, 80),
    ("layer_norm", {"axes": 2, "bias": False}, [(3, 4, 5)], (3, 4, 5), {"scale": (4, 5)}, 0, 240),
    ("rms_norm", {}, [(4, 5)], (4, 5), {"scale": (5,)}, 0, 80),
    ("group_norm", {"groups": 2}, [(4, 3, 3)], (4, 3, 3), {"scale": (4,), "bias": (4,)}, 0, 144),
    ("clip", {}, [(5,)], (5,), {}, 0, 10),
    ("leaky_relu", {}, [(5,)], (5,), {}, 0, 10),
    (
        "transposed_convolution",
        {"filters": 6, "kernel": [3, 2], "stride": 2, "padding": [0, 0, 1, 0], "more": [0, 1], "groups": 2},
        [(4, 5, 7)],
        (6, 10, 15),
        {"weight": (4, 3, 3, 2), "bias": (6,)},
        2520,
        5040,
    ),
    ("hard_sigmoid", {}, [(5,)], (5,), {}, 0, 20),
    ("hard_swish", {}, [(5,)], (5,), {}, 0, 25),
    ("silu", {}, [(5,)], (5,), {}, 0, 25),
    ("gelu", {}, [(5,)], (5,), {}, 0, 70),
    ("affine", {"factor": 2.0}, [(5,)], (5,), {}, 0, 10),
    ("square", {}, [(5,)], (5,), {}, 0, 5),
    ("square_root", {}, [(5,)], (5,), {}, 0, 5),
    ("reciprocal", {}, [(5,)], (5,), {}, 0, 5),
    ("exponential", {}, [(5,)], (5,), {}, 0, 10),
    ("erf", {}, [(5,)], (5,), {}, 0, 60),
    ("softmax", {"axis": -1}, [(5, 2, 3)], (5, 2, 3), {}, 0, 90),
    ("causal_mask", {}, [(2, 3, 5)], (2, 3, 5), {}, 0, 30),
    ("rotary", {}, [(3, 4)], (3, 4), {}, 0, 36),
    ("combine", {"operation": "add"}, [(5, 2, 2), (5, 1, 1)], (5, 2, 2), {}, 0, 20),
    ("combine", {"operation": "multiply", "stored": [2]}, [(5, 2)], (5, 2), {"scale": (2,)}, 0, 10),
    ("combine", {"operation": "subtract", "stored": [5, 2], "trained": False}, [(5, 2)], (5, 2), {}, 0, 10),
    ("matmul", {}, [(2, 3, 4), (2, 4, 5)], (2, 3, 5), {}, 120, 240),
    ("matmul", {"turned": True}, [(2, 3, 3, 4), (2, 1, 5, 4)], (2, 3, 3, 5), {}, 360, 720),
    ("attention", {}, [(4, 3, 8), (2, 5, 8), (2, 5, 8)], (4, 3, 8), {}, 960, 1920),
    ("embedding", {"rows": 9, "width": 4}, [(5,)], (5, 4), {"weight": (9, 4)}, 0, 0),
    ("stored", {"shape": [2, 3]}, [], (2, 3), {"weight": (2, 3)}, 0, 0),
    ("permute", {"order": [2, 0, 1]}, [(2, 3, 4)], (4, 2, 3), {}, 0, 0),
    ("reshape", {"shape": [4, 6]}, [(2, 3, 4)], (4, 6), {}, 0, 0),
    ("slice", {"axis": 1, "start": 3, "step": -2}, [(2, 5)], (2, 2), {}, 0, 0),
    ("pad", {"before": [0, 1], "after": [2, 0]}, [(2, 5)], (4, 6), {}, 0, 0),
    ("repeat", {"shape": [2, 5]}, [(2, 1)], (2, 5), {}, 0, 0),
    ("reduce", {"axes": [0, -1]}, [(2, 3, 4)], (3,), {}, 0, 24),
    ("reduce", {"axes": [1], "keep": True}, [(2, 3, 4)], (2, 1, 4), {}, 0, 24),
    ("concat", {"axis": 1}, [(5, 2, 2), (5, 1, 2)], (5, 3, 2), {}, 0, 0),
    ("concat", {}, [(5, 2, 2), (1, 2, 2)], (6, 2, 2), {}, 0, 0),
    ("concat", {}, [(5,), (2,)], (7,), {}, 0, 0),
    ("append", {"axis": 1}, [(5, 3, 2), (5, 1, 2)], (5, 3, 2), {}, 0, 0),
    ("append", {"at": 1}, [(5, 2), (2, 2)], (5, 2), {}, 0, 0),
    ("flatten", {}, [(5, 2, 2)], (20,), {}, 0, 0),
    ("bypass", {}, [(5, 2, 2)], (5, 2, 2), {}, 0, 0),
]


def made(kind: str, values: dict[str, Any]) -> LayerKind:
    return KINDS[kind].model_validate(values)


def subclasses(kind: type) -> set[type]:
    return {one for direct in kind.__subclasses__() for one in (direct, *subclasses(direct))}


def test_every_kind_has_a_case_and_a_name() -> None:
    assert {case[0] for case in CASES} == set(KINDS)
    named = {kind for kind in subclasses(LayerKind) if "NAME" in vars(kind)}
    assert named == set(KINDS.values()), "a kind is missing from KINDS, or has the name of another"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[3]}")
def test_sizes(case: Case) -> None:
    name, values, inputs, output, parameters, macs, operations = case
    kind = made(name, values)
    assert kind.output(inputs) == output
    assert dict(kind.anatomy(inputs).parameters) == parameters
    gemm = kind.gemm(inputs)
    assert (gemm.macs if gemm else 0) == macs
    assert kind.operations(inputs) == operations


small = st.integers(1, 4)
sides = st.integers(0, 3)


@given(st.tuples(st.integers(1, 12), st.integers(1, 12)), st.tuples(small, small), st.tuples(small, small),
       st.tuples(sides, sides, sides, sides), st.tuples(small, small), st.booleans())  # fmt: skip
def test_windows_are_those_that_one_finds_by_trying(
    size: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int, int, int],
    dilation: tuple[int, int], ceil: bool,
) -> None:  # fmt: skip
    tried = []
    for axis in (0, 1):
        begin, end = -padding[axis], size[axis] + padding[axis + 2]  # the padded axis
        starts = range(begin, end, stride[axis])
        whole = [at for at in starts if at + dilation[axis] * (kernel[axis] - 1) < end]
        last = whole[-1] + stride[axis] if whole else 0
        left_over = whole and whole[-1] + dilation[axis] * (kernel[axis] - 1) + 1 < end
        tried.append(len(whole) + (1 if ceil and left_over and last < size[axis] else 0))
    shape = (1, *size)
    if min(tried) < 1:
        with pytest.raises(ShapeError, match=r"kernel .* does not fit an input of 1×"):
            positions(shape, kernel, stride, padding, dilation, ceil)
    else:
        assert positions(shape, kernel, stride, padding, dilation, ceil) == tuple(tried)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 9), small, small, sides)
def test_a_convolution_multiplies_each_value_under_each_filter(
    groups: int, per_in: int, per_out: int, size: int, kernel: int, stride: int, padding: int
) -> None:
    assume(size + 2 * padding >= kernel)
    layer = ConvolutionLayer(filters=groups * per_out, kernel=kernel, stride=stride, padding=padding, groups=groups)  # type: ignore[arg-type]
    shape = (groups * per_in, size, size)
    _, rows, columns = layer.output([shape])
    count = sum(1 for _ in range(rows * columns) for _ in range(groups * per_out) for _ in range(per_in * kernel**2))
    assert layer.gemm([shape]).macs == count
    assert layer.gemm([shape]).over(5).macs == 5 * count


@pytest.mark.parametrize(
    ("kind", "values", "inputs", "said"),
    [
        (
            "convolution",
            {"filters": 4, "kernel": 7},
            [(2, 5, 5)],
            "kernel 7×7 does not fit an input of 2×5×5 with padding 0",
        ),
        ("convolution", {"filters": 4, "kernel": 3, "dilation": 3}, [(2, 5, 5)], "with dilation 3×3 does not fit"),
        ("convolution", {"filters": 4, "kernel": 3, "groups": 4}, [(2, 5, 5)], "2 input channels do not divide into 4"),
        ("convolution", {"filters": 3, "kernel": 3, "groups": 2}, [(2, 5, 5)], "3 filters do not divide into 2 groups"),
        ("convolution", {"filters": 3, "kernel": 3}, [(2,)], "an input of shape 2: it needs channels × rows × columns"),
        ("transposed_convolution", {"filters": 3, "kernel": 3, "more": 1}, [(2, 5, 5)], "less than the stride or the"),
        ("transposed_convolution", {"filters": 3, "kernel": 3, "padding": 4}, [(2, 5, 5)], "padding 4 leaves nothing"),
        ("max_pool", {"kernel": 6}, [(2, 5, 5)], "kernel 6×6 does not fit"),
        ("average_pool", {"whole": True}, [(5,)], "it needs channels × rows × columns"),
        ("add", {}, [(5,), (4,)], "inputs of shapes 5, 4: all must have the same shape"),
        ("multiply", {}, [(5,), (4,)], "inputs of shapes 5, 4: all must have the same shape"),
        ("concat", {}, [(5, 2, 2), (5, 2, 3)], "5×2×2, 5×2×3: only their channels may differ"),
        ("concat", {}, [(5, 2, 2), (5,)], "only their channels may differ"),
        ("concat", {"axis": 3}, [(5, 2, 2)], "axis 3 of an input of 5×2×2: allowed are -3 to 2"),
        ("append", {"axis": 1}, [(5, 3, 2), (4, 1, 2)], "5×3×2, 4×1×2: only sizes along axis 1 may differ"),
        ("append", {"at": 4}, [(5, 2), (2, 2)], "2 values from 4 on along axis 0: 5×2 has no such place"),
        ("append", {}, [(5, 2), (6, 2)], "6 values from -1 on along axis 0: 5×2 has no such place"),
        ("combine", {"operation": "add"}, [(5, 2), (5, 3)], "5×2 and 5×3: sizes must be equal, or 1"),
        ("combine", {"operation": "add"}, [(5, 2)], "has 1 inputs: must be two, or one and `stored`"),
        ("matmul", {}, [(2, 3), (4, 5)], "3 columns of the first, 4 rows of the second"),
        ("attention", {}, [(4, 3, 8), (2, 5, 8), (2, 6, 8)], "keys and values of one shape"),
        ("attention", {}, [(4, 3, 8), (3, 5, 8), (3, 5, 8)], "heads of queries a multiple of those of keys"),
        ("attention", {"causal": True}, [(4, 3, 8), (4, 2, 8), (4, 2, 8)], "3 queries, 2 keys: causal needs no fewer"),
        ("causal_mask", {}, [(3, 2)], "queries × keys, keys not fewer"),
        ("group_norm", {"groups": 3}, [(4, 2, 2)], "4 channels do not divide into 3 groups"),
        ("permute", {"order": [0, 0]}, [(2, 3)], "order \\[0, 0\\] of an input of 2×3: must have each axis once"),
        ("reshape", {"shape": [5]}, [(2, 3)], "an input of 2×3 has 6 values; 5 has others"),
        ("slice", {"axis": 0, "start": 2}, [(2, 3)], "nothing of axis 0 of an input of 2×3 is taken"),
        ("repeat", {"shape": [2, 4]}, [(2, 3)], "an input of 2×3 cannot become 2×4"),
        ("reduce", {"axes": [0, -2]}, [(2, 3)], "one comes twice"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(kind: str, values: dict, inputs: list[Shape], said: str) -> None:
    with pytest.raises(ShapeError, match=said):
        made(kind, values).output(inputs)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "kernel is required but missing, or whole: true"),
        ({"whole": True, "kernel": 3}, "kernel must not be given beside it"),
        ({"kernel": 2, "padding": 2}, "leaves windows without any value"),
    ],
)
def test_a_pool_needs_one_window(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        MaxPool.model_validate(values)
