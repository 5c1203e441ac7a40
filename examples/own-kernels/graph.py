"""Write a graph and made-up activations as the arrays of examples/own-kernels/aggregation.yaml.

python examples/own-kernels/graph.py GRAPH.gt.gz FOLDER [ZEROS ...]

Graphs in graph-tool's binary format: Debian's package python3-graph-tool has some in `graph_tool/collection`.
"""

import gzip
import sys
from pathlib import Path

import numpy as np

MAGIC = b"\xe2\x9b\xbe gt"
FEATURES = 256


def read_neighbours(path: Path) -> list[np.ndarray]:
    """Return each node's neighbours, nodes with the most first: a workgroup has a node, and long ones begin early.

    An edge counts in both directions, whether the graph is directed or not.
    """
    data = gzip.decompress(path.read_bytes())
    if data[:6] != MAGIC or data[6] != 1:
        raise SystemExit(f"{path}: no graph in graph-tool's binary format, version 1")
    order, at = "><"[data[7] == 0], 8
    at += 9 + int(np.frombuffer(data, order + "u8", 1, at)[0])  # the comment, and whether edges have a direction
    nodes = int(np.frombuffer(data, order + "u8", 1, at)[0])
    at, width = at + 8, next(width for width in (1, 2, 4, 8) if nodes <= 1 << 8 * width)
    edges = set()
    for node in range(nodes):
        count = int(np.frombuffer(data, order + "u8", 1, at)[0])
        for other in np.frombuffer(data, f"{order}u{width}", count, at + 8).tolist():
            edges |= {(node, other), (other, node)}
        at += 8 + count * width
    pairs = np.array(list(edges), np.uint32)
    rank = np.empty(nodes, np.uint32)
    rank[np.argsort(-np.bincount(pairs[:, 0], minlength=nodes), kind="stable")] = np.arange(nodes)
    pairs = rank[pairs]
    pairs = pairs[np.lexsort(pairs.T[::-1])]
    return np.split(pairs[:, 1], np.searchsorted(pairs[:, 0], np.arange(1, nodes)))


def main(graph: Path, folder: Path, shares: list[float]) -> None:
    """Write the graph's arrays, and for each share of zeros features, packed features and the sums."""
    neighbours = read_neighbours(graph)
    first = np.cumsum([0, *map(len, neighbours)]).astype(np.uint32)
    flat = np.concatenate(neighbours)
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "first.npy", first)
    np.save(folder / "neighbours.npy", flat)
    for share in shares:
        draw = np.random.default_rng(54)
        shape = (len(neighbours), FEATURES)
        features = np.where(draw.random(shape) < share, 0, draw.integers(1, 9, shape)).astype(np.float32)
        sums = np.array([features[one].sum(axis=0) for one in neighbours], np.float32)  # small whole numbers: exact
        counts = (features != 0).sum(axis=1).astype(np.uint32)
        front = np.argsort(features == 0, axis=1, kind="stable")  # the non-zeros of a row, in order, then its zeros
        values = np.take_along_axis(features, front, 1).astype(np.float16).view(np.uint16).astype(np.uint32)
        bundles = np.where(values, values | front.astype(np.uint32) << 16, 0).astype(np.uint32)
        for name, array in (("features", features), ("sums", sums), ("counts", counts), ("bundles", bundles)):
            np.save(folder / f"{name}-{100 * share:g}.npy", array)
    print(f"{graph.name}: {len(neighbours)} nodes, {len(flat)} neighbours")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), [float(share) for share in sys.argv[3:] or (0.5, 0.75, 0.9)])
