"""Lists of matrix products, a row each, as SCALE-Sim's topologies of products have them (Samajdar 2020).

A row `Layer name, M, N, K` is a product of M × K values by K × N weights. Each is a layer by itself, over an input of
its own.
"""

import csv

from gpusim.base.errors import UserError
from workloads.networks.described import MAX_INPUT, MAX_LAYERS, LayerDescription, NetworkDescription
from workloads.networks.tensor import Shape

HEADER = ("layer name", "m", "n", "k")
SIZES = ("M", "N", "K")


def read_gemm_list(text: str, source: str) -> NetworkDescription:
    """Read the products of a file; raise UserError with the line for what is none."""
    lines = csv.reader(text.splitlines(), skipinitialspace=True)
    rows = [(number, _cells(row)) for number, row in enumerate(lines, 1)]
    rows = [(number, row) for number, row in rows if any(row)]
    if not rows or tuple(cell.lower() for cell in rows[0][1]) != HEADER:
        found = ", ".join(rows[0][1]) if rows else "nothing"
        raise UserError(
            f"{source}: line 1: {found[:80]!r}: must be the header 'Layer name, M, N, K' of a list of products"
        )
    inputs: dict[str, Shape] = {}
    layers: list[LayerDescription] = []
    for number, row in rows[1:]:
        where = f"{source}: line {number}"
        if len(row) != len(HEADER) or not row[0]:
            raise UserError(f"{where}: has {len(row)} values: must be a name, M, N and K")
        for what, cell in zip(SIZES, row[1:], strict=True):
            if not (cell.isascii() and cell.isdigit() and 1 <= int(cell[:9]) <= MAX_INPUT and len(cell) < 9):
                raise UserError(f"{where}: {what} = {cell[:40]!r}: must be a whole number from 1 to {MAX_INPUT}")
        name, (m, n, k) = row[0], map(int, row[1:])
        if any(layer.name == name for layer in layers):
            raise UserError(f"{where}: '{name}' is the name of an earlier line, too")
        inputs[f"{name}.input"] = m, k
        layers.append(
            LayerDescription(
                name, "fully_connected", (f"{name}.input",), {"outputs": n, "each": True, "bias": False},
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
