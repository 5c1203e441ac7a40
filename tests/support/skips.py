"""Which tests no run has run, and why: a plugin of pytest, and a command that prints them.

`pytest -p tests.support.skips --skips FILE` writes what ran and what was skipped.
`python -m tests.support.skips FILE...` prints, grouped by reason, what these runs skipped and none of them ran.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

_RAN = ("passed", "failed", "xfailed", "xpassed")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file."""
    parser.addoption("--skips", metavar="FILE", type=Path, help="write which tests ran, and why others were skipped")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Write the file."""
    file: Path | None = config.getoption("--skips")
    if file is not None:
        reports = terminalreporter.stats
        ran = sorted({report.nodeid for kind in _RAN for report in reports.get(kind, ())})
        skipped = {report.nodeid: _reason(report) for report in reports.get("skipped", ())}
        file.write_text(json.dumps({"ran": ran, "skipped": skipped}), encoding="utf-8")


def _reason(report: Any) -> str:
    """Return why a test, or a file as a whole, was skipped."""
    return str(report.longrepr[2]).removeprefix("Skipped: ")


def never_run(runs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the tests and files that were skipped and that no run ran, with the reasons."""
    skipped: dict[str, str] = {}
    ran: set[str] = set()
    for run in runs:
        skipped |= run["skipped"]
        ran.update(run["ran"])
    return {name: reason for name, reason in skipped.items() if name not in ran}


def lines(skipped: Mapping[str, str]) -> list[str]:
    """Return a line for each reason, most tests first, and below it a line for each file."""
    files: dict[str, Counter[str]] = defaultdict(Counter)
    for name, reason in skipped.items():
        files[reason][name.partition("::")[0]] += 1
    whole = {name for name in skipped if "::" not in name}
    printed = []
    for reason, counts in sorted(files.items(), key=lambda item: (-item[1].total(), item[0])):
        printed.append(f"{counts.total()} skipped: {reason}")
        printed += [f"    {file}: {'the file' if file in whole else count}" for file, count in sorted(counts.items())]
    return printed


if __name__ == "__main__":
    print("\n".join(lines(never_run(json.loads(Path(file).read_text()) for file in sys.argv[1:]))) or "nothing")
