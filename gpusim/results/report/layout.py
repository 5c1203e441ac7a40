"""Lines of a report on a terminal, a pipe or in a file: styles, bars, columns, and what a poor terminal cannot show."""

import os
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import TextIO

from gpusim.base.visible import console

PIPE_WIDTH = 80  # columns of lines that do not go to a terminal
_FEWEST = 40  # columns
_FULL, _EMPTY = "█", "░"
_POOR = str.maketrans({_FULL: "#", _EMPTY: ".", "–": "-", "×": "x", "±": "+/-", "→": ">", "≤": "<="})

# text and its style by rich's names; '' for plain
Piece = tuple[str, str]
Line = Sequence[Piece]


def width_of(out: TextIO) -> int:
    """Return the number of columns that lines may take."""
    return max(shutil.get_terminal_size().columns, _FEWEST) if out.isatty() else PIPE_WIDTH


def bar(share: float, width: int) -> str:
    """Draw a bar of `width` characters, of which `share` (0 to 1) are full: at least one where the share is above 0.

    Args:
        share: 0 to 1.
        width: Columns of the text.
    """
    full = round(min(max(share, 0.0), 1.0) * width)
    if share > 0:
        full = max(full, 1)
    return _FULL * full + _EMPTY * (width - full)


def plain(text: str) -> Line:
    """Return a line without style."""
    return [(text, "")]


def wrapped(text: str, width: int, indent: int = 0, style: str = "", first: str = "") -> list[Line]:
    """Break a text into lines of at most `width` columns, all but the first indented; the first begins with `first`.

    Args:
        text: The text.
        width: Columns of the text.
        indent: Columns of indentation.
        style: Style of the text.
        first: What the first line begins with.
    """
    lines = textwrap.wrap(
        text, max(width, indent + 20), initial_indent=first, subsequent_indent=" " * indent,
        break_on_hyphens=False,
    )  # fmt: skip
    return [[(line, style)] for line in lines]


def fitted(text: str, indent: int, out: TextIO) -> str:
    """Return a line unchanged for a pipe; for a terminal, broken to its width, with further lines indented.

    Args:
        text: The line.
        indent: Columns of indentation.
        out: Stream to write to.
    """
    if not out.isatty():
        return text
    return "\n".join("".join(piece for piece, _ in line) for line in wrapped(text, width_of(out), indent))


def columns(label: str, cells: Sequence[str], label_width: int, cell_width: int, style: str = "") -> list[Line]:
    """Lay out a label and one cell for each column; a cell that is too long continues on further lines."""
    parts = [textwrap.wrap(cell, cell_width - 1, break_on_hyphens=False) or [""] for cell in cells]
    lines: list[Line] = []
    for number in range(max(map(len, parts))):
        line = [((label if number == 0 else "").ljust(label_width), "")]
        for part in parts:
            line.append(((part[number] if number < len(part) else "").ljust(cell_width), style))
        lines.append(line)
    return lines


def write(lines: Iterable[Line], out: TextIO) -> None:
    """Print the lines: with styles on a terminal that has them (NO_COLOR, TERM=dumb), as plain text elsewhere.

    Args:
        lines: Lines with their styles.
        out: Stream to write to.
    """
    poor = is_poor(out)
    if not out.isatty():
        for line in lines:
            text = "".join(piece for piece, _ in line).rstrip()
            print(text.translate(_POOR) if poor else text, file=out)
        return
    from rich.text import Text

    on_terminal = console(out, highlight=False, markup=False, soft_wrap=True)
    for line in lines:
        styled = Text.assemble(*((piece.translate(_POOR) if poor else piece, style) for piece, style in line))
        styled.rstrip()
        on_terminal.print(styled)


def is_poor(out: TextIO) -> bool:
    """Tell whether a stream should get ASCII only: a dumb terminal, or an encoding without the characters of bars."""
    if out.isatty() and os.environ.get("TERM") in ("dumb", "unknown"):
        return True
    try:
        (_FULL + _EMPTY + "–×±").encode(getattr(out, "encoding", None) or "utf-8")
    except (LookupError, UnicodeEncodeError):
        return True
    return False
