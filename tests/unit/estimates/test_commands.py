"""Do the commands fit what a store knows, use the fit, say that it is an estimate, and refuse the rest in one line?"""

import json
from pathlib import Path
from typing import Any

import pytest

from gpusim.cli.main import invoke
from gpusim.config.files import opened
from gpusim.config.gpu import GPU_FOLDER
from gpusim.config.network import load_network
from gpusim.config.network_run import load_settings
from gpusim.jobs.estimates.bounds import bounds
from gpusim.jobs.estimates.launches import placed_launches
from gpusim.jobs.networks.kept import LaunchCache
from gpusim.model.core.facts import RunFacts

pytestmark = pytest.mark.compiled_tier
NETWORKS, FACTOR, INSTRUCTION_S = ("lenet", "cifarnet"), 1.7, 1e-7


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of launches that all take FACTOR times what their bounds take together."""
    path, settings = tmp_path_factory.mktemp("store") / "s.db", load_settings(opened("mi6", GPU_FOLDER))
    kept = LaunchCache(path, settings.gpu)
    for name in NETWORKS:
        for one in placed_launches(load_network(name), settings, 2, train=False)[1]:
            cycles = round(FACTOR * bounds(one.asked, settings.gpu).together)
            spent = {"wall_s": 1.0, "cpu_s": INSTRUCTION_S * one.asked.work.instructions, "compile_s": 0.0}
            facts = RunFacts.of(kernel={"name": one.kernel, "cycles": cycles, "clock_ghz": 1.0}, simulator=spent)
            kept.put(one.one, facts)
    kept.close()
    return path


def test_a_fit_of_a_store_is_used(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    fitted, out = tmp_path / "fitted.json", tmp_path / "out.json"
    assert invoke(["fit-estimates", *NETWORKS, "--batch", "1,2", "--phase", "inference", "--store", str(store),
                   "--to", str(fitted)]) == 0  # fmt: skip
    told = capsys.readouterr()
    assert told.out.startswith("iterations\t") and "lenet, inference, batch 2, implicit, MI6: 10 of 10" in told.err
    held = json.loads(fitted.read_text())
    assert held["errors"]["iterations"]["number"] == 2 and held["errors"]["iterations"]["worst"] < 0.01
    assert held["errors"]["launches"]["worst"] < 0.01
    assert held["rates"]["instruction_s"] == pytest.approx(INSTRUCTION_S, rel=0.01)
    asked = ["layers", "lenet", "--batch", "2", "--estimate", "--fitted", str(fitted), "--json", str(out)]
    assert invoke(asked) == 0
    assert capsys.readouterr().out.startswith("estimate, nothing was simulated: lenet, inference, batch 2, MI6\n")
    found: dict[str, Any] = json.loads(out.read_text())
    for one in found["launches"]:
        assert one["known_kernel"] and one["cycles"] >= max(one["bounds"].values())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["layers", "lenet", "--fitted", "f.json"], "--fitted f.json: belongs to --estimate"),
        (["layers", "lenet", "--set", "gpu.name=x"], "--set gpu.name=x: belongs to --estimate, or to --gpu"),
        (["layers", "lenet", "--estimate", "--fitted", "none.json"], "none.json: cannot be read: No such file"),
        (["fit-estimates", "lenet", "--batch", "0"], "--batch 0: a number of images"),
        (["fit-estimates", "lenet", "cifarnet", "--store", "none.db"], "--store none.db: there is no such store"),
        (["fit-estimates", "lenet", "--convolution", "auto"], "--convolution auto: name those"),
        (["fit-estimates", "lenet", "--convolution", "winogad_4x4"], "winograd_4x4"),
    ],
)
def test_what_is_wrong_is_one_line(arguments: list[str], says: str, capsys: pytest.CaptureFixture) -> None:
    assert invoke(arguments) == 2
    told = capsys.readouterr().err
    assert says in told and len(told.strip().splitlines()) == 1


def test_one_network_alone_is_refused(store: Path, capsys: pytest.CaptureFixture) -> None:
    assert invoke(["fit-estimates", "lenet", "--batch", "2", "--phase", "inference", "--store", str(store)]) == 2
    assert "the store knows those of lenet alone: `gpusim net" in capsys.readouterr().err
