"""Does `gpusim train` learn, say what an iteration takes, and refuse what it cannot train by?"""

import json
from pathlib import Path

import numpy as np
import pytest

from gpusim.cli.main import invoke

NETWORK = """
input: [6]
layers:
  - {name: fc1, kind: fully_connected, outputs: 8}
  - {name: tanh1, kind: tanh}
  - {name: fc2, kind: fully_connected, outputs: 3}
"""


@pytest.fixture
def network(tmp_path: Path) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(NETWORK, encoding="utf-8")
    return str(path)


def reference(
    arrays: dict[str, np.ndarray], batches: int, iterations: int, rate: float, momentum: float
) -> list[float]:
    """The losses of the same training by NumPy in FP64."""
    held = {name: arrays[name].astype(np.float64) for name in ("fc1.weight", "fc2.weight")}
    held |= {"fc1.bias": np.zeros(8), "fc2.bias": np.zeros(3)}
    velocity = {name: np.zeros_like(array) for name, array in held.items()}
    losses, size = [], len(arrays["labels"]) // batches
    for number in range(iterations):
        part = slice(number % batches * size, (number % batches + 1) * size)
        x, labels = arrays["input"][part].astype(np.float64), arrays["labels"][part]
        hidden = np.tanh(x @ held["fc1.weight"].T + held["fc1.bias"])
        logits = hidden @ held["fc2.weight"].T + held["fc2.bias"]
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        losses.append(-np.log(shares[np.arange(size), labels]).mean())
        gradient = (shares - np.eye(3)[labels]) / size
        before = gradient @ held["fc2.weight"] * (1 - hidden**2)
        gradients = {
            "fc2.weight": gradient.T @ hidden, "fc2.bias": gradient.sum(axis=0),
            "fc1.weight": before.T @ x, "fc1.bias": before.sum(axis=0),
        }  # fmt: skip
        for name, of in gradients.items():
            velocity[name] = momentum * velocity[name] + of
            held[name] = held[name] - rate * velocity[name]
    return losses


def test_losses_are_those_of_the_same_training_by_numpy(
    network: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    random = np.random.default_rng(3)
    arrays = {
        "input": random.standard_normal((8, 6), np.float32), "labels": random.integers(0, 3, 8),
        "fc1.weight": random.standard_normal((8, 6), np.float32) / 2,
        "fc2.weight": random.standard_normal((3, 8), np.float32) / 2,
    }  # fmt: skip
    given, out = tmp_path / "given.npz", tmp_path / "out.json"
    np.savez(given, **arrays)
    sets = ["--set", "training.rate=0.2", "--set", "training.momentum=0.5"]
    command = ["train", network, "--iterations", "5", "--batch", "4", "--inputs", str(given), *sets]
    assert invoke([*command, "--json", str(out)]) == 0
    found = json.loads(out.read_text())
    wanted = reference(arrays, 2, 5, 0.2, 0.5)
    np.testing.assert_allclose(found["losses"], wanted, rtol=1e-4)
    assert found["verified"] and found["iteration_us"] > 0 < found["iteration_cycles"]
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "iteration\tloss" and len(shown) == 8
    assert "each result compared with NumPy, all as expected" in shown[-2]


def test_without_data_one_batch_is_learned(network: str, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    command = ["train", network, "--iterations", "4", "--batch", "3", "--no-timing", "--no-verify", "--quiet"]
    assert invoke([*command, "--set", "training.rate=0.3", "--json", str(out)]) == 0
    found = json.loads(out.read_text())
    assert found["losses"][-1] < found["losses"][0] and found["iteration_us"] is None and not found["verified"]


@pytest.mark.parametrize(
    ("arrays", "more", "said"),
    [
        ({"input": (6, 6), "labels": (4,)}, [], "'input' has 6 images, 'input' 6: must be as many, whole batches of 4"),
        ({"input": (8, 6), "labels": (4,)}, [], "'labels' has 4 images, 'input' 8: must be as many"),
        ({"inputs": (4, 6)}, [], "unknown tensor 'inputs'"),
        ({}, ["--set", "training.update=none"], "a training needs an update"),
    ],
)
def test_what_cannot_be_trained_by_is_refused(
    arrays: dict[str, tuple[int, ...]], more: list[str], said: str, network: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    given = tmp_path / "given.npz"
    np.savez(given, **{name: np.zeros(shape, np.int64) for name, shape in arrays.items()})
    assert invoke(["train", network, "--batch", "4", "--iterations", "1", "--inputs", str(given), *more]) == 2
    assert said in capsys.readouterr().err
