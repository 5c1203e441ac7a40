"""Do kernels of OpenCL C find images and samplers in their arguments as a plain definition in NumPy has them?"""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import yaml

import gpusim
from gpusim.cli.main import invoke
from gpusim.config.exec import ArgumentSpec, SamplerSpec
from gpusim.jobs.api.device import FILTERS
from isa import image_resource
from isa.image_resource import CLAMP_BORDER, IMAGE_KINDS, LAST_TEXEL, MIRROR, WRAP, ImageSampler, TexelFormat
from tests.support.images import random_texels, sampled

IMAGES = Path(__file__).parents[2] / "data/kernels/images.hsaco"
SMALL = {"base": "mi6", "name": "small", "shader_arrays": 1, "cus_per_array": 2, "memory_mib": 16}
FLOATS, BYTES = TexelFormat(32, 4, "float"), TexelFormat(8, 2, "unorm")
CLAMPS = {"clamp": CLAMP_BORDER, "clamp_to_edge": LAST_TEXEL, "repeat": WRAP, "mirrored_repeat": MIRROR}


@pytest.fixture
def gpu() -> gpusim.Device:
    return gpusim.Device(SMALL, timing=False, quiet=True)


def test_a_picture_is_turned_by_a_file(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    texels = random_texels(FLOATS, 1, 9, 21)
    np.save(tmp_path / "picture.npy", texels[0])
    y, x = np.mgrid[:16, :32].astype(np.float32).reshape(2, -1)
    coordinates = [x * np.float32(0.75) - y * np.float32(0.5), x * np.float32(0.5) + y * np.float32(0.75)]
    wanted = sampled(texels, FLOATS, coordinates, ImageSampler((LAST_TEXEL,) * 3, True, False)).reshape(16, 32, 4)
    np.save(tmp_path / "wanted.npy", wanted)
    result = {"image": "2d", "fill": 0, "dtype": "float32", "shape": [16, 32, 4], "expected": "wanted.npy"}
    data = {
        **{"gpu": SMALL, "code_object": str(IMAGES), "kernel": "turned"},
        **{"global_size": [32, 16], "local_size": [16, 16]},
        "arguments": {
            "picture": {"image": "2d", "npy": "picture.npy"},
            "result": {**result, "output": str(tmp_path / "found.npy")},
            "cosine": {"value": 0.75, "dtype": "float32"},
            "sine": {"value": 0.5, "dtype": "float32"},
        },
    }
    file = tmp_path / "turned.yaml"
    file.write_text(yaml.safe_dump(data))
    assert invoke(["exec", str(file), "--checked"]) == 0
    assert "verified               passed" in capfd.readouterr().out
    np.testing.assert_array_equal(np.load(tmp_path / "found.npy"), wanted)
    texels[0, 0, 0, 0] += 1
    np.save(tmp_path / "picture.npy", texels[0])
    assert invoke(["exec", str(file)]) == 1


@pytest.mark.compiled_tier
@pytest.mark.parametrize("form", [FLOATS, BYTES], ids=["float", "unorm"])
@pytest.mark.parametrize("filter_", ["nearest", "linear"])
@pytest.mark.parametrize(
    ("address", "normalized"), [(a, n) for a in CLAMPS for n in (False, True) if n or "repeat" not in a]
)
def test_samplers(gpu: gpusim.Device, filter_: str, address: str, normalized: bool, form: TexelFormat) -> None:
    picture, volume = random_texels(form, 1, 5, 7), random_texels(form, 3, 6, 5)
    at = np.random.default_rng(5).uniform(-0.6, 1.6, (64, 4)).astype(np.float32)
    if not normalized:
        at *= np.float32(6)
    result = gpu.zeros((4, 64, 4))
    fractions = form.number == "unorm"
    images = [gpu.image(picture[0], fractions=fractions), gpu.image(volume, "3d", fractions=fractions)]
    sampler = gpu.sampler(filter_, address, normalized=normalized)
    kernel = gpu.load(IMAGES)[f"{filter_}_{address}" + "_normalized" * normalized]
    gpu.launch(kernel, 64, 64, [*images, sampler, gpu.array(at), result])
    found = result.numpy()
    for texels, halves in ((picture, found[:2]), (volume, found[2:])):
        sizes = texels.shape[2::-1]
        coordinates = list(at.T[: 2 if len(texels) == 1 else 3])
        held = ImageSampler((CLAMPS[address],) * 3, filter_ == "linear", normalized)
        if filter_ == "nearest":  # AMD's device library makes the coordinate that the texel begins at
            scale = sizes if normalized else (1, 1, 1)
            coordinates = [np.floor(u * np.float32(n)) for u, n in zip(coordinates, scale, strict=False)]
            held = ImageSampler(held.clamps, False, False)
        wanted = sampled(texels, form, coordinates, held)
        np.testing.assert_array_equal(halves[0], wanted)
        np.testing.assert_array_equal(halves[1], wanted)


def test_sizes_and_formats(gpu: gpusim.Device) -> None:
    line, picture = np.zeros(300, np.float16), np.zeros((4, 5, 2), np.uint8)
    volume, lines, pictures = np.zeros((3, 2, 6, 4), np.int16), np.zeros((7, 8), np.int32), np.zeros((9, 10, 11), "u4")
    images = [
        *(gpu.image(line, "1d"), gpu.image(picture), gpu.image(volume, "3d", fractions=True)),
        *(gpu.image(lines, "1d_array"), gpu.image(pictures, "2d_array")),
    ]
    result = gpu.zeros(17, np.int32)
    gpu.launch(gpu.load(IMAGES)["sizes"], 1, 1, [*images, result])
    half, red, uint8, rg, snorm16, rgba = 0x10DD, 0x10B0, 0x10DA, 0x10B2, 0x10D1, 0x10B5  # OpenCL's <CL/cl.h>
    sizes = [300, 5, 4, 6, 2, 3, 8, 7, 11, 10, 9]
    np.testing.assert_array_equal(result.numpy(), [*sizes, half, red, uint8, rg, snorm16, rgba])


def test_each_kind_is_read_and_written(gpu: gpusim.Device) -> None:
    draw = np.random.default_rng(1)
    shapes = {"1d": (12,), "1d_array": (5, 12), "2d_array": (3, 5, 12, 2), "3d": (3, 5, 12, 4)}
    before = {kind: draw.integers(0, 1 << 15, shape).astype(np.uint16) for kind, shape in shapes.items()}
    images = [gpu.image(values, kind) for kind, values in before.items()]
    after = [gpu.image(np.zeros_like(values), kind) for kind, values in before.items()]
    gpu.launch(gpu.load(IMAGES)["doubled"], (16, 8, 4), (16, 4, 1), [*images, *after])  # some beyond the images
    for image, values in zip(after, before.values(), strict=True):
        np.testing.assert_array_equal(image.numpy(), 2 * values)


def test_a_queue_writes_and_reads_images_but_copies_none(gpu: gpusim.Device) -> None:
    image, other = gpu.image(np.zeros((3, 5, 4), np.float32)), gpu.zeros((3, 5, 4))
    values = np.arange(60, dtype=np.float32).reshape(3, 5, 4)
    with gpu.queue() as queue:
        queue.write(image, values)
        found = queue.read(image)
    np.testing.assert_array_equal(found, values)
    with pytest.raises(gpusim.DeviceArrayError, match="copies within the device"), gpu.queue() as queue:
        queue.copy(image, other)


def test_words_are_those_of_the_generation() -> None:
    for name, tiling in (("mi6", 8), ("mi60", 0)):
        gpu = gpusim.Device(name, sets=["memory_mib=16"], quiet=True)
        image = gpu.image(np.zeros((3, 5), np.float32))
        (held,) = (one for one in gpu.memory.allocations if one.address == image.address)
        assert gpu.memory.view(held, np.uint32)[3] >> 20 & 31 == tiling


def test_what_does_not_fit_is_refused(gpu: gpusim.Device) -> None:
    kernels = gpu.load(IMAGES)
    picture, array = gpu.image(np.zeros((4, 4), np.float32)), gpu.zeros((4, 4))

    def refused(kernel: str, *arguments: object) -> str:
        with pytest.raises(gpusim.KernargError) as error:
            gpu.launch(kernels[kernel], 1, 1, arguments)
        return str(error.value)

    assert "'row': image1d_buffer_t is not supported: image1d_t, " in refused("row_of_texels", picture, array)
    expected = "argument 0 'picture': expected an image of the device (image2d_t), found"
    assert f"{expected} a device array" in refused("turned", array, picture, 1.0, 0.0)
    line = gpu.image(np.zeros(4, np.float32), "1d")
    assert f"{expected} an image (image1d_t)" in refused("turned", line, picture, 1.0, 0.0)
    assert f"{expected} None" in refused("turned", None, picture, 1.0, 0.0)
    message = refused("linear_clamp", picture, gpu.image(np.zeros((1, 1, 1), "f4"), "3d"), picture, array, array)
    assert "'given': expected a sampler of the device (sampler_t), found an image" in message
    message = refused("row_of_texels", array, picture)
    assert "image1d_buffer_t" in message
    message = refused("turned", picture, picture, gpu.sampler(), 0.0)
    assert "'cosine': expected a value of 4 bytes (float), found a sampler" in message


@pytest.mark.parametrize(
    ("host", "options", "message"),
    [
        (np.zeros((4, 4), np.float64), {}, "no format of 1 x 64 bits float"),
        (np.zeros((4, 4, 3), np.uint8), {}, "no format of 3 x 8 bits uint"),
        (np.zeros((4, 4), bool), {}, "elements of type bool are no texels"),
        (np.zeros((4, 4), np.float32), {"fractions": True}, "float32 as fractions are no texels"),
        (np.zeros((4, 4), np.uint32), {"fractions": True}, "no format of 1 x 32 bits unorm"),
        (np.zeros((4, 4), np.uint8), {"kind": "3d"}, "of 3d 3 axes, or 4, the last of channels"),
        (np.zeros((4, 4), np.uint8), {"kind": "2D"}, "unknown kind '2D'"),
        (np.zeros((1, 20000), np.uint8), {}, "at most 16384 x 16384"),
    ],
)
def test_what_is_no_image(gpu: gpusim.Device, host: np.ndarray, options: dict, message: str) -> None:
    with pytest.raises(gpusim.UserError, match=message):
        gpu.image(host, **options)


def test_what_is_no_sampler(gpu: gpusim.Device) -> None:
    with pytest.raises(gpusim.UserError, match="repeat needs normalized coordinates"):
        gpu.sampler(address="repeat")
    with pytest.raises(gpusim.UserError, match="unknown filter 'cubic'"):
        gpu.sampler("cubic")


def test_an_image_is_no_pointer(gpu: gpusim.Device) -> None:
    with pytest.raises(gpusim.DeviceArrayError, match="not by a pointer"):
        gpu.image(np.zeros((4, 4), np.float32)).pointer()


def test_a_file_and_a_script_have_the_same_names() -> None:
    kinds, _ = get_args(ArgumentSpec.model_fields["image"].annotation)
    assert set(get_args(kinds)) == set(IMAGE_KINDS)
    assert get_args(SamplerSpec.model_fields["address"].annotation) == tuple(image_resource.CLAMPS)
    assert get_args(SamplerSpec.model_fields["filter"].annotation) == FILTERS
