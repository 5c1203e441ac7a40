"""Which FP32 kernel rocBLAS selects for a product, by the table in its own package (TensileLibrary.dat).

The file is a MessagePack document: `solutions`, each a kernel with the conditions under which it may run, and
`library`, a tree with a branch for each GPU, order of the operands and element type. A branch ends in a table of the
products that were timed, which Tensile searches for the nearest one (ROCm/Tensile, PropertyMatching.hpp,
DistanceMatchingTable::findBestKeyMatch_BinSearch). Batches take the kernel of one of their products.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from gpusim.base.errors import UserError

_OPERATIONS = {
    "NN": "Contraction_l_Ailk_Bljk_Cijk_Dijk",
    "NT": "Contraction_l_Ailk_Bjlk_Cijk_Dijk",
    "TN": "Contraction_l_Alik_Bljk_Cijk_Dijk",
    "TT": "Contraction_l_Alik_Bjlk_Cijk_Dijk",
}
_TYPES = ["Float"] * 4  # of A, B, C and D
_ELEMENT_BYTES = 4
_PROPERTIES = ["FreeSizeA", "FreeSizeB", "BoundSize"]  # M, N and K
_BUFFER_BYTES = 1 << 32  # that offsets in a buffer reach
# what rocBLAS asks for: any language and arithmetic unit, strided batches, atomics allowed
_REQUESTED: Mapping[str, Any] = {
    "StridedBatched": True,
    "DeterministicMode": False,
    "TypesEqual": _TYPES,
    "HighPrecisionAccumulate": False,
}
_HELD_BY_ALL = ("KernelLanguageCompatible", "ArithmeticUnitCompatible")


class _Entry(NamedTuple):
    """A timed product of a table."""

    size: tuple[int, int, int]
    """M, N and K."""
    speed: float
    """GFLOPS."""
    kernel: str
    """Name of the kernel."""
    conditions: Sequence[Mapping[str, Any]]
    """Conditions under which the kernel may run."""


@dataclass(frozen=True)
class KernelSelection:
    """The table by which rocBLAS selects kernels on a GPU; it is read when it is first needed."""

    path: Path
    """Path of TensileLibrary.dat."""
    architecture: str
    """Architecture of the GPU, such as 'gfx906'."""
    compute_units: int
    """Compute units of the GPU."""

    def select(self, transposes: str, m: int, n: int, k: int) -> str:
        """Return the name of the kernel for C [m, n] = op(A) [m, k] op(B) [k, n].

        Args:
            transposes: Transposition of A and B, 'N' or 'T' each.
            m: Rows of C.
            n: Columns of C.
            k: Length of the sum.

        Returns:
            Name of the kernel; empty where the table has none that may run.

        Raises:
            UserError: The file cannot be read, or its table selects in a way that is not known here.
        """
        for tables in self._tables:
            entry = _find_nearest(tables.get(_OPERATIONS[transposes], ()), transposes, (m, n, k), self.path)
            if entry is not None:
                return entry.kernel
        return ""

    @cached_property
    def _tables(self) -> list[dict[str, list[_Entry]]]:
        """Tables by operation, those of the GPU itself before those of any GPU."""
        import msgpack  # type: ignore[import-untyped]

        try:
            with self.path.open("rb") as file:
                reader = msgpack.Unpacker(file, raw=False, strict_map_key=False, max_buffer_size=0)
                return self._read(reader)
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read: {error.strerror}") from None
        except (KeyError, TypeError, ValueError, msgpack.UnpackException) as error:
            raise UserError(f"{self.path}: is not rocBLAS's table of kernels: {error!r}") from None

    def _read(self, reader: Any) -> list[dict[str, list[_Entry]]]:
        """Read the document piece by piece: as a whole it takes ten times the space of what is needed."""
        solutions: dict[int, tuple[str, Sequence[Mapping[str, Any]]]] = {}
        branches: list[Mapping[str, Any]] = []
        for _ in range(reader.read_map_header()):
            if reader.unpack() == "solutions":
                for _ in range(reader.read_array_header()):
                    one = reader.unpack()
                    if one["problemType"]["aType"] == _TYPES[0]:
                        solutions[one["index"]] = (one["name"], _flatten(one["problemPredicate"]))
                continue
            for _ in range(reader.read_map_header()):
                if reader.unpack() != "rows":
                    reader.skip()
                    continue
                rows = (reader.unpack() for _ in range(reader.read_array_header()))
                branches = [row["library"] for row in rows if self._is_of_gpu(row["predicate"])]
        if not solutions or not branches:
            raise ValueError(f"it has {len(solutions)} FP32 kernels, {len(branches)} branches for {self.architecture}")
        return [_tables_of(branch, solutions) for branch in branches]

    def _is_of_gpu(self, predicate: Mapping[str, Any]) -> bool:
        """Tell whether a branch is for this GPU, or for any."""
        own = {"Processor": self.architecture, "CUCount": self.compute_units}
        if predicate["type"] == "AMDGPU":
            return self._is_of_gpu(predicate["value"])
        if predicate["type"] == "And":
            return all(map(self._is_of_gpu, predicate["value"]))
        return predicate["type"] == "TruePred" or bool(own.get(predicate["type"]) == predicate["value"])


def _flatten(predicate: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the conditions that a predicate joins by 'and'."""
    return predicate["value"] if predicate["type"] == "And" else [predicate]


def _tables_of(
    branch: Mapping[str, Any], solutions: Mapping[int, tuple[str, Sequence[Mapping[str, Any]]]]
) -> dict[str, list[_Entry]]:
    """Return the entries of a GPU's tables of FP32 products, by operation."""
    return {
        operation: [
            _Entry(tuple(entry["key"]), entry["speed"], *solutions[entry["index"]])
            for table in _leaves(branch["map"].get(operation))
            for entry in table["table"]
        ]
        for operation in _OPERATIONS.values()
    }


def _leaves(node: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    """Yield the tables below a node whose conditions an FP32 product of rocBLAS meets."""
    if node is None:
        return
    if node["type"] == "Problem":
        for row in node["rows"]:
            conditions = _flatten(row["predicate"])
            if all(one["type"] == "TruePred" or _REQUESTED.get(one["type"]) == one["value"] for one in conditions):
                yield from _leaves(row["library"])
        return
    properties = [one["type"] for one in node.get("properties", ())]
    if node["type"] != "Matching" or node["distance"] != "Euclidean" or properties != _PROPERTIES:
        raise ValueError(f"a table of type {node['type']} by {node.get('distance')} distance of {properties}")
    yield node


def _find_nearest(entries: Sequence[_Entry], transposes: str, size: tuple[int, int, int], path: Path) -> _Entry | None:
    """Return the entry nearest in M, N and K that may run; of equal ones the fastest, of these the first that is met.

    Tensile goes up from where the product would stand in the table, then down, and turns where M alone is too far.
    """
    start = bisect_left(entries, size, key=lambda entry: entry.size)
    nearest, least = None, 0
    for places in (range(start, len(entries)), range(start - 1, -1, -1)):
        for place in places:
            entry = entries[place]
            if nearest is not None and (entry.size[0] - size[0]) ** 2 >= least and entry.size != size:
                break
            distance = sum((own - other) ** 2 for own, other in zip(entry.size, size, strict=True))
            is_better = nearest is None or distance < least or (distance == least and entry.speed > nearest.speed)
            if is_better and all(_is_met(one, transposes, size, path) for one in entry.conditions):
                nearest, least = entry, distance
    return nearest


def _is_met(condition: Mapping[str, Any], transposes: str, size: tuple[int, int, int], path: Path) -> bool:
    """Tell whether a product without gaps between columns meets a condition; raises UserError for an unknown one."""
    (m, n, k), kind = size, condition["type"]
    value: Any = condition.get("value")
    columns = {"A": m if transposes[0] == "N" else k, "B": k if transposes[1] == "N" else n, "C": m, "D": m}
    if kind in _HELD_BY_ALL or kind == "TruePred":
        return True
    if kind == "OperationIdentifierEqual":
        return bool(value == _OPERATIONS[transposes])
    if kind in _REQUESTED:
        return bool(_REQUESTED[kind] == value)
    if kind in ("StrideAEqual", "StrideBEqual", "StrideCEqual", "StrideDEqual"):
        return bool((1, columns[kind[6]])[condition["index"]] == value)
    least = {"LeadingFree0SizesGreaterOrEqual": m, "LeadingFree1SizesGreaterOrEqual": n, "GlobalSplitUCheckMinK": k}
    if kind in least:
        return bool(least[kind] >= value)
    if kind == "BufferLoadOffsetLimitCheck":
        reach = (
            columns["A"] * value["DUorMT0"] + value["ShiftPtrElemA"],
            columns["B"] * value["DUorMT1"] + value["ShiftPtrElemB"],
        )
        return bool(max(reach) * _ELEMENT_BYTES < _BUFFER_BYTES)
    if kind == "BufferStoreOffsetLimitCheck":
        return bool(columns["D"] * _ELEMENT_BYTES * value < _BUFFER_BYTES)
    raise UserError(f"{path}: a kernel's condition '{kind}' is not known: the library's choice cannot be told")
