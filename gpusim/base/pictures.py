"""Pictures: what Matplotlib draws into files. It is imported when one is drawn, and only then."""

import importlib
import io
from pathlib import Path
from typing import Any

from gpusim.base.errors import MissingExtraError, UserError

FORMATS = (".svg", ".png")


def check_format(path: Path) -> None:
    """UserError unless the picture's name ends in .svg or .png."""
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"--picture {path}: a picture's name ends in {' or '.join(FORMATS)}")


def require_matplotlib(command: str) -> Any:
    """Matplotlib, drawing into files, for `gpusim COMMAND --picture`; raises MissingExtraError."""
    try:
        matplotlib = importlib.import_module("matplotlib")
        matplotlib.use("Agg")
        return importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise MissingExtraError(f"gpusim {command} --picture (Matplotlib)", "plot") from error


def saved(plt: Any, figure: Any, kind: str) -> bytes:
    """The figure, which is closed, as a file of `kind`, '.svg' or '.png'; the same figure gives the same file."""
    out = io.BytesIO()
    metadata = {"Date": None} if kind == ".svg" else {}
    with plt.rc_context({"svg.hashsalt": "gpusim", "svg.fonttype": "none"}):
        figure.savefig(out, format=kind[1:], metadata=metadata)
    plt.close(figure)
    return out.getvalue()
