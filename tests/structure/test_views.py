"""Are columns and formats of numbers defined in views and formats alone?"""

import ast
import re

import pytest

from tests.structure.imports import ROOT, TOPS, parsed, walked

# the two modules that define columns; the others define them in modules of these names
DEFINING = ("gpusim/base/table.py", "gpusim/base/view.py")
EXEMPT = ("views", "formats")
# makes a number a text for people: a type of float, thousands separators, a sign; widths and hexadecimal do not
NUMBER_SPEC = re.compile(r"[+ ]?(\d|\{[^}]*\})*(,(\.(\d|\{[^}]*\})+)?[a-z%]?|(\.(\d|\{[^}]*\})+)?[efgn%])")
IN_TEXT = re.compile(r"\{[^{}:]*:([^{}]*)\}")


def defined_elsewhere(source: str) -> list[int]:
    """Return the lines that make a `Column` or format a number."""
    lines = []
    for node in walked(parsed(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("Column", "NumberFormat", "format"):
                lines.append(node.lineno)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
            if isinstance(node.left.value, str) and re.search(r"%[-+ #0\d.*]*[eEfFgG]", node.left.value):
                lines.append(node.lineno)
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            if NUMBER_SPEC.fullmatch(ast.unparse(node.format_spec)[2:-1]):
                lines.append(node.lineno)
        if isinstance(node, ast.Attribute) and node.attr in ("format", "format_map"):
            if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                if any(map(NUMBER_SPEC.fullmatch, IN_TEXT.findall(node.value.value))):
                    lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("folder", [*TOPS, "docs/_site"])
def test_columns_and_formats_are_defined_in_views(folder: str) -> None:
    """No message or title has an exception: each takes its number's format from `gpusim.base.formats`."""
    modules = [path for path in sorted((ROOT / folder).rglob("*.py")) if not path.stem.endswith(EXEMPT)]
    lines = {str(path.relative_to(ROOT)): defined_elsewhere(path.read_text(encoding="utf-8")) for path in modules}
    faults = {path: found for path, found in lines.items() if found and path not in DEFINING}
    assert modules and not faults, f"lines {faults}: columns belong in a module `views`, formats in `formats`"


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
        ('format(time, ".1f")', True),
        ('"%.1f us" % time', True),
        ('"{:d} of {:.1%}".format(1, 0.5)', True),
        ('f"{number:>6}"', False),
        ('"%d of %s" % (1, name)', False),
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
