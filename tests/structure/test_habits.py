"""Rules of CONTRIBUTING that no linter has: where packages come from."""

import re
from pathlib import Path

import pytest

from tests.structure.imports import ROOT, TOPS

# hosts and paths of archives of packages: the system's own sources and pip's settings say where packages come from
_HOST = r"(?:deb|pypi|archives?|mirrors?|snapshots?|repos?|packages|files|downloads?|ftp|security|index)"
_ARCHIVE = re.compile(rf"(?:https?|ftp)://(?:(?:[\w-]+\.)*{_HOST}\.|[\w.-]+/(?:debian|ubuntu|simple|pool)\b)[^\s\"')]*")


def written() -> list[Path]:
    """Return the files of code, tests, configurations and pages."""
    folders = (".ci", "docs", "tests", "sim_configs", *TOPS)
    files = [*ROOT.glob("*.*"), *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
    return [path for path in files if path.suffix not in (".svg", ".png", ".hsaco", ".pyc") and path.is_file()]


def archives(text: str) -> list[str]:
    """Return the addresses of archives of packages in a text."""
    return _ARCHIVE.findall(text)


def test_no_address_of_an_archive_of_packages_is_typed() -> None:
    found = {}
    for path in set(written()) - {Path(__file__).resolve()}:
        if addresses := archives(path.read_text(encoding="utf-8", errors="replace")):
            found[str(path.relative_to(ROOT))] = addresses
    assert found == {}


@pytest.mark.parametrize(
    "address",
    [
        "http://deb.example.org/debian",
        "https://pypi.example.org/simple/torch",
        "https://example.org/debian/pool/main/",
        "https://files.example.org/x.whl",
    ],
)
def test_an_address_of_an_archive_is_seen(address: str) -> None:
    assert archives(f"fetch('{address}')") == [address]
    assert archives("https://github.com/llvm/llvm-project and https://example.org/deb") == []
