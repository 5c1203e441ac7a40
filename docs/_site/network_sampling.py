"""`python -m docs._site.network_sampling SAMPLED.json EXACT.json`: a sampled iteration beside the same in whole.

Both are written by `gpusim net --json`. Prints a page: each layer and pass, and what sampling cost in accuracy for the
work it saved. What bounds that saving is a table of explanation/sampling.md, from both pages.
"""

import json
import re
import sys
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from docs._site.pages import RESULTS, table
from gpusim.base.formats import (
    DIGITS_2,
    DIGITS_3,
    FIXED_1,
    FIXED_2,
    GENERAL,
    GROUPED_1,
    PERCENT,
    PERCENT_2,
    PERCENT_CHANGE_2,
    SIGNED_2,
)
from gpusim.base.sums import plain_sum
from gpusim.config.files import opened
from gpusim.config.gpu import GPU_FOLDER
from gpusim.config.network import load_network
from gpusim.config.network_run import load_settings
from gpusim.jobs.estimates.launches import placed_launches
from gpusim.jobs.networks.execution import MOST_ERROR
from workloads.networks.kind import Pass

Tree = dict[str, Any]
NETWORKS = RESULTS / "networks"
ASKED = 0.01  # of the iteration's time, by .ci/networks
CYCLES_PER_US = 1237.0  # of the MI6
DECIDES = 0.75  # of the half-width that a row may have, from which on that is what ended its launches
BATCH = 128
ROUNDS = (1.0, 1.5, 2.0, 3.5)  # of each class of launches, to be simulated
VGG16 = ("gpu.memory_mib=16384", "convolution_buffer_bytes=268435456")
KINDS = {
    "gradients of weights": r"conv\S+ back weights",
    "convolutions forward, gradients of data": r"conv\S+ (forward|back data)",
    "fully connected": r"fc\d (forward|back weights|back data)",
    "all others": ".*",
}


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
        f"- total: {GROUPED_1(total['time_us'])} us ± {PERCENT_2(half_width(total))} sampled,"
        f" {GROUPED_1(whole['time_us'])} us in whole: {PERCENT_CHANGE_2(difference(total, whole))},"
        f" {'within' if is_covered(total, whole) else 'outside'} the bar",
        f"- {PERCENT_2(fraction)} of the iteration's instructions were simulated, {DIGITS_3(1 / fraction)} times fewer"
        " than it has; equal launches count as often as they occur",
        f"- {len(estimated)} of {len(pairs)} rows are estimates; {covered} of them have the truth within their 95 %"
        f" bar; mean absolute difference {PERCENT_2(within)}",
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
    width = f" ± {DIGITS_2(100 * bar)}%" if bar else ""
    time = f" {GROUPED_1(sampled['time_us'])}{width} | {GROUPED_1(exact['time_us'])} |"
    within = ("yes" if is_covered(sampled, exact) else "no") if bar else "–"
    fraction = sampled["sampling"]["fraction"] if "sampling" in sampled else 1.0
    return f"{name}{time} {SIGNED_2(100 * difference(sampled, exact))}% | {within} | {PERCENT(fraction)} |"


@dataclass(frozen=True)
class Part:
    """Rows of the two pages that share their launches, which are simulated once.

    time: their part of the iteration's; instructions: of all of them; simulated: of these; half_width: of the time,
    relative, 0: simulated in whole; classes: of launches.
    """

    name: str
    time: float
    instructions: float
    simulated: float
    half_width: float
    classes: int

    @property
    def may_be(self) -> float:
        """The half-width that the allocation leaves them: of a row, whatever the number of its classes, the error of
        the whole over the root of the row's part, but of no class more than the most."""
        return min(ASKED / sqrt(self.time), MOST_ERROR / sqrt(self.classes))

    @property
    def decided(self) -> float:
        """What of the simulated instructions the wanted error asked for: none where less was doubted anyway."""
        return self.simulated if self.half_width >= DECIDES * self.may_be else 0.0


def parts(sampled: str, exact: str) -> list[Part]:
    """Read VGG-16's iteration from its two pages."""
    whole = [cells for cells in _cells(exact, 12) if re.fullmatch(r"[\d,.]+", cells[2])]
    estimated = [cells for cells in _cells(sampled, 7) if cells[6].endswith("%")]
    time_us = plain_sum(_number(cells[2]) for cells in whole)
    found: dict[tuple[str, str, str], Part] = {}
    for one, other in zip(whole, estimated, strict=True):
        us, ipc = _number(one[2]), float(one[4])
        instructions = us * ipc * CYCLES_PER_US
        same = (one[1], one[2], one[4])
        if first := found.get(same):
            both = (first.time + us / time_us, first.instructions + instructions)
            found[same] = Part(first.name, *both, first.simulated, first.half_width, first.classes)
            continue
        launches = re.fullmatch(r"(\d+)(?: \((\d+)\))?", one[10])
        assert launches is not None
        bar = re.search(r"± ([\d.]+)%", other[2])
        found[same] = Part(
            f"{one[0]} {one[1]}",
            us / time_us,
            instructions,
            instructions * float(other[6][:-1]) / 100,
            float(bar[1]) / 100 if bar else 0.0,
            int(launches[2] or 0) or int(launches[1]),
        )
    return list(found.values())


def bounds_table() -> str:
    """What of VGG-16's iteration was simulated, and for how much of it the wanted error is why."""
    held = parts(*((NETWORKS / f"vgg16-{name}.md").read_text(encoding="utf-8") for name in ("sampling", "exact")))
    kinds: dict[str, list[Part]] = {kind: [] for kind in KINDS}
    for part in held:
        kinds[next(kind for kind, names in KINDS.items() if re.fullmatch(names, part.name))].append(part)
    rows = [[kind, *_sums(of_kind)] for kind, of_kind in kinds.items()]
    sums = (plain_sum(getattr(part, name) for part in held) for name in ("instructions", "simulated", "decided"))
    whole, simulated, decided = sums
    head = ["", "time", "instructions", "simulated", "where the error decided", "in whole"]
    return (
        f"{table(head, [*rows, ['all', *_sums(held)]])}\n\n{FIXED_1(whole / simulated)} times fewer instructions than"
        f" the iteration has; {FIXED_1(whole / (simulated - decided))} times if what the error decided had cost"
        " nothing."
    )


def rounds_table() -> str:
    """How much less an iteration would take with so many rounds of each class of launches alone."""
    rows = []
    for name, sets in (("vgg16", VGG16), ("resnet18", ())):
        settings = load_settings(opened("mi6", GPU_FOLDER), sets)
        _, placed = placed_launches(load_network(name), settings, BATCH, True, chosen=_chosen(name))
        whole = plain_sum(one.asked.work.instructions for one in placed)
        once = list({one.one: one.asked for one in placed}.values())
        simulated = [plain_sum(each.work.instructions for each in once)]
        rounds = [each.work.workgroups / (each.resident * settings.gpu.cus) for each in once]
        for most in ROUNDS:
            parts = (min(1.0, most / its) * each.work.instructions for its, each in zip(rounds, once, strict=True))
            simulated.append(plain_sum(parts))
        rows.append(
            [name, f"{len(once)}", f"{FIXED_1(whole / 1e9)} G", *(f"{FIXED_1(whole / held)} ×" for held in simulated)]
        )
    head = [
        "iteration",
        "classes",
        "instructions",
        "each class whole",
        *(f"{GENERAL(most)} of its rounds" for most in ROUNDS),
    ]
    return table(head, rows)


def _chosen(name: str) -> dict[tuple[str, Pass], str]:
    """The algorithms that a network's page says were measured to be the fastest."""
    said = re.findall(
        r"^- (\S+) ([\w ]+): (\w+) by measurement", (NETWORKS / f"{name}.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    return {(layer, Pass(what.replace(" ", "_"))): algorithm for layer, what, algorithm in said}


def _sums(of: list[Part]) -> list[str]:
    def billions(name: str) -> str:
        return f"{FIXED_2(plain_sum(getattr(part, name) for part in of) / 1e9)} G"

    whole = plain_sum(part.simulated for part in of if not part.half_width) / 1e9
    time = plain_sum(part.time for part in of)
    return [PERCENT(time), *map(billions, ("instructions", "simulated", "decided")), f"{FIXED_2(whole)} G"]


def _cells(page: str, count: int) -> list[list[str]]:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("|")]
    return [cells for cells in rows if len(cells) == count]


def _number(text: str) -> float:
    return float(text.replace(",", ""))


SECTIONS = {"network": bounds_table, "rounds": rounds_table}


def main() -> None:
    """The two files as arguments."""
    sampled, exact = (json.loads(Path(name).read_text()) for name in sys.argv[1:])
    print(page(sampled, exact), end="")


if __name__ == "__main__":
    main()
