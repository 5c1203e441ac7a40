"""DNNMark's configuration files (DNNMark 2017, listings 1 and 2; keywords and defaults: its core/include).

Composed: layers follow one another by `previous_layer`. Standalone: each layer is looked at alone, with the gradient of
its input too. Layers have no biases, as DNNMark's have none. Pooling windows are counted as cuDNN counts them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpusim.base.errors import UserError, unknown_name
from workloads.circulant import BLOCKS
from workloads.networks.described import MAX_BATCH, MAX_INPUT, MAX_LAYERS, LayerDescription, NetworkDescription
from workloads.shapes import Shape

GENERAL = "DNNMark"
DATA = ("name", "n", "c", "h", "w", "previous_layer")
NO_LAYER = "null"
# they choose among cuDNN's algorithms and what it keeps, of which there is nothing here
CHOICES_OF_CUDNN = {
    "algo": None,
    "algod": None,
    "conv_fwd_pref": ("no_workspace", "fastest", "specify_workspace_limit"),
    "conv_bwd_filter_pref": ("no_workspace", "fastest", "specify_workspace_limit"),
    "conv_bwd_data_pref": ("no_workspace", "fastest", "specify_workspace_limit"),
    "softmax_algo": ("accurate", "fast"),
    "save_intermediates": ("true", "false"),
    "io_enabled": ("true", "false"),
}


@dataclass
class DnnmarkSection:
    """A section of the file."""

    name: str
    """Name of the section."""
    line: int
    """Its line in the file."""
    words: dict[str, str] = field(default_factory=dict)
    """Values by keyword."""


class SectionReader:
    """Reads the values of a section by keyword; an error names the layer and the keyword."""

    def __init__(self, where: str, words: Mapping[str, str]) -> None:
        self.where, self.words = where, words

    def whole(self, word: str, default: int | None = None) -> int:
        """Return the value of keyword `word` as a whole number."""
        return int(self._number(word, default, int, "a whole number"))

    def number(self, word: str, default: float) -> float:
        """Return the value of keyword `word` as a number."""
        return float(self._number(word, default, float, "a number"))

    def one_of(self, word: str, meanings: Mapping[str, Any], default: str) -> Any:
        """Return the meaning of the value of keyword `word`, which has to be a key of `meanings`."""
        value = self.words.get(word, default)
        if value not in meanings:
            raise UserError(f"{self.where}: {word}: {unknown_name('value', value, meanings)}")
        return meanings[value]

    def pair(self, word: str, default: int) -> list[int]:
        """Return a value for rows and one for columns: `word` gives both, `word_h` and `word_w` one each."""
        both = self.whole(word, default)
        return [self.whole(f"{word}_{side}", both) for side in "hw"]

    def _number(self, word: str, default: float | None, kind: Callable[[str], float], what: str) -> float:
        if word not in self.words:
            if default is None:
                raise UserError(f"{self.where}: {word} is required but missing")
            return default
        try:
            return kind(self.words[word])
        except ValueError:
            raise UserError(f"{self.where}: {word}: {self.words[word]!r} is not allowed: must be {what}") from None


Reader = Callable[[SectionReader], tuple[str, dict[str, Any]]]


def _windows(words: SectionReader, kernel: int, padding: int, stride: int) -> dict[str, Any]:
    return {
        "kernel": words.pair("kernel_size", kernel),
        "padding": words.pair("pad", padding),
        "stride": words.pair("stride", stride),
    }


def _convolution(words: SectionReader) -> tuple[str, dict[str, Any]]:
    # a convolution is a cross-correlation with the filters turned round: the same shapes, work and accesses
    words.one_of("conv_mode", {"convolution": 1, "cross_correlation": 1}, "cross_correlation")
    propagation = words.one_of("propagation", {"true": True, "false": False}, "true")
    values = {"filters": words.whole("num_output", 32), **_windows(words, 5, 2, 1)}
    return "convolution", {**values, "bias": False, "propagation": propagation}


def _pooling(words: SectionReader) -> tuple[str, dict[str, Any]]:
    modes: dict[str, tuple[str, dict[str, bool]]] = {
        "max": ("max_pool", {}),
        "avg": ("average_pool", {}),
        "avg_include_padding": ("average_pool", {"counts_padding": True}),
        "avg_exclude_padding": ("average_pool", {}),
    }
    kind, values = words.one_of("pool_mode", modes, "max")
    return kind, {**values, **_windows(words, 3, 0, 2)}


def _lrn(words: SectionReader) -> tuple[str, dict[str, Any]]:
    words.one_of("lrn_mode", {"cross_channel_dim1": 1}, "cross_channel_dim1")
    values = {"alpha": words.number("alpha", 1e-4), "beta": words.number("beta", 0.75), "k": words.number("k", 2.0)}
    return "lrn", {"size": words.whole("local_size", 5), **values}


def _activation(words: SectionReader) -> tuple[str, dict[str, Any]]:
    return words.one_of("activation_mode", {name: name for name in ("relu", "sigmoid", "tanh")}, "relu"), {}


def _softmax(words: SectionReader) -> tuple[str, dict[str, Any]]:
    words.one_of("softmax_mode", {"channel": 1}, "channel")
    return "softmax", {}


def _batch_norm(words: SectionReader) -> tuple[str, dict[str, Any]]:
    mode = words.one_of("batchnorm_mode", {name: name for name in ("per_activation", "spatial")}, "per_activation")
    momentum, epsilon = words.number("exp_avg_factor", 1.0), words.number("epsilon", 1e-5)
    return "batch_norm", {"mode": mode, "momentum": momentum, "epsilon": epsilon}


def _dropout(words: SectionReader) -> tuple[str, dict[str, Any]]:
    return "dropout", {"probability": words.number("dropout_probability", 0.5), "seed": words.whole("random_seed", 0)}


def _circulant(words: SectionReader) -> tuple[str, dict[str, Any]]:
    flow = words.one_of("optimized", {"NO": "baseline", "O1": "o1_sum", "O2": "o2_sum", "KF": "fused"}, "KF")
    block = int(words.one_of("block_size", {str(block): block for block in BLOCKS}, "32"))
    return "block_circulant", {"outputs": words.whole("num_output", 4096), "block": block, "flow": flow, "bias": False}


_WINDOW_WORDS = tuple(word + side for word in ("kernel_size", "pad", "stride") for side in ("", "_h", "_w"))
_CONVOLUTION_WORDS = (
    "conv_mode",
    "num_output",
    "propagation",
    *_WINDOW_WORDS,
    "algo",
    "algod",
    "conv_fwd_pref",
    "conv_bwd_filter_pref",
    "conv_bwd_data_pref",
)
# section: its keywords beside DATA, and what makes a layer of them
SECTIONS: Mapping[str, tuple[tuple[str, ...], Reader | None]] = {
    GENERAL: (("run_mode", "io_enabled"), None),
    "Convolution": (_CONVOLUTION_WORDS, _convolution),
    "Pooling": (("pool_mode", *_WINDOW_WORDS), _pooling),
    "LRN": (("lrn_mode", "local_size", "alpha", "beta", "k"), _lrn),
    "Activation": (("activation_mode",), _activation),
    "FullyConnected": (
        ("num_output",),
        lambda words: ("fully_connected", {"outputs": words.whole("num_output", 4096), "bias": False}),
    ),
    "BCMFullyConnected": (("num_output", "block_size", "optimized"), _circulant),
    "Softmax": (("softmax_algo", "softmax_mode"), _softmax),
    "BatchNorm": (("batchnorm_mode", "save_intermediates", "exp_avg_factor", "epsilon"), _batch_norm),
    "Dropout": (("dropout_probability", "random_seed"), _dropout),
    "Bypass": ((), lambda words: ("bypass", {})),
}


def read_dnnmark(text: str, source: str) -> NetworkDescription:
    """Read the network of a configuration file.

    Args:
        text: The file's text.
        source: Where it comes from, for errors.

    Raises:
        UserError: A line, layer or keyword is wrong; the message names it.
    """
    sections = _sections(text, source)
    general = [section for section in sections if section.name == GENERAL]
    drawn = [section for section in sections if section.name != GENERAL]
    if len(drawn) > MAX_LAYERS:
        raise UserError(f"{source}: {len(drawn)} layers; a network has at most {MAX_LAYERS}")
    modes = {"standalone": True, "composed": False}
    words = {key: value for section in general for key, value in section.words.items()}
    if "run_mode" not in words:
        raise UserError(f"{source}: [{GENERAL}]: run_mode is required but missing (allowed: {', '.join(modes)})")
    alone = SectionReader(f"{source}: [{GENERAL}]", words).one_of("run_mode", modes, "composed")
    starts = [s for s in drawn if alone or s.words.get("previous_layer", NO_LAYER) == NO_LAYER]
    inputs: dict[str, Shape] = {}
    layers: list[LayerDescription] = []
    batches: dict[str, int] = {}
    for section in drawn:
        name = section.words.get("name") or f"layer{len(layers) + 1}"
        at = SectionReader(f"{source}: layer '{name}'", section.words)
        before = section.words.get("previous_layer", NO_LAYER)
        if section in starts:
            before = "data" if len(starts) == 1 else f"data.{name}"
            batches[name], inputs[before] = _data(at)
        make = SECTIONS[section.name][1]
        assert make is not None  # the general section is none of these
        kind, values = make(at)
        layers.append(LayerDescription(name, kind, (before,), values))
    if len(set(batches.values())) > 1:
        said = ", ".join(f"{n} of '{name}'" for name, n in batches.items())
        raise UserError(f"{source}: n: {said}: the batch must be the same for all")
    used = sorted({word for section in sections for word in section.words if word in CHOICES_OF_CUDNN})
    remarks = (f"without effect, since they choose what cuDNN does: {', '.join(used)}",) if used else ()
    batch = next(iter(batches.values()), None)
    return NetworkDescription(_stem(source), source, inputs, tuple(layers), batch, alone, remarks=remarks)


def _data(words: SectionReader) -> tuple[int, Shape]:
    """Return the batch and an image's shape, as a layer without a previous layer gives them."""
    for word, most in (("n", MAX_BATCH), ("c", MAX_INPUT), ("h", MAX_INPUT), ("w", MAX_INPUT)):
        if not 1 <= words.whole(word) <= most:
            raise UserError(f"{words.where}: {word}: {words.whole(word)} is not allowed: must be from 1 to {most}")
    return words.whole("n"), (words.whole("c"), words.whole("h"), words.whole("w"))


def _sections(text: str, source: str) -> list[DnnmarkSection]:
    sections: list[DnnmarkSection] = []
    for number, line in enumerate(text.splitlines(), 1):
        line, where = line.strip(), f"{source}:{number}"
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            name = line[1:-1] if line.endswith("]") else line[1:]
            if name not in SECTIONS:
                raise UserError(f"{where}: {unknown_name('section', name, SECTIONS)}")
            sections.append(DnnmarkSection(name, number))
            continue
        word, equals, value = (part.strip() for part in line.partition("="))
        if not sections or not equals:
            raise UserError(f"{where}: {line[:80]!r}: expected [section], and in it keyword=value")
        _enter(sections[-1], word, value, where)
    return sections


def _enter(section: DnnmarkSection, word: str, value: str, where: str) -> None:
    known = SECTIONS[section.name][0] + (() if section.name == GENERAL else DATA)
    if word not in known:
        raise UserError(f"{where}: [{section.name}]: {unknown_name('keyword', word, known)}")
    if word in section.words:
        raise UserError(f"{where}: [{section.name}]: {word} is given twice")
    choices = CHOICES_OF_CUDNN.get(word)
    if choices is not None and value not in choices:
        raise UserError(f"{where}: [{section.name}]: {word}: {unknown_name('value', value, choices)}")
    section.words[word] = value


def _stem(source: str) -> str:
    return source.replace("\\", "/").rpartition("/")[2].rpartition(".")[0] or source
