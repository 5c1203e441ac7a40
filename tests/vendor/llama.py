"""llama.cpp on the simulated GPU, as Debian packages it: a model with made-up weights, its benchmark, its own tests.

    python -m tests.vendor.llama model FILE [--blocks N] [--type q4_0]

writes a model file of Llama 2 7B's shape, of so many blocks. The packages: tests.vendor.packages.LLAMA.
"""

import struct
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ALIGNMENT = 32  # of tensors in the file
# numbers of types in the file format, and of a block of so many weights the bytes
_UINT32, _FLOAT32, _STRING = 4, 6, 8
TYPES = {"f32": (0, 1, 4), "f16": (1, 1, 2), "q4_0": (2, 32, 18), "q8_0": (8, 32, 34)}
MAGNITUDE = 0.01  # of weights, about


@dataclass(frozen=True)
class Shape:
    """The shape of a model of Llama's architecture; that of Llama 2 7B (Touvron 2023) but for its blocks and words."""

    blocks: int = 1
    hidden: int = 4096
    width: int = 11008
    heads: int = 32
    key_heads: int = 32
    words: int = 256
    context: int = 4096

    @property
    def block_parameters(self) -> int:
        """Weights of the matrices of a block."""
        keys = self.hidden * self.key_heads // self.heads
        return self.hidden * (2 * self.hidden + 2 * keys + 3 * self.width)

    def tensors(self, kind: str) -> Iterator[tuple[str, tuple[int, ...], str]]:
        """Yield names, sizes (the contiguous one first) and types; matrices are of `kind`."""
        keys = self.hidden * self.key_heads // self.heads
        yield "token_embd.weight", (self.hidden, self.words), kind
        yield "output_norm.weight", (self.hidden,), "f32"
        yield "output.weight", (self.hidden, self.words), kind
        for number in range(self.blocks):
            block = f"blk.{number}."
            yield block + "attn_norm.weight", (self.hidden,), "f32"
            for name, rows in (("q", self.hidden), ("k", keys), ("v", keys), ("output", self.hidden)):
                yield f"{block}attn_{name}.weight", (self.hidden, rows), kind
            yield block + "ffn_norm.weight", (self.hidden,), "f32"
            yield block + "ffn_gate.weight", (self.hidden, self.width), kind
            yield block + "ffn_up.weight", (self.hidden, self.width), kind
            yield block + "ffn_down.weight", (self.width, self.hidden), kind


def _text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def _facts(shape: Shape) -> Iterator[bytes]:
    counts = {
        "context_length": shape.context, "embedding_length": shape.hidden, "block_count": shape.blocks,
        "feed_forward_length": shape.width, "attention.head_count": shape.heads,
        "attention.head_count_kv": shape.key_heads, "rope.dimension_count": shape.hidden // shape.heads,
        "vocab_size": shape.words,
    }  # fmt: skip
    for key, value in (("general.architecture", "llama"), ("tokenizer.ggml.model", "no_vocab")):
        yield _text(key) + struct.pack("<I", _STRING) + _text(value)
    for key, count in counts.items():
        yield _text(f"llama.{key}") + struct.pack("<II", _UINT32, count)
    yield _text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", _FLOAT32, 1e-5)


def _weights(random: np.random.Generator, count: int, kind: str) -> bytes:
    """Return made-up weights in the file's form: norms are 1, matrices about MAGNITUDE."""
    _, together, size = TYPES[kind]
    if kind == "f32":
        return np.ones(count, np.float32).tobytes()
    if kind == "f16":
        return (MAGNITUDE * random.standard_normal(count, np.float32)).astype(np.float16).tobytes()
    blocks = random.integers(0, 256, (count // together, size), np.uint8)
    scale = np.array([MAGNITUDE / (8 if kind == "q4_0" else 127)], np.float16)
    blocks[:, :2] = scale.view(np.uint8)
    return blocks.tobytes()


def write_model(path: Path, shape: Shape, kind: str = "q4_0", seed: int = 1) -> None:
    """Write a model with made-up weights in the GGUF format, version 3 (ggml's docs/gguf.md); without a vocabulary."""
    random = np.random.default_rng(seed)
    facts, tensors = list(_facts(shape)), list(shape.tensors(kind))
    heads, offset = b"", 0
    for name, sizes, held in tensors:
        number, together, size = TYPES[held]
        heads += _text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, number, offset)
        offset += -(-(int(np.prod(sizes)) // together * size) // ALIGNMENT) * ALIGNMENT
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(facts)) + b"".join(facts) + heads)
        for _, sizes, held in tensors:
            file.write(b"\0" * (-file.tell() % ALIGNMENT))
            file.write(_weights(random, int(np.prod(sizes)), held))


def main() -> None:
    """Write a model as the command line asks."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["model"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--blocks", type=int, default=1)
    parser.add_argument("--type", choices=[name for name in TYPES if name != "f32"], default="q4_0")
    asked = parser.parse_args()
    write_model(asked.file, Shape(asked.blocks), asked.type)


if __name__ == "__main__":
    main()
