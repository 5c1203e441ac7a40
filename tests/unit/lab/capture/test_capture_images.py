"""Image files, augmentation and the training recipe: what `gpusim capture` does before PyTorch is needed."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.lab.capture.capture import CaptureError, CirculantWeights, Recipe, capture
from gpusim.lab.capture.image_set import CROP_PADDING, ImageSetError, crop_and_flip, load_images

RNG = np.random.default_rng(3)
IMAGES = RNG.integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)
LABELS = np.array([0, 1, 2, 3, 9, 9], np.uint8)


def stored(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_images_are_read_and_normalised(tmp_path):
    path = stored(tmp_path / "set.npz", x_train=IMAGES, y_train=LABELS, x_test=IMAGES[:2], y_test=LABELS[:2])
    images = load_images(path, 10)
    assert images.name == "set.npz" and (images.y_train == LABELS).all()
    train, test = images.normalised()
    assert train.shape == (6, 3, 32, 32) and train.dtype == np.float32
    for channel in range(3):
        pixels = IMAGES[..., channel].astype(np.float64)
        expected = (pixels - pixels.mean()) / pixels.std()
        np.testing.assert_allclose(train[:, channel], expected, atol=1e-4)
        np.testing.assert_allclose(test[:, channel], expected[:2], atol=1e-4)


def test_test_images_are_optional(tmp_path):
    images = load_images(stored(tmp_path / "set.npz", x_train=IMAGES, y_train=LABELS), 10)
    assert len(images.x_test) == len(images.y_test) == 0


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"pictures": IMAGES}, "expected the arrays x_train and y_train, found pictures"),
        ({"x_train": IMAGES, "y_train": LABELS, "x_test": IMAGES}, "expected x_test and y_test, both or neither"),
        ({"x_train": IMAGES / 255, "y_train": LABELS}, "x_train: expected uint8 [n, 32, 32, 3], found float64"),
        ({"x_train": IMAGES[:, :28], "y_train": LABELS}, "found uint8 [6, 28, 32, 3]"),
        ({"x_train": IMAGES, "y_train": LABELS[:4]}, "y_train: expected 6 integer labels, found uint8 [4]"),
        ({"x_train": IMAGES, "y_train": LABELS + 1}, "y_train: expected labels 0 to 9, found 1 to 10"),
    ],
)
def test_wrong_image_files_are_told(tmp_path, arrays, message):
    path = stored(tmp_path / "set.npz", **arrays)
    with pytest.raises(ImageSetError) as caught:
        load_images(path, 10)
    assert str(caught.value).startswith(f"{path}: ") and message in str(caught.value)


def test_foreign_image_files_are_told(tmp_path):
    with pytest.raises(ImageSetError, match="no such image file"):
        load_images(tmp_path / "none.npz", 10)
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(ImageSetError, match=r"text\.npz: expected an \.npz"):
        load_images(tmp_path / "text.npz", 10)
    np.save(tmp_path / "array.npy", IMAGES)
    with pytest.raises(ImageSetError, match="found a single array"):
        load_images(tmp_path / "array.npy", 10)
    whole = (tmp_path / "array.npy").read_bytes()
    (tmp_path / "array.npy").write_bytes(whole.replace(b"}", b"\0", 1))  # what NumPy ends in a TokenError
    with pytest.raises(ImageSetError, match=r"expected an \.npz"):
        load_images(tmp_path / "array.npy", 10)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), images=st.integers(1, 6))
def test_crops_and_flips_equal_slices_of_the_padded_image(seed, images):
    padded = np.pad(IMAGES[:images], ((0, 0), (CROP_PADDING,) * 2, (CROP_PADDING,) * 2, (0, 0)))
    rows, columns = crop_and_flip(np.random.default_rng(seed), images)
    assert rows.shape == (images, 32, 1) and columns.shape == (images, 1, 32)
    cropped = padded[np.arange(images)[:, None, None], rows, columns]
    for image in range(images):
        top, left = int(rows[image].min()), int(columns[image].min())
        window = padded[image, top : top + 32, left : left + 32]
        assert (cropped[image] == window).all() or (cropped[image] == window[:, ::-1]).all()


def test_crops_and_flips_reach_every_position():
    rows, columns = crop_and_flip(np.random.default_rng(0), 2000)
    assert set(rows.min(axis=(1, 2))) == set(columns.min(axis=(1, 2))) == set(range(2 * CROP_PADDING + 1))
    assert 0.4 < (columns[:, 0, 0] > columns[:, 0, 1]).mean() < 0.6


@settings(max_examples=40, deadline=None)
@given(epochs=st.integers(1, 30), steps=st.integers(1, 20), warmup=st.integers(0, 8))
def test_learning_rate_rises_to_its_peak_then_falls_towards_zero(epochs, steps, warmup):
    recipe = Recipe(epochs=epochs, warmup_epochs=warmup, peak_learning_rate=0.5)
    rates = [recipe.learning_rate(step, steps) for step in range(epochs * steps)]
    assert all(0 < rate <= 0.5 for rate in rates)
    turn = min(warmup, epochs) * steps
    assert rates[:turn] == sorted(rates[:turn]) and rates[turn:] == sorted(rates[turn:], reverse=True)
    assert max(rates) == 0.5
    if turn < len(rates):
        # The rate after the last step would be zero.
        assert recipe.learning_rate(len(rates), steps) == pytest.approx(0, abs=1e-12)


def test_absent_pytorch_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UserError, match=r"-m pip install .*\[capture\]"):
        capture("resnet10", tmp_path / "set.npz", tmp_path)


def test_bad_arguments_are_told(tmp_path):
    with pytest.raises(CaptureError, match="did you mean 'vggnet11'"):
        capture("vgnet11", tmp_path / "set.npz", tmp_path)
    for wrong in ({"epochs": 0}, {"batch": 0}, {"seed": -1}):
        with pytest.raises(CaptureError, match=f"{next(iter(wrong))}: expected at least"):
            Recipe(**wrong)


@pytest.mark.parametrize(
    ("model", "weights", "allowed"),
    [
        ("alexnet", {"block": 16}, "circulant blocks of 16.*: allowed are those of .*vggnet11"),
        ("cifar7", {"block": 24}, "circulant blocks of 24.*: allowed are 16, 32, 64"),
        ("cifar7", {"block": 16, "layers": "convolutions"}, "layers: 'convolutions' is neither 'all'"),
        ("cifar7", {"block": 16, "adjacent": "rows"}, "adjacent: 'rows' is neither 'taps'"),
    ],
)
def test_circulant_weights_are_of_networks_on_cifar_and_three_blocks(model, weights, allowed, tmp_path):
    with pytest.raises(CaptureError, match=allowed):
        capture(model, tmp_path / "none.npz", tmp_path, circulant=CirculantWeights(**weights))
