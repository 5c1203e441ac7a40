"""`gpusim capture`."""

from pathlib import Path

from gpusim.base.errors import MissingExtraError
from gpusim.base.files import folder
from workloads.data.capture import EpochRecord, Recipe, capture


def capture_command(
    model: str, images: Path, out: Path, epochs: int, batch: int, seed: int, captured_images: int, device: str
) -> None:
    """Train a network and store the input maps of its layers; one line an epoch."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtraError("gpusim capture", "capture") from None

    def report(epoch: EpochRecord) -> None:
        test = "" if epoch.test_accuracy is None else f", test accuracy {100 * epoch.test_accuracy:.1f} %"
        accuracy = f"training accuracy {100 * epoch.train_accuracy:.1f} %"
        print(f"epoch {epoch.epoch}/{epochs}: loss {epoch.train_loss:.4f}, {accuracy}{test}", flush=True)

    recipe = Recipe.of(model, epochs, batch, seed)
    for layer in capture(model, images, folder(out), recipe, device, captured_images, report):
        shape = "x".join(map(str, layer.shape))
        print(f"{layer.path}: {layer.point.source_layer}, {shape}, {100 * layer.sparsity:.1f} % zeros")
