"""The tables of how-to/training.md: AlexNet's stages and scaling, from times in results/networks/alexnet.md."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from docs._site import published_stages as published
from docs._site.pages import RESULTS, table
from gpusim.base.formats import DIGITS_3, FIXED_2, GENERAL, GROUPED_1, PERCENT_0
from gpusim.config import files
from gpusim.lab.training import views
from gpusim.lab.training.measure import TrainingMeasurement, measure
from gpusim.lab.training.spec import FOLDER, load_training
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.results.report.layout import PIPE_WIDTH

PAGE = RESULTS / "networks" / "alexnet.md"
NO_STORE = Path("no.db")
ROW = re.compile(r"^\| (\w+) \| (\w+(?: \w+)*) \| ([\d,.]+) \|.*\| (\d+)(?: \(\d+\))? \| [^|]* \|$", re.M)
STORAGES = ("hdd", "raid0-hdd4", "ssd", "nvme")
GPUS = [1, 2, 4, 8, 16, 32, 64]


@cache
def layer_times() -> dict[str, dict[str, float]]:
    """Times in ms by layer and phase of the page's table, each launch with what it costs before it begins."""
    found: dict[str, dict[str, float]] = {}
    for layer, what, time_us, launches in ROW.findall(PAGE.read_text(encoding="utf-8")):
        phase = {"forward": "forward_ms", "loss": "forward_ms", "update": "update_ms"}.get(what, "backward_ms")
        held = found.setdefault(layer, {})
        time_ms = (float(time_us.replace(",", "")) + GpuSpec().kernel_launch_us * int(launches)) / 1e3
        held[phase] = held.get(phase, 0.0) + time_ms
    return found


def alexnet(**sets: Any) -> TrainingMeasurement:
    """The shipped training of AlexNet, with the page's times."""
    given = {**files.read(files.SHIPPED / FOLDER / "alexnet.yaml"), "compute": {"layers": layer_times()}}
    return measure(load_training(given, {**sets, "compute.strong": "proportional"}), NO_STORE)


def storages() -> str:
    """AlexNet on one GPU, by storage, with images one after another or each at a place of its own."""
    rows = []
    for name in STORAGES:
        for scattered in (False, True):
            found = alexnet(storage=name, **{"dataset.scattered": scattered})
            busy, helps = found.pace.busy, sorted(found.helps, key=lambda one: -one.gain)
            rows.append(
                [
                    found.training.spec.storage.name,
                    "scattered" if scattered else "in order",
                    GROUPED_1(found.pace.iteration_us / 1e3),
                    found.bound,
                    *(PERCENT_0(share) for share in busy.values()),
                    ", ".join(f"{one.resource} {FIXED_2(one.gain)} ×" for one in helps if one.gain > 1.005),
                ]
            )
    head = ["storage", "images", "iteration, ms", "bound by", *(f"{name} busy" for name in busy)]
    return table([*head, "twice as much of one gives"], rows)


def screen() -> str:
    """The first screen of the source's training with one disk."""
    lines = views.screen(_published()[published.DISK], PIPE_WIDTH)
    return "\n".join(["```", *("".join(text for text, _ in line).rstrip() for line in lines), "```"])


def figure_4() -> str:
    """Figure 4 of Li et al. 2018, with their times of the GPU."""
    return published.stage_times(_published()).markdown().rstrip("\n")


def claims() -> str:
    """Their claims on the stages."""
    rows = [
        [
            one.text,
            f"{GENERAL(one.said)} {one.unit}".strip(),
            f"{GENERAL(one.low)} to {GENERAL(one.high)}",
            DIGITS_3(one.ours),
            "given" if one.given else "yes" if one.holds else "no",
        ]
        for one in published.claims(_published())
    ]
    return table(["claim", "said", "counts as it", "here", "holds"], rows)


@cache
def _published() -> dict[str, TrainingMeasurement]:
    return published.both("alexnet-2018-given", NO_STORE)


def scaling() -> str:
    """AlexNet over 1 to 64 GPUs, images in their memory from the start."""
    found = alexnet(gpus=GPUS, **{"dataset.resident": True})
    return "\n".join(one.markdown() for one in views.tables(found)[2:]).rstrip("\n")


SECTIONS = {"screen": screen, "storages": storages, "figure 4": figure_4, "claims": claims, "scaling": scaling}
