"""Maps captured on photographs, beside table 6.5 of Dong 2020, and on texts: tables of docs/activations.md."""

import csv
from pathlib import Path

from docs._site.pages import table
from gpusim.base.formats import FIXED_1, FIXED_2, FIXED_3, PERCENT, SHARE_0
from gpusim.lab.capture.capture import PHOTOGRAPHS, TEXTS, CapturePoint
from workloads.data.activations_file import load_activations
from workloads.data.operands import SHIPPED_ACTIVATIONS

EPOCHS_SHOWN = 6  # of a training: the first, the last, and between them as often as makes this many


def photographs_table(folder: Path = SHIPPED_ACTIVATIONS) -> str:
    """A table for each network that was captured into `folder`, or a line that says that none was."""
    found = [_network(model, folder) for model in PHOTOGRAPHS if (folder / f"{model}.csv").exists()]
    return "\n\n".join(found) if found else "No capture of photographs is shipped."


def texts_table(folder: Path = SHIPPED_ACTIVATIONS) -> str:
    """A row for each feed-forward layer of the transformers that were captured into `folder`."""
    rows = []
    for name in ("transformer", "transformer-l1"):
        with (folder / f"{name}.csv").open(encoding="utf-8") as file:
            *_, last = csv.DictReader(file)
        for point in TEXTS["transformer"]:
            held = load_activations(folder / f"{name}-{point.label}.npz").array[:, :, 0, 0] != 0
            eight = held[: len(held) // 8 * 8].reshape(-1, 8, held.shape[1]).any(axis=1).mean()
            shares = [1 - held.mean(), 1 - held.any(axis=0).mean(), eight, 1 - (1 - held.mean()) ** 8]
            learnt = f"{FIXED_2(float(last['train_loss']))}, {PERCENT(float(last['test_accuracy']))}"
            rows.append([name, learnt, point.label, *(PERCENT(share) for share in shares)])
    head = ["file", "loss, bytes of the test told right", "layer", "zeros", "neurons never used"]
    return table([*head, "used by one of eight", "at random"], rows)


def _network(model: str, folder: Path) -> str:
    with (folder / f"{model}.csv").open(encoding="utf-8") as file:
        epochs = list(csv.DictReader(file))
    step = max(1, (len(epochs) - 1) // (EPOCHS_SHOWN - 1))
    shown = sorted({*range(0, len(epochs), step), len(epochs) - 1})
    rows = []
    for point in PHOTOGRAPHS[model]:
        shares = [float(epoch[f"sparsity_{point.module}"]) for epoch in epochs]
        stored = load_activations(folder / f"{point.label}.npz")
        images = f"{len(stored.array)}, {PERCENT(stored.sparsity)}"
        rows.append([point.source_layer, *(PERCENT(shares[n]) for n in shown), images, _beside(point, shares[-1])])
    low, high = PHOTOGRAPHS[model][0].source_sparsity  # type: ignore[misc]
    head = ["layer", *(f"epoch {epochs[n]['epoch']}" for n in shown), "stored: images, zeros"]
    last = epochs[-1]
    said = f"loss {FIXED_3(float(last['train_loss']))}, training accuracy {PERCENT(float(last['train_accuracy']))}"
    return f"After epoch {last['epoch']}: {said}.\n\n" + table(
        [*head, f"beside {SHARE_0(low)} to {SHARE_0(high)}"], rows
    )


def _beside(point: CapturePoint, share: float) -> str:
    """Where a layer's sparsity lies beside the range that Dong 2020 gives of the network."""
    low, high = point.source_sparsity  # type: ignore[misc]
    if share < low:
        return f"{FIXED_1(100 * (low - share))} points below"
    return f"{FIXED_1(100 * (share - high))} points above" if share > high else "within"
