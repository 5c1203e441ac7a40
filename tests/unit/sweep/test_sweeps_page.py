"""Are the files that docs/how-to/sweeps.md shows sweeps, and its options those of the command?"""

import re
from pathlib import Path

import pytest
import yaml

from gpusim.config.sweep import SweepOverrides, load_sweep
from gpusim.study.sweep.objectives import Objectives
from gpusim.study.sweep.points import list_points
from gpusim.study.sweep.tasks import check_paths, prepared

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "sweeps.md").read_text(encoding="utf-8")
FILES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", FILES)
def test_the_files_are_sweeps_whose_points_can_be(text: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(text)
    spec, document = load_sweep(str(tmp_path / "s.yaml"), SweepOverrides())
    check_paths(spec)
    assert Objectives(spec).metrics == ["kernel.cycles"]
    if spec.method != "search":
        points = list_points(spec)
        for point in (points[0], points[-1]):
            prepared(spec, point, document.path)
    assert set(yaml.safe_load(text)) <= set(spec.model_fields_set)


def test_there_is_a_file_of_each_kind() -> None:
    assert [yaml.safe_load(text)["method"] for text in FILES] == ["grid", "search"]
