"""The commands of gpusim that pages show: in blocks of a shell, and behind a `$` in what such a block prints."""

import re
import shlex
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_MENTION = re.compile(r"`(gpusim [^`]+)`")
_SHELLS = ("sh", "bash", "console", "shell")
_ENDS = frozenset({"|", "||", "&&", ";", "&", ">", ">>", "<", "2>", "(", ")", "|&"})
_ASSIGNMENT = re.compile(r"[A-Z_][A-Z_0-9]*=.*")


class ShownCommand(NamedTuple):
    """A command of gpusim on a page."""

    page: Path
    """Page."""
    line: int
    """Line of the page."""
    words: tuple[str, ...]
    """Arguments of gpusim."""

    @property
    def text(self) -> str:
        """The command as one line."""
        return shlex.join(("gpusim", *self.words))


class ShellBlock(NamedTuple):
    """A block of a shell on a page."""

    page: Path
    """Page."""
    line: int
    """Line of the page at which it begins."""
    text: str
    """Lines of the block."""
    printed: str
    """What the page shows of its output: the block without a language right behind it; empty where there is none."""

    def missing(self, output: str) -> str:
        """Return the first shown line that the output lacks, behind those before it; empty where all are there.

        Spaces do not count, as tables are narrower in a pipe, and a long line may be broken on the page. `…` stands
        for any word.

        Args:
            output: What the block printed.
        """
        words, position = " ".join(output.split()), 0
        for line in self.printed.splitlines():
            shown = r"\S+".join(map(re.escape, " ".join(line.split()).split("…")))
            place = re.compile(shown).search(words, position)
            if place is None:
                return line
            position = place.end()
        return ""


def shell_blocks(page: Path) -> list[ShellBlock]:
    """Return the blocks of a shell on a page, in order, each with the block of output that follows it."""
    text = page.read_text(encoding="utf-8")
    fences = list(_FENCE.finditer(text))
    blocks = []
    for fence, after in zip_longest(fences, fences[1:]):
        if fence[2] in _SHELLS:
            follows = after is not None and not after[2] and not text[fence.end() : after.start()].strip()
            printed = after[3] if after is not None and follows else ""
            blocks.append(ShellBlock(page, text.count("\n", 0, fence.start(3)) + 1, fence[3], printed))
    return blocks


def mentioned_commands(page: Path) -> list[ShownCommand]:
    """Return the commands of gpusim that the text of a page mentions, with or without all of their arguments."""
    text = page.read_text(encoding="utf-8")
    fences = [fence.span() for fence in _FENCE.finditer(text)]
    found = []
    for mention in _MENTION.finditer(text):
        if any(begin <= mention.start() < end for begin, end in fences):
            continue
        number = text.count("\n", 0, mention.start()) + 1
        found += [ShownCommand(page, number, words) for words in _gpusim_calls(" ".join(mention[1].split()))]
    return found


def shown_commands(page: Path) -> list[ShownCommand]:
    """Return the commands of gpusim that a page shows, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for fence in _FENCE.finditer(text):
        language, first = fence[2], text.count("\n", 0, fence.start(3)) + 1
        for number, line in _whole_lines(fence[3], first):
            prompted = line.lstrip().startswith("$ ")
            if language in _SHELLS or (not language and (prompted or line.startswith("gpusim "))):
                shown = line.lstrip().removeprefix("$ ")
                found += [ShownCommand(page, number, words) for words in _gpusim_calls(shown)]
    return found


def _whole_lines(block: str, first: int) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, together with those that continue it."""
    held, begun = "", first
    for number, line in enumerate(block.splitlines(), first):
        begun = begun if held else number
        held += line
        if held.endswith("\\"):
            held = held[:-1] + " "
        else:
            yield begun, held
            held = ""


def _gpusim_calls(line: str) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of each call of gpusim in a line of a shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:  # an apostrophe in what is no command
        return
    call: list[str] = []
    for token in [*tokens, ";"]:
        if token not in _ENDS:
            call.append(token)
            continue
        while call and _ASSIGNMENT.fullmatch(call[0]):
            call.pop(0)
        if call and (call[0] == "gpusim" or call[0].endswith("/gpusim")):
            yield tuple(call[1:])
        call = []
