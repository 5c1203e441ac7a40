"""`python -m tests.support.network_sampling SAMPLED.json EXACT.json`: a sampled iteration beside the same in whole.

Both are written by `gpusim net --json`. Prints a page: each layer and pass, and what sampling cost in accuracy for the
work it saved.
"""

import json
import sys
from pathlib import Path
from typing import Any

Tree = dict[str, Any]


def page(sampled: Tree, exact: Tree) -> str:
    """The page; raises ValueError where the two are not the same iteration, or one is not finished."""
    for name in ("network", "phase", "batch"):
        if sampled[name] != exact[name]:
            raise ValueError(f"{name}: {sampled[name]} and {exact[name]}")
    settings = [{**one["config"], "sampling": None} for one in (sampled, exact)]
    if settings[0] != settings[1]:
        raise ValueError("the settings differ in more than sampling")
    if exact["config"]["sampling"] is not None or sampled["config"]["sampling"] is None:
        raise ValueError("expected a sampled iteration and one in whole")
    pairs = list(zip(sampled["rows"], exact["rows"], strict=True))
    if any(one["cycles"] is None for pair in pairs for one in pair):
        raise ValueError("not all rows are finished")
    estimated = [(one, other) for one, other in pairs if half_width(one)]
    rows = [
        "| layer | pass | sampled us | in whole us | difference | within the bar | simulated |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *(_row(one, other) for one, other in pairs),
    ]
    total, whole = sampled["total"], exact["total"]
    covered = sum(is_covered(*pair) for pair in estimated)
    within = sum(abs(difference(*pair)) for pair in estimated) / max(len(estimated), 1)
    fraction = total["sampling"]["fraction"]
    summary = [
        f"- total: {total['time_us']:,.1f} us ± {100 * half_width(total):.2f} % sampled,"
        f" {whole['time_us']:,.1f} us in whole: {100 * difference(total, whole):+.2f} %,"
        f" {'within' if is_covered(total, whole) else 'outside'} the bar",
        f"- {100 * fraction:.2f} % of the iteration's instructions were simulated, {1 / fraction:.3g} times fewer than"
        " it has; equal launches count as often as they occur",
        f"- {len(estimated)} of {len(pairs)} rows are estimates; {covered} of them have the truth within their 95 %"
        f" bar; mean absolute difference {100 * within:.2f} %",
    ]
    title = f"{exact['network']}: {exact['phase']}ing, batch {exact['batch']}, sampled beside in whole"
    return "\n".join([title, "", *rows, "", *summary, ""])


def half_width(tree: Tree) -> float:
    """Of a row's or the total's cycles, relative."""
    return float(tree.get("cycles_half_width", 0.0)) / tree["cycles"]


def difference(sampled: Tree, exact: Tree) -> float:
    """Of the cycles, relative to those in whole."""
    return float(sampled["cycles"] / exact["cycles"] - 1)


def is_covered(sampled: Tree, exact: Tree) -> bool:
    """Whether the truth lies within the estimate's bar."""
    return abs(sampled["cycles"] - exact["cycles"]) <= float(sampled.get("cycles_half_width", 0.0))


def _row(sampled: Tree, exact: Tree) -> str:
    name = f"| {exact['name']} | {exact['pass'].replace('_', ' ')} |"
    bar = half_width(sampled)
    time = f" {sampled['time_us']:,.1f}{f' ± {100 * bar:.2g}%' if bar else ''} | {exact['time_us']:,.1f} |"
    within = ("yes" if is_covered(sampled, exact) else "no") if bar else "–"
    fraction = sampled["sampling"]["fraction"] if "sampling" in sampled else 1.0
    return f"{name}{time} {100 * difference(sampled, exact):+.2f}% | {within} | {100 * fraction:.2g}% |"


def main() -> None:
    """The two files as arguments."""
    sampled, exact = (json.loads(Path(name).read_text()) for name in sys.argv[1:])
    print(page(sampled, exact), end="")


if __name__ == "__main__":
    main()
