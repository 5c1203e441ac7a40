"""onnx's own tests of single operators, run as networks: what is read must give what the test expects, or be refused.

`python -m tests.support.onnx_nodes [OPERATOR ...]` runs all of them and prints what each gave.
"""

import importlib
import pkgutil
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.config.files import opened
from gpusim.config.gpu import GPU_FOLDER
from gpusim.config.network import build_network
from gpusim.config.network_run import load_settings
from gpusim.jobs.networks.job import NetworkJob
from gpusim.jobs.networks.run import NetworkRunRequest
from gpusim.jobs.running.script import ran
from workloads.networks.onnx_file import OPERATORS, read_onnx

CASES = "onnx.backend.test.case.node"
# their values are drawn at random in training, which the reader says
RANDOM = ("test_training_dropout_default", "test_training_dropout")
# relative, of types to which a cast does nothing: everything is computed in FP32
PRECISION = {
    onnx.TensorProto.FLOAT: 1e-4,
    onnx.TensorProto.DOUBLE: 1e-4,
    onnx.TensorProto.FLOAT16: 2.0**-11,
    onnx.TensorProto.BFLOAT16: 2.0**-8,
}
RIGHT, WRONG, REFUSED = "right", "wrong", "refused"


@dataclass(frozen=True)
class NodeCase:
    """A test of one operator."""

    name: str
    model: Any
    inputs: dict[str, Any]
    """Arrays by input; a list, None or a TensorProto where the input is no plain array."""
    outputs: dict[str, Any]
    tolerance: float

    @property
    def operator(self) -> str:
        return str(self.model.graph.node[0].op_type)


def load_cases(operators: Iterable[str] = OPERATORS) -> Iterator[NodeCase]:
    """Yield the tests of these operators whose model is that operator alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = importlib.import_module(CASES)
        files = {one.name.replace("_", ""): one.name for one in pkgutil.iter_modules(package.__path__)}
        for operator in operators:
            importlib.import_module(f"{CASES}.{files[operator.lower()]}")
    for case in package._NodeTestCases:
        graph = case.model.graph
        if len(graph.node) == 1 and graph.node[0].op_type in operators and graph.node[0].domain in ("", "ai.onnx"):
            inputs, outputs = case.data_sets[0]
            yield NodeCase(
                case.name,
                case.model,
                dict(zip([value.name for value in graph.input], map(_plain, inputs), strict=False)),
                dict(zip([value.name for value in graph.output], map(_plain, outputs), strict=False)),
                max(case.rtol, PRECISION.get(graph.output[0].type.tensor_type.elem_type, 1e-4)),
            )


def _plain(value: Any) -> Any:
    """Return an array of floating-point numbers that the test has as they are in a file."""
    is_float = isinstance(value, onnx.TensorProto) and value.data_type in PRECISION
    return numpy_helper.to_array(value) if is_float else value


def judge(case: NodeCase) -> tuple[str, str]:
    """Return RIGHT, WRONG or REFUSED, and why: with all inputs of FLOAT as the network's, then with the first alone,
    the others stored.
    """
    floats = [name for name, array in case.inputs.items() if getattr(array, "dtype", None) == np.float32]
    ways = [floats, floats[:1]] if floats else [list(case.inputs)[:1]]
    judged = [_judge(case, names) for names in ways]
    return next(one for verdict in (WRONG, RIGHT, REFUSED) for one in judged if one[0] == verdict)


def _judge(case: NodeCase, names: list[str]) -> tuple[str, str]:
    try:
        found, values = _run(case, names)
    except UserError as error:
        return REFUSED, str(error)
    if set(found) != set(case.outputs):
        return WRONG, f"outputs {sorted(found)}"
    for name, array in found.items():
        wanted = np.asarray(case.outputs[name]).astype(np.float32)
        if array.shape != wanted.shape:
            return WRONG, f"{name}: {array.shape} for {wanted.shape}"
        if not np.allclose(array, wanted, rtol=case.tolerance, atol=1e-5, equal_nan=True):
            return WRONG, f"{name}: off by {np.nanmax(np.abs(array - wanted))}"
    if not values["verification"]["passed"]:
        return WRONG, f"a right result is said to be wrong: {values['file']}"
    return RIGHT, str(values["file"]["compared_with"])


def _run(case: NodeCase, names: list[str]) -> tuple[dict[str, np.ndarray], Any]:
    """Run the case without timing; names: the network's inputs, all others are stored in the file."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    kept = [value for value in model.graph.input if value.name in names]
    for value in model.graph.input:
        array = case.inputs.get(value.name)
        if value.name not in names and array is not None and not isinstance(array, list):
            stored = array if isinstance(array, onnx.TensorProto) else numpy_helper.from_array(np.asarray(array))
            model.graph.initializer.append(stored)
            model.graph.initializer[-1].name = value.name
    del model.graph.input[:]
    model.graph.input.extend(kept)
    network = build_network(read_onnx(model.SerializeToString(), f"{case.name}.onnx"))
    settings = load_settings(opened("mi6", GPU_FOLDER, "gpu"), [])
    wanted = NetworkRunRequest(network.batch or 1, timing=False)
    job = NetworkJob(network, settings, wanted, {name: case.inputs[name] for name in names}, True)
    values, _ = ran(job, Reporter(True))
    return dict(job.outputs), values


def main() -> int:
    """Run all tests, or those of the named operators; return 1 where a result is wrong."""
    counts = Counter[str]()
    for case in load_cases(sys.argv[1:] or OPERATORS):
        verdict, why = judge(case)
        verdict = "random" if verdict == WRONG and case.name in RANDOM else verdict
        counts[verdict] += 1
        print(f"{verdict:8}{case.operator}, {case.name}: {why}")
    print(dict(counts))
    return int(counts[WRONG] > 0)


if __name__ == "__main__":
    sys.exit(main())
