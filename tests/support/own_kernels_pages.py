"""What the example scripts of the pages on own kernels print, in the pages: run on the committed code objects.

python -m tests.support.own_kernels_pages
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = "docs/own-kernels"
# page, script that writes the input, script whose output the page shows
SHOWN = (
    (ROOT / "docs/own-kernels.md", f"{EXAMPLES}/arrays.py", f"{EXAMPLES}/sweep.py"),
    (ROOT / "docs/own-kernels-hip.md", f"{EXAMPLES}/logits.py", f"{EXAMPLES}/precision.py"),
)
_END = "<!-- end -->"


def _begin(script: str) -> str:
    return f"<!-- printed by {script} -->"


def printed(inputs: str, script: str) -> str:
    """What the script prints when its input is there."""
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(ROOT / EXAMPLES, Path(scratch) / EXAMPLES)
        for path in (inputs, script):
            command = [sys.executable, path]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            done = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.rstrip()


def shown(page: Path, script: str) -> str:
    """What the page shows of it."""
    return page.read_text(encoding="utf-8").partition(_begin(script))[2].partition(_END)[0].strip().strip("`").strip()


def main() -> None:
    """Renew the pages."""
    for page, inputs, script in SHOWN:
        before, mark, rest = page.read_text(encoding="utf-8").partition(_begin(script))
        text = f"{before}{mark}\n\n```\n{printed(inputs, script)}\n```\n\n{_END}{rest.partition(_END)[2]}"
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
