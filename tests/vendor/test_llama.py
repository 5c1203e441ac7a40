"""Is the made-up model a file as its format says, and is docs/results/llm.md what is kept of its runs?"""

import struct
from pathlib import Path

import numpy as np
import pytest

from docs._site.pages import renewed
from tests.vendor.llama import Shape, write_model
from tests.vendor.llm_page import PAGE, SECTIONS, kept_of

SMALL = Shape(blocks=2, hidden=64, width=96, heads=4, key_heads=2, words=32)
BYTES = {"f32": (0, 4.0), "f16": (1, 2.0), "q4_0": (2, 18 / 32), "q8_0": (8, 34 / 32)}  # number, bytes a weight


class Reader:
    """Reads a file from its front, as ggml's docs/gguf.md describes it."""

    def __init__(self, path: Path) -> None:
        self.data, self.place = path.read_bytes(), 0

    def take(self, form: str) -> tuple:
        found = struct.unpack_from("<" + form, self.data, self.place)
        self.place += struct.calcsize("<" + form)
        return found

    def text(self) -> str:
        (length,) = self.take("Q")
        self.place += length
        return self.data[self.place - length : self.place].decode()

    def value(self) -> object:
        (kind,) = self.take("I")
        return self.text() if kind == 8 else self.take({4: "I", 6: "f"}[kind])[0]


@pytest.mark.parametrize("kind", ["f16", "q4_0", "q8_0"])
def test_a_model_is_read_back(tmp_path: Path, kind: str) -> None:
    write_model(tmp_path / "model.gguf", SMALL, kind)
    reader = Reader(tmp_path / "model.gguf")
    assert reader.data[:4] == b"GGUF"
    reader.place = 4
    version, tensors, facts = reader.take("IQQ")
    held = {reader.text(): reader.value() for _ in range(facts)}
    assert version == 3 and held["llama.block_count"] == 2 and held["tokenizer.ggml.model"] == "no_vocab"
    end, parameters, found = 0, 0, []
    for _ in range(tensors):
        name, (axes,) = reader.text(), reader.take("I")
        sizes, (number, offset) = reader.take(f"{axes}Q"), reader.take("IQ")
        assert offset == -(-end // 32) * 32, name
        expected, size = BYTES["f32" if "norm" in name else kind]
        assert number == expected
        end = offset + int(np.prod(sizes) * size)
        parameters += int(np.prod(sizes)) if name.startswith("blk.") and "norm" not in name else 0
        found.append((name, number, offset, sizes))
    start = -(-reader.place // 32) * 32
    assert len(reader.data) == start + end and parameters == 2 * SMALL.block_parameters
    for _, number, offset, sizes in found:
        if number == 0:
            assert (np.frombuffer(reader.data, np.float32, int(np.prod(sizes)), start + offset) == 1).all()


def test_a_block_has_llama_2_s_weights() -> None:
    assert 32 * Shape().block_parameters + (2 * 32_000 + 1 + 2 * 32) * 4096 == 6_738_415_616


def test_the_page_is_what_is_kept() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == renewed(page, SECTIONS), "run python -m tests.vendor.llm_page"


def test_outputs_are_read() -> None:
    assert kept_of("tinygrad", "noise\n0.1234567\n0.2345678\n") == {"losses": ["0.1234567", "0.2345678"]}
    text = "  12/13 tests passed\nlaunches\tcycles\n18\t–\t–\t15,934,344\tquantize\n"
    assert kept_of("test-backend-ops", text)["passed"] == 12
