"""The tables of explanation/activations.md: shipped maps, and how their sparsity developed."""

import csv
from collections.abc import Callable

import numpy as np

from docs._site.pages import ROOT, table
from docs._site.photograph_maps import photographs_table, texts_table
from gpusim.base.formats import FIXED_1, FIXED_3, PERCENT, PERCENT_0, PERCENT_DIGITS_2
from workloads.data.activations_file import load_activations

MAPS = ROOT / "workloads" / "activations"
LAYERS = ("A", "B", "C")
EPOCHS = (1, 2, 5, 10, 20, 40, 60, 80, 100)
# network and convolution, as Dong 2020 would call them
CONVOLUTIONS = {"A": ("ResNet-10", "block 4, second"), "B": ("VGGNet-11", "sixth"), "C": ("VGGNet-11", "eighth")}


def map_files() -> str:
    """the files of captured maps."""
    rows = []
    for label in LAYERS:
        path = MAPS / f"layer{label}.npz"
        maps = load_activations(path)
        cells = [f"`{path.name}`", *CONVOLUTIONS[label], " × ".join(map(str, maps.array.shape))]
        source = float(maps.metadata["source_sparsity"])
        rows.append([*cells, PERCENT(maps.sparsity), PERCENT_0(source), f"{FIXED_1(path.stat().st_size / 1e6)} MB"])
    head = ["file", "network", "convolution", "maps", "sparsity", "sparsity in Dong 2020", "file size"]
    return table(head, rows)


def zero_maps() -> str:
    """whole maps that are zero."""
    rows = []
    for label in LAYERS:
        maps = load_activations(MAPS / f"layer{label}.npz")
        _, _, height, width = maps.array.shape
        zero = float(np.mean(~maps.array.any(axis=(2, 3))))
        independent = maps.sparsity ** (height * width)
        rows.append([label, PERCENT(zero), PERCENT_DIGITS_2(independent)])
    return table(["", "measured", "if zeros were independent at the same sparsity"], rows)


def training() -> str:
    """how sparsity developed, from what was recorded with the maps."""
    recorded = {}
    for network in ("resnet10", "vggnet11"):
        with (MAPS / f"{network}.csv").open(encoding="utf-8") as file:
            recorded[network] = {int(row["epoch"]): row for row in csv.DictReader(file)}
    rows = []
    for epoch in EPOCHS:
        res, vgg = recorded["resnet10"][epoch], recorded["vggnet11"][epoch]
        shares = [res["test_accuracy"], res["sparsity_block4.conv2"]]
        more = [vgg["test_accuracy"], *(vgg[f"sparsity_conv{n}"] for n in (5, 6, 7, 8))]
        cells = [str(epoch), FIXED_3(float(res["train_loss"])), *(PERCENT(float(s)) for s in shares)]
        rows.append([*cells, FIXED_3(float(vgg["train_loss"])), *(PERCENT(float(s)) for s in more)])
    head = ["epoch", "ResNet-10 loss", "test accuracy", "**A**", "VGGNet-11 loss", "test accuracy"]
    return table([*head, "fifth", "**B** (sixth)", "seventh", "**C** (eighth)"], rows)


SECTIONS: dict[str, Callable[[], str]] = {
    "files": map_files,
    "zero maps": zero_maps,
    "training": training,
    "photographs": photographs_table,
    "texts": texts_table,
}
