"""Do image instructions load, store, sample and refuse what the manuals and a plain definition in NumPy say?"""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from isa import trace
from isa.checking.checker import checked
from isa.device_memory import DeviceMemory
from isa.execution.emulator import run_functional
from isa.execution.executor import FunctionalContext
from isa.execution.faults import ExecutionFault
from isa.image_resource import (
    CLAMP_BORDER,
    LAST_TEXEL,
    MIRROR,
    MIRROR_ONCE,
    MIRROR_ONCE_BORDER,
    WRAP,
    ImageError,
    ImageResource,
    ImageSampler,
    TexelFormat,
    buffer_words,
)
from isa.launch import Launch
from tests.support.assembly import Assembly
from tests.support.images import as_registers, random_texels, sampled, taken
from tests.unit.isa.test_executor_context import call, records, slot_trace

ASSEMBLY = Assembly(Path(__file__).resolve().parents[2] / "data" / "isa" / "images.hsaco")
ADDRESS = 0x1_0000_1000  # of a memory's first allocation
ROWS, OUT, IMAGE = 0x100, 0x1000, 0x2000  # bytes from it: registers before and after, the image
BYTES = 1 << 18
LANE = np.arange(64)


def _row(offset: int) -> str:
    text = f"    v_add_u32 v2, vcc, {ADDRESS + offset & 0xFFFFFFFF:#x}, v30\n"
    return text + f"    v_mov_b32 v3, {ADDRESS >> 32}\n"


# s[8:15]: resource; s[16:19]: sampler; v8 to v15: address; v16 to v19: data before, and results
def _kernel(name: str, text: str) -> str:
    whole = f"    s_mov_b32 s2, {ADDRESS & 0xFFFFFFFF:#x}\n    s_mov_b32 s3, {ADDRESS >> 32}\n"
    whole += "    s_load_dwordx8 s[8:15], s[2:3], 0x0\n    s_load_dwordx4 s[16:19], s[2:3], 0x20\n"
    whole += "    v_lshlrev_b32 v30, 2, v0\n"
    whole += "".join(_row(ROWS + 256 * k) + f"    flat_load_dword v{8 + k}, v[2:3]\n" for k in range(12))
    whole += "    s_waitcnt vmcnt(0) lgkmcnt(0)\n" + text + "    s_waitcnt vmcnt(0)\n"
    whole += "".join(_row(OUT + 256 * k) + f"    flat_store_dword v[2:3], v{16 + k}\n" for k in range(4))
    return ASSEMBLY.kernel(name, whole + "    s_endpgm\n", vgprs=32, sgprs=24)


RESOURCE, SAMPLER = "s[8:15]", "s[8:15], s[16:19]"
for _name, _text in {
    "load": f"image_load v[16:19], v[8:9], {RESOURCE} dmask:0xf unorm",
    "load_layer": f"image_load v[16:19], v[8:10], {RESOURCE} dmask:0xf unorm da",
    "load_zw": f"image_load v[16:17], v[8:9], {RESOURCE} dmask:0xc unorm",
    "load_mip": f"image_load_mip v[16:19], v[8:10], {RESOURCE} dmask:0xf unorm",
    "store": f"image_store v[16:19], v[8:9], {RESOURCE} dmask:0xf unorm",
    "store_x": f"image_store v16, v[8:9], {RESOURCE} dmask:0x1 unorm",
    "resinfo": f"image_get_resinfo v[16:19], v8, {RESOURCE} dmask:0xf",
    "sample_lz": f"image_sample_lz v[16:19], v[8:10], {SAMPLER} dmask:0xf",
    "sample": f"image_sample v[16:19], v[8:10], {SAMPLER} dmask:0xf",
    "sample_layer": f"image_sample_l v[16:19], v[8:11], {SAMPLER} dmask:0xf da",
    "sample_unorm": f"image_sample_lz v[16:19], v[8:9], {SAMPLER} dmask:0xf unorm",
    "sample_o": f"image_sample_lz_o v[16:19], v[8:10], {SAMPLER} dmask:0xf",
    "sample_c_d": f"image_sample_c_d v16, v[8:14], {SAMPLER} dmask:0x1",
    "gather4": f"image_gather4_lz v[16:19], v[8:9], {SAMPLER} dmask:0x2",
    "gather4_c": f"image_gather4_c_lz v[16:19], v[8:10], {SAMPLER} dmask:0x1",
    "atomic_add": f"image_atomic_add v16, v[8:9], {RESOURCE} dmask:0x1 unorm glc",
    "atomic_cmpswap": f"image_atomic_cmpswap v[16:17], v[8:9], {RESOURCE} dmask:0x3 unorm glc",
    # v17 times the workgroup's number; all of OUT would be another race
    "store_of_group": "v_mul_u32_u24 v16, s0, v17\n"
    f"    image_store v16, v[8:9], {RESOURCE} dmask:0x1 unorm\n    s_endpgm",
    "buffer_of_group": "v_mul_u32_u24 v16, s0, v17\n    buffer_store_dword v16, v8, s[8:11], 0 idxen\n    s_endpgm",
    "store_two": f"image_store v[16:17], v[8:9], {RESOURCE} dmask:0x3 unorm\n    s_endpgm",
    "buffer_load": "buffer_load_format_xyzw v[16:19], v8, s[8:11], 0 idxen",
    "buffer_store": "buffer_store_format_xy v[16:17], v8, s[8:11], 0 idxen",
}.items():
    _kernel(_name, f"    {_text}\n")


def launched(name: str, words: tuple[int, ...], rows: object, texels: np.ndarray, sampler: ImageSampler | None = None):
    """A launch of a wavefront, and the allocation that holds everything."""
    memory = DeviceMemory(1 << 20)
    held = np.zeros(BYTES, np.uint8)
    held[: 4 * len(words)] = np.array(words, np.uint32).view(np.uint8)
    if sampler is not None:
        held[32:48] = np.array(sampler.words(), np.uint32).view(np.uint8)
    for k, row in enumerate(rows):  # type: ignore[arg-type]
        held[ROWS + 256 * k :][:256] = np.ascontiguousarray(np.broadcast_to(row, 64)).view(np.uint8)
    held[IMAGE : IMAGE + texels.size] = texels
    allocation = memory.upload(held, "all")
    assert allocation.address == ADDRESS
    return Launch(ASSEMBLY[name], memory, b"", (64, 1, 1), (64, 1, 1)), allocation


class Run:
    """What a kernel left: `out`: uint32 [4, lanes]; `floats`: the same bits; `image`: the bytes from the image on."""

    def __init__(
        self, name: str, words: tuple[int, ...], rows: object, texels: np.ndarray, sampler: ImageSampler | None
    ):
        launch, allocation = launched(name, words, rows, texels, sampler)
        self.result = run_functional(launch)
        after = launch.memory.view(allocation, np.uint8)
        self.out = after[OUT : OUT + 1024].view(np.uint32).reshape(4, 64).copy()
        self.floats = self.out.view(np.float32)
        self.image = after[IMAGE:].copy()


def laid_out(texels: np.ndarray) -> tuple[np.ndarray, int]:
    """Bytes of an image [z, y, x, channels] whose rows lie 256 bytes or a multiple of that apart; the pitch."""
    z, y, x, channels = texels.shape
    row = x * channels * texels.itemsize
    pitch = -(-row // 256) * 256
    held = np.full((z, y, pitch), 0xAB, np.uint8)
    held[:, :, :row] = np.ascontiguousarray(texels).view(np.uint8).reshape(z, y, row)
    return held.ravel(), pitch


def resource(texels: np.ndarray, form: TexelFormat, dimensions: int = 2, layers: int = 0) -> ImageResource:
    z, y, x, _ = texels.shape
    depth = z if dimensions == 3 else 1
    return ImageResource(ADDRESS + IMAGE, form, dimensions, x, y, depth, layers, laid_out(texels)[1])


def run(
    name: str,
    texels: np.ndarray,
    form: TexelFormat,
    *rows: object,
    sampler: ImageSampler | None = None,
    dimensions: int = 2,
    layers: int = 0,
) -> Run:
    words = resource(texels, form, dimensions, layers).words(8)
    padded = [*rows, *[np.zeros(64, np.uint32)] * (8 - len(rows))] if len(rows) <= 8 else rows
    return Run(name, words, padded, laid_out(texels)[0], sampler)


FORMS = [
    TexelFormat(bits, channels, number)
    for bits, channels in product((8, 16, 32), (1, 2, 4))
    for number in ("unorm", "snorm", "uint", "sint", "float")
    if not (bits == 32 and number.endswith("norm")) and not (bits == 8 and number == "float")
]


def name_of(form: TexelFormat) -> str:
    return f"{form.channels}x{form.bits}{form.number}"


@pytest.mark.compiled_tier
@pytest.mark.parametrize("form", FORMS, ids=name_of)
def test_loads_of_every_format(form: TexelFormat) -> None:
    texels = random_texels(form, 1, 5, 11)
    x, y = (LANE % 13 - 1).astype(np.int32), (LANE // 10).astype(np.int32)  # some beyond each edge
    expected = np.zeros((64, 4), np.uint32)
    expected[:] = as_registers(np.zeros((1, form.channels), texels.dtype), form)
    inside = (x >= 0) & (x < 11) & (y < 5)
    expected[inside] = as_registers(texels[0, y[inside], x[inside]], form)
    expected[~inside, : form.channels] = 0
    if form.channels == 4:
        expected[~inside, 3] = 0
    done = run("load", texels, form, x, y)
    np.testing.assert_array_equal(done.out.T, expected)
    np.testing.assert_array_equal(run("load_zw", texels, form, x, y).out[:2], expected.T[2:])


@pytest.mark.compiled_tier
@pytest.mark.parametrize("form", FORMS, ids=name_of)
def test_stores_round_and_stop_at_the_limits(form: TexelFormat) -> None:
    texels = random_texels(form, 1, 4, 16)
    x, y = (LANE % 16).astype(np.int32), (LANE // 16 + (LANE == 63)).astype(np.int32)  # the last one beyond the edge
    draw = np.random.default_rng(3)
    if form.number in ("uint", "sint"):
        values = draw.integers(0, 1 << 32, (4, 64)).astype(np.uint32)
        values[:, ::3] >>= 25
        given = values
        dtype, held = texels.dtype, values if form.number == "uint" else values.view(np.int32)
        stored = np.clip(held.astype(np.int64), np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)
    else:
        floats = (draw.normal(size=(4, 64)) * 1.2).astype(np.float32)
        given = floats.view(np.uint32)
        if form.number == "float":
            stored = floats.astype(texels.dtype)
        else:
            most = 2 ** (form.bits - (form.number == "snorm")) - 1
            least = -1.0 if form.number == "snorm" else 0.0
            exact = np.clip(floats.astype(np.float64), least, 1) * most
            stored = np.floor(exact + 0.5).astype(texels.dtype)
    rows = [x, y, *[np.zeros(64, np.uint32)] * 6, *given]
    expected = texels.copy()
    expected[0, y[:63], x[:63]] = stored[: form.channels, :63].T
    done = run("store", texels, form, *rows)
    np.testing.assert_array_equal(done.image[: laid_out(expected)[0].size], laid_out(expected)[0])
    expected[0, y[:63], x[:63], 1:] = 0  # components that the mask does not name
    done = run("store_x", texels, form, *rows)
    np.testing.assert_array_equal(done.image[: laid_out(expected)[0].size], laid_out(expected)[0])


@pytest.mark.compiled_tier
def test_layers_and_levels() -> None:
    form = TexelFormat(32, 1, "uint")
    texels = random_texels(form, 3, 4, 8)
    x, y = (LANE % 8).astype(np.int32), (LANE // 8 % 4).astype(np.int32)
    layer = (LANE % 4).astype(np.int32)
    expected = np.where(layer < 3, texels[np.minimum(layer, 2), y, x, 0], 0)
    done = run("load_layer", texels, form, x, y, layer, layers=3)
    np.testing.assert_array_equal(done.out[0], expected)
    expected = np.where(layer == 0, texels[0, y, x, 0], 0)
    done = run("load_mip", texels[:1], form, x, y, layer)
    np.testing.assert_array_equal(done.out[0], expected)
    done = run("resinfo", texels, form, layer, layers=3)
    np.testing.assert_array_equal(done.out, np.where(layer == 0, np.array([[8], [4], [3], [1]]), 0))


CLAMPS = (WRAP, MIRROR, LAST_TEXEL, MIRROR_ONCE, CLAMP_BORDER, MIRROR_ONCE_BORDER)


@pytest.mark.compiled_tier
@pytest.mark.parametrize("linear", [False, True], ids=["nearest", "linear"])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("clamp", CLAMPS)
def test_samples(clamp: int, dimensions: int, linear: bool) -> None:
    form = (TexelFormat(8, 4, "unorm"), TexelFormat(32, 1, "float"), TexelFormat(16, 2, "snorm"))[clamp % 3]
    texels = random_texels(form, *(3, 5, 7)[3 - dimensions :])
    texels = texels.reshape((1,) * (4 - texels.ndim) + texels.shape)
    draw = np.random.default_rng(dimensions)
    coordinates = [draw.uniform(-1.7, 2.6, 64).astype(np.float32) for _ in range(dimensions)]
    sampler = ImageSampler((clamp, clamp, clamp), linear, normalised=True)
    done = run("sample_lz", texels, form, *coordinates, sampler=sampler, dimensions=dimensions)
    np.testing.assert_array_equal(done.floats.T, sampled(texels, form, coordinates, sampler))
    lines = done.result.lines["load"] - 12 * 4
    assert 0 < lines <= 64 * (2**dimensions if linear else 1)


@pytest.mark.compiled_tier
def test_coordinates_in_texels_by_instruction_and_by_sampler() -> None:
    form = TexelFormat(16, 1, "float")
    texels = random_texels(form, 1, 6, 9)
    draw = np.random.default_rng(1)
    x, y = (draw.uniform(-2, 12, 64).astype(np.float32) for _ in range(2))
    for linear in (False, True):
        expected = sampled(texels, form, [x, y], ImageSampler((LAST_TEXEL,) * 3, linear, normalised=False))
        for name, normalised in (("sample_unorm", True), ("sample", False)):
            sampler = ImageSampler((LAST_TEXEL,) * 3, linear, normalised)
            np.testing.assert_array_equal(run(name, texels, form, x, y, sampler=sampler).floats.T, expected)


@pytest.mark.compiled_tier
def test_coordinates_are_rounded_to_256ths_or_down() -> None:
    class Truncating(ImageSampler):
        def words(self) -> tuple[int, ...]:
            first, *rest = super().words()
            return (first | 1 << 27, *rest)

    form = TexelFormat(32, 1, "float")
    texels = random_texels(form, 1, 4, 8)
    x = (LANE % 8 + (LANE // 8 - 4) / 1024).astype(np.float32)  # up to 4/1024 below a texel's edge
    y = np.zeros(64, np.float32)
    for kind, below in ((ImageSampler, -2 / 1024), (Truncating, 0)):
        sampler = kind((WRAP,) * 3, False, normalised=False)
        texel = np.where(x % 1 > 0.5, np.where(x % 1 - 1 < below, -1, 0), 0) + np.round(x).astype(int)
        done = run("sample_lz", texels, form, x, y, sampler=sampler)
        np.testing.assert_array_equal(done.floats[0], texels[0, 0, texel % 8, 0])


def test_offsets_count_texels() -> None:
    form = TexelFormat(32, 2, "float")
    texels = random_texels(form, 1, 6, 9)
    x, y = ((LANE * k % 64 / 64).astype(np.float32) for k in (5, 11))
    offset = np.full(64, 0x3D | 3 << 8, np.uint32)  # -3, 3
    sampler = ImageSampler((WRAP,) * 3, False, normalised=False)
    done = run("sample_o", texels, form, offset, x * 9, y * 6, sampler=sampler)
    np.testing.assert_array_equal(done.floats.T, sampled(texels, form, [x * 9 - 3, y * 6 + 3], sampler))


@pytest.mark.compiled_tier
def test_layers_of_samples_are_rounded_and_limited() -> None:
    form = TexelFormat(32, 1, "float")
    texels = random_texels(form, 3, 4, 8)
    x, y = ((LANE * k % 64 / 64).astype(np.float32) for k in (5, 11))
    layer = (LANE / 10 - 2).astype(np.float32)
    sampler = ImageSampler((LAST_TEXEL,) * 3, True, normalised=True)
    done = run("sample_layer", texels, form, x, y, layer, sampler=sampler, layers=3)
    of_each = np.stack([sampled(texels[k : k + 1], form, [x, y], sampler) for k in range(3)])
    np.testing.assert_array_equal(done.floats.T, of_each[np.clip(np.rint(layer), 0, 2).astype(int), LANE])


@pytest.mark.compiled_tier
@pytest.mark.parametrize("how", range(8))
def test_comparisons(how: int) -> None:
    form = TexelFormat(32, 1, "float")
    texels = np.round(random_texels(form, 1, 4, 8) * 2) / 2
    x, y = ((LANE * k % 64 / 64).astype(np.float32) for k in (5, 11))
    reference = np.round(np.random.default_rng(how).normal(size=64) * 2).astype(np.float32) / 2
    sampler = ImageSampler((WRAP,) * 3, False, normalised=True)
    words = resource(texels, form).words(8)
    rows = [reference, *[np.zeros(64, np.float32)] * 4, x, y, np.zeros(64, np.float32)]  # four derivatives
    texel = sampled(texels, form, [x, y], sampler)[:, 0]
    rules = (np.zeros_like, None, None, None, None, None, None, np.ones_like)
    compare = (None, np.less, np.equal, np.less_equal, np.greater, np.not_equal, np.greater_equal, None)[how]
    expected = compare(reference, texel) if compare else rules[how](texel)  # type: ignore[misc]

    class WithComparison(ImageSampler):
        def words(self) -> tuple[int, ...]:
            first, *rest = super().words()
            return (first | how << 12, *rest)

    done = Run("sample_c_d", words, rows, laid_out(texels)[0], WithComparison(*vars(sampler).values()))
    np.testing.assert_array_equal(done.floats[0], np.asarray(expected, np.float32))


def test_four_texels_at_a_time() -> None:
    form = TexelFormat(8, 4, "unorm")
    texels = random_texels(form, 1, 5, 7)
    x, y = ((LANE * k % 64 / 32 - 0.5).astype(np.float32) for k in (5, 11))
    sampler = ImageSampler((MIRROR,) * 3, False, normalised=True)
    done = run("gather4", texels, form, x, y, sampler=sampler)
    values = as_registers(texels, form).view(np.float32)[0, :, :, 1]
    x0, y0 = (np.floor(u.astype(np.float64) * n - 0.5 + 1 / 512).astype(int) for u, n in ((x, 7), (y, 5)))
    for k, (dx, dy) in enumerate(((0, 1), (1, 1), (1, 0), (0, 0))):
        expected = values[taken(y0 + dy, 5, MIRROR), taken(x0 + dx, 7, MIRROR)]
        np.testing.assert_array_equal(done.floats[k], expected)


def test_atomics() -> None:
    form = TexelFormat(32, 1, "uint")
    texels = random_texels(form, 1, 2, 4)
    x, y = (LANE % 5).astype(np.int32), (LANE % 2).astype(np.int32)  # x = 4 is beyond the edge
    add = (1000 + LANE).astype(np.uint32)
    rows = [x, y, *[np.zeros(64, np.uint32)] * 6, add, texels[0, y, np.minimum(x, 3), 0]]
    done = run("atomic_add", texels, form, *rows)
    held = texels.copy()
    before = np.zeros(64, np.uint32)
    for i in range(64):
        if x[i] < 4:
            before[i] = held[0, y[i], x[i], 0]
            held[0, y[i], x[i], 0] = (int(before[i]) + int(add[i])) & 0xFFFFFFFF
    np.testing.assert_array_equal(done.out[0], before)
    np.testing.assert_array_equal(done.image[: laid_out(held)[0].size], laid_out(held)[0])
    done = run("atomic_cmpswap", texels, form, *rows)  # the first lane of each texel finds what it expects
    held = texels.copy()
    for i in reversed(range(64)):
        if x[i] < 4:
            held[0, y[i], x[i], 0] = add[i]
    np.testing.assert_array_equal(done.image[: laid_out(held)[0].size], laid_out(held)[0])


@pytest.mark.compiled_tier
@pytest.mark.parametrize("form", FORMS, ids=name_of)
def test_buffers_of_texels(form: TexelFormat) -> None:
    texels = random_texels(form, 50)
    index = (LANE * 7 % 64).astype(np.uint32)
    words = buffer_words(ADDRESS + IMAGE, form, 50, 8)
    done = Run("buffer_load", words, [index], texels.view(np.uint8).ravel(), None)
    expected = as_registers(texels[np.minimum(index, 49)], form)
    expected[index >= 50, : form.channels] = 0
    np.testing.assert_array_equal(done.out.T, expected)
    given = as_registers(random_texels(form, 64), form)
    rows = [index, *[np.zeros(64, np.uint32)] * 7, *given.T]
    done = Run("buffer_store", words, rows, np.zeros(50 * form.texel_bytes, np.uint8), None)
    kept = np.zeros_like(texels)
    kept[index[index < 50], :2] = random_texels(form, 64)[index < 50, :2]
    if form.number == "snorm":
        kept[kept == np.iinfo(kept.dtype).min] += 1  # -1.0 has two codes
    np.testing.assert_array_equal(done.image[: kept.nbytes], kept.view(np.uint8).ravel())


@pytest.mark.compiled_tier
@pytest.mark.parametrize(("form", "busy"), [((32, 1, "float"), 16), ((16, 4, "float"), 32), ((32, 4, "float"), 64)])
def test_lines_and_cycles_of_a_sample(form: tuple[int, int, str], busy: int) -> None:
    held = TexelFormat(*form)
    texels = random_texels(held, 1, 4, 64)
    sampler = ImageSampler((LAST_TEXEL,) * 3, True, normalised=False)
    rows = [(LANE + 0.75).astype(np.float32), np.full(64, 2.25, np.float32)]  # texels 1 and 2 of a column
    launch, _ = launched("sample_lz", resource(texels, held).words(8), rows, laid_out(texels)[0], sampler)
    context = FunctionalContext(launch, 1, 1)
    call(context.start_address, context.address, 0, 0, 0)
    assert call(context.produce_address, context.address, 0, 0, 0) == trace.END
    header, lines, _ = [one for one in records(slot_trace(context, 0)) if not one[0] & trace.RECORD_SCALAR][12]
    row = 64 * held.texel_bytes // 64
    first = (ADDRESS + IMAGE) // 64
    assert sorted(lines) == [first + y * row + k for y in (1, 2) for k in range(row)]
    assert header >> trace.BUSY_SHIFT & trace.BUSY_MASK == busy
    assert header >> trace.ASKED_SHIFT & trace.ASKED_MASK == 64 * held.texel_bytes


@pytest.mark.compiled_tier
def test_texels_are_checked() -> None:
    form = TexelFormat(8, 4, "unorm")
    texels = random_texels(form, 1, 4, 16)
    x, y = (LANE % 16).astype(np.int32), (LANE // 16).astype(np.int32)
    for where, expected in ((x, set()), (x // 2, {"race"}), (x + 16, set())):  # the last beyond the edge
        rows = [where, y, *[np.zeros(64, np.uint32)] * 6, *[(LANE / 64).astype(np.float32)] * 4]
        launch, _ = launched("store_x", resource(texels, form).words(8), rows, laid_out(texels)[0])
        findings = checked(launch, launch.workgroup_at_a_time).findings
        assert {one.kind for one in findings} == expected, findings
        if expected:
            assert "image_store" in findings[0].text and "two lanes write different values" in findings[0].text


@pytest.mark.compiled_tier
@pytest.mark.parametrize("factor", [0, 1])
def test_to_store_what_is_there_is_no_race(factor: int) -> None:
    form = TexelFormat(32, 1, "uint")
    texels = np.zeros((1, 4, 16, 1), np.uint32)
    x, y = (LANE % 16).astype(np.int32), (LANE // 16).astype(np.int32)
    rows = [x, y, *[np.zeros(64, np.uint32)] * 7, np.full(64, factor, np.uint32)]
    of_image, of_buffer = resource(texels, form).words(8), buffer_words(ADDRESS + IMAGE, form, 64, 8)
    for name, words in (("store_of_group", of_image), ("buffer_of_group", of_buffer)):
        rows[0] = x if name == "store_of_group" else LANE.astype(np.int32)
        launch, _ = launched(name, words, rows, laid_out(texels)[0])
        launch = replace(launch, global_size=(128, 1, 1))
        findings = checked(launch, launch.workgroup_at_a_time).findings
        assert {one.kind for one in findings} == ({"race"} if factor else set()), name


@pytest.mark.compiled_tier
@pytest.mark.parametrize("second", [0, 1])
def test_lanes_that_differ_in_a_second_component_race(second: int) -> None:
    form = TexelFormat(8, 2, "uint")
    texels = random_texels(form, 1, 4, 16)
    zeros = np.zeros(64, np.uint32)
    rows = [zeros, zeros, *[zeros] * 6, zeros + 3, (LANE * second % 4).astype(np.uint32)]
    launch, _ = launched("store_two", resource(texels, form).words(8), rows, laid_out(texels)[0])
    findings = checked(launch, launch.workgroup_at_a_time).findings
    assert {one.kind for one in findings} == ({"race"} if second else set())


def changed(words: tuple[int, ...], number: int, clear: int, bits: int) -> tuple[int, ...]:
    return (*words[:number], words[number] & ~clear | bits, *words[number + 1 :])


@pytest.mark.compiled_tier
@pytest.mark.parametrize(
    ("word", "clear", "bits", "message"),
    [
        (3, 15 << 28, 11 << 28, "TYPE is none of 1D"),  # a cube
        (3, 31 << 20, 13 << 20, "tiling is not linear"),
        (3, 15 << 16, 2 << 16, "several mipmap levels"),
        (1, 63 << 20, 16 << 20, "DATA_FORMAT"),  # 5_6_5
        (0, (1 << 32) - 1, 0x300_0000, "outside every allocation"),
    ],
)
def test_resources_that_are_not_supported(word: int, clear: int, bits: int, message: str) -> None:
    texels = random_texels(TexelFormat(8, 4, "unorm"), 1, 4, 8)
    words = changed(resource(texels, TexelFormat(8, 4, "unorm")).words(8), word, clear, bits)
    with pytest.raises(ExecutionFault, match=message):
        Run("load", words, [LANE.astype(np.int32) % 4] * 2, laid_out(texels)[0], None)


@pytest.mark.compiled_tier
@pytest.mark.parametrize(
    ("word", "clear", "bits", "message"),
    [
        (2, 3 << 22, 0, "one filter for magnification"),
        (2, 0, 2 << 20, "neither point nor bilinear"),
        (0, 7, 4, "CLAMP is none of"),
        (3, 0, 3 << 30, "border colour"),
    ],
)
def test_samplers_that_are_not_supported(word: int, clear: int, bits: int, message: str) -> None:
    class Changed(ImageSampler):
        def words(self) -> tuple[int, ...]:
            return changed(super().words(), word, clear, bits)

    texels = random_texels(TexelFormat(8, 4, "unorm"), 1, 4, 8)
    with pytest.raises(ExecutionFault, match=message):
        run("sample_lz", texels, TexelFormat(8, 4, "unorm"), sampler=Changed((WRAP,) * 3, True, True))
    with pytest.raises(ExecutionFault, match="the resource's numbers are integers"):
        run("sample_lz", texels, TexelFormat(8, 4, "uint"), sampler=ImageSampler((WRAP,) * 3, True, True))


def test_what_no_resource_can_describe() -> None:
    with pytest.raises(ImageError, match="no format of 3 x 8 bits"):
        TexelFormat(8, 3, "unorm")
    form = TexelFormat(32, 1, "float")
    with pytest.raises(ImageError, match="multiples of 256"):
        ImageResource(256, form, 2, 8, 8, 1, 0, 64).words(8)
    with pytest.raises(ImageError, match="at most 16384 x 16384"):
        ImageResource(256, form, 2, 20000, 8, 1, 0, 80128).words(8)
