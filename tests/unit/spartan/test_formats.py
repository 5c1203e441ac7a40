"""Does the engine make what each format's statement in NumPy says, and does the statement keep the matrix?"""

import numpy as np
import pytest

from gpusim.base.jit import JIT_DISABLED
from isa.region import SparseRegion
from spartan.engine_spec import ON_WRITE, EngineSpec
from spartan.formats import FORMATS, FormatError, state_matrix
from spartan.sib_layout import sib_layout
from tests.unit.spartan.engine_harness import Bench, naive_image

ROWS = 100 if JIT_DISABLED else 700
SMALL = EngineSpec(
    sib_kib=1, entry_sizes=((65536, 32),), prefetch_buffer_kib=0.25, outstanding_columns=2, reads_in_flight=4
)


def drawn(name: str, seed: int, rows: int = ROWS, columns: int = 5) -> tuple[np.ndarray, np.ndarray | None]:
    """A seeded matrix that fits a format, with lines of zeros, and the list that the format needs."""
    draw = np.random.default_rng(seed)
    values = draw.normal(size=(rows, columns)).astype(np.float32)
    values[draw.random(values.shape) < (0.1, 0.5, 0.95)[seed % 3]] = 0
    values[np.repeat(draw.random((-(-rows // 16), columns)) < 0.4, 16, axis=0)[:rows]] = 0
    if ":" in name:
        kept, window = (int(part) for part in name.split(":"))
        padded = np.pad(values, ((0, -rows % window), (0, 0))).reshape(-1, window, columns)
        padded[np.cumsum(padded != 0, axis=1) > kept] = 0
        values = padded.reshape(-1, columns)[:rows]
    listed = draw.random(-(-rows // 16)) < 0.3 if FORMATS[name].listed else None
    return values, listed


def stated(name: str, values: np.ndarray, listed: np.ndarray | None) -> np.ndarray:
    """The matrix that a packed one stands for, read back by the format's definition, line after line."""
    rows, columns = values.shape
    leading = -(-rows // 16) * 16
    dense = np.zeros((columns, leading), np.float32)
    dense[:, :rows] = values.T
    packed = state_matrix(name, dense.ravel(), rows, leading, listed)
    image, out = packed.image.reshape(columns, leading), np.zeros((columns, leading), np.float32)
    for column in range(columns):
        words = image[column, : 16 * packed.lines[column]]
        if packed.numbers is not None:
            numbers = packed.numbers.reshape(columns, -1)[column]
            for line, number in enumerate(numbers[: packed.lines[column]]):
                out[column, 16 * number :][:16] += words[16 * line :][:16].view(np.float32)
        elif name == "bitmap":
            at = 0
            while at < len(words) and words[at] & 0xFFFF:
                set_ = [k for k in range(16) if words[at] >> k & 1]
                halves = words[at + 1 :][: -(-len(set_) // 2)].astype("<u4").view(np.float16)
                out[column, [16 * (words[at] >> 16) + k for k in set_]] = halves[: len(set_)]
                at += 1 + -(-len(set_) // 2)
        else:
            for word in words:
                out[column, word >> 16] += np.uint16(word & 0xFFFF).view(np.float16)
    return out[:, :rows].T


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("seed", range(3))
def test_a_statement_keeps_the_matrix(name: str, seed: int) -> None:
    values, listed = drawn(name, seed)
    expected = values if FORMATS[name].numbered else values.astype(np.float16).astype(np.float32)
    if listed is not None:
        expected = np.where(np.repeat(listed, 16)[: len(values), None], expected, 0)
    np.testing.assert_array_equal(stated(name, values, listed), expected)


def test_the_statement_of_bundles_is_the_plain_packing() -> None:
    values, _ = drawn("ellpack_dib", 1)
    values[5, 1], values[7, 2], values[8, 2], values[9, 2] = np.nan, 1e6, 1e-9, -0.0
    leading = -(-ROWS // 16) * 16
    dense = np.zeros((values.shape[1], leading), np.float32)
    dense[:, :ROWS] = values.T
    packed, (image, lines) = state_matrix("ellpack_dib", dense.ravel(), ROWS, leading), naive_image(values, leading)
    np.testing.assert_array_equal(packed.image, image)
    np.testing.assert_array_equal(packed.lines, lines)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("spec", [EngineSpec(), SMALL], ids=["default", "small"])
def test_the_engine_makes_what_the_statement_says(name: str, spec: EngineSpec) -> None:
    for seed in (1,) if JIT_DISABLED else range(3):
        (first, one), (second, other) = drawn(name, seed), drawn(name, seed + 3, 90, 2)
        listed = () if one is None or other is None else (one, other)
        bench = Bench([first, second], spec, seed=1 + seed, format=name, listed=listed)
        draw = np.random.default_rng(seed)
        script = [(int(c), line, 0) for c in range(5) for line in range(0, -(-ROWS // 16), 1 + int(draw.integers(3)))]
        script += [(c, line, 1) for c in (1, 0, 1) for line in range(6)]
        order = draw.permutation(len(script)) if seed else np.arange(len(script))
        bench.run([script[n] for n in order[: 20 if JIT_DISABLED else 200]])


def test_lines_that_are_not_on_the_list_are_never_read() -> None:
    values, listed = drawn("listed_lines", 1)
    assert listed is not None
    bench = Bench([values], format="listed_lines", listed=(listed,))
    counters = bench.run([(0, line) for line in range(int(listed.sum()) + 1)])
    assert {line for _, _, line in bench.reads()} == set(np.flatnonzero(listed).tolist())
    assert counters["hasty"] == 0 and counters["past_end"] == 1


def test_more_non_zeros_than_a_window_keeps_are_refused() -> None:
    dense = np.zeros(32, np.float32)
    dense[20:23] = 1
    with pytest.raises(FormatError, match=r"rows 20 to 23 of column 0 have more than 2 non-zeros .* 2 of 4"):
        state_matrix("2:4", dense, 32, 32)


def test_numbers_of_lines_are_refused_where_lines_lie_compacted() -> None:
    with pytest.raises(ValueError, match="keeps no numbers of lines, which format gathered_lines has; allowed"):
        sib_layout(EngineSpec(compact=ON_WRITE), [SparseRegion(4096, 64, 1, 64, "gathered_lines")])


@pytest.mark.skipif(not JIT_DISABLED, reason="a unit's function is replaced, which compiled code does not notice")
def test_a_format_is_a_row_and_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """A format of pairs of neighbours, added by a row with its statement and by what a unit does."""
    import spartan.compaction
    from gpusim.base.jit import ld_u32
    from spartan import formats

    def pairs(lines: formats.Lines) -> tuple[np.ndarray, np.ndarray]:
        set_ = lines.words.reshape(*lines.words.shape[:2], 8, 2).any(axis=3)
        return lines.words, np.repeat(set_, 2, axis=2)

    def select(m, code, address, location, elements):
        words = [ld_u32(address, k) if k < elements else 0 for k in range(16)]
        m.engine.unit_bundles[:] = words
        return sum(3 << k for k in range(0, 16, 2) if words[k] or words[k + 1])

    monkeypatch.setitem(FORMATS, "pairs", formats.CompactionFormat(99, "pairs of neighbours, not both zero", pairs))
    monkeypatch.setattr(spartan.compaction, "select_words", select)
    values, _ = drawn("bitmap", 1)
    Bench([values], SMALL, format="pairs").run([(c, line) for c in range(2) for line in range(4)])
