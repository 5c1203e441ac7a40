"""Are argument blocks laid out as the metadata says, and wrong arguments reported with index, name and both values?"""

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isa.kernarg import KernargError, Local, Pointer, pack, pack_undescribed, signature
from isa.object.code_object import Kernel, KernelArgument, load_code_object
from isa.object.names import find


def kernel(*arguments: KernelArgument, size: int = 64, lds_bytes: int = 0) -> Kernel:
    described = dict.fromkeys(Kernel.__dataclass_fields__, 0)
    return Kernel(**{**described, "name": "k", "kernarg_bytes": size, "arguments": arguments, "lds_bytes": lds_bytes})


def value(type_name: str, size: int, offset: int = 0, name: str = "x") -> KernelArgument:
    return KernelArgument(name, "by_value", offset, size, type_name)


BUFFER = KernelArgument("a", "global_buffer", 0, 8, "float*")
TILE = KernelArgument("tile", "dynamic_shared_pointer", 8, 4, "float*", 4)
MIXED = kernel(BUFFER, TILE, value("int", 4, 12, "n"), value("float", 4, 16, "scale"), size=24, lds_bytes=20)


def test_every_kind_lies_at_its_offset() -> None:
    packed = pack(MIXED, [Pointer(0x1_0000_1000), Local(100), -3, 2])
    assert packed.block == struct.pack("<QIifxxxx", 0x1_0000_1000, 32, -3, 2.0)
    assert packed.dynamic_lds_bytes == 112  # from the end of 20 bytes, padded to 32
    assert signature(MIXED) == "k(float* a, float* tile: gpusim.Local, int n, float scale)"


def test_by_name_in_any_order_and_null() -> None:
    by_name = pack(MIXED, {"scale": np.float32(2), "n": -3, "tile": Local(1), "a": None})
    assert by_name.block == struct.pack("<QIifxxxx", 0, 32, -3, 2.0)
    with pytest.raises(KernargError, match=r"takes \['a', 'n', 'scale', 'tile'\], the launch gives \['a'\]"):
        pack(MIXED, {"a": None})


def test_without_names_a_mapping_is_taken_in_its_order() -> None:
    nameless = kernel(value("uint", 4, 0, ""), value("uint", 4, 4, ""), size=8)
    assert pack(nameless, {"second": 5, "first": 6}).block == struct.pack("<II", 5, 6)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=5), st.integers(0, 100))
def test_local_arguments_do_not_overlap(sizes: list[int], own: int) -> None:
    places = [KernelArgument(f"l{i}", "dynamic_shared_pointer", 4 * i, 4, "float*", 4) for i in range(len(sizes))]
    packed = pack(kernel(*places, lds_bytes=own), [Local(n) for n in sizes])
    starts = struct.unpack_from(f"<{len(sizes)}I", packed.block)
    ends = [own, *(start + size for start, size in zip(starts, sizes, strict=True))]
    assert all(start >= end and start % 16 == 0 for start, end in zip(starts, ends, strict=False))
    assert own + packed.dynamic_lds_bytes == ends[-1]


@given(st.sampled_from(["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"]), st.integers())
def test_whole_numbers_fit_or_are_refused(type_name: str, number: int) -> None:
    sizes = {"char": 1, "short": 2, "int": 4, "long": 8}
    size, unsigned = sizes[type_name.removeprefix("u")], type_name.startswith("u")
    k = kernel(value(type_name, size))
    try:
        expected = number.to_bytes(size, "little", signed=not unsigned)
    except OverflowError:
        with pytest.raises(KernargError, match=rf"argument 0 'x': {number} does not fit {size} bytes"):
            pack(k, [number])
    else:
        assert pack(k, [number]).block[:size] == expected


@pytest.mark.parametrize(
    ("argument", "given_value"),
    [
        (value("float4", 16), np.arange(4, dtype=np.float32)),
        (value("struct box", 12), np.void(bytes(range(12)))),
        (value("", 8), b"12345678"),
        (value("half", 2), np.float16(1.5)),
        (value("real_t", 4), np.float32(1.5)),
        (value("uint", 4), np.int32(-1)),
    ],
)
def test_values_pass_as_their_bytes(argument: KernelArgument, given_value: object) -> None:
    raw = given_value if isinstance(given_value, bytes) else given_value.tobytes()  # type: ignore[attr-defined]
    assert pack(kernel(argument), [given_value]).block[: argument.size] == raw


@pytest.mark.parametrize(
    ("argument", "wrong", "message"),
    [
        (BUFFER, np.zeros(3), "argument 0 'a': expected a device array (float*), found a host array of float64"),
        (BUFFER, 4096, "expected a device array (float*), found int 4096"),
        (BUFFER, Local(4), "expected a device array (float*), found gpusim.Local(4)"),
        (TILE, Pointer(1), "argument 0 'tile': expected gpusim.Local(size in bytes) (float*), found a device array"),
        (value("int", 4), np.float32(1), "argument 0 'x': expected a value of 4 bytes (int), found float32 of 4 bytes"),
        (value("float", 4), np.int32(1), "expected a value of 4 bytes (float), found int32 of 4 bytes"),
        (value("float", 4), np.float64(1), "expected a value of 4 bytes (float), found float64 of 8 bytes"),
        (value("int", 4), 1.5, "expected a value of 4 bytes (int), found float 1.5"),
        (value("real_t", 4), 1.5, "expected a value of 4 bytes (real_t), found float 1.5"),
        (value("float4", 16), 1.0, "expected a value of 16 bytes (float4), found float 1.0"),
        (value("struct box", 12), b"123", "expected a value of 12 bytes (struct box), found 3 bytes"),
        (value("int", 4), None, "expected a value of 4 bytes (int), found None"),
        (value("int", 4), "1", "found str '1'"),
        (KernelArgument("p", "pipe", 0, 8, "pipe int"), None, "arguments of kind 'pipe' are not supported"),
        (
            KernelArgument("i", "image", 0, 8, "image2d_t"),
            None,
            "an image of the device (image2d_t), found None",
        ),
    ],
)
def test_wrong_arguments_are_told(argument: KernelArgument, wrong: object, message: str) -> None:
    with pytest.raises(KernargError) as caught:
        pack(kernel(argument), [wrong])
    assert str(caught.value).startswith("kernel 'k', argument 0")
    assert message in str(caught.value)


def test_wrong_number_and_missing_metadata_are_told() -> None:
    with pytest.raises(KernargError, match=r"takes 4 arguments, 1 given: k\(float\* a"):
        pack(MIXED, [None])
    with pytest.raises(KernargError, match="does not describe its arguments; pass the whole block of 64 bytes"):
        pack(kernel(), [])
    assert pack(kernel(size=0), []).block == b""


def test_global_offset_goes_to_its_hidden_arguments() -> None:
    places = [KernelArgument("", f"hidden_global_offset_{axis}", 8 * i, 8) for i, axis in enumerate("xyz")]
    assert pack(kernel(*places), [], (7, 0, 9)).block[:24] == struct.pack("<3Q", 7, 0, 9)
    with pytest.raises(KernargError, match="takes no global offset y: it cannot be 5"):
        pack(kernel(places[0]), [], (0, 5, 0))


@pytest.mark.parametrize("size", [-1, 1.5, "4", True])
def test_local_takes_a_size(size: object) -> None:
    with pytest.raises(KernargError, match=r"gpusim\.Local"):
        Local(size)  # type: ignore[arg-type]


def test_without_metadata_values_lie_as_in_a_c_structure() -> None:
    bare = kernel(size=48, lds_bytes=20)
    packed = pack_undescribed(bare, [np.int8(1), Pointer(9), np.int16(-2), Local(8), np.float32(1.5), None, Local(4)])
    assert packed.block == struct.pack("@bQhIfQI", 1, 9, -2, 32, 1.5, 0, 48).ljust(48, b"\0")
    assert packed.dynamic_lds_bytes == 32
    with pytest.raises(KernargError, match="takes 48 bytes of arguments, those given fill 56"):
        pack_undescribed(bare, [None] * 7)
    with pytest.raises(KernargError, match="argument 1: int 3 has no size of its own"):
        pack_undescribed(bare, [None, 3])


@pytest.mark.parametrize(
    ("type_name", "fits", "wrong"),
    [
        ("float*", "float32", ("float64", "complex64", "complex128", "int32", "float16", "bool", "datetime64[s]")),
        ("float2*", "complex64", ("complex128", "float64", "int64")),
        ("double4*", "float64", ("float32", "int64")),
        ("uint*", "int32", ("float32", "int64", "bool")),
        ("const volatile int *", "uint32", ("float32",)),
        ("__global unsigned long*", "int64", ("int32", "timedelta64[s]")),
        ("atomic_int*", "int32", ("float32",)),
        ("half*", "float16", ("float32", "int16")),
        ("int16_t*", "int16", ("int32",)),
        ("uchar*", "float64", ()),
        ("float**", "float64", ()),
        ("struct box*", "float64", ()),
        ("real_t*", "float64", ()),
        ("", "float64", ()),
    ],
)
def test_element_types_of_arrays_are_those_of_the_metadata(type_name: str, fits: str, wrong: tuple[str, ...]) -> None:
    k = kernel(KernelArgument("a", "global_buffer", 0, 8, type_name))
    assert pack(k, [Pointer(64, np.dtype(fits))]).block[:8] == struct.pack("<Q", 64)
    for dtype in wrong:
        with pytest.raises(KernargError, match="argument 0 'a': expected a device array of") as caught:
            pack(k, [Pointer(64, np.dtype(dtype))])
        assert f"found one of {dtype};" in str(caught.value)
        assert pack(k, [Pointer(64)]).block[:8] == struct.pack("<Q", 64), "an address without a type is not checked"


def test_the_elements_type_serves_where_the_source_s_name_is_missing() -> None:
    pointer = KernelArgument("a", "global_buffer", 0, 8, "", 0, "f32")
    with pytest.raises(KernargError, match=r"expected a device array of float32 \(f32\), found one of float64"):
        pack(kernel(pointer), [Pointer(0, np.dtype("f8"))])
    assert pack(kernel(KernelArgument("a", "global_buffer", 0, 8, "", 0, "I8")), [Pointer(0, np.dtype("f8"))])
    scalar = KernelArgument("x", "by_value", 0, 4, "", 0, "F32")
    assert pack(kernel(scalar), [3]).block[:4] == struct.pack("<f", 3.0)
    with pytest.raises(KernargError, match=r"expected a value of 4 bytes \(F32\), found int32"):
        pack(kernel(scalar), [np.int32(3)])


@pytest.mark.parametrize(
    ("type_name", "size", "number", "message"),
    [
        ("float", 4, 1e300, "1e+300 is too large for float32"),
        ("float", 4, 10**400, "a number of 1329 bits is too large for float32"),
        ("int", 4, 10**400, "a number of 1329 bits does not fit 4 bytes"),
        ("double", 8, np.complex64(1), "expected a value of 8 bytes (double), found complex64"),
        ("long", 8, np.datetime64(0, "s"), "expected a value of 8 bytes (long), found datetime64"),
    ],
)
def test_values_out_of_their_type_s_range_are_refused(type_name: str, size: int, number: object, message: str) -> None:
    with pytest.raises(KernargError) as caught:
        pack(kernel(value(type_name, size)), [number])
    assert message in str(caught.value)
    assert pack(kernel(value("float", 4)), [float("inf")]).block[:4] == struct.pack("<f", float("inf"))


def test_an_address_is_a_whole_number() -> None:
    with pytest.raises(KernargError, match=r"gpusim\.Pointer takes an address, not str"):
        Pointer("4096")  # type: ignore[arg-type]


def test_types_of_hip_kernels_are_those_of_their_names() -> None:
    objects = Path(__file__).resolve().parents[2] / "data/kernels"
    kernels = load_code_object(objects / "hip_kernels.hsaco").kernels
    scaled_sum = kernels[find(kernels, "scaled_sum<float, 256>", "hip_kernels.hsaco")]
    arrays = [Pointer(0x1_0000_1000, np.dtype(np.float32)), Pointer(0x1_0000_2000, np.dtype(np.float64))]
    with pytest.raises(KernargError, match=r"kernel 'scaled_sum<float, 256u>', argument 1.*array of float32.*float64"):
        pack(scaled_sum, [*arrays, 2.0, 100])
    assert pack(scaled_sum, [arrays[0], arrays[0], 2.0, 100]).block[16:24] == struct.pack("<fI", 2.0, 100)
