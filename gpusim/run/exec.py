"""`gpusim exec`: from an execution's file to its result: make or read arrays, run the kernel, compare."""

import io
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.api.device import Device
from gpusim.api.device_array import DeviceArray
from gpusim.api.launch_result import LaunchResult
from gpusim.api.module import KernelFunction, Module
from gpusim.base.errors import UserError
from gpusim.base.files import write_whole
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Progress, Reporter
from gpusim.config.exec import ArgumentSpec, ExecConfig
from gpusim.results.record import VerificationFacts
from isa.kernarg import Local, pack_undescribed

if TYPE_CHECKING:
    from gpusim.timeline.timeline import Timeline


def execute(
    config: ExecConfig, path: Path, reporter: Reporter, interrupt: Interrupt, timeline: "Timeline | None" = None
) -> LaunchResult:
    """Run the kernel of the execution's file `path`; what its arrays should hold is compared, and told by `reporter`.

    After Ctrl-C the result is what is known by then, marked partial. Raises UserError and what Device.launch raises.
    """
    start = time.perf_counter()
    device = Device(config.gpu, timing=config.run.timing, quiet=reporter.quiet)
    kernel = _kernel(device.load(_find(config.code_object, path)), config.kernel)
    arguments = {name: _value(device, name, spec, path) for name, spec in config.arguments.items()}
    expected = {
        name: _expected(arguments[name], spec.expected, path)
        for name, spec in config.arguments.items()
        if spec.expected is not None
    }
    setup_s = time.perf_counter() - start

    def observer(_: Progress) -> bool:
        # from here on the core is in its loop and comes back several times a second
        interrupt.deferred = True
        return not interrupt.asked

    passed: dict[str, Any] = {"args": arguments, "dynamic_lds_bytes": config.dynamic_lds_bytes}
    if arguments and not kernel.kernel.arguments:
        pointed = [value.pointer() if isinstance(value, DeviceArray) else value for value in arguments.values()]
        packed = pack_undescribed(kernel.kernel, pointed)
        lds_bytes = config.dynamic_lds_bytes + packed.dynamic_lds_bytes
        passed = {"kernarg": packed.block, "dynamic_lds_bytes": lds_bytes}
    try:
        result = device.launch(
            kernel,
            config.global_size,
            config.local_size,
            **passed,
            global_offset=config.global_offset,
            max_instructions=config.run.max_instructions,
            checked=config.run.checked,
            hotspots=config.run.hotspots,
            observer=observer,
            timeline=timeline,
        )
    finally:
        interrupt.deferred = False
    result.config = config.resolved()
    result.record.setup_s = setup_s
    if expected and not result.partial:
        start = time.perf_counter()
        result.record.verification = _compared(config, arguments, expected, reporter)
        result.record.verify_s = time.perf_counter() - start
    for name, spec in config.arguments.items():
        if spec.output is not None:
            contents = io.BytesIO()
            np.save(contents, arguments[name].numpy())
            write_whole(Path(spec.output), contents.getvalue())
    return result


def _find(name: str, beside: Path) -> Path:
    """The file a path means: from here, else beside the execution's file. A missing one is its reader's error."""
    asked = Path(name).expanduser()
    return asked if asked.exists() or asked.is_absolute() else beside.parent / asked


def _kernel(module: Module, name: str | None) -> KernelFunction:
    if name is not None:
        return module[name]
    if len(module) > 1:
        raise UserError(f"{module.source} has several kernels; name one of them in kernel: {', '.join(sorted(module))}")
    return module[next(iter(module))]


def _value(device: Device, name: str, spec: ArgumentSpec, path: Path) -> Any:
    """What the argument is to the kernel."""
    if spec.local_bytes is not None:
        return Local(spec.local_bytes)
    if spec.null:
        return None
    if spec.value is not None:
        return _number(f"{path}: arguments.{name}.value", spec.value, spec.dtype or "")[()]
    if spec.npy is not None:
        return device.array(_loaded(_find(spec.npy, path)), name=name)
    shape = spec.shape or ()
    if spec.fill is not None:
        element = _number(f"{path}: arguments.{name}.fill", spec.fill, spec.dtype or "")
        array = device.zeros(shape, element.dtype, name=name)
        if element:
            array.write(element)
        return array
    array = device.zeros(shape, spec.dtype, name=name)  # before the numbers: device memory may be too small for them
    array.write(_random(f"{path}: arguments.{name}", spec, shape))
    return array


def _number(where: str, value: int | float, dtype: str) -> np.ndarray:
    """One number of a type, which must hold it: exactly if the type is an integer's."""
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        least, most = np.iinfo(kind).min, np.iinfo(kind).max
        if value != int(value) or not least <= value <= most:
            raise UserError(f"{where}: {value} is not allowed: must be a whole number from {least} to {most} ({dtype})")
        return np.array(int(value), kind)
    with np.errstate(over="ignore"):
        number = np.array(value, kind)
    if not np.isfinite(number):
        raise UserError(f"{where}: {value} is too large for {dtype}")
    return number


def _random(where: str, spec: ArgumentSpec, shape: tuple[int, ...]) -> np.ndarray:
    kind = np.dtype(spec.dtype)
    rng = np.random.default_rng(spec.seed)
    if spec.random == "integers":
        for bound in (spec.low, spec.high - 1):
            _number(where, bound, spec.dtype or "")
            _number(where, bound, "int64")
        return rng.integers(int(spec.low), int(spec.high), shape).astype(kind)
    if kind.kind != "f":
        raise UserError(
            f"{where}: random: {spec.random} gives real numbers, {spec.dtype} holds whole ones: use integers"
        )
    if spec.random == "normal":
        return rng.standard_normal(shape).astype(kind)
    return (spec.low + (spec.high - spec.low) * rng.random(shape)).astype(kind)


def _loaded(path: Path) -> np.ndarray:
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError):
        raise UserError(f"{path}: holds no array as numpy.save writes it") from None
    if not isinstance(array, np.ndarray):
        raise UserError(f"{path}: is an archive of arrays (.npz), expected one array (.npy)")
    return array


def _expected(array: DeviceArray, expected: str | int | float, path: Path) -> np.ndarray:
    if array.dtype.kind not in "biuf":
        raise UserError(f"{path}: arguments.{array.name}: elements of type {array.dtype} cannot be compared")
    if not isinstance(expected, str):
        return np.broadcast_to(np.asarray(expected), array.shape)
    where = _find(expected, path)
    values = _loaded(where)
    if values.shape != array.shape:
        raise UserError(f"{where}: has shape {values.shape}, the array '{array.name}' has {array.shape}")
    if values.dtype.kind not in "biuf":
        raise UserError(f"{where}: elements of type {values.dtype} cannot be compared")
    return values


def _compared(
    config: ExecConfig, arguments: dict[str, Any], expected: dict[str, np.ndarray], reporter: Reporter
) -> VerificationFacts:
    """The element of all arrays that comes closest to its bound, or exceeds it most."""
    passed, worst, worst_ratio = True, (0.0, 0.0), -1.0
    for name, wanted in expected.items():
        spec, found = config.arguments[name], arguments[name].numpy()
        error = _error(found, wanted)
        bound = spec.absolute + spec.relative * np.abs(np.nan_to_num(wanted.astype(np.float64)))
        wrong = ~(error <= bound)
        if wrong.any():
            passed = False
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            reporter.say(
                f"{name}: {int(wrong.sum())} of {found.size} elements differ by more than allowed; first at"
                f" {list(place)}: {found[place]}, expected {wanted[place]}"
            )
        error = np.nan_to_num(error)
        with np.errstate(over="ignore"):
            ratio = np.where(error == 0.0, 0.0, error / np.maximum(bound, np.finfo(np.float64).tiny))
        at = int(np.argmax(ratio))
        if ratio.flat[at] > worst_ratio:
            worst_ratio, worst = float(ratio.flat[at]), (float(error.flat[at]), float(bound.flat[at]))
    return VerificationFacts(passed, *worst)


def _error(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """|found - wanted| in FP64: 0 where equal or both NaN, infinite where one is, at least 1 for unequal integers."""
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(a - b)
    error[np.isnan(error)] = np.inf
    if found.dtype.kind in "biu" and wanted.dtype.kind in "biu":
        error = np.maximum(error, 1.0)
    return np.where((found == wanted) | (np.isnan(a) & np.isnan(b)), 0.0, error)
