"""PyTorch layers whose weights are blocks of circulant matrices (Dong 2020, chapter 7); imports PyTorch.

The dense weights are gathered from the free ones, so that PyTorch's products and gradients are those of equations 7.1
to 7.3, and nothing here transforms anything.
"""

import torch
from torch import nn


class _Blocks(nn.Module):
    """Free weights of a matrix of `rows` by `columns`, in blocks of `block` by `block`."""

    def __init__(self, rows: int, columns: int, block: int) -> None:
        super().__init__()
        for name, size in (("rows", rows), ("columns", columns)):
            if size % block:
                raise ValueError(f"a matrix of {size} {name} has no whole blocks of {block}")
        free = torch.empty(rows // block, columns // block, block)
        self.free = nn.Parameter(free.normal_(std=(2.0 / columns) ** 0.5))  # He: each sum has `columns` terms
        # A free weight stands in `block` places of the matrix. At the dense layer's rate a step by the sum of their
        # gradients (equation 7.2) is too long: large blocks never learn. A step by their mean, the dense layer's
        # projected onto circulant matrices, is too short: 3 points of accuracy at 60 epochs. This lies between.
        self.free.register_hook(lambda gradient: gradient / block**0.5)

    def forward(self) -> torch.Tensor:
        """Return the matrix, [rows, columns]: block (i, j) has free[i, j, (row - column) mod block]."""
        p, q, block = self.free.shape
        backwards = self.free.flip(-1)  # row r of a block is the window of this ring that begins at block - 1 - r
        rows = torch.cat((backwards, backwards[..., :-1]), -1).unfold(-1, block, 1).flip(-2)
        return rows.permute(0, 2, 1, 3).reshape(p * block, q * block)


class CirculantLinear(nn.Module):
    """A fully connected layer with bias: [images, inputs] to [images, outputs]."""

    def __init__(self, inputs: int, outputs: int, block: int) -> None:
        super().__init__()
        self.blocks = _Blocks(outputs, inputs, block)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Multiply by the expanded weights, and add the bias."""
        return nn.functional.linear(maps, self.blocks(), self.bias)


class CirculantConvolution(nn.Module):
    """A convolution whose im2col matrix has circulant blocks, of the shape of a dense one."""

    def __init__(self, dense: nn.Conv2d, block: int, adjacent: str = "taps") -> None:
        """Take the shape of a dense convolution of one group, and zeros as its bias if it has one.

        Args:
            dense: The convolution whose place it takes.
            block: Side of a block.
            adjacent: What lies side by side in a row of the matrix: 'taps' of a channel, as im2col has them, or
                'channels' of a tap.
        """
        super().__init__()
        self.inputs, self.adjacent = dense.in_channels, adjacent
        self.kernel_size, self.stride, self.padding = dense.kernel_size, dense.stride, dense.padding
        self.blocks = _Blocks(dense.out_channels, matrix_columns(dense), block)
        self.bias = None if dense.bias is None else nn.Parameter(torch.zeros(dense.out_channels))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Convolve [images, inputs, h, w] to [images, outputs, h, w]."""
        if self.adjacent == "channels":
            weights = self.blocks().reshape(-1, *self.kernel_size, self.inputs).permute(0, 3, 1, 2)
        else:
            weights = self.blocks().reshape(-1, self.inputs, *self.kernel_size)
        return nn.functional.conv2d(maps, weights, self.bias, self.stride, self.padding)


def matrix_columns(dense: nn.Conv2d | nn.Linear) -> int:
    """Return the columns of a dense layer's matrix, of a convolution that of im2col."""
    if isinstance(dense, nn.Conv2d):
        return int(dense.in_channels * dense.kernel_size[0] * dense.kernel_size[1])
    return int(dense.in_features)


def replace_by_circulant(network: nn.Module, block: int, adjacent: str, convolutions: bool) -> list[str]:
    """Put circulant layers in the place of all dense ones but the first and the last that have whole blocks.

    The first layer reads three colours and the last one writes the classes: fewer than a block.

    Args:
        network: Changed in place.
        block: Side of a block.
        adjacent: What lies side by side in rows of convolutions' matrices: 'taps' or 'channels'.
        convolutions: Whether convolutions become circulant too, or fully connected layers alone.

    Returns:
        Names of the layers that became circulant.
    """
    dense = [(name, part) for name, part in network.named_modules() if isinstance(part, nn.Conv2d | nn.Linear)]
    replaced = []
    for name, layer in dense[1:-1]:
        rows = layer.out_channels if isinstance(layer, nn.Conv2d) else layer.out_features
        if rows % block or matrix_columns(layer) % block:
            continue
        if isinstance(layer, nn.Linear):
            network.set_submodule(name, CirculantLinear(layer.in_features, layer.out_features, block))
        elif convolutions:
            network.set_submodule(name, CirculantConvolution(layer, block, adjacent))
        else:
            continue
        replaced.append(name)
    return replaced
