"""`gpusim capture`: train a network and store what its layers read: maps of convolutions, activations of transformers.

Of VGGNet-11 and ResNet-10 on CIFAR-10 images those with 3x3x512x512 filters, of AlexNet, VGG-16 and ResNet-18 on
photographs all but the first, of CifarNet, `cifar7` and `resnet18cifar` none: these leave the curves of their training
alone. Of a language model on texts, what the second product of each feed-forward layer reads, after its ReLU: a token
is an image of one pixel, a neuron a channel.

PyTorch is imported when a capture starts, and only then: the rest of the simulator does without it.
"""

import importlib
import math
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gpusim.base.errors import MissingExtraError, UserError, unknown_name
from gpusim.base.files import folder, write_whole
from gpusim.base.formats import FIXED_4, GENERAL
from gpusim.lab.capture.image_set import CROP_PADDING, ImageSet, crop_and_flip, load_images
from gpusim.lab.capture.photographs import load_photographs
from gpusim.lab.capture.texts import load_texts
from workloads.data.activations_file import save_activations, sparsity_of
from workloads.shapes import ALEXNET, RESNET18, VGGNET16, ConvolutionShape


class CaptureError(UserError):
    """A capture cannot start or went wrong."""


@dataclass(frozen=True)
class CapturePoint:
    """A layer of Dong 2020 whose input maps are stored."""

    label: str
    """Name in file names and configurations."""
    module: str
    """Name of the convolution in our network."""
    source_layer: str
    """Name in the dissertation."""
    shape: tuple[int, int, int]
    """Shape of its input: [channels, height, width]."""
    source_sparsity: float | tuple[float, float] | None
    """Sparsity in Dong 2020, for networks on ImageNet a range over all layers; None: not in Dong 2020."""


# Dong 2020 numbers VGGNet-11's convolutions 5 and 7. Counted from zero these are the sixth and the eighth, the ones
# with the 3x3x512x512 filters it gives for both; counted from one, the fifth would have 256 input channels.
def _on_photographs(
    model: str, layers: Sequence[ConvolutionShape], modules: Sequence[str], source_range: tuple[float, float]
) -> tuple[CapturePoint, ...]:
    """List a point for every convolution but the first. modules: names of all convolutions, the first one's too."""
    made = []
    for layer, module in list(zip(layers, modules, strict=True))[1:]:
        shape = (layer.input_channels, layer.input_height, layer.input_width)
        made.append(CapturePoint(f"{model}-{layer.name.split()[-1]}", module, layer.name, shape, source_range))
    return tuple(made)


_STAGES = [f"stage{s}_{block}.conv{conv}" for s in (2, 3, 4, 5) for block in (1, 2) for conv in (1, 2)]
PHOTOGRAPHS: Mapping[str, tuple[CapturePoint, ...]] = {
    "alexnet": _on_photographs("alexnet", ALEXNET, [f"conv{n}" for n in range(1, 6)], (0.45, 0.65)),
    "vgg16": _on_photographs("vgg16", VGGNET16, [f"conv{n}" for n in range(1, 14)], (0.35, 0.55)),
    "resnet18": _on_photographs("resnet18", RESNET18, ["conv1", *_STAGES], (0.30, 0.50)),
}
CAPTURE_POINTS: Mapping[str, tuple[CapturePoint, ...]] = {
    "resnet10": (CapturePoint("layerA", "block4.conv2", "ResNet-10 block 4 conv 2", (512, 4, 4), 0.65),),
    "vggnet11": (
        CapturePoint("layerB", "conv6", "VGGNet-11 conv 5, counted from zero", (512, 4, 4), 0.70),
        CapturePoint("layerC", "conv8", "VGGNet-11 conv 7, counted from zero", (512, 2, 2), 0.85),
    ),
    "cifarnet": (),
    "cifar7": (),
    "resnet18cifar": (),
}
# whose curves alone are stored: zeros of 34 layers would be some 100 MB of maps
CURVES_OF_PHOTOGRAPHS: Mapping[str, tuple[CapturePoint, ...]] = {"mobilenet_v2": ()}
TRANSFORMER_LAYERS, TRANSFORMER_WIDTH, FEED_FORWARD_WIDTH = 4, 256, 1024
TEXTS: Mapping[str, tuple[CapturePoint, ...]] = {
    "transformer": tuple(
        CapturePoint(f"ff{n}", f"layer{n}.second", f"feed-forward layer {n}", (FEED_FORWARD_WIDTH, 1, 1), None)
        for n in range(1, TRANSFORMER_LAYERS + 1)
    )
}
TEXTS_RATE, TEXTS_DECAY = 1e-3, 0.01  # AdamW's, for networks as small as these
BLOCKS = (16, 32, 64)  # of circulant weights, Dong 2020, 7.4
ON_PHOTOGRAPHS = {**PHOTOGRAPHS, **CURVES_OF_PHOTOGRAPHS}
ALL_POINTS = {**CAPTURE_POINTS, **ON_PHOTOGRAPHS, **TEXTS}


@dataclass(frozen=True)
class CirculantWeights:
    """Circulant weights in blocks of the im2col matrix, of all layers but the first and the last with whole blocks."""

    block: int
    """Side of a block."""
    adjacent: str = "taps"
    """Adjacent elements in a row of the matrix: 'taps' of a channel, as in im2col, or 'channels' of a tap."""
    layers: str = "all"
    """Layers that have them: 'all' or 'fully_connected' ones alone."""

    def __post_init__(self) -> None:
        if self.block not in BLOCKS:
            raise CaptureError(f"circulant blocks of {self.block}: allowed are {', '.join(map(str, BLOCKS))}")
        for name, allowed in (("adjacent", ("taps", "channels")), ("layers", ("all", "fully_connected"))):
            if getattr(self, name) not in allowed:
                raise CaptureError(f"{name}: '{getattr(self, name)}' is neither '{allowed[0]}' nor '{allowed[1]}'")

    @property
    def suffix(self) -> str:
        """What a curve's file name says of them."""
        adjacent = "-channels" if self.adjacent == "channels" else ""
        return f"-bcm{self.block}" + adjacent + ("-fc" if self.layers == "fully_connected" else "")


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of a training: gradient descent or AdamW, with linear warm-up and cosine decay to zero.

    The values are common for these networks on CIFAR-10 (He et al. 2016, section 4.2: momentum, weight decay,
    augmentation). Peak rate and warm-up let VGGNet-11 train without batch normalisation.
    """

    epochs: int = 100
    """Number of epochs."""
    batch: int = 128
    """Batch size."""
    seed: int = 0
    """Random seed."""
    peak_learning_rate: float = 0.05
    """Learning rate after the warm-up."""
    momentum: float = 0.9
    """Momentum; for AdamW, the decay of the gradients' mean."""
    weight_decay: float = 5e-4
    """Weight decay."""
    warmup_epochs: int = 5
    """Epochs of warm-up."""
    gradient_norm: float = 0.0
    """Norm to which larger gradients are scaled down; 0: no limit."""
    l1: float = 0.0
    """Weight in the loss of a transformer's activations: L1 norm of a token, averaged over tokens and layers."""

    @classmethod
    def of(cls, model: str, epochs: int, batch: int, seed: int, l1: float = 0.0) -> "Recipe":
        """Return a network's recipe: large ones without batch normalisation take a smaller rate, bounded gradients."""
        if model in TEXTS:
            rate, decay, norm = TEXTS_RATE, TEXTS_DECAY, 1.0
            return cls(epochs, batch, seed, rate, weight_decay=decay, warmup_epochs=1, gradient_norm=norm, l1=l1)
        if l1:
            raise CaptureError(f"l1 of {GENERAL(l1)} in {model}: allowed are {', '.join(TEXTS)}")
        if model in ("alexnet", "vgg16"):
            return cls(epochs, batch, seed, peak_learning_rate=0.01, gradient_norm=1.0)
        return cls(epochs, batch, seed)

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise CaptureError(f"{name}: expected at least {least}, found {getattr(self, name)}")
        if not 0 <= self.l1 < math.inf:
            raise CaptureError(f"l1: expected a finite number of at least 0, found {self.l1}")

    def learning_rate(self, step: int, steps_per_epoch: int) -> float:
        """Return the learning rate of a step, counted from zero over the whole training."""
        warmup = min(self.warmup_epochs, self.epochs) * steps_per_epoch
        if step < warmup:
            return self.peak_learning_rate * (step + 1) / warmup
        progress = (step - warmup) / max(1, self.epochs * steps_per_epoch - warmup)
        return self.peak_learning_rate * 0.5 * (1.0 + math.cos(math.pi * progress))


@dataclass(frozen=True)
class EpochRecord:
    """Results of one epoch."""

    epoch: int
    """Number of the epoch."""
    steps: int
    """Training steps."""
    train_loss: float
    """Mean loss over the steps."""
    train_accuracy: float
    """Mean accuracy over the steps."""
    test_accuracy: float | None
    """Accuracy on the test images; None: no test images."""
    sparsity: Mapping[str, float]
    """Share of zeros in each convolution's input at the end of the epoch, by module, over the recorded images."""


@dataclass(frozen=True)
class CapturedLayer:
    """A stored layer."""

    point: CapturePoint
    """Layer."""
    path: Path
    """Path of the file."""
    shape: tuple[int, int, int, int]
    """Shape of the maps: [images, channels, height, width]."""
    sparsity: float
    """Share of zeros."""


def capture(
    model: str,
    images: Path,
    output: Path,
    recipe: Recipe | None = None,
    device: str = "auto",
    captured_images: int = 256,
    report: Callable[[EpochRecord], None] = lambda record: None,
    circulant: CirculantWeights | None = None,
) -> list[CapturedLayer]:
    """Train `model` on `images` and write its layers' files and `MODEL.csv` (a row for each epoch) to folder `output`.

    No maps are stored then.

    The maps are those of the last training steps: images as augmented, batch statistics, weights as they are at that
    step.

    Args:
        model: Name of the network.
        images: Folder or file of the images.
        output: Folder to write to.
        recipe: How it is trained; None: as the model is by default.
        device: 'auto' (an accelerator if there is one), 'cpu', 'cuda', ... as PyTorch names it.
        captured_images: Images whose maps are stored.
        report: Called with each epoch.
        circulant: Weights of a network on CIFAR-10, None: dense ones; its curves are then called `MODEL-bcmBLOCK.csv`,
            with channels side by side `MODEL-bcmBLOCK-channels.csv`, in fully connected layers alone
            `MODEL-bcmBLOCK-fc.csv`.

    Raises:
        UserError: An extra is missing, images or output cannot be used, or the training diverges.
    """
    if model not in ALL_POINTS:
        raise CaptureError(unknown_name("model", model, ALL_POINTS))
    if circulant is not None and model not in CAPTURE_POINTS:
        networks = ", ".join(CAPTURE_POINTS)
        raise CaptureError(f"circulant blocks of {circulant.block} in {model}: allowed are those of {networks}")
    recipe = recipe or Recipe.of(model, Recipe.epochs, Recipe.batch, Recipe.seed)
    torch = require_torch()
    if captured_images < 1:
        raise CaptureError(f"captured images: expected at least 1, found {captured_images}")
    on_device = training_device(torch, device)
    trainer: CaptureTraining
    if model in TEXTS:
        made = importlib.import_module("gpusim.lab.capture.text_training")
        trainer = made.TextTraining(load_texts(images), recipe, on_device, captured_images)
    else:
        trainer = _on_images(torch, model, Path(images), recipe, on_device, captured_images, circulant)
    folder(Path(output))
    history = []
    for epoch in range(1, recipe.epochs + 1):
        history.append(trainer.run_epoch(epoch))
        report(history[-1])
    name = model + ("-l1" if recipe.l1 else "") + (circulant.suffix if circulant else "")
    _write_history(Path(output) / f"{name}.csv", history)
    return [
        _store(
            point,
            Path(output) / f"{name + '-' if model in TEXTS else ''}{point.label}.npz",
            trainer.maps(point.module)[:captured_images],
            trainer.described(history[-1]),
        )
        for point in (ALL_POINTS[model] if circulant is None else ())
    ]


def require_torch(command: str = "capture") -> Any:
    """Import PyTorch for `gpusim COMMAND`; raise MissingExtraError, which names the extra to install."""
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise MissingExtraError(f"gpusim {command} (PyTorch)", "capture") from error


def training_device(torch: Any, name: str) -> Any:
    """Return PyTorch's device called `name`, for 'auto' an accelerator if there is one.

    Args:
        torch: The module `torch`.
        name: PyTorch's name, or 'auto'.

    Raises:
        CaptureError: There is no such device.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CaptureError(f"device: '{name}' cannot be used: {reason}") from error
    return device


class CaptureTraining(Protocol):
    """A network in training whose layers' inputs are recorded at the end of each epoch."""

    def run_epoch(self, epoch: int) -> EpochRecord:
        """Train for an epoch; raise CaptureError where the loss is not finite."""

    def maps(self, module: str) -> np.ndarray:
        """Return the recorded inputs of a layer: float32 [images, channels, height, width]."""

    def described(self, last: EpochRecord) -> dict[str, Any]:
        """Describe how the maps were made, for the file's metadata."""


def _on_images(
    torch: Any,
    model: str,
    path: Path,
    recipe: Recipe,
    device: Any,
    captured_images: int,
    circulant: CirculantWeights | None,
) -> "_Trainer":
    """Read images and build the network that is trained on them; raise UserError for images that do not do."""
    classes = importlib.import_module("gpusim.lab.capture.models").CLASSES
    image_set = load_photographs(path) if model in ON_PHOTOGRAPHS else load_images(path, classes)
    recorded_steps = -(-captured_images // recipe.batch)
    if recorded_steps * recipe.batch > len(image_set.x_train):
        raise CaptureError(
            f"{path}: capturing {captured_images} images takes {recorded_steps} whole batches of {recipe.batch}, "
            f"found {len(image_set.x_train)} training images"
        )
    return _Trainer(
        torch=torch,
        model=model,
        images=image_set,
        recipe=recipe,
        device=device,
        recorded_steps=recorded_steps,
        circulant=circulant,
    )


class _Trainer:
    """A network in training, with the inputs of its convolutions in each epoch's last steps."""

    def __init__(
        self,
        torch: Any,
        model: str,
        images: ImageSet,
        recipe: Recipe,
        device: Any,
        recorded_steps: int,
        circulant: CirculantWeights | None,
    ) -> None:
        self.torch, self.model, self.images, self.recipe, self.device = torch, model, images, recipe, device
        self.recorded_steps = recorded_steps
        self.rng = np.random.default_rng(recipe.seed)
        torch.manual_seed(recipe.seed)
        # Plain FP32, and the same kernels in each run: the maps are to be those of FP32 training.
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.allow_tf32 = False
        models = importlib.import_module("gpusim.lab.capture.models")
        self.network = models.build(model, images.classes, circulant).to(device)
        self.optimizer = torch.optim.SGD(
            self.network.parameters(),
            lr=recipe.peak_learning_rate,
            momentum=recipe.momentum,
            weight_decay=recipe.weight_decay,
        )
        pad = CROP_PADDING
        train, test = images.normalised()
        self.padded = torch.from_numpy(np.pad(train, ((0, 0), (0, 0), (pad, pad), (pad, pad)))).to(device)
        self.test = torch.from_numpy(test).to(device)
        self.labels = torch.from_numpy(images.y_train).to(device)
        self.steps_per_epoch = len(images.x_train) // recipe.batch
        self.recorded: dict[str, list[Any]] = {}

    def run_epoch(self, epoch: int) -> EpochRecord:
        """Train over all images in a new random order, except a last partial batch; return the epoch's record."""
        batch, steps = self.recipe.batch, self.steps_per_epoch
        order = self.rng.permutation(len(self.images.x_train))
        loss_sum = self.torch.zeros((), device=self.device)
        hits = self.torch.zeros((), device=self.device)
        self.network.train()
        for step in range(steps):
            chosen = order[step * batch : (step + 1) * batch]
            rate = self.recipe.learning_rate((epoch - 1) * steps + step, steps)
            with self._recording(step >= steps - self.recorded_steps, first=step == steps - self.recorded_steps):
                loss, correct = self._step(chosen, rate)
            loss_sum += loss
            hits += correct
        mean_loss = loss_sum.item() / steps
        if not math.isfinite(mean_loss):
            raise CaptureError(f"training of {self.model} diverged in epoch {epoch}: the loss is {mean_loss}")
        sparsity = {name: zero_share(parts) for name, parts in self.recorded.items()}
        return EpochRecord(epoch, steps, mean_loss, hits.item() / (steps * batch), self._test_accuracy(), sparsity)

    def _step(self, chosen: np.ndarray, rate: float) -> tuple[Any, Any]:
        """Make a step of stochastic gradient descent; return its loss and the number of right answers."""
        torch = self.torch
        index = torch.from_numpy(chosen).to(self.device)
        positions = crop_and_flip(self.rng, len(chosen), self.images.side)
        rows, columns = (torch.from_numpy(part).to(self.device) for part in positions)
        # Indexing on both sides of a slice puts the indexed axes first: [images, rows, columns, channels].
        maps = self.padded[index[:, None, None], :, rows, columns].permute(0, 3, 1, 2).contiguous()
        labels = self.labels[index]
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        answers = self.network(maps)
        loss = torch.nn.functional.cross_entropy(answers, labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self.recipe.gradient_norm:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.gradient_norm)
        self.optimizer.step()
        return loss.detach(), (answers.detach().argmax(1) == labels).sum()

    @contextmanager
    def _recording(self, active: bool, first: bool) -> Iterator[None]:
        """Keep, while `active`, the inputs of convolutions but the first; `first` drops older ones.

        Of filters of 1 x 1 those count that read what a ReLU wrote: MobileNet V2's projections, no shortcut.
        An average of activations is seldom zero: what an average pool reads is kept beside what a convolution does.
        """
        hooks: list[Any] = []
        if active:
            if first:
                self.recorded = {}
            for name, module in self.network.named_modules():
                layer = isinstance(module, self.torch.nn.Conv2d) and module.in_channels > 3
                layer = layer and (module.kernel_size != (1, 1) or "project" in name)
                if layer or isinstance(module, self.torch.nn.AvgPool2d):
                    kept = self.recorded.setdefault(name, [])
                    hooks.append(module.register_forward_pre_hook(keep_input(kept)))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def maps(self, module: str) -> np.ndarray:
        """Return the recorded inputs of a convolution: float32 [images, channels, height, width]."""
        return np.asarray(self.torch.cat(self.recorded[module]).cpu().numpy())

    def _test_accuracy(self) -> float | None:
        """Return the share of right answers on the test images; None if there are none."""
        if not len(self.images.x_test):
            return None
        torch, hits = self.torch, 0
        self.network.eval()
        with torch.no_grad():
            for start in range(0, len(self.images.x_test), self.recipe.batch):
                part = slice(start, start + self.recipe.batch)
                answers = self.network(self.test[part]).argmax(1).cpu().numpy()
                hits += int((answers == self.images.y_test[part]).sum())
        return hits / len(self.images.x_test)

    def described(self, last: EpochRecord) -> dict[str, Any]:
        """Describe how the maps were made, for the file's metadata."""
        return {
            "made_by": "gpusim capture",
            "model": self.model,
            "recipe": asdict(self.recipe),
            "optimizer": "SGD with momentum, linear warm-up, cosine decay to zero",
            "augmentation": f"random {CROP_PADDING}-pixel-padded crop and horizontal flip",
            "precision": "FP32 (TF32 off), stored as FP16",
            "step": f"last {self.recorded_steps} training steps of epoch {last.epoch}, {last.steps} steps an epoch",
            "train_loss": last.train_loss,
            "train_accuracy": last.train_accuracy,
            "test_accuracy": last.test_accuracy,
            "images_file": self.images.name,
            "images_sha256": self.images.sha256,
            "train_images": len(self.images.x_train),
            "test_images": len(self.images.x_test),
            **describe_device(self.torch, self.device),
        }


def describe_device(torch: Any, device: Any) -> dict[str, Any]:
    """Describe the device and the versions of a training."""
    cuda = device.type == "cuda"
    versions = {"python": platform.python_version(), "numpy": np.__version__, "torch": str(torch.__version__)}
    name = torch.cuda.get_device_name(device) if cuda else f"{device.type} ({platform.machine()})"
    return {"device": name, "versions": versions}


def zero_share(parts: list[Any]) -> float:
    """Return the share of zeros of tensors."""
    zeros: int = sum(int((part == 0).sum()) for part in parts)
    return zeros / sum(int(part.numel()) for part in parts)


def keep_input(kept: list[Any]) -> Callable[[Any, tuple[Any, ...]], None]:
    """Return a hook that puts a copy of a module's input into `kept`."""

    def hook(module: Any, inputs: tuple[Any, ...]) -> None:
        kept.append(inputs[0].detach().clone())

    return hook


def _store(point: CapturePoint, path: Path, maps: np.ndarray, described: dict[str, Any]) -> CapturedLayer:
    if maps.shape[1:] != point.shape:
        raise CaptureError(f"{point.module}: expected maps of {list(point.shape)}, found {list(maps.shape[1:])}")
    save_activations(path, maps, {**asdict(point), **described})
    images, channels, height, width = maps.shape
    return CapturedLayer(point, path, (images, channels, height, width), sparsity_of(maps))


def _write_history(path: Path, history: list[EpochRecord]) -> None:
    """Write a row for each epoch: loss, accuracies, and each convolution's input sparsity in the epoch's last steps."""
    modules = list(history[0].sparsity)
    rows = [["epoch", "steps", "train_loss", "train_accuracy", "test_accuracy", *(f"sparsity_{m}" for m in modules)]]
    for record in history:
        shares = (record.sparsity[module] for module in modules)
        measured = [record.train_loss, record.train_accuracy, record.test_accuracy, *shares]
        cells = ["" if value is None else FIXED_4(value) for value in measured]
        rows.append([str(record.epoch), str(record.epoch * record.steps), *cells])
    write_whole(path, "".join(",".join(row) + "\n" for row in rows))
