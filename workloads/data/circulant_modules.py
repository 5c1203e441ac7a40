"""PyTorch layers whose weights are blocks of circulant matrices (Dong 2020, chapter 7); imports PyTorch.

The dense weights are gathered from the free ones, so that PyTorch's products and gradients are those of equations 7.1
to 7.3, and nothing here transforms anything.
"""

import torch
from torch import nn


class _Blocks(nn.Module):
    """Free weights of a matrix of `rows` by `columns`, in blocks of `block` by `block`."""

    places: torch.Tensor

    def __init__(self, rows: int, columns: int, block: int) -> None:
        super().__init__()
        for name, size in (("rows", rows), ("columns", columns)):
            if size % block:
                raise ValueError(f"a matrix of {size} {name} has no whole blocks of {block}")
        free = torch.empty(rows // block, columns // block, block)
        self.free = nn.Parameter(free.normal_(std=(2.0 / columns) ** 0.5))  # He: each sum has `columns` terms
        # A free weight stands in `block` places of the matrix. With the mean of their gradients, not the sum (equation
        # 7.2), a step of the same rate is the dense layer's step, projected onto circulant matrices.
        self.free.register_hook(lambda gradient: gradient / block)
        place = torch.arange(block)
        self.register_buffer("places", (place[:, None] - place) % block, persistent=False)

    def forward(self) -> torch.Tensor:
        """Return the matrix, [rows, columns]: block (i, j) has free[i, j, (row - column) mod block]."""
        p, q, block = self.free.shape
        return self.free[:, :, self.places].permute(0, 2, 1, 3).reshape(p * block, q * block)


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
    """A 3 x 3 convolution with bias that keeps its maps' size; blocks are of im2col's matrix, channel outermost."""

    def __init__(self, inputs: int, outputs: int, block: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.blocks = _Blocks(outputs, 9 * inputs, block)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Convolve [images, inputs, h, w] to [images, outputs, h, w]."""
        weights = self.blocks().reshape(-1, self.inputs, 3, 3)
        return nn.functional.conv2d(maps, weights, self.bias, padding=1)
