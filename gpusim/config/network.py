"""Networks from files: YAML of gpusim's own, DNNMark's configurations, ONNX, lists of matrix products.

They are told apart by suffix, then by content.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.check import checked
from gpusim.config.network_blocks import expanded
from gpusim.config.tree import ConfigTree
from workloads.networks.described import (
    MAX_BATCH,
    MAX_INPUT,
    MAX_LAYERS,
    MOST_INPUT_AXES,
    LayerDescription,
    NetworkDescription,
)
from workloads.networks.dnnmark import SECTIONS, read_dnnmark
from workloads.networks.gemm_list import read_gemm_list
from workloads.networks.graph import Network, build
from workloads.networks.kinds import KINDS
from workloads.shapes import Shape

NETWORK_FOLDER = "networks"
DNNMARK, GEMMS, ONNX, YAML = "DNNMark", "a list of products", "ONNX", "YAML"
_SUFFIXES = {".dnnmark": DNNMARK, ".csv": GEMMS, ".onnx": ONNX, ".yaml": YAML, ".yml": YAML}
_SECTION = re.compile(rb"\s*(?:#[^\n]*\n\s*)*\[(\w+)\]\s*(?:#[^\n]*)?(?:\n|$)")
_LAYER_KEYS = ("name", "kind", "inputs")


class NetworkFile(Spec):
    """The values of a YAML network besides those of its layers."""

    name: str | None = param(None, "in reports; none: the file's name", "user")
    input: Any = param(..., "an image's shape: [3, 227, 227], or one for each input by name", "the network")
    batch: int | None = param(None, "batch that the network is meant for; --batch decides", "user", ge=1, le=MAX_BATCH)
    input_gradients: bool = param(
        False, "training computes the gradients of the inputs too, as that of a layer within a network does", "user"
    )
    blocks: dict[str, Any] | None = param(None, "lists of layers by name, for entries of layers with block", "user")
    layers: list[dict[str, Any]] = param(
        ..., "each with name, kind, inputs (none: the layer before) and the kind's values", "the network",
        max_length=MAX_LAYERS,
    )  # fmt: skip


def load_network(given: files.Given, skip_unsupported: bool = False) -> Network:
    """Load a network by its file's path, a shipped one's name, or from a mapping like a YAML file's.

    Args:
        given: Path of a file, a shipped one's name, or a mapping.
        skip_unsupported: Leave out nodes of an ONNX file that no kind of layer has.

    Raises:
        UserError: The network cannot be read.
    """
    return build_network(_described(given, skip_unsupported))


def load_torch(text: str, input_shape: str | None, skip_unsupported: bool = False) -> Network:
    """Load the network that a function of the user's returns as PyTorch's module.

    Args:
        text: `module:function`.
        input_shape: Of an image, such as '3,224,224', where the function gives no example.
        skip_unsupported: Leave out what no kind of layer has.

    Raises:
        UserError: It cannot be imported, or has layers of no known kind.
    """
    from workloads.networks.torch_module import read_torch

    if input_shape is None:
        return build_network(read_torch(text, None, skip_unsupported))
    sizes = input_shape.split(",")
    if not all(size.strip().isascii() and size.strip().isdigit() for size in sizes):
        raise UserError(f"--input-shape {input_shape}: expected channels,rows,columns or features, such as 3,224,224")
    shape = _inputs("--input-shape", [int(size) for size in sizes])["input"]
    return build_network(read_torch(text, shape, skip_unsupported))


def build_network(described: NetworkDescription) -> Network:
    """Build the network with every layer's kind and values checked; raise UserError."""
    kinds = []
    for layer in described.layers:
        where = f"{described.source}: layer '{layer.name}'"
        if layer.kind not in KINDS:
            raise UserError(f"{where}: kind: {unknown_name('kind', layer.kind, KINDS)}")
        kinds.append(checked(KINDS[layer.kind], ConfigTree(dict(layer.values), {(): (where, ())})))
    return build(described, kinds)


def _described(given: files.Given, skip_unsupported: bool) -> NetworkDescription:
    if isinstance(given, str | Path):
        path = files.find(str(given), NETWORK_FOLDER)
        form, contents = _form(path)
        if form == ONNX:
            from workloads.networks.onnx_file import read_onnx

            return read_onnx(contents, str(path), skip_unsupported)
        if skip_unsupported:
            raise UserError(f"--skip-unsupported: belongs to ONNX files and --torch; {path} is {form}")
        if form == DNNMARK:
            return read_dnnmark(_text(path, contents), str(path))
        if form == GEMMS:
            return read_gemm_list(_text(path, contents), str(path))
        given = files.Document(path, files.read(path), [path])
    document = files.opened(given, NETWORK_FOLDER, "network")
    files.require(document, NETWORK_FOLDER)
    return _described_by_yaml(document)


def _form(path: Path) -> tuple[str, bytes]:
    """Return the language of a file, and its contents unless it is YAML."""
    form = _SUFFIXES.get(path.suffix.lower())
    if form == YAML:
        return form, b""
    try:
        with path.open("rb") as file:
            contents = file.read(files.MAX_BYTES + 1)
            if form is None:
                found = _SECTION.match(contents)
                binary = b"\0" in contents or (not contents.isascii() and not _is_text(contents))
                form = DNNMARK if found and found[1].decode() in SECTIONS else ONNX if binary else YAML
            if form == ONNX and not contents.startswith(b"\x7fELF"):
                contents += file.read()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    return (YAML if contents.startswith(b"\x7fELF") else form), contents  # the reader of YAML says what ELF is


def _is_text(contents: bytes) -> bool:
    try:
        contents[: files.MAX_BYTES - 4].decode("utf-8")
    except UnicodeDecodeError as error:
        return error.end >= len(contents)  # cut within a character
    return True


def _text(path: Path, contents: bytes) -> str:
    if len(contents) > files.MAX_BYTES:
        raise UserError(f"{path}: a configuration has at most {files.MAX_BYTES >> 10} KiB; this file has more")
    try:
        return contents.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: cannot be read: {error}") from None


def _described_by_yaml(document: files.Document) -> NetworkDescription:
    """Read the description in YAML's values; each layer reads the one before it where it names no inputs."""
    source = str(document.path)
    tree = ConfigTree(dict(document.data), {(): (source, ())})
    file = checked(NetworkFile, tree)
    inputs = _inputs(source, file.input)
    before, layers = next(iter(inputs)), []
    for number, values in enumerate(expanded(source, before, file.blocks or {}, file.layers)):
        name = values.get("name")
        if not isinstance(name, str) or not name:
            problem = "is required but missing" if name is None else f"{name!r} is not allowed: must be text"
            raise UserError(f"{source}: layers: number {number + 1}: name: {problem}")
        where = f"{source}: layer '{name}'"
        kind = values.get("kind")
        if not isinstance(kind, str):
            problem = "is required but missing" if kind is None else f"{kind!r} is not allowed"
            raise UserError(f"{where}: kind: {problem} (allowed: {', '.join(KINDS)})")
        read = values.get("inputs", before)
        read = [read] if isinstance(read, str) else read
        if not isinstance(read, list) or not all(isinstance(one, str) for one in read):
            raise UserError(f"{where}: inputs: must be the name of a layer or of an input, or a list of such names")
        rest = {key: value for key, value in values.items() if key not in _LAYER_KEYS}
        layers.append(LayerDescription(name, kind, tuple(read), rest))
        before = name
    name = file.name or document.path.stem
    return NetworkDescription(name, source, inputs, tuple(layers), file.batch, file.input_gradients)


def _inputs(source: str, given: Any) -> dict[str, Shape]:
    """Return names and shapes of the network's inputs; one without a name is called `input`."""
    named = given if isinstance(given, Mapping) else {"input": given}
    shapes = {}
    for name, shape in named.items():
        where = "input" if named is not given else f"input.{name}"
        whole = isinstance(shape, list) and all(isinstance(s, int) and not isinstance(s, bool) for s in shape)
        if not whole or not 1 <= len(shape) <= MOST_INPUT_AXES or not all(1 <= s <= MAX_INPUT for s in shape):
            raise UserError(
                f"{source}: {where}: {str(shape)[:80]} is not allowed: must be 1 to {MOST_INPUT_AXES} sizes, as"
                f" [channels, rows, columns] or [features], each from 1 to {MAX_INPUT}, without the batch"
            )
        shapes[name] = tuple(shape)
    if not shapes:
        raise UserError(f"{source}: input: a network needs at least one")
    return shapes
