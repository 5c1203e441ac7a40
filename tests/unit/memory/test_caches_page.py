"""The page on caches: does it show what its command measures?"""

from docs._site.caches_page import PAGES_KIB, QUEUES, SECTIONS, SIZES, TRANSLATIONS
from docs._site.pages import DOCS, renewed

PAGE = DOCS / "reference" / "caches.md"


def _rows(section: str) -> list[list[str]]:
    """Cells of a section's table, its head first."""
    page = PAGE.read_text(encoding="utf-8")
    text = page.split(f"<!-- {section} -->\n")[1].split(f"\n<!-- end of {section} -->")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return [line for line in lines if line[0] != "---"]


def test_the_page_has_each_section_once() -> None:
    renewed(PAGE.read_text(encoding="utf-8"), {name: lambda: "" for name in SECTIONS})


def test_the_tables_have_a_row_and_a_column_for_each_run() -> None:
    head, *rows = _rows("queue")
    assert head[2:] == [str(depth) for depth in QUEUES]
    assert [row[:2] for row in rows] == [[f"`{case}`", f"{kib} KiB"] for case in SIZES for kib in (4, 2048)]
    head, *rows = _rows("translation")
    assert head[1:] == list(TRANSLATIONS)
    assert [row[0] for row in rows] == [f"{kib} KiB" for kib in PAGES_KIB]
    assert all(cell.isdigit() for row in rows for cell in row[1:])
