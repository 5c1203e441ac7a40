"""What is known of launches from one run to the next: a row for each class of launch in a store.

A row's key is a hash of all that decides a launch's facts: its class, the GPU, the sources that simulate a launch and
make it what it is. What does not fit is not found, and a damaged row counts as missing: an estimate for another error
is not taken either, so that a store changes no digit of a result. Launches whose time is decided by values that a
network made are not kept.
"""

import hashlib
import json
from pathlib import Path

from gpusim.jobs.networks.launches import LaunchClass
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.results.store.pieces import ResultCache
from gpusim.results.store.records import plain_facts, restored_facts
from gpusim.results.store.work import SIMULATOR, sources_hash
from spartan.engine_spec import EngineSpec

# what decides beside the simulator the time of a class: where its arrays lie, and what they hold
PLACING = tuple(f"gpusim/jobs/networks/{name}.py" for name in ("contents", "launches", "placement", "steps"))
SOURCES = (*SIMULATOR, *PLACING, "workloads/operators")


class LaunchCache:
    """Facts of launches on one GPU in a store, which is created if need be.

    Raises StoreError where it cannot be written.

    Args:
        fresh: Look up nothing.
        engine_spec: The engine for launches with sparse regions.
        perturbation: The draw of the machine.
    """

    def __init__(
        self,
        path: Path,
        gpu: GpuSpec,
        fresh: bool = False,
        engine_spec: EngineSpec | None = None,
        perturbation: int = 0,
    ) -> None:
        self._pieces = ResultCache(path, fresh)
        machine = gpu.model_dump(mode="json", exclude={"l1": {"bypass"}})  # which a class of launches says
        drawn = [perturbation] if perturbation else []
        self._under = json.dumps([sources_hash(SOURCES), machine, *drawn], sort_keys=True)
        self._engine = "" if engine_spec is None else engine_spec.model_dump_json()

    def get(self, one: LaunchClass) -> RunFacts | None:
        """Return the stored facts of a class of launches; None without them, and for a damaged row."""
        stored = self._pieces.get(self._key(one))
        return None if stored is None else restored_facts(stored)

    def put(self, one: LaunchClass, facts: RunFacts) -> None:
        """Store the facts of a class of launches; if the store cannot be written, the run goes on."""
        self._pieces.put(self._key(one), one.kernel, plain_facts(facts))

    def hold(self, one: LaunchClass) -> bool:
        """Hold a class of launches, to be simulated now, until `release`; return False while another process does."""
        return self._pieces.hold(self._key(one))

    def release(self, one: LaunchClass) -> None:
        """Let others simulate a class of launches."""
        self._pieces.release(self._key(one))

    def close(self) -> None:
        """Close the store; nothing can be stored after that."""
        self._pieces.close()

    def _key(self, one: LaunchClass) -> str:
        engine = self._engine if one.regions else ""
        return hashlib.sha256((self._under + engine + repr(one)).encode()).hexdigest()[:32]
