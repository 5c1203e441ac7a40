"""Docstrings say something: a function's begins with a verb, and none is a riddle of a word or two.

A rule that a machine can check: the first word of a function's docstring is none of those that begin a phrase without
a verb (properties, like classes and modules, may name what they are), and every docstring has three words or more.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.structure.imports import room_of, rooms, sources

FEWEST_WORDS = 3
# words that begin a phrase without a verb: what comes after them is left for the reader to guess
VERBLESS = frozenset(
    [
        "a",
        "about",
        "across",
        "after",
        "again",
        "all",
        "also",
        "an",
        "and",
        "another",
        "any",
        "around",
        "as",
        "at",
        "because",
        "before",
        "behind",
        "below",
        "beside",
        "between",
        "both",
        "but",
        "by",
        "each",
        "either",
        "every",
        "everything",
        "few",
        "first",
        "for",
        "from",
        "given",
        "how",
        "however",
        "if",
        "in",
        "into",
        "it",
        "its",
        "itself",
        "just",
        "last",
        "less",
        "like",
        "many",
        "more",
        "most",
        "much",
        "neither",
        "never",
        "next",
        "no",
        "none",
        "nor",
        "not",
        "nothing",
        "now",
        "of",
        "off",
        "on",
        "once",
        "one",
        "only",
        "or",
        "other",
        "others",
        "our",
        "out",
        "over",
        "own",
        "part",
        "per",
        "same",
        "several",
        "since",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "three",
        "through",
        "to",
        "twice",
        "two",
        "under",
        "unless",
        "until",
        "up",
        "upon",
        "was",
        "what",
        "whatever",
        "when",
        "where",
        "whether",
        "which",
        "while",
        "who",
        "whose",
        "why",
        "with",
        "within",
        "without",
    ]
)


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, str, bool]]:
    """Yield line, text, and whether it is a function's, of every docstring below the module's own."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        text = ast.get_docstring(node)
        if text is None:
            continue
        named = isinstance(node, ast.ClassDef) or any("property" in ast.unparse(one) for one in node.decorator_list)
        yield node.lineno, text, not named


def problems(source: str) -> list[tuple[int, str]]:
    """Return line and complaint for each docstring of a source text that breaks the rule."""
    found = []
    for line, text, of_function in _docstrings(ast.parse(source)):
        words = text.split()
        first = words[0].strip("'\"`.,:;()").lower() if words else ""
        if len(words) < FEWEST_WORDS:
            found.append((line, f"fewer than {FEWEST_WORDS} words: {text!r}"))
        elif of_function and (first in VERBLESS or not first.isalpha()):
            found.append((line, f"begins with no verb: {text.splitlines()[0]!r}"))
    return found


def _problems_of(room: str) -> list[str]:
    return [
        f"{path}:{line}: {problem}"
        for module, path in sources()
        if room_of(module) == room
        for line, problem in problems(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("room", sorted(rooms()))
def test_docstrings_begin_with_a_verb_and_are_no_riddles(room: str) -> None:
    assert _problems_of(room) == []


RIDDLES = ("Two.", "As configured.", "What is said of energy.", "The same of jobs, then.", "12 of them at most.")


@pytest.mark.parametrize("text", RIDDLES)
def test_riddles_are_found(text: str) -> None:
    assert len(problems(f'def f():\n    """{text}"""\n')) == 1


def test_a_property_may_name_what_it_is() -> None:
    source = (
        'class A:\n    """Rows and columns."""\n    @property\n    def x(self):\n        """The number of rows."""\n'
    )
    assert problems(source) == []
