"""Are columns and formats of numbers defined in views and formats alone?"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# packages and modules, below the repository's root, whose columns and formats are all in modules of these names
CHECKED = (
    "gpusim/base/picture.py",
    "gpusim/cli",
    "gpusim/jobs/estimates",
    "gpusim/lab/capture",
    "gpusim/lab/checks",
    "gpusim/lab/microbench",
    "gpusim/lab/cli/reproduce.py",
    "gpusim/lab/monitor",
    "gpusim/lab/papers",
    "gpusim/lab/silicon",
    "gpusim/lab/training",
    "gpusim/results",
    "gpusim/study/compare",
)
EXEMPT = ("views", "formats")
# makes a number a text for people: a type of float, thousands separators, a sign; widths and hexadecimal do not
NUMBER_SPEC = re.compile(r"[+ ]?(\d|\{[^}]*\})*(,(\.(\d|\{[^}]*\})+)?[a-z%]?|(\.(\d|\{[^}]*\})+)?[efgn%])")
IN_TEXT = re.compile(r"\{[^{}:]*:([^{}]*)\}")


def defined_elsewhere(source: str) -> list[int]:
    """Return the lines that make a `Column` or format a number."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("Column", "NumberFormat"):
                lines.append(node.lineno)
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            if NUMBER_SPEC.fullmatch(ast.unparse(node.format_spec)[2:-1]):
                lines.append(node.lineno)
        if isinstance(node, ast.Attribute) and node.attr in ("format", "format_map"):
            if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                if any(map(NUMBER_SPEC.fullmatch, IN_TEXT.findall(node.value.value))):
                    lines.append(node.lineno)
    return lines


def modules() -> list[Path]:
    """List the modules that are checked."""
    places = [ROOT / place for place in CHECKED]
    assert all(place.exists() for place in places)
    files = [path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*.py")))]
    return [path for path in files if not path.stem.endswith(EXEMPT)]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_columns_and_formats_are_defined_in_views(path: Path) -> None:
    lines = defined_elsewhere(path.read_text(encoding="utf-8"))
    assert not lines, f"{path.relative_to(ROOT)}: lines {lines}: columns and formats belong in a module `views`"


@pytest.mark.parametrize(
    ("source", "is_fault"),
    [
        ('Column("us")', True),
        ('NumberFormat(".1f")', True),
        ('f"{time:,.1f} us"', True),
        ('f"{time:.{digits}f} us"', True),
        ('f"{time:5.1f}"', True),
        ('f"{share:+.1%}"', True),
        ('f"{value:g}"', True),
        ('f"{count:,}"', True),
        ('"{:,.0f}".format', True),
        ('"{:d} of {:.1%}".format(1, 0.5)', True),
        ('f"{number:>6}"', False),
        ('f"{address:#06x}"', False),
        ('f"{seconds:02d}"', False),
        ('f"{name!r:<8}"', False),
        ('f"{TENTHS(time)} us"', False),
        ('"{} of {}".format(1, 2)', False),
        ('column("time_us")', False),
    ],
)
def test_what_is_a_fault(source: str, is_fault: bool) -> None:
    assert bool(defined_elsewhere(source)) is is_fault
