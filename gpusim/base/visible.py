"""Texts for a terminal: control characters that names from files hold are shown, and do nothing.

What a command prints goes through `VisibleStream`, the standard streams while it runs, or through the `console` of
rich, whose own sequences pass.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x80-\x9f]"
)  # all but tab and line end; JSON may hold DEL, which does nothing


def visible(text: str) -> str:
    """Return the text with control characters as Python writes them, such as '\\x1b'."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


class VisibleStream:
    """A stream that writes visible text to another one, `raw`, and is else as that."""

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        """Write the text made visible."""
        self.raw.write(visible(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def raw(stream: TextIO) -> TextIO:
    """Return the stream itself of one that shows control characters."""
    return stream.raw if isinstance(stream, VisibleStream) else stream


@contextmanager
def make_streams_visible(out: TextIO, err: TextIO) -> Iterator[None]:
    """Send what is printed within the block to two streams, as visible text.

    Args:
        out: standard output.
        err: standard error.
    """
    with redirect_stdout(cast(TextIO, VisibleStream(raw(out)))), redirect_stderr(cast(TextIO, VisibleStream(raw(err)))):
        yield


def console(out: TextIO, **options: Any) -> Any:
    """Make rich's console on a stream.

    Args:
        out: the stream.
        options: of rich.console.Console.

    Returns:
        The console.
    """
    from rich.console import Console
    from rich.segment import Segment

    class VisibleConsole(Console):
        def render(self, renderable: Any, options: Any = None) -> Any:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else visible(text), style, control)

    return VisibleConsole(file=raw(out), **options)
