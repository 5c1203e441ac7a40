"""Does gpusim use its own packages, whatever a user's files are called, and say so when it cannot?"""

import os
import subprocess
import sys
from pathlib import Path

import gpusim
from gpusim.base.packages import BESIDE
from tests.support.daily import parametrize_daily

ROOT = Path(gpusim.__file__).parents[1]
SCRIPT = """
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import gpusim
print(*(str(each.message).split(":")[0] for each in said if each.category is RuntimeWarning))
gpu = gpusim.Device("mi6", timing=False, quiet=True)
import memory.dram.spec, workloads.shapes, isa.kernarg, spartan.engine_spec
print(memory.__file__)
"""


def run(folder: Path, script: str, name: str = "script.py") -> subprocess.CompletedProcess:
    (folder / name).write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "1"}
    return subprocess.run([sys.executable, name], cwd=folder, env=environment, capture_output=True, text=True)


@parametrize_daily("packages", (sorted(BESIDE)[::2], [], sorted(BESIDE)), (0,), ids=["every second", "none", "all"])
def test_a_user_s_files_of_the_same_names_are_not_imported(tmp_path: Path, packages: list[str]) -> None:
    for name in BESIDE:
        if name in packages:
            (tmp_path / name).mkdir()
        file = tmp_path / name / "__init__.py" if name in packages else tmp_path / f"{name}.py"
        file.write_text("raise SystemExit('the wrong one')")
    done = run(tmp_path, SCRIPT)
    assert done.returncode == 0, done.stderr
    hidden, ours = done.stdout.splitlines()
    assert len(hidden.split()) == len(BESIDE), "each of them is said to be hidden"
    assert Path(ours) == ROOT / "memory" / "__init__.py"


def test_nothing_is_said_where_nothing_is_hidden(tmp_path: Path) -> None:
    done = run(tmp_path, SCRIPT, "workloads.py")  # the script itself is no module that it could want
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == ""


def test_a_module_that_was_imported_before_is_named(tmp_path: Path) -> None:
    (tmp_path / "isa.py").write_text("")
    done = run(tmp_path, "import isa, gpusim")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: gpusim has a package 'isa' of its own")
    assert str(tmp_path / "isa.py") in last
    assert "rename yours" in last


def test_the_directory_of_gpusim_shows_the_public_names_alone() -> None:
    assert dir(gpusim) == sorted(gpusim.__all__)
    assert callable(gpusim.run)
