"""Pages of docs/ whose tables the code makes: each stands between two markers that name it."""

import re
from collections.abc import Callable, Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def renewed(page: str, sections: dict[str, Callable[[], str]]) -> str:
    """The page with these sections made anew; ValueError if one is not in it."""
    for name, make in sections.items():
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        page, count = re.subn(pattern, lambda _, text=begin + make() + end: text, page, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"the page has {count} sections '{name}'")
    return page
