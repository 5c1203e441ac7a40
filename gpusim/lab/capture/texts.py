"""Texts for the training of language models: files of a folder, as bytes."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpusim.base.errors import UserError

SUFFIXES = (".c", ".h", ".md", ".py", ".rst", ".txt")
TEST_SHARE = 10  # the last of so many parts is kept for tests
BYTES_MAX = 1 << 30


class TextError(UserError):
    """Texts are missing or too few; the message names the folder."""


@dataclass(frozen=True)
class TextSet:
    """Texts in one sequence."""

    name: str
    """Name of the folder or file."""
    sha256: str
    """SHA-256 of all names and contents."""
    train: np.ndarray
    """uint8 [bytes]: training text."""
    test: np.ndarray
    """uint8 [bytes]: test text."""


def load_texts(path: Path | str) -> TextSet:
    """Read a file, or the text files of a folder, without its subfolders, in the order of names; the last tenth is a
    test.

    Raise TextError, which names the folder.
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES and file.is_file())
    else:
        files = [path] if path.is_file() else []
    if not files:
        raise TextError(f"{path}: expected a text file, or a folder with files that end in {', '.join(SUFFIXES)}")
    if sum(file.stat().st_size for file in files) > BYTES_MAX:
        raise TextError(f"{path}: more than {BYTES_MAX >> 20} MiB of texts")
    digest, parts = hashlib.sha256(), []
    for file in files:
        content = file.read_bytes()
        digest.update(file.name.encode() + b"\0" + content)
        parts.append(np.frombuffer(content, np.uint8))
    held = np.concatenate(parts)
    border = len(held) - len(held) // TEST_SHARE
    return TextSet(path.name, digest.hexdigest(), held[:border], held[border:])
