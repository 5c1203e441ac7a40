"""The test command: what is compiled is tested without the compiler too, wherever compiled code comes to lie."""

import os
import re
import subprocess

from tests.structure.imports import ROOT, sources


def run_without_the_compiler() -> list[str]:
    line = next(line for line in (ROOT / ".ci/test").read_text().splitlines() if line.startswith("compiled_units="))
    shown = subprocess.run(
        ["bash", "-c", f'{line}; printf "%s\\n" "${{compiled_units[@]}}"'],
        capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    return shown.stdout.split()


def test_the_units_of_compiled_code_are_tested_without_the_compiler() -> None:
    marked = [module for module, path in sources() if re.search(r"^@jit\b", path.read_text(encoding="utf-8"), re.M)]
    parts = [re.sub(r"^gpusim\.(base|model)\.", "", module).split(".")[0] for module in marked]
    assert {"core", "isa", "memory", "spartan"} <= set(parts)
    named = run_without_the_compiler()
    assert {f"tests/unit/{part}" for part in parts} <= set(named)
    assert all((ROOT / name).exists() for name in named)


def test_what_a_tier_leaves_out_the_other_runs() -> None:
    command = (ROOT / ".ci/test").read_text()
    assert re.findall(r'suite .*-m "(.*?)" (.*)', command) == [
        ("not plain_tier and not nightly", "tests/system"),
        ("not plain_tier and not nightly", "--ignore tests/system"),
        ("not compiled_tier and not nightly", '"${compiled_units[@]}"'),
    ]
    files = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    plain = [path for path, text in files.items() if "mark.plain_tier" in text and path.name != "test_tiers.py"]
    units = [ROOT / name for name in run_without_the_compiler()]
    assert plain and all(any(path.is_relative_to(unit) for unit in units) for path in plain)
