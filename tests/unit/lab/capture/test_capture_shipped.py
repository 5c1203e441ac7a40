"""The shipped activation maps: they load, are what their metadata says, and fit the layers they stand for."""

import csv
from pathlib import Path

import numpy as np
import pytest

import workloads
from gpusim.lab.capture.capture import CAPTURE_POINTS, CURVES_OF_PHOTOGRAPHS, PHOTOGRAPHS, TEXTS
from workloads.data.activations_file import load_activations

FOLDER = Path(workloads.__file__).parent / "activations"
POINTS = [(model, point) for model, points in CAPTURE_POINTS.items() for point in points]
BYTES_MAX = 2_000_000
SHIPPED_PHOTOGRAPHS = [model for model in PHOTOGRAPHS if (FOLDER / f"{model}.csv").exists()]
TRANSFORMERS = ("transformer", "transformer-l1")
PHOTOGRAPHS_BYTES_MAX = 20_000_000


@pytest.mark.parametrize(("model", "point"), POINTS, ids=[point.label for _, point in POINTS])
def test_shipped_maps(model, point):
    path = FOLDER / f"{point.label}.npz"
    assert path.stat().st_size <= BYTES_MAX
    loaded = load_activations(path)
    maps = loaded.first_images(256, *point.shape)
    assert maps.shape == (256, *point.shape)
    assert (maps >= 0).all(), "the input of the convolution follows a ReLU"
    assert loaded.metadata["sparsity"] == pytest.approx(np.mean(loaded.array == 0), abs=1e-12)
    assert loaded.metadata["model"] == model
    assert loaded.metadata["module"] == point.module
    assert loaded.metadata["source_sparsity"] == point.source_sparsity
    # No image is stored twice, and none is empty.
    assert len({image.tobytes() for image in maps}) == 256
    assert maps.any(axis=(1, 2, 3)).all()


@pytest.mark.parametrize(("model", "point"), POINTS, ids=[point.label for _, point in POINTS])
def test_history_ends_with_the_shipped_maps(model, point):
    metadata = load_activations(FOLDER / f"{point.label}.npz").metadata
    with (FOLDER / f"{model}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in rows] == list(range(1, metadata["recipe"]["epochs"] + 1))
    last = rows[-1]
    assert float(last[f"sparsity_{point.module}"]) == pytest.approx(metadata["sparsity"], abs=6e-5)
    assert float(last["test_accuracy"]) == pytest.approx(metadata["test_accuracy"], abs=6e-5)
    assert float(last["train_loss"]) == pytest.approx(metadata["train_loss"], abs=6e-5)


def test_maps_of_photographs_are_of_every_layer_of_their_network():
    size = 0
    for model in SHIPPED_PHOTOGRAPHS:
        with (FOLDER / f"{model}.csv").open(newline="", encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) > 1, "several epochs"
        for point in PHOTOGRAPHS[model]:
            loaded = load_activations(FOLDER / f"{point.label}.npz")
            assert loaded.array.shape[1:] == point.shape and loaded.metadata["module"] == point.module
            size += loaded.path.stat().st_size
    assert size <= PHOTOGRAPHS_BYTES_MAX


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_activations_of_texts_are_of_every_layer_and_of_the_curve_s_last_epoch(name):
    with (FOLDER / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        *_, last = csv.DictReader(file)
    for point in TEXTS["transformer"]:
        loaded = load_activations(FOLDER / f"{name}-{point.label}.npz")
        assert loaded.array.shape == (512, *point.shape) and (loaded.array >= 0).all()
        assert loaded.metadata["module"] == point.module and (loaded.metadata["recipe"]["l1"] > 0) == ("l1" in name)
        assert float(last[f"sparsity_{point.module}"]) == pytest.approx(loaded.metadata["sparsity"], abs=6e-5)


def test_every_shipped_file_is_one_of_these():
    expected = {f"{point.label}.npz" for _, point in POINTS} | {
        f"{model}.csv" for model in CAPTURE_POINTS if model not in ("cifar7", "resnet18cifar")
    }
    for name in TRANSFORMERS:
        expected |= {f"{name}.csv"} | {f"{name}-{point.label}.npz" for point in TEXTS["transformer"]}
    expected |= {f"{model}.csv" for model in CURVES_OF_PHOTOGRAPHS}
    for model in SHIPPED_PHOTOGRAPHS:
        expected |= {f"{model}.csv"} | {f"{point.label}.npz" for point in PHOTOGRAPHS[model]}
    assert {path.name for path in FOLDER.iterdir()} == expected
