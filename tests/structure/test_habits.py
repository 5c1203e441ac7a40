"""Rules of CONTRIBUTING that no linter has: sources of packages, hooks, subjects of commits."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

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


def hooks() -> dict[str, str]:
    """Return the commands of the hooks that run before a commit, by their names."""
    configuration = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (local,) = configuration["repos"]
    return {hook["id"]: hook["entry"] for hook in local["hooks"]}


def test_hooks_do_what_ci_does() -> None:
    """Each hook is a step of the test command, or a script of .ci that is there."""
    steps = (ROOT / ".ci/test").read_text(encoding="utf-8").splitlines()
    entries = hooks()
    assert {"ruff-check", "ruff-format", "mypy", "typos", "subject", "generated"} == set(entries)
    for entry in entries.values():
        script = ROOT / entry.split()[0]
        assert entry in steps or (script.parent == ROOT / ".ci" and os.access(script, os.X_OK)), entry


@pytest.mark.parametrize(
    ("subject", "fault"),
    [
        ("memory: the L2 has eight channels", ""),
        ("isa, gpusim/report: one table", ""),
        ("Merge branch 'x'", ""),
        ("Words of what goes on changing", "does not begin with a package"),
        ("memory:no space", "does not begin with a package"),
        (f"memory: {'m' * 65}", "has 73 characters"),
    ],
)
def test_a_commit_s_subject_begins_with_its_package(subject: str, fault: str, tmp_path: Path) -> None:
    message = tmp_path / "message"
    message.write_text(f"# a comment\n{subject}\n\nbody\n")
    done = subprocess.run([ROOT / ".ci/subject", message], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == bool(fault) and done.stdout.startswith(fault)
