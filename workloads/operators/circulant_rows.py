"""im2col as rows: a vector of all taps and channels for each position of the filters, and its reverse."""

from math import prod

import numpy as np

from isa.launch import Launch
from workloads.operators.conv_im2col import image_words
from workloads.operators.convolution import Convolution
from workloads.operators.launching import GROUP, divisor, launch
from workloads.operators.tensor import Tensor

TILE = 32  # rows and columns that a workgroup transposes


def gather(c: Convolution, x: Tensor, rows: Tensor) -> Launch:
    """Return the launch of im2col of all images: rows [images, positions, weights of a filter]."""
    values = {"x": x, "rows": rows, "m": image_words(c, c.positions, c.outputs[1])}
    divisors = {"by_depth": c.depth, "by_taps": c.taps, "by_tap_columns": c.kernel[1]}
    values |= {name: divisor(number) for name, number in divisors.items()}
    groups = (-(-c.depth * c.positions // GROUP), c.shape[0])
    return launch("circulant_rows", "circulant_im2col", x.memory, groups, values)


def scatter(c: Convolution, rows: Tensor, dx: Tensor) -> Launch:
    """Return the launch that adds up what the taps of rows give each element of all images."""
    values = {"rows": rows, "dx": dx, "m": image_words(c, prod(c.shape[2:]), c.shape[3])}
    places = prod(c.shape[2:])
    values |= {"window_rows": c.outputs[0], "window_columns": c.outputs[1], "places": places}
    groups = (-(-places // TILE), -(-c.shape[1] // TILE), c.shape[0])
    return launch("circulant_rows", "circulant_col2im", dx.memory, groups, values)


def transpose(x: Tensor, y: Tensor, images: int, rows: int, columns: int) -> Launch:
    """Return the launch that transposes [rows, columns] of each image."""
    values = {"x": x, "y": y, "rows": rows, "columns": columns}
    groups = (-(-columns // TILE), -(-rows // TILE), images)
    return launch("circulant_rows", "circulant_transpose", x.memory, groups, values)


# the same by NumPy


def gathered(c: Convolution, x: np.ndarray) -> np.ndarray:
    """Return im2col of images, [images, weights of a filter, positions]."""
    padded = c.pad(x)
    met = [c.get_tap_view(padded, tap).reshape(len(x), c.shape[1], 1, c.positions) for tap in c.all_taps()]
    return np.concatenate(met, axis=2).reshape(len(x), c.depth, c.positions)


def scattered(c: Convolution, columns: np.ndarray) -> np.ndarray:
    """Return the images that col2im of [images, weights of a filter, positions] adds up."""
    padded = c.pad(np.zeros((len(columns), *c.shape[1:])))
    by_tap = columns.reshape(len(columns), c.shape[1], c.taps, c.positions)
    for number, tap in enumerate(c.all_taps()):
        met = c.get_tap_view(padded, tap)
        met += by_tap[:, :, number].reshape(met.shape)
    return c.inside(padded, c.shape)


def to_rows(maps: np.ndarray) -> np.ndarray:
    """Return [images, values, positions] as vectors [images · positions, values]."""
    return maps.swapaxes(1, 2).reshape(-1, maps.shape[1])


def from_rows(rows: np.ndarray, images: int) -> np.ndarray:
    """Return the vectors of images as [images, values, positions]."""
    return rows.reshape(images, -1, rows.shape[-1]).swapaxes(1, 2)
