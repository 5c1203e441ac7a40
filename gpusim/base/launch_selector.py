"""Which launches of a run are meant: by kernel, number, stream or line (`--only`, `--timeline-only`).

Conditions of one kind are alternatives, and a launch meets one of each kind. Launches and streams have the numbers that
screens, pages and timelines show: launches from 1 in the order of a process's calls, streams from 0, the default one.
Lines are those of a Python program from which a kernel was launched.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gpusim.base.errors import UserError, nearest, unknown_name

GRAMMAR = "kernel=REGEX, launch=FIRST-LAST, stream=NUMBER or line=FILE:FIRST-LAST"
_MOST_NAMES = 20  # that a message lists
_ENDLESS = 1 << 60


class ProgramLine(NamedTuple):
    """A line of a Python program from which kernels are launched."""

    file: str
    """Path of the file as the interpreter has it."""
    number: int
    """Number of the line, from 1."""
    function: str = ""
    """Name of the function that contains the line; '<module>': none does."""

    @property
    def text(self) -> str:
        """The line as 'train.py:12', with the path from the current folder if the file lies below it."""
        return f"{self.file.removeprefix(os.getcwd() + os.sep)}:{self.number}"


class LaunchIdentity(NamedTuple):
    """A launch of a run, as selectors know it."""

    kernel: str
    """Name of the kernel as the code object has it."""
    number: int
    """Number of the launch, from 1."""
    stream: int = 0
    """Number of the stream; 0: the default one."""
    title: str = ""
    """Demangled name of the kernel without its arguments."""
    line: ProgramLine | None = None
    """Line of the Python program; None: no Python program, or unknown."""


class _NumberRange(NamedTuple):
    first: int
    last: int


class _LineRange(NamedTuple):
    file: str
    """End of the file's path, whole names; empty: any file."""
    numbers: _NumberRange
    """Numbers of the lines."""

    def has(self, line: ProgramLine) -> bool:
        """Tell whether the line is one of the range."""
        of_file = not self.file or f"/{line.file}".endswith(f"/{self.file.removeprefix('./').lstrip('/')}")
        return of_file and self.numbers.first <= line.number <= self.numbers.last


@dataclass(frozen=True)
class LaunchSelector:
    """Selects launches of a run; one without conditions selects all."""

    conditions: tuple[str, ...] = ()
    """Conditions as the user wrote them."""
    kernels: tuple[re.Pattern[str], ...] = ()
    """Patterns of names of kernels, demangled or as the code object has them; empty: all kernels."""
    numbers: tuple[_NumberRange, ...] = ()
    """Ranges of numbers of launches; empty: all launches."""
    streams: frozenset[int] = frozenset()
    """Numbers of streams; empty: all streams."""
    lines: tuple[_LineRange, ...] = ()
    """Lines of a Python program; empty: all lines."""

    def selects(self, launch: LaunchIdentity) -> bool:
        """Tell whether a launch meets the conditions."""
        return all(meets(self, launch) for meets in _KINDS.values())

    def explain_nothing(self, launches: Iterable[LaunchIdentity]) -> str:
        """Return why none of the launches meets the conditions: what there is instead, and the nearest name."""
        known = list(dict.fromkeys(launches))
        text = ", ".join(self.conditions)
        if not known:
            return f"{text}: nothing was launched"
        for kind, meets in _KINDS.items():
            if not any(meets(self, launch) for launch in known):
                text = ", ".join(one for one in self.conditions if one.partition("=")[0].strip() == kind)
                return f"{text}: no launch has such a {_ALTERNATIVES[kind][0]}; {self._instead(kind, known)}"
        return f"{text}: no launch meets all of these conditions; {self._instead('kernel', known)}"

    def _instead(self, kind: str, known: Collection[LaunchIdentity]) -> str:
        _, title, name_of = _ALTERNATIVES[kind]
        names = sorted({name_of(launch) for launch in known} - {""}, key=lambda name: (len(name), name))
        if not names:
            return "no launch comes from a line of a Python program"
        if kind == "launch":
            return f"they are {names[0]} to {names[-1]}"
        unknown = [one.pattern for one in self.kernels if kind == "kernel" and not any(map(one.search, names))]
        guesses = [nearest(pattern, names) for pattern in unknown]
        hint = "".join(f"did you mean '{guess}'? " for guess in guesses if guess)
        more = f" and {len(names) - _MOST_NAMES} others" if len(names) > _MOST_NAMES else ""
        return f"{hint}{title}: {', '.join(names[:_MOST_NAMES])}{more}"


ALL_LAUNCHES = LaunchSelector()
_KINDS: dict[str, Callable[[LaunchSelector, LaunchIdentity], bool]] = {
    "kernel": lambda selector, launch: (
        not selector.kernels
        or any(pattern.search(name) for pattern in selector.kernels for name in (launch.kernel, launch.title))
    ),
    "launch": lambda selector, launch: (
        not selector.numbers or any(first <= launch.number <= last for first, last in selector.numbers)
    ),
    "stream": lambda selector, launch: not selector.streams or launch.stream in selector.streams,
    "line": lambda selector, launch: (
        not selector.lines or (launch.line is not None and any(one.has(launch.line) for one in selector.lines))
    ),
}
# kind of condition → what a launch lacks, the title of what there is, and a launch's name of it
_ALTERNATIVES: dict[str, tuple[str, str, Callable[[LaunchIdentity], str]]] = {
    "kernel": ("kernel", "kernels", lambda launch: launch.title or launch.kernel),
    "launch": ("number", "launches", lambda launch: str(launch.number)),
    "stream": ("stream", "streams", lambda launch: str(launch.stream)),
    "line": ("line", "lines", lambda launch: launch.line.text if launch.line else ""),
}


def parse_selector(option: str, conditions: Sequence[str]) -> LaunchSelector:
    """Parse conditions such as 'kernel=gemm', 'launch=3,10-20', 'stream=1' and 'line=train.py:12-20'.

    Args:
        option: Option that has them, for messages.
        conditions: The conditions; without any, all launches are selected.

    Returns:
        The selector.

    Raises:
        UserError: A condition is none; names what is allowed and the nearest valid name.
    """
    kernels: list[re.Pattern[str]] = []
    numbers: list[_NumberRange] = []
    streams: set[int] = set()
    lines: list[_LineRange] = []
    for condition in conditions:
        place, (kind, equals, value) = f"{option} {condition}", map(str.strip, condition.partition("="))
        if not equals:
            raise UserError(f"{place}: a condition is {GRAMMAR}; did you mean '{_meant(kind)}'?")
        if kind not in _KINDS:
            raise UserError(f"{place}: {unknown_name('condition', kind, _KINDS)}: a condition is {GRAMMAR}")
        if not value:
            raise UserError(f"{place}: a value is missing: a condition is {GRAMMAR}")
        if kind == "kernel":
            kernels.append(_pattern(place, value))
        elif kind == "launch":
            numbers += [_range(place, part) for part in value.split(",")]
        elif kind == "line":
            lines += _line_ranges(place, value)
        else:
            streams |= {_number(place, part, 0) for part in value.split(",")}
    return LaunchSelector(tuple(conditions), tuple(kernels), tuple(numbers), frozenset(streams), tuple(lines))


def _meant(text: str) -> str:
    """Return the condition that a text without '=' was probably meant to be."""
    return f"{'launch' if re.fullmatch('[-0-9, ]+', text) else 'kernel'}={text}"


def _pattern(place: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise UserError(f"{place}: no regular expression: {error}") from None


def _line_ranges(place: str, text: str) -> list[_LineRange]:
    file, colon, numbers = text.rpartition(":")
    if not re.match("[-0-9]", numbers.strip()):  # a file alone: all of its lines
        return [_LineRange(f"{file}{colon}{numbers}".strip(), _NumberRange(1, _ENDLESS))]
    return [_LineRange(file.strip(), _range(place, part)) for part in numbers.split(",")]


def _range(place: str, text: str) -> _NumberRange:
    first, dash, last = map(str.strip, text.partition("-"))
    if not dash:
        return _NumberRange(_number(place, first, 1), _number(place, first, 1))
    if not first and not last:
        raise UserError(f"{place}: a range is FIRST-LAST, of which either may be left out: 3-7, 3-, -7")
    found = _NumberRange(_number(place, first or "1", 1), _number(place, last, 1) if last else _ENDLESS)
    if found.first > found.last:
        raise UserError(f"{place}: the range ends at {found.last}, before it begins")
    return found


def _number(place: str, text: str, least: int) -> int:
    if not re.fullmatch(r"\s*\d{1,18}\s*", text, re.ASCII) or int(text) < least:
        raise UserError(f"{place}: '{text.strip()}' is no whole number from {least}")
    return int(text)
