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
    """A 3 x 3 convolution with bias that keeps its maps' size; blocks are of im2col's matrix.

    adjacent: what lies side by side in its rows, 'taps' of a channel, as im2col has them, or 'channels' of a tap.
    """

    def __init__(self, inputs: int, outputs: int, block: int, adjacent: str = "taps") -> None:
        super().__init__()
        self.inputs, self.adjacent = inputs, adjacent
        self.blocks = _Blocks(outputs, 9 * inputs, block)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Convolve [images, inputs, h, w] to [images, outputs, h, w]."""
        if self.adjacent == "channels":
            weights = self.blocks().reshape(-1, 3, 3, self.inputs).permute(0, 3, 1, 2)
        else:
            weights = self.blocks().reshape(-1, self.inputs, 3, 3)
        return nn.functional.conv2d(maps, weights, self.bias, padding=1)
