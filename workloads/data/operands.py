"""Where a GEMM's operands come from: random numbers with zeros, or a layer's captured activation maps."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workloads.data.activations_file import load_activations
from workloads.data.patterns import fill_im2col, fill_synthetic, fill_weights
from workloads.shapes import GemmShape, Layer

SHIPPED_ACTIVATIONS = Path(__file__).resolve().parents[1] / "activations"


@dataclass(frozen=True)
class SyntheticOperands:
    """Random weights, and activations of which `sparsity` are zero, uniformly at random."""

    sparsity: float
    seed: int

    def fill(self, weights: np.ndarray, activations: np.ndarray, shape: GemmShape) -> None:
        """Raises PatternError."""
        fill_weights(weights, shape, self.seed)
        fill_synthetic(activations, shape, self.sparsity, self.seed)


@dataclass(frozen=True)
class CapturedOperands:
    """Random weights, and im2col of the first `batch` images' maps in an activation file: a path or a shipped name."""

    layer: Layer
    batch: int
    file: str
    seed: int

    def fill(self, weights: np.ndarray, activations: np.ndarray, shape: GemmShape) -> None:
        """Raises ActivationFileError and PatternError."""
        fill_weights(weights, shape, self.seed)
        layer = self.layer
        captured = load_activations(activations_path(self.file))
        maps = captured.first_images(self.batch, layer.input_channels, layer.input_height, layer.input_width)
        fill_im2col(activations, maps, layer)


def activations_path(name: str) -> Path:
    """The file at path `name`, or else the shipped one of that name; a missing file is the reader's error."""
    path = Path(name)
    return path if path.exists() or not (SHIPPED_ACTIVATIONS / name).exists() else SHIPPED_ACTIVATIONS / name
