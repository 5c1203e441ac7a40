"""An iteration of ResNet-18 for equation 6.1: `python -m tests.support.iterations RESULT.json`.

RESULT.json is what `gpusim net resnet18 --phase train --batch 64 --set convolution=auto --json RESULT.json` wrote,
sampled or not. Of its convolutions those that are one run in figure 6.19 are added up under the figure's name; what is
written, sim_configs/reproductions/spartan/measured/iteration-resnet18.json, is read by table 6.7.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpusim.lab.papers.figures.compared import ComparisonFigure
from gpusim.lab.papers.figures.reading import load_reproduction

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "sim_configs" / "reproductions" / "spartan" / "measured" / "iteration-resnet18.json"
FIGURE = "6.19"


def together() -> dict[str, str]:
    """Return the figure's name by the network's layer: `conv2_1 to 4` of four layers from `conv2_1` on."""
    figure = load_reproduction("spartan").figures[FIGURE]
    assert isinstance(figure, ComparisonFigure)
    found: dict[str, str] = {}
    for name, case in figure.cases.items():
        assert case.layer is not None
        group, number = case.layer.partition("/")[2].split("_")
        found |= {f"{group}_{int(number) + n}": name for n in range(case.count)}
    return found


def iteration(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what table 6.7 reads of a network's result: the iteration's time and those of its convolutions' passes."""
    names, times = together(), dict[tuple[str, str], float]()
    for row in result["rows"]:
        if row["kind"] == "convolution" and row["pass"] != "update":
            place = names.get(row["name"], row["name"]), row["pass"].replace(" ", "_")
            times[place] = times.get(place, 0.0) + row["time_us"]
    config = result["config"]
    sampled = f" --sample --error {config['sampling']['error']:.0%}" if config["sampling"] else ""
    how = f"--phase train --batch {result['batch']} --set convolution=auto{sampled}"
    return {
        "made_by": f"gpusim net {result['network']} {how}",
        "point": f"{result['network']} {result['batch']} {config['gpu']['name'].lower()}",
        "iteration_us": _short(result["kernel"]["time_us"]),
        "convolutions": [[layer, part, _short(time)] for (layer, part), time in times.items()],
    }


def _short(value: float) -> float:
    return float(f"{value:.6g}")


if __name__ == "__main__":
    held = iteration(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    rows = ",\n".join(f"  {json.dumps(row)}" for row in held.pop("convolutions"))
    head = "".join(f" {json.dumps(name)}: {json.dumps(value)},\n" for name, value in held.items())
    TARGET.write_text(f'{{\n{head} "convolutions": [\n{rows}\n ]\n}}\n', encoding="utf-8")
