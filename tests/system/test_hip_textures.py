"""Do textures and surfaces of a HIP program give what a plain definition in NumPy says?"""

from pathlib import Path

import numpy as np
import pytest

from isa.image_resource import CLAMP_BORDER, LAST_TEXEL, MIRROR, WRAP, ImageSampler, TexelFormat
from tests.support.hip_programs import PROGRAMS, pytestmark, run
from tests.support.images import sampled

__all__ = ["pytestmark"]

H, D = 21, 5


def parts_of(path: Path) -> dict[int, np.ndarray]:
    """The parts that the program wrote, by what they are."""
    values, parts, at = np.fromfile(path, np.float32), {}, 0
    while at < len(values):
        what, _, count = values[at : at + 3].astype(int)
        parts[int(what)] = values[at + 3 : at + 3 + count]
        at += 3 + count
    return parts


@pytest.mark.parametrize("gpu", ["r9nano", "mi60"])
def test_textures_and_surfaces(gpu: str, tmp_path: Path) -> None:
    done = run(["--gpu", gpu, *(["--timing", "off"] if gpu == "mi60" else [])], PROGRAMS / "textures", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "multiples of 256 bytes" in done.stderr and "linear filter that is read as integers" in done.stderr
    assert "one, two or four numbers" in done.stderr
    parts = parts_of(tmp_path / "out")
    one, byte = TexelFormat(32, 1, "float"), TexelFormat(8, 1, "unorm")
    image = parts[0].reshape(1, H, -1, 1)
    volume = parts[2].reshape(D, H, -1, 1)
    bytes_ = parts[1].astype(np.uint8).reshape(1, H, -1, 1)
    x, y, z = parts[3], parts[4], parts[5]

    def equal(what: int, expected: np.ndarray) -> None:
        np.testing.assert_array_equal(parts[what], expected)

    equal(10, sampled(image, one, [x, y], ImageSampler((WRAP, MIRROR, WRAP), True, normalised=True))[:, 0])
    in_texels = ImageSampler((LAST_TEXEL,) * 3, True, normalised=False)
    equal(11, sampled(bytes_, byte, [parts[6], parts[6]], in_texels)[:, 0])
    equal(12, sampled(volume, one, [x, y, z], ImageSampler((LAST_TEXEL,) * 3, True, normalised=True))[:, 0])
    # of the nearest texel AMD's device library makes the coordinate that it begins at
    held = [np.floor(u * np.float32(n)) for u, n in ((x, image.shape[2]), (y, H))]
    border = ImageSampler((CLAMP_BORDER,) * 3, False, normalised=False)
    layers = np.stack([sampled(volume[k : k + 1], one, held, border)[:, 0] for k in range(D)])
    equal(13, layers[np.arange(len(x)) % D, np.arange(len(x))])
    index = np.arange(len(x)) * 5 % len(x)
    four = parts[2][: 4 * (len(x) - 100)].reshape(-1, 4)
    equal(14, np.where(index[:, None] < len(four), four[np.minimum(index, len(four) - 1)], 0).ravel())
    equal(15, (2 * image[0, :, :, 0] + np.arange(H)[:, None]).astype(np.float32).ravel())
