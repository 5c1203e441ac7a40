"""Declared equivalences: changes of the model that move no figure, so that recorded points stay as young as they were.

`results/equivalences.json` is a list in order of time. A row says that the hash of a part, for points of some
recordings and of one kind, may be read as another one, and by which proof: the golden metrics, and a seeded share of
the points that were run again and had equal digits (`gpusim reproduce --prove`). Nobody edits a row; a row without a
proof is refused.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from gpusim.base.files import write_whole
from gpusim.base.plain_data import parse_as, read_json
from gpusim.lab.versions.model import Hashes

FILE = "equivalences.json"


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """Two states of the model's parts that give equal figures."""

    recordings: tuple[str, ...]
    """Names of the recordings that it was proved for."""
    kind: str = ""
    """Kind of the figures that it was proved for; empty: all kinds."""
    older: Hashes
    """Hashes that a point's model has."""
    newer: Hashes
    """Hashes that stand for these."""
    drawn: int
    """Points that were run again and were equal."""
    points: int
    """Points that they were drawn from."""
    seed: int
    """Seed of the draw."""
    date: str
    """Day of the proof."""
    why: str
    """What was changed."""

    def __post_init__(self) -> None:
        if not (self.recordings and self.older and self.newer and self.why and 0 < self.drawn <= self.points):
            raise ValueError("an equivalence has recordings, older and newer hashes, a reason and points drawn")

    def covers(self, recording: str, model: Hashes, kind: str = "") -> bool:
        """Tell whether it applies to the model of a recording's point. kind: that of the point."""
        is_of = recording in self.recordings and self.kind in ("", kind)
        return is_of and all(model.get(part) == value for part, value in self.older.items())


def load_equivalences(folder: Path) -> tuple[Equivalence, ...]:
    """Load the declared equivalences of a folder of results; none where it has no file. Raise UserError."""
    path = folder / FILE
    return parse_as(tuple[Equivalence, ...], read_json(path), str(path)) if path.exists() else ()


def save_equivalences(folder: Path, rows: Sequence[Equivalence]) -> None:
    """Write the declared equivalences, each on a line.

    Args:
        folder: Folder of the file.
        rows: The equivalences.
    """
    lines = ",\n".join(f" {json.dumps(asdict(row))}" for row in rows)
    write_whole(folder / FILE, f"[\n{lines}\n]\n".encode())


def carry_forward(model: Hashes, recording: str, rows: Sequence[Equivalence], kind: str = "") -> Hashes:
    """Return a model with all hashes replaced that later ones stand for, in order of time.

    Args:
        model: Hashes of a point's model.
        recording: Name of the recording that the point belongs to.
        rows: Declared equivalences.
        kind: Kind of the point.

    Returns:
        The latest model that gives the same figures.
    """
    carried = dict(model)
    for row in rows:
        if row.covers(recording, carried, kind):
            carried = {part: value for part, value in carried.items() if part not in row.older} | dict(row.newer)
    return carried
