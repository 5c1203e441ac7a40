"""Streams that stand for a user's terminal, and what must hold for what is printed on them."""

import io
import re


class Terminal(io.StringIO):
    """A terminal, as far as a program asks."""

    def isatty(self) -> bool:
        return True


def without_styles(text: str) -> str:
    """The text without the codes for colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def too_wide(out: io.StringIO, columns: int = 80) -> list[str]:
    """Lines beyond the columns, and those in which something was cut off."""
    lines = without_styles(out.getvalue()).splitlines()
    return [line for line in lines if len(line.rstrip()) > columns or "…" in line]
