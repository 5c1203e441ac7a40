"""Does a source's hash change with what it computes, and with nothing else?"""

import pytest

from gpusim.lab.versions.syntax import meaning_hash

SOURCE = """
from typing import TYPE_CHECKING
import other
LIMIT = 3
class Cache:
    ways: int = 4
    def find(self, line: int, limit: int = 2) -> int:
        total = line + limit
        for step in range(self.ways):
            total += other.weight(step, limit=total)
        return total
"""

SAME = {
    "a comment": ("total = line + limit", "total = line + limit  # of both"),
    "a docstring": ("    ways: int = 4", '    """A cache."""\n    ways: int = 4\n    """Number of ways."""'),
    "a local variable": ("total", "sum_of_weights"),
    "another local variable": ("step", "number"),
    "a return type": ("-> int", "-> float"),
    "what type checkers import": ("import other", "import other\nif TYPE_CHECKING:\n    import third"),
    "parentheses": ("line + limit", "(line + limit)"),
}
DIFFERENT = {
    "a number": ("LIMIT = 3", "LIMIT = 4"),
    "a default": ("limit: int = 2", "limit: int = 1"),
    "an operator": ("line + limit", "line - limit"),
    "the order of parameters": ("line: int, limit: int = 2", "limit: int, line: int = 2"),
    "a parameter's type": ("line: int,", "line: float,"),
    "a field's type": ("ways: int", "ways: float"),
    "a void function": ("-> int", "-> None"),
    "a module's name": ("LIMIT", "BOUND"),
    "a local variable that hides a module": ("total", "other"),
    "a local variable that hides a builtin": ("total", "range"),
    "a keyword": ("limit=total", "line=total"),
    "an attribute": ("self.ways", "self.sets"),
}


@pytest.mark.parametrize("change", SAME)
def test_what_computes_the_same_has_the_same_hash(change: str) -> None:
    old, new = SAME[change]
    assert old in SOURCE and meaning_hash(SOURCE.replace(old, new)) == meaning_hash(SOURCE)


@pytest.mark.parametrize("change", DIFFERENT)
def test_what_computes_something_else_has_another_hash(change: str) -> None:
    old, new = DIFFERENT[change]
    assert old in SOURCE and meaning_hash(SOURCE.replace(old, new)) != meaning_hash(SOURCE)


def test_two_local_variables_are_not_one() -> None:
    text = "def area(m, side):\n    left = side\n    right = m.side\n    return left * right\n"
    assert meaning_hash(text) != meaning_hash(text.replace("right", "left"))
    assert meaning_hash(text) == meaning_hash(text.replace("left", "low").replace("right", "high"))
    assert meaning_hash(text) == meaning_hash(text.replace("(m,", "(m: Machine,"))


def test_a_parameter_that_is_assigned_to_is_no_local_variable() -> None:
    text = "def twice(left, right):\n    left = 2 * left\n    return left\n"
    other = "def twice(left, right):\n    right = 2 * right\n    return right\n"
    assert meaning_hash(text) != meaning_hash(other)


def test_a_name_from_around_a_function_is_not_one_of_its_variables() -> None:
    text = "step = 1\nrun = 2\ndef walk(place):\n    inner = lambda place: place + step\n    return inner(place)\n"
    assert meaning_hash(text) != meaning_hash(text.replace("+ step", "+ run"))
