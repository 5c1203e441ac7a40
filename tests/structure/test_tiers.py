"""The test command: what is compiled is tested without the compiler too, wherever compiled code comes to lie."""

import os
import re
import subprocess

from tests.structure.imports import ROOT, sources


def test_the_units_of_compiled_code_are_tested_without_the_compiler() -> None:
    marked = [module for module, path in sources() if re.search(r"^@jit\b", path.read_text(encoding="utf-8"), re.M)]
    parts = [module.removeprefix("gpusim.").split(".")[0] for module in marked]
    assert {"core", "isa", "memory", "spartan"} <= set(parts)
    line = next(line for line in (ROOT / ".ci/test").read_text().splitlines() if line.startswith("compiled_units="))
    shown = subprocess.run(
        ["bash", "-c", f'{line}; printf "%s\\n" "${{compiled_units[@]}}"'],
        capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    named = shown.stdout.split()
    assert {f"tests/unit/{part}" for part in parts} <= set(named)
    assert all((ROOT / name).exists() for name in named)
