"""Lists of matrix products, a row each, as SCALE-Sim's topologies of products have them (Samajdar 2020).

A row `Layer name, M, N, K` is a product of M × K values by K × N weights. Each is a layer by itself, over an input of
its own. A fifth column, `Weights`, has the type of the weights in memory; without it, or left empty, it is float32.
"""

import csv
from typing import get_args

from gpusim.base.errors import UserError
from workloads.networks.described import MAX_INPUT, MAX_LAYERS, LayerDescription, NetworkDescription
from workloads.networks.fully_connected import Weights
from workloads.shapes import Shape

HEADER = ("layer name", "m", "n", "k")
TYPES = "weights"  # the fifth column
SIZES = ("M", "N", "K")


def read_gemm_list(text: str, source: str) -> NetworkDescription:
    """Read the products of a file.

    Args:
        text: The file's text.
        source: Where it comes from, for errors.

    Raises:
        UserError: A line is no product; the message names it.
    """
    lines = csv.reader(text.splitlines(), skipinitialspace=True)
    rows = [(number, _cells(row)) for number, row in enumerate(lines, 1)]
    rows = [(number, row) for number, row in rows if any(row)]
    header = tuple(cell.lower() for cell in rows[0][1]) if rows else ()
    if header not in (HEADER, (*HEADER, TYPES)):
        found = ", ".join(rows[0][1]) if rows else "nothing"
        raise UserError(
            f"{source}: line 1: {found[:80]!r}: must be the header 'Layer name, M, N, K' of a list of products, with a "
            "fifth column 'Weights' or without it"
        )
    inputs: dict[str, Shape] = {}
    layers: list[LayerDescription] = []
    for number, row in rows[1:]:
        where = f"{source}: line {number}"
        row = [*row, *[""] * (len(row) == len(HEADER) < len(header))]
        if len(row) != len(header) or not row[0]:
            typed = " and the weights' type" if TYPES in header else ""
            raise UserError(f"{where}: has {len(row)} values: must be a name, M, N and K{typed}")
        for what, cell in zip(SIZES, row[1:4], strict=True):
            if not (cell.isascii() and cell.isdigit() and 1 <= int(cell[:9]) <= MAX_INPUT and len(cell) < 9):
                raise UserError(f"{where}: {what} = {cell[:40]!r}: must be a whole number from 1 to {MAX_INPUT}")
        name, (m, n, k) = row[0], map(int, row[1:4])
        weights = "".join(row[4:]).lower() or "float32"
        if weights not in get_args(Weights):
            raise UserError(f"{where}: Weights = {row[4][:40]!r}: must be one of {', '.join(get_args(Weights))}")
        if any(layer.name == name for layer in layers):
            raise UserError(f"{where}: '{name}' is the name of an earlier line, too")
        inputs[f"{name}.input"] = m, k
        values = {"outputs": n, "each": True, "bias": False, "weights": weights}
        layers.append(
            LayerDescription(
                name, "fully_connected", (f"{name}.input",), values,
                expects={"weight": (n, k)},
            )
        )  # fmt: skip
    if not 1 <= len(layers) <= MAX_LAYERS:
        raise UserError(f"{source}: {len(layers)} products; a network has 1 to {MAX_LAYERS} layers")
    name = source.replace("\\", "/").rpartition("/")[2].removesuffix(".csv")
    return NetworkDescription(name, source, inputs, tuple(layers), input_gradients=True)


def _cells(row: list[str]) -> list[str]:
    """Return a line's values; one that ends with a comma has none after it."""
    cells = [cell.strip() for cell in row]
    return cells[:-1] if cells and not cells[-1] else cells
