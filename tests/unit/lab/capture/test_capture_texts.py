"""Texts, the training of a transformer on them, and its activations in a product (in part skipped without PyTorch)."""

import csv
import importlib

import numpy as np
import pytest

from gpusim.lab.capture.capture import FEED_FORWARD_WIDTH, TEXTS, CaptureError, Recipe, capture
from gpusim.lab.capture.texts import TextError, load_texts
from workloads.data.activations_file import ActivationFileError, load_activations, save_activations
from workloads.data.operands import transposed_operands
from workloads.shapes import ConvolutionShape, gemm_shape


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "texts" / "deeper").mkdir(parents=True)
    (tmp_path / "texts" / "b.py").write_bytes(b"two " * 1000)
    (tmp_path / "texts" / "a.txt").write_bytes(b"one " * 125)
    (tmp_path / "texts" / "a.bin").write_bytes(b"no text")
    (tmp_path / "texts" / "deeper" / "c.py").write_bytes(b"not read")
    return tmp_path / "texts"


def test_texts_are_a_folder_s_in_order_and_the_last_tenth_is_a_test(folder):
    texts = load_texts(folder)
    held = b"one " * 125 + b"two " * 1000
    assert texts.train.tobytes() + texts.test.tobytes() == held and len(texts.test) == 450
    assert texts.name == "texts" and load_texts(folder).sha256 == texts.sha256 != load_texts(folder / "b.py").sha256
    with pytest.raises(TextError, match=r"expected a text file, or a folder with files that end in \.c, \.h, \.md"):
        load_texts(folder / "deeper" / "none")


def test_an_l1_term_is_of_transformers_alone():
    assert Recipe.of("transformer", 1, 2, 0, 1e-4).l1 == 1e-4
    with pytest.raises(CaptureError, match=r"l1 of 0\.5 in vgg16: allowed are transformer"):
        Recipe.of("vgg16", 1, 2, 0, 0.5)


@pytest.fixture
def short(monkeypatch):
    pytest.importorskip("torch")
    training = importlib.import_module("gpusim.lab.capture.text_training")
    monkeypatch.setattr(training, "STEPS", 5)
    monkeypatch.setattr(training, "TEST_TEXTS", 2)
    return training


@pytest.mark.nightly  # a test below captures with fewer steps
def test_a_transformer_learns_and_its_l1_term_makes_zeros(folder, tmp_path, short):
    records = []
    plain = capture(
        "transformer", folder, tmp_path / "a", Recipe.of("transformer", 2, 2, 3), "cpu", 130, records.append
    )
    assert records[-1].train_loss < records[0].train_loss < np.log(256)
    assert [layer.path.name for layer in plain] == [f"transformer-{point.label}.npz" for point in TEXTS["transformer"]]
    sparse = capture("transformer", folder, tmp_path / "b", Recipe.of("transformer", 2, 2, 3, 0.05), "cpu", 130)
    assert sparse[0].path.name == "transformer-l1-ff1.npz"
    for one, other in zip(plain, sparse, strict=True):
        assert one.shape == (130, FEED_FORWARD_WIDTH, 1, 1) and other.sparsity > one.sparsity
        assert load_activations(other.path).metadata["recipe"]["l1"] == 0.05
    with (tmp_path / "b" / "transformer-l1.csv").open() as file:
        assert [int(row["steps"]) for row in csv.DictReader(file)] == [5, 10]


def test_activations_are_what_the_second_product_reads_from_the_last_token_on(folder, short):
    """Against the layers' own parts, at the network's first weights: one step of a rate of zero."""
    torch, recipe = (
        importlib.import_module("torch"),
        Recipe(epochs=1, batch=2, peak_learning_rate=0.0, gradient_norm=1.0),
    )
    short.STEPS = 1
    held = short.TextTraining(load_texts(folder), recipe, torch.device("cpu"), 256)
    drawn = held._drawn(held.texts.train, 2, np.random.default_rng(recipe.seed))
    held.run_epoch(1)
    layer = held.network.layer1
    with torch.no_grad():
        x = held.network.tokens(drawn[:, :-1]) + held.network.positions.weight
        _, activations = layer(x)
    expected = activations.numpy()[:, ::-1].reshape(256, FEED_FORWARD_WIDTH)
    np.testing.assert_allclose(held.maps("layer1.second")[:, :, 0, 0], expected, atol=1e-6)


def test_transposed_activations_are_the_operand_of_weights_gradients(tmp_path):
    tokens = np.maximum(np.random.default_rng(1).standard_normal((6, 5, 1, 1)), 0).astype(np.float16).astype(np.float32)
    save_activations(tmp_path / "t.npz", tokens, {})
    layer = ConvolutionShape("gradients", 4, 3, 1, 1, filter_size=1, padding=0)
    shape, data = gemm_shape(layer, 5), transposed_operands(layer, 5, str(tmp_path / "t.npz"), 1)
    a, b = np.zeros((shape.padded_k, shape.lda), np.float32), np.zeros((shape.n, shape.ldb), np.float32)
    data.fill(a, b, shape)
    np.testing.assert_array_equal(b[:, :4], tokens[:4, :, 0, 0].T)
    assert data.zeros(shape) == pytest.approx(np.mean(tokens[:4] == 0))
    with pytest.raises(ActivationFileError, match="needs 4 images with 6 channels, found 6 with 5"):
        transposed_operands(layer, 6, str(tmp_path / "t.npz"), 1).zeros(gemm_shape(layer, 6))
    save_activations(tmp_path / "w.npz", np.ones((6, 5, 2, 1), np.float32), {})
    with pytest.raises(ActivationFileError, match="maps of 2 x 1 pixels; allowed are those of one pixel"):
        transposed_operands(layer, 5, str(tmp_path / "w.npz"), 1).zeros(shape)
