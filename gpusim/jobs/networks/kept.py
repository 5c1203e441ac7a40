"""What is known of launches from one run to the next: a row for each class of launch in a store.

A row's key is a hash of all that decides a launch's time: the launch itself, the GPU, the simulator's sources. What
does not fit is not found, and a damaged row counts as missing. Launches whose time is decided by values that a network
made are not kept.
"""

import hashlib
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from gpusim.jobs.networks.launches import LaunchClass
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.sampled import WHOLE, Sampling
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.results.store.pieces import ResultCache
from gpusim.results.store.records import plain_facts, restored_facts
from gpusim.results.store.work import SIMULATOR, sources_hash
from spartan.engine_spec import EngineSpec

_ASKED = "asked_error"  # of an estimate, beside its facts


class LaunchCache:
    """Facts of launches on one GPU in a store, which is created if need be. Raises StoreError where it cannot be
    written.

    fresh: look up nothing; engine_spec: of the engine for launches with sparse regions; perturbation: the draw of the
    machine.
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
        self._under = json.dumps([sources_hash(SIMULATOR), machine, *drawn], sort_keys=True)
        self._engine = "" if engine_spec is None else engine_spec.model_dump_json()

    def get(self, one: LaunchClass, sampling: SamplingSpec | None = None) -> RunFacts | None:
        """Return the stored facts of a class of launches; None without them. sampling: estimates that were made like
        this will do, also those that are less precise than was asked for, which another run would make again; and where
        workgroups may be passed over in part those that were made by whole ones.
        """
        whole, _ = self._found(self._key(one))
        if whole is not None and whole.sampling is not None:  # why it ran whole, for a run that samples
            why = None if sampling is None else replace(whole.sampling, confidence=sampling.confidence)
            whole = replace(whole, sampling=why)
        if whole is not None or sampling is None:
            return whole
        by_whole = [sampling.model_copy(update={"within": False})] if sampling.goes_within else []
        for made in (sampling, *by_whole):
            estimated, asked = self._found(self._key(one, made))
            again = made is sampling and asked is not None and asked <= sampling.error
            if estimated is not None and (again or _is_good(estimated, sampling)):
                return estimated
        return None

    def _found(self, key: str) -> tuple[RunFacts | None, float | None]:
        """Return stored facts, and the error that was asked for; None without them."""
        held = self._pieces.get(key)
        with suppress(ValueError, TypeError, AttributeError, KeyError):
            return (restored_facts(held), held.get(_ASKED)) if held is not None else (None, None)
        return None, None

    def put(self, one: LaunchClass, facts: RunFacts, sampling: SamplingSpec | None = None) -> None:
        """Store the facts of a class of launches; if the store cannot be written, the run goes on.

        sampling: how the class was to be sampled; one that was simulated in whole all the same is stored as such, with
        the reason.
        """
        estimated = facts.sampling is not None and facts.sampling.method != WHOLE
        key = self._key(one, sampling if estimated else None)
        asked = {_ASKED: sampling.error} if sampling is not None and estimated else {}
        self._pieces.put(key, one.kernel, plain_facts(facts) | asked)

    def hold(self, one: LaunchClass) -> bool:
        """Hold a class of launches, to be simulated now, until `release`; return False while another process does."""
        return self._pieces.hold(self._key(one))

    def release(self, one: LaunchClass) -> None:
        """Let others simulate a class of launches."""
        self._pieces.release(self._key(one))

    def close(self) -> None:
        """Close the store; nothing can be stored after that."""
        self._pieces.close()

    def _key(self, one: LaunchClass, sampling: SamplingSpec | None = None) -> str:
        engine = self._engine if one.regions else ""
        sampled = "" if sampling is None else sampling.model_dump_json(exclude={"error", "functional"})
        return hashlib.sha256((self._under + engine + sampled + repr(one)).encode()).hexdigest()[:32]


def known_whole(facts: RunFacts, confidence: float) -> RunFacts:
    """Return the facts of a launch for a sum with sampled ones.

    Unsampled facts of an earlier run are marked as simulated in whole: if the launch occurs again in the network, it
    counts as simulated once, as others do.
    """
    if facts.sampling is not None:
        return facts
    instructions = float(facts.kernel.wavefront_instructions)
    return replace(facts, sampling=Sampling(confidence, WHOLE, "known from before", 0.0, instructions, instructions))


def _is_good(facts: RunFacts, sampling: SamplingSpec) -> bool:
    """Tell whether an estimate is as precise as wanted."""
    return facts.sampling is None or facts.sampling.half_width("kernel", "cycles") <= sampling.error * facts.cycles
