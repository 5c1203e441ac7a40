"""Does `gpusim layers` print and write what a network costs, and is bad input one line and exit code 2?"""

import io
import json
import re
from pathlib import Path

import pytest

from gpusim.cli import layers as command
from gpusim.cli.main import invoke
from gpusim.config import files
from gpusim.config.gpu import load_gpu
from gpusim.config.network import NETWORK_FOLDER, load_network
from tests.support.daily import parametrize_daily
from tests.support.network_tables import TOTALS
from workloads.networks.figures import layer_figures

SHIPPED = [name.removesuffix(".yaml") for name in files.shipped(NETWORK_FOLDER)]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def document(capsys: pytest.CaptureFixture, *arguments: str) -> dict:
    assert invoke(["layers", *arguments, "--json", "-"]) == 0
    found: dict = json.loads(capsys.readouterr().out)
    return found


def test_json_is_an_image_s_unless_a_batch_is_given(capsys: pytest.CaptureFixture) -> None:
    one, many = document(capsys, "alexnet"), document(capsys, "alexnet", "--batch", "128")
    assert (one["batch"], many["batch"]) == (None, 128)
    first, same = one["layers"][0], many["layers"][0]
    assert (first["name"], first["kind"], first["macs"], first["parameters"]) == (
        "conv1",
        "convolution",
        105415200,
        34848,
    )
    assert (same["macs"], same["parameters"]) == (128 * first["macs"], first["parameters"])
    assert first["gemm"] == {"m": 96, "k": 363, "n": 3025, "count": 1}
    assert same["gemm"]["count"] == 128
    assert one["total"]["macs"] == TOTALS["alexnet"].macs
    assert one["total"]["parameters"] == TOTALS["alexnet"].weights
    assert set(first) - {"name", "kind", "inputs", "input_shapes", "output_shape"} <= set(one["meanings"])
    assert set(one["total"]) - {"peak_step", "all_passes_macs", "launches"} <= set(one["meanings"])


def test_json_of_training_has_every_pass(capsys: pytest.CaptureFixture) -> None:
    found = document(capsys, "vgg16", "--phase", "train", "--batch", "2")
    passes = {layer["name"]: [one["pass"] for one in layer["passes"]] for layer in found["layers"]}
    assert passes["conv1_1"] == ["forward", "backward_weights", "backward_bias", "update", "update"]
    assert passes["conv1_2"][1:4] == ["backward_weights", "backward_bias", "backward_data"]
    assert passes["softmax"] == ["loss", "loss_gradient"]
    total = found["total"]
    assert total["all_passes_macs"] == 3 * total["macs"] - found["layers"][0]["macs"]
    assert total["planned_bytes"] >= total["peak_bytes"] > 16 * TOTALS["vgg16"].weights // 2
    assert found["phase"] == "train"
    launches = [one["launches"] for layer in found["layers"] for one in layer["passes"]]
    assert min(launches) >= 1 and sum(launches) == total["launches"]


def test_a_pipe_gets_exact_figures_and_the_file_the_json(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    target = tmp_path / "x.json"
    assert invoke(["layers", "lenet", "--json", str(target)]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    heads = "layer kind output gemm macs parameters biases memory_bytes live_bytes"
    assert lines[0] == heads.split()
    written = json.loads(target.read_text())
    assert [line[0] for line in lines[1:]] == [layer["name"] for layer in written["layers"]]
    assert lines[1][:7] == ["conv1", "convolution", "20×24×24", "20×25×576", "288000", "500", "20"]


LONG = {"resnet18-cifar", "resnet34", "resnet50", "resnet101", "resnet152"}  # more blocks of those of resnet18


@parametrize_daily("name", SHIPPED, [number for number, name in enumerate(SHIPPED) if name not in LONG])
def test_tables_fit_80_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    network = load_network(name)
    for train in {False, not network.forward_alone}:
        planned, out = command.plan_of(network, 128, train), Terminal()
        command.show(planned, layer_figures(planned), False, load_gpu("mi6"), out)
        lines = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()
        assert [line for line in lines if len(line.rstrip()) > 80 or "…" in line] == []
        names = [layer.name for layer in planned.schedule.network.layers]
        first = next(number for number, line in enumerate(lines, 1) if line.startswith("layer "))
        assert [line.split()[0] for line in lines[first : first + len(names)]] == names, "a line each"
        assert "M MACs forward" in lines[first + len(names)]


def test_a_terminal_gets_products_and_memory_in_units_and_the_file_the_picture(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("sys.stdout", out := Terminal())
    (tmp_path / "two.yaml").write_text(GROUPED)
    picture, written = tmp_path / "two.svg", tmp_path / "two.json"
    assert invoke(["layers", str(tmp_path / "two.yaml"), "--picture", str(picture), "--json", str(written)]) == 0
    assert "two" in picture.read_text()
    line = next(line for line in out.getvalue().splitlines() if line.startswith("conv"))
    assert line.split()[1:6] == ["64×512×512", "2", "·", "32×18×262144", "302"]
    assert line.split()[-1] == f"{json.loads(written.read_text())['layers'][0]['memory_bytes'] / 2**20:.3g}"


def test_the_file_s_own_batch_is_said(tmp_path: Path) -> None:
    path = tmp_path / "relu.dnnmark"
    path.write_text("[DNNMark]\nrun_mode=standalone\n[Activation]\nname=relu1\nn=100\nc=32\nh=256\nw=256\n")
    planned, out = command.plan_of(load_network(path), 1, False), Terminal()
    command.show(planned, layer_figures(planned), True, None, out)
    assert "the file's batch is 100: --batch 100 counts for it" in out.getvalue()


GROUPED = """
input: [4, 512, 512]
layers:
  - {name: conv, kind: convolution, filters: 64, kernel: 3, padding: 1, groups: 2, bias: false}
"""
LOOP = "input: [3]\nlayers:\n  - {name: a, kind: relu, inputs: b}\n  - {name: b, kind: relu}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["alexnat"], "did you mean 'alexnet'"),
        (["layerB.yaml"], "is a run, not a network: use gpusim run"),
        (["alexnet", "--batch", "0"], "batch: 0 is not allowed: must be from 1 to 65536"),
        (["alexnet", "--batch", "x"], "--batch"),
        (["alexnet", "--phase", "trian"], "--phase"),
        (["alexnet", "--gpu", "mi7"], "did you mean 'mi6'"),
        (["alexnet", "--json", "missing/x.json"], "does not exist"),
        (["loop.yaml"], "loop.yaml: layer 'a': reads its own output (a → b → a)"),
        (["loop.yaml", "--json", "loop.yaml"], "layer 'a'"),
        (["one.yaml", "--json", "one.yaml"], "is read by this run"),
        (["huge.yaml", "--batch", "65536"], "layer 'a': a.output has 1125899906842624 bytes"),
        (["vgg16", "--batch", "512", "--phase", "train", "--gpu", "mi6"],
         "layer 'pool5' (backward_data): 32,213.5 MiB of memory with batch 512; MI6 has 4096 MiB (gpu.memory_mib): a"
         " batch of 41 fits"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(
    arguments: list[str], said: str, capfd: pytest.CaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop.yaml").write_text(LOOP)
    Path("one.yaml").write_text("input: [3]\nlayers: [{name: a, kind: relu}]\n")
    Path("huge.yaml").write_text(
        "input: [1, 256, 256]\nlayers: [{name: a, kind: convolution, filters: 65536, kernel: 1}]\n"
    )
    assert invoke(["layers", *arguments]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gpusim: error: ") and captured.err.count("\n") == 1
    assert said in captured.err


def test_the_batch_that_is_said_to_fit_is_the_largest(capfd: pytest.CaptureFixture) -> None:
    arguments = ["layers", "vgg16", "--phase", "train", "--gpu", "mi6", "--batch"]
    assert [invoke([*arguments, batch]) for batch in ("41", "42")] == [0, 2]
    assert "a batch of 41 fits" in capfd.readouterr().err


def test_a_network_is_no_gpu(capfd: pytest.CaptureFixture) -> None:
    assert invoke(["show", "alexnet"]) == 2
    assert "use gpusim layers alexnet" in capfd.readouterr().err


def test_several_networks_are_a_row_each(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    found = document(
        capsys, "alexnet", "resnet34", "--phase", "train", "--batch", "2", "--picture", str(tmp_path / "n.svg")
    )
    assert [one["network"] for one in found["networks"]] == ["alexnet", "resnet34"]
    first, second = found["networks"]
    assert first["kinds"]["lrn"] == 2 and second["kinds"]["add"] == 16
    assert (first["with_weights"], second["with_weights"]) == (8, 34 + 3)  # with the projections
    alone = document(capsys, "alexnet", "--phase", "train", "--batch", "2")["total"]
    assert first["flops"] == 2 * alone["macs"] and first["all_passes_flops"] == 2 * alone["all_passes_macs"]
    assert first["parameters"] == TOTALS["alexnet"].trained and first["planned_bytes"] == alone["planned_bytes"]
    assert "resnet34" in (tmp_path / "n.svg").read_text()
    assert invoke(["layers", "alexnet", "lenet", "--gpu", "mi6"]) == 2
    assert "--gpu: belongs to a single network" in capsys.readouterr().err
