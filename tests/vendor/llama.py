"""llama.cpp on the simulated GPU, as Debian packages it: a model with made-up weights, its benchmark, its own tests.

    python -m tests.vendor.llama model FILE [--blocks N] [--type q4_0]
    python -m tests.vendor.llama gemma FILE [--blocks N]

writes a model file of Llama 2 7B's shape, of so many blocks, or of Gemma 3 1B's as quantised for IQ1_S. The packages:
tests.vendor.packages.LLAMA.
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
TYPES = {
    **{"f32": (0, 1, 4), "f16": (1, 1, 2), "q4_0": (2, 32, 18), "q8_0": (8, 32, 34)},
    **{"iq1_s": (19, 256, 50), "iq4_nl": (20, 32, 18)},
}
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
    architecture = "llama"

    @property
    def counts(self) -> dict[str, int]:
        """What the file says of the architecture, in its words."""
        return {
            "context_length": self.context, "embedding_length": self.hidden, "block_count": self.blocks,
            "feed_forward_length": self.width, "attention.head_count": self.heads,
            "attention.head_count_kv": self.key_heads, "rope.dimension_count": self.hidden // self.heads,
            "vocab_size": self.words,
        }  # fmt: skip

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


@dataclass(frozen=True)
class Gemma:
    """Gemma 3 1B (Gemma Team 2025), whole, its matrices in the types that llama.cpp's quantisation for IQ1_S gives.

    IQ1_S takes rows of 256 weights and their multiples: where there are none it takes IQ4_NL, and for the words, which
    are the output's matrix too, Q8_0 (llama.cpp, `llama_tensor_get_type`).
    """

    blocks: int = 26
    hidden: int = 1152
    width: int = 6912
    heads: int = 4
    head: int = 256
    words: int = 262144
    architecture = "gemma3"

    @property
    def counts(self) -> dict[str, int]:
        """What the file says of the architecture, in its words."""
        return {
            "context_length": 32768, "embedding_length": self.hidden, "block_count": self.blocks,
            "feed_forward_length": self.width, "attention.head_count": self.heads, "attention.head_count_kv": 1,
            "attention.key_length": self.head, "attention.value_length": self.head, "attention.sliding_window": 512,
            "rope.dimension_count": self.head, "vocab_size": self.words,
        }  # fmt: skip

    @property
    def block_parameters(self) -> int:
        """Weights of the matrices of a block."""
        return self.hidden * (2 * self.heads * self.head + 2 * self.head + 3 * self.width)

    def tensors(self, kind: str) -> Iterator[tuple[str, tuple[int, ...], str]]:
        """Yield names, sizes (the contiguous one first) and types."""
        queries = self.heads * self.head
        yield "token_embd.weight", (self.hidden, self.words), "q8_0"
        yield "output_norm.weight", (self.hidden,), "f32"
        for number in range(self.blocks):
            block = f"blk.{number}."
            for name in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
                yield f"{block}{name}.weight", (self.hidden,), "f32"
            for name in ("q", "k"):
                yield f"{block}attn_{name}_norm.weight", (self.head,), "f32"
            for name, sizes in (
                ("attn_q", (self.hidden, queries)), ("attn_k", (self.hidden, self.head)),
                ("attn_v", (self.hidden, self.head)), ("attn_output", (queries, self.hidden)),
                ("ffn_gate", (self.hidden, self.width)), ("ffn_up", (self.hidden, self.width)),
                ("ffn_down", (self.width, self.hidden)),
            ):  # fmt: skip
                yield f"{block}{name}.weight", sizes, kind if sizes[0] % TYPES[kind][1] == 0 else "iq4_nl"


def _text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def _facts(shape: Shape | Gemma) -> Iterator[bytes]:
    for key, value in (("general.architecture", shape.architecture), ("tokenizer.ggml.model", "no_vocab")):
        yield _text(key) + struct.pack("<I", _STRING) + _text(value)
    for key, count in shape.counts.items():
        yield _text(f"{shape.architecture}.{key}") + struct.pack("<II", _UINT32, count)
    yield _text(f"{shape.architecture}.attention.layer_norm_rms_epsilon") + struct.pack("<If", _FLOAT32, 1e-5)


def _weights(random: np.random.Generator, count: int, kind: str) -> bytes:
    """Return made-up weights in the file's form: norms are 1, matrices about MAGNITUDE."""
    _, together, size = TYPES[kind]
    if kind == "f32":
        return np.ones(count, np.float32).tobytes()
    if kind == "f16":
        return (MAGNITUDE * random.standard_normal(count, np.float32)).astype(np.float16).tobytes()
    blocks = random.integers(0, 256, (count // together, size), np.uint8)
    scale = np.array([MAGNITUDE / (127 if kind in ("q8_0", "iq4_nl") else 8)], np.float16)
    blocks[:, :2] = scale.view(np.uint8)
    return blocks.tobytes()


def write_model(path: Path, shape: Shape | Gemma, kind: str = "q4_0", seed: int = 1) -> None:
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
    parser.add_argument("what", choices=["model", "gemma"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--blocks", type=int)
    parser.add_argument("--type", choices=[name for name in TYPES if name != "f32"], default="q4_0")
    asked = parser.parse_args()
    if asked.what == "gemma":
        write_model(asked.file, Gemma(asked.blocks or Gemma.blocks), "iq1_s")
    else:
        write_model(asked.file, Shape(asked.blocks or 1), asked.type)


if __name__ == "__main__":
    main()
