"""Launch vector_add from two lines, by a package: what `launches.py` does, where `folder` has a copy of it."""

import sys
from pathlib import Path

folder, code = sys.argv[1:]
sys.path.insert(0, folder)
import launches  # noqa: E402

launches.CODE = Path(code)


def step() -> None:
    """Launch once."""
    launches.main(1, 256)


step()
launches.main(
    2,
    512,
)
