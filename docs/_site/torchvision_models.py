"""The table of torchvision's classification models in docs/how-to/networks.md: which load, run and train.

python -m docs._site.torchvision_models [--jobs N] [--known FILE.json] [MODEL ...]

A model is made with random weights, exported, and read. "runs": one image goes through every kernel on the simulated
GPU, without timing; each result is compared with NumPy in FP64, and the network's with PyTorch's own. "trains": one
iteration on one image (two where statistics over a batch of one value would be needed), each result compared, and the
loss with PyTorch's own where the model has no dropout, whose zeros are drawn. Rows that are done are kept in FILE.json
(known-torchvision.json), so that a stopped run goes on; a row that lacks a stage which is asked for gets that one.
"""

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from docs._site.pages import DOCS
from gpusim.base.errors import GpusimError
from gpusim.base.formats import EXPONENT_0, EXPONENT_1, FIXED_0, FIXED_2, FIXED_3, FIXED_6
from gpusim.config.gpu import load_gpu
from gpusim.config.network import build_network
from gpusim.config.network_run import NetworkSettings
from gpusim.lab.training.iterations import NetworkTraining
from tests.support.network_runs import executed
from workloads.networks.graph import Network
from workloads.networks.schedule import training

PAGE = DOCS / "results" / "networks.md"
SEED = 1
NATIVE = {"inception_v3": 299}  # rows and columns that a model is made for, where they are not 224
CLOSE = 2e-3  # of PyTorch's result, relative to its largest value: FP32 against FP32 through a hundred layers
# models that take other sizes than their own: what a convolution's kernels do at an edge is met at this size as well
SMALL = {
    **dict.fromkeys(
        ("convnext", "densenet", "efficientnet", "mnasnet", "mobilenet", "regnet", "resnet", "resnext"), 64
    ),
    **dict.fromkeys(("shufflenet", "squeezenet", "wide_resnet", "googlenet", "swin"), 64),
    # vision transformers are made for a size, which is theirs to choose: vit_b_32's is its own
    "vit_b_16": 64,
    "vit_l": 64,
    "vit_h": 56,
    "inception": 139,  # smaller ones end in maps of one value, of which a batch of one has no statistics
}


def size_of(name: str, whole: bool) -> int:
    """Rows and columns of the image that a model is run with."""
    if whole:
        return NATIVE.get(name, 224)
    return next((size for start, size in SMALL.items() if name.startswith(start)), NATIVE.get(name, 224))


def module_of(name: str, size: int, values: bool = True) -> Any:
    """The model with random weights, for images of that size, whose normalizations have seen something.

    values: False: weights are whatever lay in memory, which is enough to read the model.
    """
    import torch
    import torchvision

    if not values:
        left_out = {one: lambda tensor, *_, **__: tensor for one in dir(torch.nn.init) if one.endswith("_")}
        with patch.multiple(torch.nn.init, **{one: do for one, do in left_out.items() if not one.startswith("_")}):
            return module_of(name, size)
    torch.manual_seed(SEED)
    torch.backends.mha.set_fastpath_enabled(False)
    more: dict[str, Any] = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    more |= {"image_size": size} if name.startswith("vit") else {}
    module = torchvision.models.get_model(name, weights=None, **more)
    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(part.running_var, 0.5, 1.5)
            torch.nn.init.normal_(part.running_mean, 0.0, 0.1)
        if isinstance(part, torch.nn.Linear) and not part.weight.any():  # a head that begins with zeros hides all else
            torch.nn.init.normal_(part.weight, 0.0, 0.02)
    return module


def exported(name: str, size: int, values: bool) -> tuple[Network, Any]:
    """The network as it is read, and the module."""
    import torch

    from workloads.networks.torch_module import read_torch_module

    module = module_of(name, size, values)
    return build_network(read_torch_module(torch, module, torch.zeros((1, 3, size, size)), name)), module.eval()


def trained(network: Network, module: Any, image: np.ndarray) -> str:
    """What one iteration says: its loss and how far from PyTorch's it is, or why there is none."""
    settings = NetworkSettings(gpu=load_gpu("mi6"))
    images = 1
    try:
        iteration = NetworkTraining(network, settings, images)
    except GpusimError as error:
        if "must be at least 2" not in str(error):
            return f"no: {error}"
        images = 2
        iteration = NetworkTraining(network, settings, images)
    labels = np.arange(images, dtype=np.uint32) % 1000
    batch = np.concatenate([image] * images)
    loss = iteration.step({next(iter(network.inputs)): batch, "labels": labels}, compared=True)
    if not np.isfinite(loss):
        return f"no: the loss is {loss}"
    wanted = _loss(module, batch, labels)
    if wanted is None:
        return f"loss {FIXED_3(loss)}"
    off = abs(loss - wanted) / wanted
    return (
        f"loss {FIXED_3(loss)}, {EXPONENT_0(off)} off"
        if off < CLOSE
        else f"no: loss {FIXED_6(loss)} where PyTorch has {FIXED_6(wanted)}"
    )


def _loss(module: Any, batch: np.ndarray, labels: np.ndarray) -> float | None:
    """PyTorch's loss of the model as it is read: normalizations in training mode alone; None for one with dropouts."""
    import torch

    if any(isinstance(part, torch.nn.Dropout) and part.p for part in module.modules()):
        return None
    module.eval()
    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.train()
    with torch.no_grad():
        answers = module(torch.from_numpy(batch))
    return float(torch.nn.functional.cross_entropy(answers, torch.from_numpy(labels.astype(np.int64))))


def lacks(row: dict[str, Any], stages: str) -> str:
    """Those of `stages` that a row has not been through."""
    done = {"r": bool(row.get("runs")), "t": row.get("trains", "") not in ("", "scheduled")}
    return "".join(stage for stage in stages if not done[stage])


def row_of(name: str, whole: bool, stages: str, known: dict[str, Any]) -> dict[str, Any]:
    """A model's row; known: what it has of earlier stages."""
    began, found = time.process_time(), {"model": name, "size": size_of(name, whole), "layers": 0}
    found |= {"loads": "", "runs": "", "trains": ""} | known
    stage = "loads"
    try:
        network, module = exported(name, found["size"], bool(stages))
        found |= {"layers": len(network.layers), "loads": "yes"}
        found["operations"] = 2 * sum(layer.gemm.macs for layer in network.layers if layer.gemm)
        stage = "trains"
        training(network, 2)
        found["trains"] = "scheduled"
        image = np.random.default_rng(SEED).standard_normal((1, 3, found["size"], found["size"]), np.float32)
        if "r" in stages:
            stage = "runs"
            import torch

            with torch.no_grad():
                wanted = module(torch.from_numpy(image)).numpy()
            outputs, wrong = executed(network, {next(iter(network.inputs)): image})
            result = next(iter(outputs.values()))
            off = float(np.abs(result.reshape(wanted.shape) - wanted).max() / np.abs(wanted).max())
            found["off"] = off
            found["runs"] = f"no: {wrong[0]}" if wrong else "yes" if off < CLOSE else f"no: off by {EXPONENT_1(off)}"
        if "t" in stages:
            stage = "trains"
            found["trains"] = trained(network, module, image)
    except GpusimError as error:
        found[stage] = f"no: {str(error).splitlines()[0][:200]}"
    found["cpu_s"] = round(known.get("cpu_s", 0.0) + time.process_time() - began, 1)
    return found


def page(rows: list[dict[str, Any]]) -> str:
    """The table."""
    lines = [
        "| model | image | layers | G operations | loads | runs | off PyTorch's | trains | CPU s |",
        "|---" * 9 + "|",
    ]
    for row in sorted(rows, key=lambda row: row["model"]):
        off, work = EXPONENT_0(row["off"]) if "off" in row else "–", row.get("operations", 0) / 1e9
        lines.append(
            f"| `{row['model']}` | {row['size']} | {row['layers']} | {FIXED_2(work)} | {row['loads']} |"
            f" {row['runs'] or '–'} | {off} | {row['trains'] or '–'} | {FIXED_0(row['cpu_s'])} |"
        )
    count = {
        key: sum(bool(row[key]) and not row[key].startswith("no") for row in rows)
        for key in ("loads", "runs", "trains")
    }
    losses = sum(row["trains"].startswith("loss") for row in rows)
    lines += [
        "",
        f"Of {len(rows)}: {count['loads']} load, {count['runs']} run, {count['trains']} train or are laid out,"
        f" {losses} of these trained.",
    ]
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    """Run the models that are not known yet and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--known", type=Path, default=Path("known-torchvision.json"))
    parser.add_argument("--whole", action="store_true", help="at the size that each model is made for")
    parser.add_argument("--stages", default="rt", help="r: run, t: train; none: load and lay out alone")
    parser.add_argument(
        "--table", action="store_true", help="put what is known into docs/how-to/networks.md, and run nothing"
    )
    asked = parser.parse_args(arguments)
    known = {row["model"]: row for row in json.loads(asked.known.read_text())} if asked.known.exists() else {}
    if not asked.table:
        import torchvision

        names = asked.models or torchvision.models.list_models(module=torchvision.models)
        wanted = {name: lacks(known.get(name, {}), asked.stages) for name in names}
        with ProcessPoolExecutor(asked.jobs) as pool:
            running = [
                pool.submit(row_of, name, asked.whole, stages, known.get(name, {}))
                for name, stages in wanted.items()
                if stages or name not in known
            ]
            for done in as_completed(running):
                row = done.result()
                known[row["model"]] = row
                asked.known.write_text(json.dumps(list(known.values()), indent=1))
                print(row, file=sys.stderr, flush=True)
    table = page(list(known.values()))
    print(table)
    if asked.table:
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition("<!-- torchvision -->\n")
        _, _, after = rest.partition("<!-- end of torchvision -->")
        renewed = f"{before}<!-- torchvision -->\n{table}\n<!-- end of torchvision -->{after}"
        PAGE.write_text(renewed, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
