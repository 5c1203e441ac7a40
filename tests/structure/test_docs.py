"""The documentation names files and folders that are there."""

import re
from pathlib import Path

import pytest

from tests.structure.imports import ROOT, TOPS

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_PATH = re.compile(rf"`((?:{'|'.join(TOPS)}|tests|docs|sim_configs)/[\w./-]*\w)/?(?:::\w+)?`")


def missing(text: str) -> list[str]:
    """Paths named in a text that are not there; those of files that are made when something runs are not meant."""
    return [path for path in _PATH.findall(text) if not (ROOT / path).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_is_there(page: Path) -> None:
    assert missing(page.read_text(encoding="utf-8")) == []


def test_a_path_that_is_gone_is_seen() -> None:
    assert missing("`memory/wheel.py`, `memory/gone.py`, `isa/` and `tests/exact`") == ["memory/gone.py"]
