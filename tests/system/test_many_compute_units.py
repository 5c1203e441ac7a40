"""Does a machine of 120 compute units, an MI100's number, run kernels rightly, on all of them?"""

import json
from pathlib import Path

import pytest

from gpusim.cli.main import invoke

SHAPE = ("workload.batch=64", "workload.layer.input_channels=4", "workload.layer.output_channels=512")
DATA = ("workload.data=synthetic",)


@pytest.mark.parametrize("arrays", ["30", "33"])
def test_every_compute_unit_takes_part(arrays: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "result.json"
    sets = ["kernels.dense=sgemm", "gpu.cus_per_array=4", f"gpu.shader_arrays={arrays}", *SHAPE, *DATA]
    assignments = [text for value in sets for text in ("--set", value)]
    code = invoke(["run", "layerB.yaml", "--quiet", "--engine", "off", "--checked", "--json", str(path), *assignments])
    if arrays == "33":
        assert code == 2 and "132 compute units; at most 128 can be simulated" in capsys.readouterr().err
        return
    assert code == 0
    run = json.loads(path.read_text())
    assert run["verification"]["passed"]
    issued = run["stalls_by_compute_unit"]["issued"]
    assert len(issued) == 120 and all(issued)
