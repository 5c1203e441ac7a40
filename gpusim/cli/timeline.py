"""What `gpusim run` and `gpusim exec` share of `--timeline` and `--window`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.timeline.window import Window, parse_window

if TYPE_CHECKING:
    from gpusim.timeline.timeline import Timeline


def window_of(timeline: Path | None, window: str | None) -> Window:
    """Return the window that the options name; raises UserError if they do not fit together."""
    if window is not None and timeline is None:
        raise UserError(f"--window {window}: says what a timeline shows; --timeline FILE names its file")
    return Window() if window is None else parse_window(window)


@contextmanager
def drawing(file: Path | None, window: Window, reporter: Reporter) -> Iterator["Timeline | None"]:
    """Open the timeline to draw into, None without a file; at the end the reporter says what was written."""
    if file is None:
        yield None
        return
    from gpusim.timeline.timeline import Timeline  # imports the compiled core

    timeline = Timeline(file, window)
    try:
        with timeline:
            yield timeline
    finally:
        for line in timeline.summary():
            reporter.say(line)
