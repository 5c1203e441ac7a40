"""Whether a network's outputs are those that its file means: a second reader evaluates the file over the run's inputs.

Each layer is compared with NumPy as it was read; what was read wrongly passes there. The file as a whole is therefore
evaluated once more by a reader that shares no code with the first (workloads.networks.onnx_evaluator).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gpusim.results.records.record import VerificationFacts
from workloads.networks.described import NetworkFileMeaning
from workloads.networks.graph import Network
from workloads.networks.onnx_evaluator import TOLERANCES, NotEvaluatedError

EVALUATOR, OWN_READING = "onnx's evaluator", "gpusim's own reading"
SMALLEST_NORMAL = float(np.finfo(np.float32).tiny)  # the kernels take what is smaller for 0


@dataclass(frozen=True)
class FileComparison:
    """Comparison of a network's outputs with what its file means."""

    compared_with: str
    """EVALUATOR or OWN_READING."""
    reason: str = ""
    """Why there is no comparison with the evaluator, or which output differs."""
    verification: VerificationFacts | None = None
    """Result of the comparison with the evaluator; None: there is none."""

    @property
    def document(self) -> dict[str, Any]:
        """The comparison as plain data."""
        facts = {"passed": None} if self.verification is None else asdict(self.verification)
        return {"compared_with": self.compared_with, "reason": self.reason, **facts}


def own_reading(reason: str) -> FileComparison:
    """Return the comparison of a run whose outputs the second reader does not have."""
    return FileComparison(OWN_READING, reason)


def compare_with_file(
    network: Network, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray], batch: int, half: bool
) -> FileComparison:
    """Compare a forward pass with the second reader of the network's file.

    Args:
        network: the network, which has a file's meaning.
        inputs: images × shape of an image, by input.
        outputs: the declared outputs in the file's shapes.
        batch: images of the run.
        half: the run rounds values to FP16 that the file has in FP32.

    Returns:
        The comparison; the run's own reading where the second reader does not evaluate the file.
    """
    meaning = network.meaning
    assert meaning is not None
    if meaning.evaluator is None:
        return own_reading(meaning.why_not_evaluated)
    try:
        wanted = _evaluated(meaning, {name: _flushed(array) for name, array in inputs.items()}, batch)
    except NotEvaluatedError as error:
        return own_reading(f"{EVALUATOR} stops: {error}")
    tolerance = max(meaning.evaluator.tolerance, TOLERANCES["FLOAT16"] if half else 0.0)
    worst, reason = VerificationFacts(True, 0.0, 0.0), ""
    for name, array in wanted.items():
        if outputs[name].shape != array.shape:
            shapes = f"{list(outputs[name].shape)}, which differs from {list(array.shape)}"
            return FileComparison(EVALUATOR, f"output '{name}' has shape {shapes}", VerificationFacts(False, 0.0, 0.0))
        facts = _compared(outputs[name], array, tolerance)
        if not facts.passed and not reason:
            reason = f"output '{name}' differs"
        ratios = [one.max_error / one.bound if one.bound else one.max_error for one in (facts, worst)]
        if (not facts.passed, ratios[0]) >= (not worst.passed, ratios[1]):
            worst = facts
    return FileComparison(EVALUATOR, reason, worst)


def _evaluated(meaning: NetworkFileMeaning, inputs: Mapping[str, np.ndarray], batch: int) -> dict[str, np.ndarray]:
    """Return the outputs in the file's shapes with all images, evaluated as many at once as the file has; the last
    image stands for those that are missing in the end.
    """
    assert meaning.evaluator is not None
    count = meaning.images or batch
    parts: dict[str, list[np.ndarray]] = {name: [] for name in meaning.outputs}
    chosen = (np.minimum(np.arange(first, first + count), batch - 1) for first in range(0, batch, count))
    feeds = (
        {name: one.from_images(inputs[name][numbers]) for name, one in meaning.inputs.items()} for numbers in chosen
    )
    for found in meaning.evaluator.evaluate(feeds):
        for name, array in found.items():
            if array.shape != meaning.outputs[name].with_images(count):
                return {name: array}  # of another shape than was read, which the caller reports
            parts[name].append(meaning.outputs[name].to_images(array, count))
    return {name: meaning.outputs[name].from_images(np.concatenate(arrays)[:batch]) for name, arrays in parts.items()}


def _flushed(array: np.ndarray) -> np.ndarray:
    """Return the values as the kernels read them: what is below FP32's normal numbers is 0."""
    return np.where(np.abs(array) < SMALLEST_NORMAL, 0, array).astype(array.dtype) if array.dtype.kind == "f" else array


def _compared(found: np.ndarray, wanted: np.ndarray, tolerance: float) -> VerificationFacts:
    """Compare an output; values that are not finite have to be the same."""
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    same = np.where(finite, True, (a == b) | (np.isnan(a) & np.isnan(b)))
    bound = tolerance * float(np.abs(b[finite]).max(initial=0.0)) + SMALLEST_NORMAL
    error = float(np.abs(a[finite] - b[finite]).max(initial=0.0))
    return VerificationFacts(bool(same.all() and error <= bound), error, bound)
