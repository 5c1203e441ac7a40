"""What is known of launches from one run to the next: a file for each class of launch in a folder of the user's.

A file's name is a hash of all that decides a launch's time: the launch itself, the GPU, the simulator's sources. What
does not fit is not found, and a damaged file counts as missing. Launches whose time is decided by values that a network
made are not kept.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.base.files import folder, write_whole
from gpusim.core.facts import RunFacts
from gpusim.core.gpu_spec import GpuSpec
from gpusim.jit.cache import domain_hash
from gpusim.networks.launches import LaunchClass
from spartan.engine_spec import EngineSpec


class Kept:
    """A folder of facts of launches on one GPU; it is made if need be. Raises UserError where it cannot be written.

    engine_spec: serves launches with sparse regions.
    """

    def __init__(self, path: Path, gpu: GpuSpec, engine_spec: EngineSpec | None = None) -> None:
        folder(path)
        self._path = path
        simulator = [domain_hash("isa"), domain_hash("timing")]
        self._under = json.dumps([simulator, gpu.model_dump(mode="json")], sort_keys=True)
        self._engine = "" if engine_spec is None else engine_spec.model_dump_json()

    def get(self, one: LaunchClass) -> RunFacts | None:
        """The facts of a class of launches, if they are there."""
        with suppress(OSError, ValueError, TypeError, AttributeError):
            checksum, _, text = self._file(one).read_text(encoding="utf-8").partition("\n")
            if checksum == _checksum(text):
                return RunFacts.of(**json.loads(text))
        return None

    def put(self, one: LaunchClass, facts: RunFacts) -> None:
        """Keep the facts of a class of launches."""
        text = json.dumps(facts.sections)
        with suppress(UserError):  # a full disk costs no result
            write_whole(self._file(one), f"{_checksum(text)}\n{text}")

    def _file(self, one: LaunchClass) -> Path:
        engine = self._engine if one.regions else ""
        return self._path / f"{_checksum(self._under + engine + repr(one))[:32]}.json"


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
