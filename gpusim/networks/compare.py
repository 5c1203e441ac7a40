"""What a network's run says of layers that skip zeros: zeros, the engine's counters, and cycles beside dense ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from gpusim.base.progress import scaled
from gpusim.networks import report
from gpusim.networks.choice import lines as chosen_lines
from gpusim.networks.columns import three_digits
from gpusim.networks.modes import ModesRecord
from gpusim.networks.rows import Row
from gpusim.report.layout import fitted
from workloads.networks.kind import Pass

HEAD = ("layer", "zeros", "padded", "us", "dense us", "speed-up", "dense by")
ENGINE_HEAD = ("requests", "lines", "wasted")
ZEROS = "zeros: of the map's values; padded: of the products with them, where the padding's zeros count too"
ENGINE = "requests: the engine's; lines: that it read from DRAM; wasted: the share of them that went into no answer"
SPEED_UP = "cycles of the fastest dense algorithm / those of the sparse one, im2col and transpositions included"


@dataclass(frozen=True)
class SparseLayer:
    """A forward pass that skips zeros. dense: the same by each dense algorithm that is known, fastest first."""

    row: Row
    dense: tuple[Row, ...] = ()

    @property
    def speed_up(self) -> float | None:
        """Against the fastest dense algorithm; None where either is not known."""
        if not self.dense or self.row.facts is None or self.dense[0].facts is None or not self.row.facts.cycles:
            return None
        return self.dense[0].facts.cycles / self.row.facts.cycles


def sparse_layers(found: ModesRecord) -> list[SparseLayer]:
    """The layers of the last variant that skip zeros; beside them, with both, those of the dense ones."""
    if found.mode == "off" or not found.last.sparse:
        return []
    others = [record for record in (found.variants.get("dense"), *found.alternatives) if record is not None]
    forward: dict[str, list[Row]] = {}
    for record in others:
        for row in record.rows:
            if row.what is Pass.FORWARD and row.facts is not None:
                forward.setdefault(row.layer, []).append(row)
    return [
        # one that an algorithm refuses is computed by the default again
        SparseLayer(
            row, tuple(sorted(forward.get(row.layer, ()), key=lambda one: one.facts.cycles if one.facts else 0))
        )
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
    """The algorithms that were chosen; nothing where none were."""
    if not found.choices:
        return {}
    return {
        "algorithms": [
            {
                "name": one.layer,
                "pass": str(one.what),
                "algorithm": one.algorithm,
                "cycles": dict(one.cycles),
                "at_least_cycles": {name: round(cycles) for name, cycles in one.slower.items()},
            }
            for one in found.choices
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
            "dense": [{"operator": row.operators, "cycles": row.facts.cycles} for row in layer.dense if row.facts],
            "speed_up": layer.speed_up,
        }
        for layer in sparse_layers(found)
    ]
    return {"layers": layers, "total": {"speed_up": total_speed_up(found)}}


def total_speed_up(found: ModesRecord) -> float | None:
    """Of the whole iteration, each of its layers by its fastest dense algorithm; None where something is not known."""
    if set(found.variants) != {"dense", "sparse"}:
        return None
    fastest = {layer.row.layer: layer.dense[0] for layer in sparse_layers(found) if layer.dense}
    dense = [fastest.get(r.layer, r) if r.what is Pass.FORWARD else r for r in found.variants["dense"].rows]
    cycles = [[row.facts.cycles if row.facts else None for row in rows] for rows in (dense, found.last.rows)]
    known = [[one for one in column if one is not None] for column in cycles]
    if any(len(a) != len(b) for a, b in zip(cycles, known, strict=True)) or not sum(known[1]):
        return None
    return sum(known[0]) / sum(known[1])


def show(found: ModesRecord, out: TextIO) -> None:
    """The last variant's table; then the layers that skip zeros, beside dense ones where there are."""
    report.show(found.last, out)
    for line in _chosen_lines(found):
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
    text = report.markdown(found.last) + "".join(f"- {line}\n" for line in _chosen_lines(found))
    if not (layers := sparse_layers(found)):
        return text
    head = _head(layers)
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(_cells(layer, layers))} |" for layer in layers]
    return "\n".join([text, *lines, "", *(f"- {line}" for line in _closing(found, layers))]) + "\n"


def _chosen_lines(found: ModesRecord) -> list[str]:
    if not found.choices:
        return []
    head = "convolution by the fastest algorithm, and how many times as long others take (>=: their products alone):"
    return [head, *chosen_lines(found.choices)]


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
    best = layer.dense[0] if layer.dense else None
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
        lines.append(f"all rows: {whole:.3f}x, each layer by its fastest dense algorithm")
    return lines
