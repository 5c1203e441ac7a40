"""Recorded counters of runs: what the findings' rules read of them, without the program, for a table of tests.

gpusim hip --gpu r9nano --json result.json -- PROGRAM
python -m tests.support.program_counters result.json...   # → tests/data/programs/result.json.gz

Single launches, streams, commands and what the simulator took are left out: rules judge a program by its kernels.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

from gpusim.results.report.result import Result, read

FOLDER = Path(__file__).resolve().parents[1] / "data" / "programs"
_UNREAD = ("launches", "commands", "streams", "simulator", "data", "series", "timeline", "lines", "config_hash")


def reduce_result(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result without what no rule reads."""
    if isinstance(result.get("launches"), list) and "rows" in result:
        result = {**result, "launches": len(result["launches"])}
    kept = {key: value for key, value in result.items() if key not in _UNREAD or key == "launches"}
    kept["config"] = {"gpu": result["config"]["gpu"]}
    return kept


def recorded(name: str) -> Result:
    """Read the recorded counters of a program."""
    with gzip.open(FOLDER / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        return read(json.load(file))


def main(files: list[str]) -> None:
    """Record the counters of results."""
    FOLDER.mkdir(exist_ok=True)
    for path in map(Path, files):
        text = json.dumps(reduce_result(json.loads(path.read_text(encoding="utf-8"))), separators=(",", ":"))
        (FOLDER / f"{path.stem}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main(sys.argv[1:])
