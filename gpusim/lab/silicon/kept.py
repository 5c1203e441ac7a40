"""Points that earlier runs have finished, in a store: a comparison that was interrupted goes on from them."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from gpusim.lab.silicon.measured import MeasuredPoint
from gpusim.lab.silicon.measured_convolutions import ConvolutionPoint
from gpusim.lab.silicon.prediction import Conditions, Prediction
from gpusim.results.store.pieces import ResultCache
from gpusim.results.store.records import plain_facts, restored_facts
from gpusim.results.store.work import hash_of_files, identity_of, sources_hash


class PointCache:
    """Points in a store, each under all that decides its time: the sources, kernels, GPU and conditions.

    store: None: nothing is known or kept; fresh: what earlier runs left does not count; files: the kernels' code
    objects; multiply_accumulate: as of the table's kernels.
    """

    def __init__(self, store: Path | None, fresh: bool, files: Sequence[Path], multiply_accumulate: bool) -> None:
        self._pieces = ResultCache(store, fresh) if store is not None else None
        self._under = (hash_of_files(files), multiply_accumulate)

    def get(self, point: MeasuredPoint, conditions: Conditions) -> Prediction | None:
        """Return what an earlier run found of a point; None without it."""
        held = self._pieces.get(self._key(point, conditions)) if self._pieces is not None else None
        with suppress(ValueError, TypeError, AttributeError, KeyError):
            facts = restored_facts(held["facts"]) if held is not None else None
            return Prediction(point, **held["values"], facts=facts) if held is not None else None
        return None

    def put(self, prediction: Prediction, conditions: Conditions) -> None:
        """Keep a point that was run."""
        if self._pieces is None or prediction.facts is None:
            return
        values = asdict(replace(prediction, facts=None))
        del values["point"], values["facts"]
        content = {"values": values, "facts": plain_facts(prediction.facts)}
        self._pieces.put(self._key(prediction.point, conditions), prediction.point.kernel, content)

    def close(self) -> None:
        """Close the store."""
        if self._pieces is not None:
            self._pieces.close()

    def _key(self, point: MeasuredPoint, conditions: Conditions) -> str:
        sampling = conditions.get_sampling(point)
        sampled = None if sampling is None else sampling.model_dump_json()
        gpu = json.dumps(conditions.gpu.model_dump(mode="json"), sort_keys=True)
        values = (conditions.alpha, conditions.beta, conditions.staggered, conditions.general.model_dump_json())
        how: tuple[object, ...] = (gpu, *values, conditions.calls(point), sampled)
        if isinstance(point, ConvolutionPoint):
            how = (*how, conditions.convolution)
        return identity_of("correlate", sources_hash(), self._under, point.of_model, how)
