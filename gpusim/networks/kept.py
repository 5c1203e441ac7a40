"""What is known of launches from one run to the next: a row for each class of launch in a store.

A row's key is a hash of all that decides a launch's time: the launch itself, the GPU, the simulator's sources. What
does not fit is not found, and a damaged row counts as missing. Launches whose time is decided by values that a network
made are not kept.
"""

import hashlib
import json
import zlib
from contextlib import suppress
from pathlib import Path

from gpusim.base.progress import current_reporter
from gpusim.core.facts import RunFacts
from gpusim.core.gpu_spec import GpuSpec
from gpusim.keeping.keeper import packed, unpacked
from gpusim.keeping.sources import SIMULATOR, sources_hash
from gpusim.networks.launches import LaunchClass
from gpusim.store.file import StoreError, errors, writable, writing
from spartan.engine_spec import EngineSpec


class Kept:
    """Facts of launches on one GPU in a store, which is made if need be. Raises StoreError where it cannot be written.

    fresh: nothing is found; engine_spec: serves launches with sparse regions.
    """

    def __init__(self, path: Path, gpu: GpuSpec, fresh: bool = False, engine_spec: EngineSpec | None = None) -> None:
        self._path, self._fresh = path, fresh
        self._connection = writable(path)
        self._under = json.dumps([sources_hash(SIMULATOR), gpu.model_dump(mode="json")], sort_keys=True)
        self._engine = "" if engine_spec is None else engine_spec.model_dump_json()

    def get(self, one: LaunchClass) -> RunFacts | None:
        """The facts of a class of launches, if they are there."""
        if self._fresh:
            return None
        with errors(self._path):
            sql = "SELECT facts FROM launch_classes WHERE key = ?"
            row = self._connection.execute(sql, [self._key(one)]).fetchone()
        with suppress(zlib.error, ValueError, TypeError, AttributeError):
            return RunFacts.of(**unpacked(row[0])) if row is not None else None
        return None

    def put(self, one: LaunchClass, facts: RunFacts) -> None:
        """Keep the facts of a class of launches; where the store takes no more, that costs no result."""
        try:
            with writing(self._connection, self._path) as db:
                row = (self._key(one), one.kernel, packed(facts.sections))
                db.execute("INSERT OR REPLACE INTO launch_classes VALUES (?, ?, ?)", row)
        except StoreError as error:
            current_reporter().say_once(f"gpusim: {error}; the run goes on")

    def close(self) -> None:
        """Nothing more is kept."""
        with errors(self._path):
            self._connection.close()

    def _key(self, one: LaunchClass) -> str:
        engine = self._engine if one.regions else ""
        return hashlib.sha256((self._under + engine + repr(one)).encode()).hexdigest()[:32]
