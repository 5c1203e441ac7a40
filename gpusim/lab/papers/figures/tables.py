"""Figures that are tables alone: vendor libraries, the engine's area, printed grids, the longest launches."""

from math import fsum
from pathlib import Path
from typing import Any, Self

from pydantic import model_validator

from gpusim.base.errors import UserError
from gpusim.base.formats import COUNT, FIXED_3, MILLISECONDS, PERCENT, SHARE_0, TIMES
from gpusim.base.plain_data import parse_as, read_json
from gpusim.base.spec import Spec, param
from gpusim.base.sums import plain_sum
from gpusim.base.table import Table, columns
from gpusim.config.run import RunConfig, load_run
from gpusim.config.tree import assignments
from gpusim.lab.capture.library_products import LibraryProducts
from gpusim.lab.papers.figures.kinds import FigureContent, figure_kind
from gpusim.lab.papers.formats import BYTES, UM2
from gpusim.lab.papers.long_table import OURS, FigureRecord, FigureValue, repeat_on
from gpusim.lab.papers.network_points import NetworkFigure
from gpusim.lab.papers.publication import Figure, Publication
from gpusim.lab.papers.views import AREA, GRIDS, LIBRARIES
from gpusim.model.energy.area import added_um2, engine_area

ANY_RUN = "layerA"  # its engine is what area is computed of


@figure_kind("libraries", Figure, files=("measured",), formats={"speedup": TIMES})
def show_libraries(
    figure: Figure,
    publication: Publication,
    *,
    measured: str = param(..., "what `python -m gpusim.lab.capture.library_products` writes", "a real GPU"),
) -> FigureContent:
    """Show vendor libraries' products and conversions, as measured on a real GPU."""
    hint = "`python -m gpusim.lab.capture.library_products` writes it"
    stored = parse_as(LibraryProducts, read_json(Path(measured)), measured, hint)
    records = []
    for one in stored.times:
        dense, sparse = one.dense_us, one.sparse_us
        for converter, converting in one.conversion_us.items():
            found = {"zeros": one.zeros, "dense": dense, "sparse": sparse, "conversion": converting}
            found |= {"conversion_share": converting / (sparse + converting), "alone": dense / sparse}
            labels = {"data": f"{SHARE_0(one.zeros)} zeros", "converter": converter}
            records.append(FigureRecord(labels, {**found, "speedup": dense / (sparse + converting)}))
    m, n, k = stored.shape
    versions = ", ".join(f"{name} {version}" for name, version in stored.versions.items())
    title = f"{m} × {COUNT(n)} × {k}, FP32, {stored.device}, {versions}:"
    return FigureContent([LIBRARIES.table((record.row for record in records), title)], records)


@figure_kind("area", Figure, formats={"storage_beside_l2": BYTES, "area_beside_l2": UM2})
def show_area(
    figure: Figure,
    publication: Publication,
    *,
    engines: dict[str, dict[str, Any]] = param(..., "values of engines by their names", "user", min_length=1),
) -> FigureContent:
    """Show the engine's hardware cost: the publication's list of parts, and what engines have beside it."""
    rows: list[dict[str, Any]] = []
    values = []
    for name, sets in engines.items():
        try:
            config: RunConfig = load_run(ANY_RUN, assignments(sets))
        except UserError as error:
            raise UserError(*(f"engines.{name}: {problem}" for problem in error.problems)) from None
        parts = engine_area(config.engine, config.energy)
        for part in parts:
            listed, where = "Dong 2020" if part.in_source else "ours", "beside L2" if part.extra else "in L2"
            sizes = {"count": round(part.count), "um2": round(part.um2), "listed_by": listed, "where": where}
            rows.append({"engine": name, "part": part.where, "what": part.what, **sizes})
        for title, alone in (("the list", True), ("all", False)):
            whole = {"what": "beside L2", "um2": round(added_um2(parts, alone)), "where": "beside L2"}
            rows.append({"engine": name, "part": title, **whole})
        values.append(FigureValue("area_beside_l2", OURS, {"engine": name}, added_um2(parts)))
        beside = fsum(part.count for part in parts if part.extra and "bytes" in part.what)
        values.append(FigureValue("storage_beside_l2", OURS, {"engine": name}, beside))
    return FigureContent([AREA.table(rows)], values=values)


class GridSpec(Spec):
    """A kernel of the publication with its grid; results and tiles as (rows, columns)."""

    layer: str = param(..., "the layer", "the publication")
    kind: str = param(..., "its kind", "the publication")
    library: str = param(..., "whose kernel it is", "the publication")
    result: tuple[int, int] = param(..., "rows and columns of the result, as printed", "the publication")
    tile: tuple[int, int] = param(..., "of a block", "the publication")
    block_size: int = param(..., "threads of a block", "the publication", ge=1, le=1024)
    registers: int = param(..., "of a thread", "the publication", ge=1, le=255)
    grid: int = param(..., "blocks, as printed", "the publication", ge=1, le=1 << 31)

    @model_validator(mode="after")
    def _has_sizes(self) -> Self:
        if min(*self.result, *self.tile) < 1:
            raise ValueError("result, tile: rows and columns are at least 1")
        return self


@figure_kind("grids", Figure, is_typed=True)
def show_grids(
    figure: Figure,
    publication: Publication,
    *,
    multiprocessors: int = param(..., "of that GPU", "the publication", ge=1, le=4096),
    registers: int = param(..., "of a multiprocessor", "the publication", ge=1, le=1 << 24),
    kernels: tuple[GridSpec, ...] = param(..., "kernels, a row each", "the publication", min_length=1),
) -> FigureContent:
    """Show how well printed grids fill the GPU that they ran on, whose registers bound the blocks that it holds.

    Nothing is run; the equations 9 to 11 are those of Li, Zhang, Cao 2018. The values are the same for every GPU.
    """
    records = []
    for kernel in kernels:
        blocks = -(-kernel.result[0] // kernel.tile[0]) * -(-kernel.result[1] // kernel.tile[1])
        at_once = multiprocessors * (registers // (kernel.block_size * kernel.registers))
        waves = -(-kernel.grid // at_once)
        values: dict[str, Any] = {"result": "×".join(map(str, kernel.result)), "tile": "×".join(map(str, kernel.tile))}
        values |= {"blocks": blocks, "at_once": at_once, "utilisation": kernel.grid / (waves * at_once)}
        values |= {"block": kernel.block_size, "registers": kernel.registers, "grid": kernel.grid}
        labels = {"layer": kernel.layer, "kind": kernel.kind, "library": kernel.library}
        records.append(FigureRecord(labels, {**values, "grid_by_equation": float(kernel.grid == blocks)}))
    of_all = repeat_on(publication.reproduction.columns, records)
    return FigureContent([GRIDS.table(record.row for record in records)], of_all)


@figure_kind("launches", NetworkFigure)
def show_launches(
    figure: NetworkFigure,
    publication: Publication,
    *,
    most: int = param(15, "launches that are listed", "the publication", ge=1, le=1000),
) -> FigureContent:
    """Show the longest launches of each point.

    Values: the share of each kind of layer in the time of the listed launches, and of each layer's pass in all.
    """
    heads = columns("layer", "pass", "kernel") + columns("ms", write=FIXED_3)
    heads += columns("of the iteration", write=PERCENT)
    tables, values = [], []
    for point, run in figure.known_points(publication):
        whole = plain_sum(launch.time_us for launch in run.launches)
        longest = sorted(run.launches, key=lambda launch: -launch.time_us)[:most]
        rows = [
            [launch.layer, launch.what.replace("_", " "), launch.kernel, launch.time_us / 1e3, launch.time_us / whole]
            for launch in longest
        ]
        tables.append(
            Table(heads, rows, point.key.replace(" ", "-"), f"{point.key}: {MILLISECONDS(whole)} of kernels.")
        )
        kinds = {row.layer: row.kind for row in run.rows if row.by == "layer"}
        listed = plain_sum(launch.time_us for launch in longest)
        for kind in sorted(set(kinds.values())):
            share = plain_sum(launch.time_us for launch in longest if kinds.get(launch.layer) == kind) / listed
            values.append(FigureValue("listed_share", point.gpu, {**point.labels, "kind": kind}, share))
        for layer, what in dict.fromkeys((launch.layer, launch.what) for launch in run.launches):
            part = plain_sum(launch.time_us for launch in run.launches if (launch.layer, launch.what) == (layer, what))
            labels = {**point.labels, "layer": layer, "kind": kinds.get(layer, ""), "part": what}
            values.append(FigureValue("iteration_share", point.gpu, labels, part / whole))
    return FigureContent(tables, values=values)
