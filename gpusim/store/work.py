"""What a run is asked for: equal work gives an equal result."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from gpusim.store.sources import sources_hash

Kind = Literal["run", "exec", "net", "hip", "microbench", "correlate"]


class NetworkRows(NamedTuple):
    """A network as stores describe it. identity: distinguishes it from all others; layers: name and kind of each, in
    order.
    """

    name: str
    source: str
    identity: str
    layers: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Work:
    """One run before it is run.

    title: for people; configuration: resolved, with all that decides the result; inputs: files that are read besides;
    gpu: its name; repeatable: False where something decides the result that no hash covers.
    """

    kind: Kind
    title: str
    configuration: Mapping[str, Any]
    inputs: Sequence[Path]
    gpu: str
    seed: int | None = None
    batch: int | None = None
    phase: str | None = None
    network: NetworkRows | None = None
    repeatable: bool = True

    @cached_property
    def configuration_json(self) -> str:
        """The configuration as it is stored: JSON with the keys in the order of the result's object."""
        return json.dumps(self.configuration, separators=(",", ":"), ensure_ascii=False)

    @cached_property
    def configuration_hash(self) -> str:
        """The hash of the configuration's JSON."""
        return _hash(self.configuration_json.encode())

    @cached_property
    def inputs_hash(self) -> str:
        """The hash of the input files' contents, in order; an unreadable file is left for the run to report."""
        return hash_of_files(self.inputs)

    @cached_property
    def identity(self) -> str:
        """A hash that is equal for equal work."""
        network = self.network.identity if self.network is not None else ""
        parts = (self.kind, self.configuration_hash, self.inputs_hash, sources_hash(), network)
        return _hash(repr(parts).encode())


def hash_of_files(files: Sequence[Path]) -> str:
    """Hash the contents of the files, in order; one that cannot be read counts as missing."""
    h = hashlib.sha256()
    for path in files:
        try:
            with path.open("rb") as file:
                h.update(hashlib.file_digest(file, "sha256").digest())
        except OSError:
            h.update(b"missing")
    return h.hexdigest()[:16]


def identity_of(*parts: Any) -> str:
    """Return a short hash of values whose `repr` describes them completely."""
    return _hash(repr(parts).encode())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
