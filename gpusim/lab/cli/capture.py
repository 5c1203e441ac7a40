"""`gpusim capture`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from gpusim.base.errors import MissingExtraError
from gpusim.base.files import folder
from gpusim.base.formats import FIXED_4, PERCENT
from gpusim.base.interrupt import interrupt_python

_MODELS = "vggnet11, resnet10, cifarnet, cifar7, resnet18cifar; alexnet, vgg16, resnet18, mobilenet_v2; transformer."
_DATA = (
    "CIFAR-10 images as .npz (x_train, y_train, ...); for those from alexnet on a folder or .zip of photographs; "
    "for transformer a text file or a folder of them."
)


def capture(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=_MODELS)],
    data: Annotated[Path, typer.Argument(metavar="IMAGES", help=_DATA)],
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for the activation files.")],
    epochs: Annotated[int, typer.Option(help="Epochs of training; of transformer: of 100 steps.")] = 100,
    batch: Annotated[int, typer.Option(help="Images in a training batch, or texts.")] = 128,
    seed: Annotated[int, typer.Option(help="Seed of initial weights, order and augmentation.")] = 0,
    captured_images: Annotated[int, typer.Option("--images", help="Images, or tokens, whose maps are stored.")] = 256,
    block: Annotated[
        int | None, typer.Option("--circulant", metavar="BLOCK", help="Circulant weights, on CIFAR-10: 16, 32 or 64.")
    ] = None,
    adjacent: Annotated[
        Literal["taps", "channels"],
        typer.Option(
            help="With --circulant: what lies side by side in rows of convolutions' weights, taps as im2col has them."
        ),
    ] = "taps",
    circulant_layers: Annotated[
        Literal["all", "fully_connected"], typer.Option(help="With --circulant: layers that have such weights.")
    ] = "all",
    l1: Annotated[
        float,
        typer.Option("--l1", metavar="WEIGHT", help="Of transformer's activations, summed over neurons, in its loss."),
    ] = 0.0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, ... as PyTorch names it.")] = "auto",
) -> None:
    """Train a network and store the activation maps of its layers (needs the extra 'capture')."""
    interrupt_python()
    from gpusim.lab.capture.capture import CirculantWeights, EpochRecord, Recipe
    from gpusim.lab.capture.capture import capture as captured

    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtraError("gpusim capture", "capture") from None

    def report(epoch: EpochRecord) -> None:
        test = "" if epoch.test_accuracy is None else f", test accuracy {PERCENT(epoch.test_accuracy)}"
        accuracy = f"training accuracy {PERCENT(epoch.train_accuracy)}"
        print(f"epoch {epoch.epoch}/{epochs}: loss {FIXED_4(epoch.train_loss)}, {accuracy}{test}", flush=True)

    circulant = None if block is None else CirculantWeights(block, adjacent, circulant_layers)
    recipe = Recipe.of(model, epochs, batch, seed, l1)
    for layer in captured(model, data, folder(out), recipe, device, captured_images, report, circulant):
        shape = "x".join(map(str, layer.shape))
        print(f"{layer.path}: {layer.point.source_layer}, {shape}, {PERCENT(layer.sparsity)} zeros")
