"""A small transformer over bytes that `gpusim capture` trains (needs PyTorch: import it only where it is used).

A decoder as in Radford et al. 2019 (normalisation before each part, learned positions), but with the ReLU of Vaswani
et al. 2017 in its feed-forward layers.
"""

import torch
from torch import nn

from gpusim.lab.capture.capture import FEED_FORWARD_WIDTH, TRANSFORMER_LAYERS, TRANSFORMER_WIDTH

BYTES = 256
HEADS = 4
CONTEXT = 128  # tokens
_DEVIATION = 0.02  # of initial weights (Radford et al. 2019)


class TransformerBlock(nn.Module):
    """Causal attention and a feed-forward layer, each with a shortcut."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.attention_norm, self.norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.first, self.second = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Map x [texts, tokens, width] to the same shape; return the feed-forward layer's activations as well."""
        texts, tokens, width = x.shape
        parts = self.queries(self.attention_norm(x)).view(texts, tokens, 3, HEADS, width // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.joined(seen.transpose(1, 2).reshape(texts, tokens, width))
        activations = torch.relu(self.first(self.norm(x)))
        return x + self.second(activations), activations


class LanguageModel(nn.Module):
    """Predicts the next byte of texts of at most CONTEXT bytes."""

    def __init__(self) -> None:
        super().__init__()
        width = TRANSFORMER_WIDTH
        self.tokens, self.positions = nn.Embedding(BYTES, width), nn.Embedding(CONTEXT, width)
        self.layers = [f"layer{number}" for number in range(1, TRANSFORMER_LAYERS + 1)]
        for name in self.layers:
            self.add_module(name, TransformerBlock(width, FEED_FORWARD_WIDTH))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, BYTES)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=_DEVIATION)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Map bytes [texts, tokens] to logits [texts, tokens, BYTES] and the mean sum of a token's activations."""
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        sums = []
        for name in self.layers:
            x, activations = self.get_submodule(name)(x)
            sums.append(activations.sum(-1).mean())
        return self.head(self.norm(x)), torch.stack(sums).mean()
