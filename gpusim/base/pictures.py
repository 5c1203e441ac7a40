"""Pictures: what Matplotlib draws into files. It is imported when one is drawn, and only then."""

import importlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpusim.base.errors import MissingExtraError, UserError

FORMATS = (".svg", ".png")
_RC = {"svg.hashsalt": "gpusim", "svg.fonttype": "none"}
_UNDATED = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # the same figure gives the same file


def check_format(path: Path) -> None:
    """Raise UserError unless the picture's name ends in .svg or .png."""
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"--picture {path}: a picture's name ends in {' or '.join(FORMATS)}")


def require_matplotlib(command: str, option: str = " --picture") -> Any:
    """Import Matplotlib, drawing into files, for `gpusim COMMAND` with an option; raise MissingExtraError."""
    try:
        matplotlib = importlib.import_module("matplotlib")
        matplotlib.use("Agg")
        return importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise MissingExtraError(f"gpusim {command}{option} (Matplotlib)", "plot") from error


def rendered(
    draw: Callable[[Any], None], size: tuple[float, float], kind: str, ink: str = "black", framed: bool = False
) -> bytes:
    """Draw into a file of `kind` ('.svg', '.png' or '.pdf') what `draw` draws onto a figure of `size` inches.

    ink: colour of text and axes; without a ground, so that it lies on any page. framed: Matplotlib's own style instead.
    Raises MissingExtraError.
    """
    plt = require_matplotlib("report", "")
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "legend.edgecolor")
    style = {
        **dict.fromkeys(inked, ink), "font.size": 9, "axes.spines.top": False, "axes.spines.right": False,
        "legend.frameon": False, "savefig.transparent": True, "savefig.dpi": 150, "axes.titlesize": 9,
    }  # fmt: skip
    out = io.BytesIO()
    with plt.rc_context(_RC if framed else {**_RC, **style}):
        figure = plt.figure(figsize=size)
        draw(figure)
        figure.savefig(out, format=kind[1:], metadata=_UNDATED.get(kind, {}))
    plt.close(figure)
    return out.getvalue()
