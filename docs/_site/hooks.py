"""MkDocs' hook: adds generated pages and pictures, and puts tables into pages.

A page's links that leave `docs/` lead to the page that the site has in their place, or to the file in the repository.
"""

import json
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mkdocs.structure.files import File, Files

from docs._site import ages, drawing, isa_coverage, reference_pages, stored_pages
from docs._site.pages import DOCS, ROOT, filled
from docs._site.sections import BUILT
from gpusim.results.metrics.documentation import markdown as metrics_page

# pages of the repository's root that the site has, by their place there
ROOT_PAGES = {"CONTRIBUTING.md": "contributing.md"}
# how much a generated page weighs in the search, of a written one: lists of names match nearly everything
LISTS, FIGURES = 0.1, 0.5
_LINK = re.compile(r"(\]\()([^()\s]+)(\))")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add what is generated."""

    def add(uri: str, content: str | bytes) -> None:
        if isinstance(content, str) and uri.endswith(".md"):
            content = f"---\nsearch:\n  boost: {LISTS if uri.startswith('reference/') else FIGURES}\n---\n{content}"
        files.append(File.generated(config, uri, content=content))

    add("reference/commands.md", reference_pages.commands())
    add("reference/configuration.md", reference_pages.configuration())
    add("reference/metrics.md", metrics_page())
    add("reference/instructions.md", isa_coverage.page())
    add("reference/result-schema.md", reference_pages.schema_page())
    add("reference/result.schema.json", json.dumps(reference_pages.schema(), indent=1))
    add("reference/python.md", reference_pages.python_api())
    add("site.css", Path(__file__).with_name("site.css").read_text(encoding="utf-8"))
    for name, uri in ROOT_PAGES.items():
        add(uri, (ROOT / name).read_text(encoding="utf-8"))
    for uri, content in stored_pages.pages():
        add(uri, content)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Put the tables into a page, and mend links that leave the pages' folder."""
    uri = page.file.src_uri
    place = uri.removesuffix(".md")
    if place in ages.pages():
        markdown = ages.with_note(markdown, ages.built_note(place))
    markdown = drawing.drawn(filled(markdown, BUILT.get(place, {})))
    source = next((name for name, place in ROOT_PAGES.items() if place == uri), f"docs/{uri}")
    parts = _FENCE.split(markdown)
    return "".join(part if n % 2 else _LINK.sub(lambda m: _linked(m, source, uri, config), part)
                   for n, part in enumerate(parts))  # fmt: skip


def _linked(found: re.Match[str], source: str, uri: str, config: Any) -> str:
    link = found[2]
    if re.match(r"[a-z]+:", link) or link.startswith("#"):
        return found[0]
    path, mark, place = link.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if target.startswith("docs/") and source.startswith("docs/"):
        return found[0]
    here = posixpath.dirname(uri) or "."
    if target.startswith("docs/"):
        new = posixpath.relpath(target.removeprefix("docs/"), here)
    elif target in ROOT_PAGES:
        new = posixpath.relpath(ROOT_PAGES[target], here)
    else:
        assert (ROOT / target).exists(), f"{DOCS / uri}: {link} leads nowhere"
        new = f"{config['extra']['source_url']}/{target}"
    return f"{found[1]}{new}{mark}{place}{found[3]}"
