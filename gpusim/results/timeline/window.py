"""Which cycles of a launch a timeline shows: `--window a:b`."""

import re
from typing import NamedTuple

from gpusim.base.errors import UserError

FOREVER = 1 << 60


class TimelineWindow(NamedTuple):
    """Core cycles [begin, end) of each launch."""

    begin: int = 0
    """First core cycle."""
    end: int = FOREVER
    """Core cycle after the last one."""

    @property
    def text(self) -> str:
        """The window as the user may write it: 'a:b', empty sides left out."""
        return f"{self.begin or ''}:{self.end if self.end < FOREVER else ''}"


def parse_window(text: str) -> TimelineWindow:
    """Parse the window that 'a:b' names, of which either side may be left out; UserError for anything else."""
    match = re.fullmatch(r"\s*(\d*)\s*:\s*(\d*)\s*", text, re.ASCII)
    if match is None or len(text) > 40:
        raise UserError(
            f"--window {text[:40]}: is no window: it is written first:end in core cycles of each launch, "
            "whole numbers from 0, and either may be left out (1000:2000, 1000:, :2000)"
        )
    window = TimelineWindow(int(match[1] or 0), int(match[2]) if match[2] else FOREVER)
    if max(window.begin, window.end) > FOREVER:
        raise UserError(f"--window {text}: is beyond every launch's end")
    if window.begin >= window.end:
        raise UserError(f"--window {text}: is empty: it ends at cycle {window.end}, not after it begins")
    return window
