"""Figures that are tables alone: vendor libraries, the engine's area, printed grids, the longest launches."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from gpusim.base.errors import UserError
from gpusim.base.formats import COUNT, FIXED_3, MILLISECONDS, PERCENT, SHARE_0, TIMES
from gpusim.base.plain_data import parse_as, read_json
from gpusim.base.spec import Spec, param
from gpusim.base.sums import plain_sum
from gpusim.base.table import Table, columns
from gpusim.config.run import RunConfig, load_run
from gpusim.config.tree import assignments
from gpusim.lab.papers.formats import BYTES, UM2
from gpusim.lab.papers.long_table import OURS, FigureRecord, FigureValue, repeat_on
from gpusim.lab.papers.network_points import NetworkFigure, NetworkPoint
from gpusim.lab.papers.publication import Figure, Publication
from gpusim.lab.papers.records import NetworkLaunchRecord, NetworkPointRecord
from gpusim.lab.papers.views import AREA, GRIDS, LIBRARIES
from gpusim.model.energy.area import AreaRow, added_um2, engine_area

ANY_RUN = "layerA"  # its engine is what area is computed of


@dataclass(frozen=True)
class _StoredTimes:
    """Times of a vendor library's products at a share of zeros."""

    zeros: float
    dense_us: float
    sparse_us: float
    conversion_us: dict[str, float]


@dataclass(frozen=True)
class _StoredProducts:
    """Measured products of vendor libraries."""

    device: str
    versions: dict[str, str]
    shape: tuple[int, int, int]
    times: list[_StoredTimes]


class LibrariesFigure(Figure):
    """Vendor libraries' products and conversions, as measured on a real GPU."""

    kind: Literal["libraries"] = param("libraries", "what is shown", "")
    measured: str = param(..., "what `python -m gpusim.lab.capture.library_products` writes", "a real GPU")

    files = ("measured",)
    formats: ClassVar = {"speedup": TIMES}

    def _measured(self) -> _StoredProducts:
        """Read the file; raises UserError for another one."""
        hint = "`python -m gpusim.lab.capture.library_products` writes it"
        return parse_as(_StoredProducts, read_json(Path(self.measured)), self.measured, hint)

    def records(self, publication: Publication) -> Iterator[FigureRecord]:
        """Yield the conversion's share of the sparse way's time, and its speed-up over the dense product."""
        for one in self._measured().times:
            dense, sparse = one.dense_us, one.sparse_us
            for converter, converting in one.conversion_us.items():
                found = {"zeros": one.zeros, "dense": dense, "sparse": sparse, "conversion": converting}
                found |= {"conversion_share": converting / (sparse + converting), "alone": dense / sparse}
                labels = {"data": f"{SHARE_0(one.zeros)} zeros", "converter": converter}
                yield FigureRecord(labels, {**found, "speedup": dense / (sparse + converting)})

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table with a row for each level of zeros and each way of converting."""
        measured = self._measured()
        m, n, k = measured.shape
        versions = ", ".join(f"{name} {version}" for name, version in measured.versions.items())
        title = f"{m} × {COUNT(n)} × {k}, FP32, {measured.device}, {versions}:"
        yield LIBRARIES.table((record.row for record in self.records(publication)), title)


class AreaFigure(Figure):
    """The engine's hardware cost: the publication's list of parts, and what engines have beside it."""

    kind: Literal["area"] = param("area", "what is shown", "")
    engines: dict[str, dict[str, Any]] = param(..., "values of engines by their names", "user", min_length=1)

    formats: ClassVar = {"storage_beside_l2": BYTES, "area_beside_l2": UM2}

    def _parts(self) -> Iterator[tuple[str, list[AreaRow]]]:
        for name, sets in self.engines.items():
            try:
                config: RunConfig = load_run(ANY_RUN, assignments(sets))
            except UserError as error:
                raise UserError(*(f"engines.{name}: {problem}" for problem in error.problems)) from None
            yield name, engine_area(config.engine, config.energy)

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table with a row for each part of each engine, and their sums."""
        rows: list[dict[str, Any]] = []
        for name, parts in self._parts():
            for part in parts:
                listed, where = "Dong 2020" if part.in_source else "ours", "beside L2" if part.extra else "in L2"
                sizes = {"count": round(part.count), "um2": round(part.um2), "listed_by": listed, "where": where}
                rows.append({"engine": name, "part": part.where, "what": part.what, **sizes})
            for title, alone in (("the list", True), ("all", False)):
                whole = {"what": "beside L2", "um2": round(added_um2(parts, alone)), "where": "beside L2"}
                rows.append({"engine": name, "part": title, **whole})
        yield AREA.table(rows)

    def values(self, publication: Publication) -> Iterator[FigureValue]:
        """Yield the bytes of storage and the µm² that each engine has beside L2, whoever lists them."""
        for name, parts in self._parts():
            labels = {"engine": name}
            yield FigureValue("area_beside_l2", OURS, labels, added_um2(parts))
            beside = fsum(part.count for part in parts if part.extra and "bytes" in part.what)
            yield FigureValue("storage_beside_l2", OURS, labels, beside)


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


class GridsFigure(Figure):
    """A table of how well printed grids fill the GPU that they ran on, whose registers bound the blocks that it holds.

    Nothing is run; the equations are those of Li, Zhang, Cao 2018.
    """

    is_typed = True
    kind: Literal["grids"] = param("grids", "what is shown", "")
    multiprocessors: int = param(..., "of that GPU", "the publication", ge=1, le=4096)
    registers: int = param(..., "of a multiprocessor", "the publication", ge=1, le=1 << 24)
    kernels: tuple[GridSpec, ...] = param(..., "kernels, a row each", "the publication", min_length=1)

    def kernel_records(self) -> Iterator[FigureRecord]:
        """Yield the kernels with the results of equations 9 to 11."""
        for kernel in self.kernels:
            blocks = -(-kernel.result[0] // kernel.tile[0]) * -(-kernel.result[1] // kernel.tile[1])
            at_once = self.multiprocessors * (self.registers // (kernel.block_size * kernel.registers))
            waves = -(-kernel.grid // at_once)
            values: dict[str, Any] = {
                "result": "×".join(map(str, kernel.result)),
                "tile": "×".join(map(str, kernel.tile)),
            }
            values |= {"blocks": blocks, "at_once": at_once, "utilisation": kernel.grid / (waves * at_once)}
            values |= {"block": kernel.block_size, "registers": kernel.registers, "grid": kernel.grid}
            labels = {"layer": kernel.layer, "kind": kernel.kind, "library": kernel.library}
            yield FigureRecord(labels, {**values, "grid_by_equation": float(kernel.grid == blocks)})

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table with a row for each kernel."""
        yield GRIDS.table(record.row for record in self.kernel_records())

    def records(self, publication: Publication) -> Iterator[FigureRecord]:
        """Yield each kernel's utilisation, and whether (1) the equation gives its grid; the same for every GPU."""
        return repeat_on(publication.reproduction.columns, self.kernel_records())


class LaunchesFigure(NetworkFigure):
    """A table of the longest launches of each point."""

    kind: Literal["launches"] = param("launches", "what is shown", "")
    most: int = param(15, "launches that are listed", "the publication", ge=1, le=1000)

    def _known(self, publication: Publication) -> Iterator[tuple[NetworkPoint, NetworkPointRecord, float]]:
        """Yield the known points with the time of their launches."""
        for point, run in self.known_points(publication):
            yield point, run, plain_sum(one.time_us for one in run.launches)

    def _longest(self, run: NetworkPointRecord) -> list[NetworkLaunchRecord]:
        return sorted(run.launches, key=lambda one: -one.time_us)[: self.most]

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table of each point with a row for each launch, the longest first."""
        heads = columns("layer", "pass", "kernel") + columns("ms", write=FIXED_3)
        heads += columns("of the iteration", write=PERCENT)
        for point, run, whole in self._known(publication):
            rows = [
                [one.layer, one.what.replace("_", " "), one.kernel, one.time_us / 1e3, one.time_us / whole]
                for one in self._longest(run)
            ]
            yield Table(heads, rows, point.key.replace(" ", "-"), f"{point.key}: {MILLISECONDS(whole)} of kernels.")

    def values(self, publication: Publication) -> Iterator[FigureValue]:
        """Yield the share of each kind of layer in the time of the listed launches, and of each layer's pass in all."""
        for point, run, time_us in self._known(publication):
            longest, kinds = self._longest(run), {row.layer: row.kind for row in run.rows if row.by == "layer"}
            listed = plain_sum(one.time_us for one in longest)
            for kind in sorted(set(kinds.values())):
                share = plain_sum(one.time_us for one in longest if kinds.get(one.layer) == kind) / listed
                yield FigureValue("listed_share", point.gpu, {**point.labels, "kind": kind}, share)
            for layer, what in dict.fromkeys((one.layer, one.what) for one in run.launches):
                part = plain_sum(one.time_us for one in run.launches if (one.layer, one.what) == (layer, what))
                labels = {**point.labels, "layer": layer, "kind": kinds.get(layer, ""), "part": what}
                yield FigureValue("iteration_share", point.gpu, labels, part / time_us)
