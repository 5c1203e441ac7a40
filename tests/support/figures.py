"""Tables of figures in docs/, from runs and files: `python -m tests.support.figures [PAGE...]`.

Writes each page with the text between each pair of markers renewed; `kernels:dense` renews one of its sections alone.
`correlation`, of two minutes, `vendor-kernels`,
which needs AMD's packages (`tests.support.vendor_kernels`) and ten minutes, and `hip`, which needs more of them
(`tests.vendor`) and half an hour, are made only when they are named; the others take ten minutes together. Of the
host's own speed (docs/performance.md) no table is made anew: it is a log of measurements.
"""

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.support import (
    conv_tables,
    correlation_pages,
    dense_kernels,
    energy_pages,
    hip_pages,
    library_accuracy,
    microbenchmark_page,
    monitor_pages,
    network_pages,
    network_sampling,
    photograph_maps,
    sampled_reproduction,
    silicon_pages,
    sparse_kernels,
    training_pages,
    transformers_page,
    vendor_kernels,
)
from tests.support.pages import renewed, table
from tests.support.rooflines import few_rows_table, primitives_table, products_table
from tests.support.trace_reader import read_trace
from tests.vendor import programs
from tests.vendor.linked import linked_table
from workloads.data.activations_file import load_activations

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MAPS = ROOT / "workloads" / "activations"
LAYERS = ("A", "B", "C")
DENSE = ("sgemm", "sgemm_4x4", "sgemm_wide")  # the first one is what these layers' runs take
EPOCHS = (1, 2, 5, 10, 20, 40, 60, 80, 100)
# network and convolution, as Dong 2020 would call them
CONVOLUTIONS = {"A": ("ResNet-10", "block 4, second"), "B": ("VGGNet-11", "sixth"), "C": ("VGGNet-11", "eighth")}
REASONS = ("memory_dependency", "execution_dependency", "memory_throttle", "instruction_fetch")


def map_files() -> str:
    """docs/activations.md: the files of captured maps."""
    rows = []
    for label in LAYERS:
        path = MAPS / f"layer{label}.npz"
        maps = load_activations(path)
        cells = [f"`{path.name}`", *CONVOLUTIONS[label], " × ".join(map(str, maps.array.shape))]
        source = float(maps.metadata["source_sparsity"])
        rows.append(
            [*cells, f"{100 * maps.sparsity:.1f} %", f"{100 * source:.0f} %", f"{path.stat().st_size / 1e6:.1f} MB"]
        )
    head = ["file", "network", "convolution", "maps", "sparsity", "sparsity in Dong 2020", "file size"]
    return table(head, rows)


def zero_maps() -> str:
    """docs/activations.md: whole maps that are zero."""
    rows = []
    for label in LAYERS:
        maps = load_activations(MAPS / f"layer{label}.npz")
        _, _, height, width = maps.array.shape
        zero = float(np.mean(~maps.array.any(axis=(2, 3))))
        independent = maps.sparsity ** (height * width)
        rows.append([label, f"{100 * zero:.1f} %", f"{100 * independent:.2g} %"])
    return table(["", "measured", "if zeros were independent at the same sparsity"], rows)


def training() -> str:
    """docs/activations.md: how sparsity developed, from what was recorded with the maps."""
    recorded = {}
    for network in ("resnet10", "vggnet11"):
        with (MAPS / f"{network}.csv").open(encoding="utf-8") as file:
            recorded[network] = {int(row["epoch"]): row for row in csv.DictReader(file)}
    rows = []
    for epoch in EPOCHS:
        res, vgg = recorded["resnet10"][epoch], recorded["vggnet11"][epoch]
        shares = [res["test_accuracy"], res["sparsity_block4.conv2"]]
        more = [vgg["test_accuracy"], *(vgg[f"sparsity_conv{n}"] for n in (5, 6, 7, 8))]
        cells = [str(epoch), f"{float(res['train_loss']):.3f}", *(f"{100 * float(s):.1f} %" for s in shares)]
        rows.append([*cells, f"{float(vgg['train_loss']):.3f}", *(f"{100 * float(s):.1f} %" for s in more)])
    head = ["epoch", "ResNet-10 loss", "test accuracy", "**A**", "VGGNet-11 loss", "test accuracy"]
    return table([*head, "fifth", "**B** (sixth)", "seventh", "**C** (eighth)"], rows)


def sweep() -> str:
    """docs/own-kernels.md: what docs/own-kernels/sweep.py prints."""
    return _printed("arrays.py", "sweep.py")


def precision() -> str:
    """docs/own-kernels-hip.md: what docs/own-kernels/precision.py prints."""
    return _printed("logits.py", "precision.py")


def _printed(inputs: str, script: str) -> str:
    """What an example's script prints when its input is there, of the committed code objects."""
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(DOCS / "own-kernels", Path(scratch) / "docs/own-kernels")
        for name in (inputs, script):
            command = [sys.executable, f"docs/own-kernels/{name}"]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            done = subprocess.run(command, cwd=scratch, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return "```\n" + done.stdout.rstrip("\n") + "\n```"


def _vector_add_trace() -> Path:
    from gpusim.cli.main import invoke

    path = Path(tempfile.mkdtemp()) / "vector_add.pftrace"
    assert invoke(["exec", "vector_add", "--quiet", "--timeline", str(path)]) == 0
    return path


def miss_steps() -> str:
    """docs/timeline.md: the first query's answer, of the shipped vector_add."""
    steps: dict[str, list[float]] = {}
    for request in read_trace(_vector_add_trace()).slices:
        if request.name == "load miss":
            for step in request.inside:
                steps.setdefault(step.name, []).append(step.cycles)
    rows = [[name, str(len(c)), f"{int(sum(c)) // len(c)}", f"{max(c):.0f}"] for name, c in steps.items()]
    return table(["step", "requests", "mean_cycles", "max_cycles"], rows)


def waits() -> str:
    """docs/timeline.md: the second query's answer."""
    cycles: dict[tuple[str, str], float] = {}
    for part in read_trace(_vector_add_trace()).slices:
        if part.category in REASONS:
            key = (part.category, str(part.notes.get("at", "")))
            cycles[key] = cycles.get(key, 0.0) + part.cycles
    most = sorted(cycles.items(), key=lambda item: -item[1])[:5]
    return table(["reason", "instruction", "cycles"], [[*key, f"{total:.0f}"] for key, total in most])


PAGES: dict[str, dict[str, Callable[[], str]]] = {
    "README": correlation_pages.SECTIONS,
    "microbenchmarks": {"generations": microbenchmark_page.generations},
    "kernels": {
        "dense": dense_kernels.choices_table,
        **sparse_kernels.SECTIONS,
        "products": products_table,
        "few_rows": few_rows_table,
        **conv_tables.SECTIONS,
        "primitives": primitives_table,
    },
    "activations": {
        "files": map_files,
        "zero maps": zero_maps,
        "training": training,
        "photographs": photograph_maps.photographs_table,
        "texts": photograph_maps.texts_table,
    },
    "opencl": {"accuracy": library_accuracy.table},
    "energy": energy_pages.SECTIONS,
    "monitor": monitor_pages.SECTIONS,
    "own-kernels": {"sweep": sweep},
    "own-kernels-hip": {"precision": precision},
    "networks": network_pages.SECTIONS,
    "networks/silicon": silicon_pages.SECTIONS,
    "sampling": {**sampled_reproduction.SECTIONS, **network_sampling.SECTIONS},
    "timeline": {"steps": miss_steps, "waits": waits},
    "training": training_pages.SECTIONS,
    "spartan/transformers": transformers_page.SECTIONS,
}
SLOW: dict[str, dict[str, Callable[[], str]]] = {
    "correlation": {
        "held to whole": correlation_pages.held_to_whole,
        "layers": correlation_pages.layers,
        "rx560": correlation_pages.rx560,
        "vega": correlation_pages.vega,
        "beyond": correlation_pages.beyond,
        "hashed": correlation_pages.hashed,
        "clocks": correlation_pages.clocks,
        "cards": correlation_pages.cards,
        "bandwidths": correlation_pages.bandwidths,
    },
    "vendor-kernels": {"kernels": vendor_kernels.page_table},
    "hip": {
        "functions": hip_pages.functions_table,
        "two runs": hip_pages.two_runs,
        "costs": hip_pages.costs,
        "linked": lambda: linked_table(programs.root() / "usr"),
        "test programs": programs.test_table,
        "calls": programs.call_table,
    },
}


def section(page: str, name: str) -> str:
    """The text between a section's markers; ValueError if it is not there once."""
    found = re.findall(f"<!-- {re.escape(name)} -->\n(.*?)\n<!-- end of {re.escape(name)} -->", page, re.DOTALL)
    if len(found) != 1:
        raise ValueError(f"{len(found)} sections '{name}'")
    return str(found[0])


def renew(wanted: str) -> None:
    """Make a page's sections anew, or the one that is named: 'kernels', 'kernels:dense'."""
    page, _, only = wanted.partition(":")
    path = DOCS / f"{page}.md"
    for name, make in {**PAGES, **SLOW}[page].items():
        if only not in ("", name):
            continue
        text = make()  # takes minutes, in which somebody may have edited the page
        path.write_text(renewed(path.read_text(encoding="utf-8"), {name: lambda text=text: text}), encoding="utf-8")


if __name__ == "__main__":
    for each in sys.argv[1:] or PAGES:
        renew(each)
