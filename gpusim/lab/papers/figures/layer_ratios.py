"""By which factor a layer's measure in one point is that in another: GPU to GPU, batch to batch, pass to pass."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import hypot
from typing import Any, Literal, Self

from gpusim.base.formats import TIMES
from gpusim.base.picture import Picture
from gpusim.base.spec import param
from gpusim.base.table import Table, columns
from gpusim.lab.papers.figures.layers import LayerMeasurement, LayerRow, LayersFigure
from gpusim.lab.papers.long_table import FigureRecord, FigureValue, Label, RatioParts, Where
from gpusim.lab.papers.network_points import LABELS
from gpusim.lab.papers.pictures import bars, build_panel
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.values import list_reasons


class RatiosFigure(LayersFigure):
    """Bars: by which factor a layer's measure with one label is that with another label."""

    kind: Literal["layer_ratios"] = param("layer_ratios", "what is shown", "")
    label: Literal["gpu", "batch", "way", "part", "network", "kind"] = param(
        ..., "in what the two points differ", "user"
    )
    pairs: tuple[tuple[Label, Label], ...] = param(
        (),
        "labels of dividend and divisor, GPUs by place; none: the first GPU with each other one, the largest batch with"
        " each other one, each other way with the first",
        "the publication",
    )

    @property
    def needed_gpus(self) -> int:
        """How many GPUs the publication has to have: of a ratio of GPUs at least two."""
        return max(super().needed_gpus, 2 if self.label == "gpu" else 1)

    def format_of(self, measure: str) -> Callable[[float], str]:
        """Return the format of a ratio."""
        return TIMES

    def list_missing(self, publication: Publication, where: Where, column: str) -> list[str]:
        """List the points with some labels that have not been run; a ratio of GPUs needs the first GPU's, too."""
        first = self.list_gpus(publication.reproduction)[:1] if self.label == "gpu" else ()
        return self.list_missing_on(publication, where, {column, *first}, {"gpu", self.label})

    def replaced(self, networks: Mapping[str, Any], batches: tuple[int, ...]) -> Self:
        """Return the figure of other networks and batches; of ratios of batches all of them are shown."""
        found = super().replaced(networks, batches)
        return found.model_copy(update={"batches": (), "pairs": ()}) if batches and self.label == "batch" else found

    def _pairs(self, publication: Publication, rows: list[LayerRow]) -> list[tuple[str, str]]:
        """Return the pairs of labels that are compared, as texts."""
        if self.label == "gpu":
            gpus = self.list_gpus(publication.reproduction)
            places = [(int(a), int(b)) for a, b in self.pairs] or [(1, n) for n in range(2, len(gpus) + 1)]
            return [(gpus[a - 1], gpus[b - 1]) for a, b in places if max(a, b) <= len(gpus)]
        if self.pairs:
            return [(str(a), str(b)) for a, b in self.pairs]
        there = list(dict.fromkeys(row.labels[self.label] for row in rows))
        if self.label == "batch":
            there = sorted(there, key=int, reverse=True)
            return [(there[0], other) for other in there[1:]]
        return [(other, there[0]) for other in there[1:]]

    def _ratios(self, publication: Publication) -> Iterator[tuple[FigureRecord, LayerMeasurement, LayerMeasurement]]:
        """Yield each ratio with what it divides, labelled by what is divided (`of`) by what (`over`)."""
        rows = self.rows(publication)
        for measure in self.measures:
            by_place: dict[tuple[tuple[str, str], ...], dict[str, LayerMeasurement]] = {}
            for measurement in self.measure(measure, rows):
                labels = dict(measurement.of.labels)
                of, _ = labels.pop(self.label), labels.pop("kind", "")  # in another way a layer may be of another kind
                if self.label == "kind":
                    labels["layer"] = ""  # it is the kind's name
                by_place.setdefault(tuple(labels.items()), {})[of] = measurement
            for rest, by_label in by_place.items():
                for of, over in self._pairs(publication, rows):
                    if of in by_label and over in by_label and by_label[over].value:
                        above, below = by_label[of], by_label[over]
                        labels = {**dict(rest), "kind": above.of.row.kind, "of": of, "over": over}
                        value = above.value / below.value
                        parts = [
                            measurement.half_width / measurement.value if measurement.value else 0.0
                            for measurement in (above, below)
                        ]
                        gpu = over if self.label == "gpu" else labels["gpu"]  # between GPUs it counts for the second
                        widths = {measure: abs(value) * hypot(*parts)}
                        yield FigureRecord(labels, {measure: value}, widths, gpu), above, below

    def values(self, publication: Publication) -> Iterator[FigureValue]:
        """Yield each ratio."""
        for record, above, below in self._ratios(publication):
            ((measure, value),) = record.values.items()
            of_points = self.label in ("gpu", "batch", "way")
            explain = partial(list_reasons, above.of.row, below.of.row) if of_points else above.of.explain
            parts = RatioParts(above.value, below.value, above.half_width, below.half_width)
            yield FigureValue(
                measure=measure,
                comparison=record.comparison,
                labels=record.labels,
                value=value,
                explain=explain,
                half_width=record.half_widths[measure],
                ratio=parts,
            )

    def _bars(self, publication: Publication) -> tuple[list[str], dict[str, list[FigureRecord]]]:
        """Return the names of all series (the pair, with what else varies), and the ratios of each measure by them."""
        ratios = list(self._ratios(publication))
        varied = [label for label in LABELS if len({ratio.labels.get(label) for ratio, _, _ in ratios}) > 1]
        by_measure: dict[str, list[FigureRecord]] = {}
        for ratio, _, below in ratios:
            series = [f"{ratio.labels['of']} / {ratio.labels['over']}", *(ratio.labels[label] for label in varied)]
            name = ratio.labels["layer"] or ratio.labels["network"] if self.label in ("part", "kind") else below.of.name
            ((measure, value),) = ratio.values.items()
            labels, widths = {"layer": name, "series": " ".join(series)}, {"ratio": ratio.half_widths[measure]}
            by_measure.setdefault(measure, []).append(FigureRecord(labels, {"ratio": value}, widths))
        return list(
            dict.fromkeys(ratio.labels["series"] for records in by_measure.values() for ratio in records)
        ), by_measure

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table of each measure: a row for each layer, a column for each pair."""
        titles, by_measure = self._bars(publication)
        heads = columns("layer") + columns(*titles, write=TIMES)
        for measure, records in by_measure.items():
            ratios = {(one.labels["layer"], one.labels["series"]): one.values["ratio"] for one in records}
            layers = dict.fromkeys(one.labels["layer"] for one in records)
            lines = [[layer, *(ratios.get((layer, title)) for title in titles)] for layer in layers]
            name = measure if len(self.measures) > 1 else ""
            yield Table(heads, lines, name, f"{self.title_of(measure)}, ratio.")

    def picture(self, publication: Publication) -> Picture | None:
        """Draw a panel for each measure."""
        titles, by_measure = self._bars(publication)
        panels = [
            build_panel(f"{self.title_of(measure)}, ratio", records, ("layer", "series", "ratio"), 1.0, True, titles)
            for measure, records in by_measure.items()
        ]
        return bars(self.title, panels, sharex=False) if panels else None
