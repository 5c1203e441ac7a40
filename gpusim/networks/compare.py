"""What a network's run says of layers that skip zeros: zeros, the engine's counters, and cycles beside dense ones."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TextIO

from gpusim.base.progress import scaled
from gpusim.networks import report
from gpusim.networks.choice import lines as chosen_lines
from gpusim.networks.columns import three_digits
from gpusim.networks.modes import ModesRecord
from gpusim.networks.rows import Row
from gpusim.report.layout import fitted

HEAD = ("layer", "zeros", "padded", "us", "dense us", "speed-up", "dense by")
ENGINE_HEAD = ("requests", "lines", "wasted")
ZEROS = "zeros: of the map's values; padded: of the products with them, where the padding's zeros count too"
ENGINE = "requests: the engine's; lines: that it read from DRAM; wasted: the share of them that went into no answer"
SPEED_UP = "cycles of the fastest dense algorithm / those of the sparse one, im2col and transpositions included"


@dataclass(frozen=True)
class SparseLayer:
    """A forward pass that skips zeros. dense: the same by its fastest dense algorithm; None: that was not run."""

    row: Row
    dense: Row | None = None

    @property
    def speed_up(self) -> float | None:
        """Against the dense one; None where either is not known."""
        if self.dense is None or self.row.facts is None or self.dense.facts is None or not self.row.facts.cycles:
            return None
        return self.dense.facts.cycles / self.row.facts.cycles


def sparse_layers(found: ModesRecord) -> list[SparseLayer]:
    """The layers of the last variant that skip zeros; beside them, with both, those of the dense one."""
    if found.mode == "off" or not found.last.sparse:
        return []
    dense = {(row.layer, row.what): row for row in found.variants["dense"].rows} if found.mode == "both" else {}
    return [
        SparseLayer(row, dense.get((row.layer, row.what)))
        for row in found.last.rows
        if any(step.skips_zeros for step in row.steps)
    ]


def document(found: ModesRecord) -> dict[str, Any]:
    """The JSON object of `gpusim net`: of one variant, or of two by their names with what one is to the other."""
    last = found.last
    chosen = _chosen_tree(found)
    if found.mode != "both":
        return {**report.head(last, found.mode, found.stopped_by), **chosen, **report.body(last)}
    trees = {
        name: report.body(found.variants[name]) if name in found.variants else None for name in ("dense", "sparse")
    }
    compared = [tree["verification"] for tree in trees.values() if tree is not None]
    return {
        **report.head(last, found.mode, found.stopped_by),
        **chosen,
        **trees,
        "normalized": _normalized(found),
        "verification": {
            "passed": found.passed,
            "compared": sum(one["compared"] for one in compared),
            "rows": sum(one["rows"] for one in compared),
        },
    }


def _chosen_tree(found: ModesRecord) -> dict[str, Any]:
    """The algorithms that were chosen, each as the `choice` of a run; nothing where none were."""
    if not found.choices:
        return {}
    return {
        "algorithms": [
            {"name": layer, "pass": str(what), "algorithm": choice.kernel, **asdict(choice)}
            for (layer, what), choice in found.choices.items()
        ]
    }


def _normalized(found: ModesRecord) -> dict[str, Any]:
    """Speed-ups, layer by layer and of the whole iteration."""
    layers = [
        {
            "name": layer.row.layer,
            "pass": str(layer.row.what),
            "zeros": report.zeros_tree(layer.row),
            "sparse": {"operator": layer.row.operators, "cycles": layer.row.facts.cycles if layer.row.facts else None},
            "dense": _dense_trees(found, layer),
            "speed_up": layer.speed_up,
        }
        for layer in sparse_layers(found)
    ]
    return {"layers": layers, "total": {"speed_up": total_speed_up(found)}}


def _dense_trees(found: ModesRecord, layer: SparseLayer) -> list[dict[str, Any]]:
    """What the dense variant takes for a layer; then what others took where they were measured for the choice."""
    row, choice = layer.dense, found.choices.get((layer.row.layer, layer.row.what))
    if row is None or row.facts is None:
        return []
    measured = choice.cycles if choice is not None else {}
    others = [(name, cycles) for name, cycles in measured.items() if choice is not None and name != choice.kernel]
    return [
        {"operator": row.operators, "cycles": row.facts.cycles},
        *({"operator": f"{row.operators.partition('(')[0]}({name})", "cycles": cycles} for name, cycles in others),
    ]


def total_speed_up(found: ModesRecord) -> float | None:
    """Of the whole iteration; None where something is not known."""
    if set(found.variants) != {"dense", "sparse"}:
        return None
    dense, sparse = (found.variants[name].rows for name in ("dense", "sparse"))
    if dense.facts is None or sparse.facts is None or not sparse.facts.cycles:
        return None
    if [row.facts is None for row in dense] != [row.facts is None for row in sparse]:
        return None
    return dense.facts.cycles / sparse.facts.cycles


def show(found: ModesRecord, out: TextIO) -> None:
    """The last variant's table; then the layers that skip zeros, beside dense ones where there are."""
    report.show(found.last, out)
    for line in chosen_lines(found.choices):
        print(fitted(line, 2, out), file=out)
    if not (layers := sparse_layers(found)):
        return
    head, rows = _head(layers), [_cells(layer, layers) for layer in layers]
    print(file=out)
    if out.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(box=None, padding=(0, 1, 0, 0))
        for number, name in enumerate(head):
            table.add_column(name, justify="left" if number in (0, len(HEAD) - 1) else "right", no_wrap=number > 0)
        for row in rows:
            table.add_row(*row)
        Console(file=out).print(table)
    else:
        print("\n".join("\t".join(cells) for cells in (head, *rows)), file=out)
    for line in _closing(found, layers):
        print(fitted(line, 2, out), file=out)


def markdown(found: ModesRecord) -> str:
    """The tables as Markdown."""
    text = report.markdown(found.last) + "".join(f"- {line}\n" for line in chosen_lines(found.choices))
    if not (layers := sparse_layers(found)):
        return text
    head = _head(layers)
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(_cells(layer, layers))} |" for layer in layers]
    return "\n".join([text, *lines, "", *(f"- {line}" for line in _closing(found, layers))]) + "\n"


def _engine_counts(layer: SparseLayer) -> dict[str, Any] | None:
    counts: dict[str, Any] | None = layer.row.metrics.get("engine")
    return counts


def _head(layers: Sequence[SparseLayer]) -> tuple[str, ...]:
    engine = any(_engine_counts(layer) is not None for layer in layers)
    return (*HEAD, *(ENGINE_HEAD if engine else ()))


def _cells(layer: SparseLayer, layers: Sequence[SparseLayer]) -> list[str]:
    zeros = report.zeros_tree(layer.row)
    cells = [layer.row.layer]
    cells += ["–", "–"] if zeros is None else [f"{100 * zeros[key]:.1f}%" for key in ("fraction", "of_terms")]
    cells.append("–" if layer.row.facts is None else three_digits(layer.row.facts.time_us))
    best = layer.dense
    cells.append("–" if best is None or best.facts is None else three_digits(best.facts.time_us))
    cells.append("–" if layer.speed_up is None else f"{layer.speed_up:.2f}x")
    cells.append("–" if best is None else best.operators.partition("(")[2].rstrip(")"))
    counts = _engine_counts(layer)
    if len(_head(layers)) == len(cells):
        return cells
    if counts is None:
        return [*cells, "–", "–", "–"]
    wasted = counts["lines_wasted"] / counts["lines_fetched"] if counts["lines_fetched"] else 0.0
    lines = counts["lines_fetched"] + counts.get("compacted_fetched", 0)
    return [*cells, scaled(counts["requests"]), scaled(lines), f"{100 * wasted:.0f}%"]


def _closing(found: ModesRecord, layers: Sequence[SparseLayer]) -> list[str]:
    lines = [ZEROS, *([ENGINE] if len(_head(layers)) > len(HEAD) else [])]
    if found.mode == "both":
        lines.append(f"speed-up: {SPEED_UP}")
    whole = total_speed_up(found)
    if whole is not None:
        lines.append(f"all rows: {whole:.3f}x, where the dense run takes the fastest algorithm of each of these layers")
    return lines
