"""`python -m docs._site.network_gains RESULT.json ...`: what networks' layers gain by a value of the settings.

The results are of `gpusim net --gains fusion --json` and `--gains l1_bypass --json`. Prints a page.
"""

import json
import sys
from pathlib import Path
from typing import Any

from gpusim.jobs.networks.gains import gains_tables
from gpusim.results.report.result import read
from gpusim.results.report.rows import views_of


def page(results: list[dict[str, Any]]) -> str:
    """Return the page; raises ValueError for a result of other runs, or a partial one."""
    parts = [
        "# What layers gain\n",
        "Made by `.ci/networks gains`; what it shows is [explained](../../explanation/networks.md#fusion).\n",
    ]
    for result in results:
        network = result["network"]
        if result["partial"] or "gains" not in result:
            raise ValueError(f"{network}: the result is {'partial' if result['partial'] else 'not of --gains'}")
        found = read(result)
        (table,) = gains_tables(found)
        layers = result["config"]["network"]["layers"]
        parts += [f"## {found.title}{f', layers {layers}' if layers else ''}\n", table.markdown()]
        chosen = [line.removeprefix("without: ") for line in views_of(found).remarks() if line.startswith("without: ")]
        parts += ["\n".join(["By the algorithms that are the fastest apart:\n", *(f"- {line}" for line in chosen), ""])]
    return "\n".join(parts)


if __name__ == "__main__":
    print(page([json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:]]), end="")
