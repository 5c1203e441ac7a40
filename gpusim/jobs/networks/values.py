"""What the tensors of an iteration hold at first: the user's arrays, a file's parameters, or random numbers."""

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.files import write_whole
from gpusim.base.formats import FIXED_0
from gpusim.jobs.networks.storage import ROLE_DTYPES, Storage
from workloads.networks.schedule import Schedule, classes_of
from workloads.networks.tensor import ScheduleTensor, TensorRole

LARGEST_HALF = float(np.finfo(np.float16).max)
GIVEN_ROLES = (TensorRole.INPUT, TensorRole.PARAMETER, TensorRole.STATE)


def fill(storage: Storage, seed: int, given: Mapping[str, np.ndarray]) -> None:
    """Put inputs, parameters and state into device memory.

    Parameters that are not given are normally distributed with variance 2 / fan-in (He 2015), shifts 0, scales 1;
    inputs normally distributed; labels any class.

    Args:
        storage: Places of the tensors.
        seed: Seed of what is drawn.
        given: The user's arrays by tensor, checked (`checked_arrays`).
    """
    schedule = storage.plan.schedule
    for number, (name, tensor) in enumerate(schedule.tensors.items()):
        if tensor.role not in GIVEN_ROLES or name not in storage.plan.buffer_of:
            continue
        array = storage.array(name)
        if name in given:
            array[...] = given[name]
            continue
        of_file = _of_file(schedule, tensor)
        if of_file is not None:
            array[...] = of_file.reshape(array.shape)
            continue
        _randomize(schedule, tensor, np.random.default_rng([seed, number]), array)


def _of_file(schedule: Schedule, tensor: ScheduleTensor) -> np.ndarray | None:
    """Return a parameter's or a statistic's values from the network's file; None where it does not hold them."""
    values = schedule.network.values
    if values is None or tensor.layer not in schedule.network.named:
        return None
    role = tensor.name.removeprefix(f"{tensor.layer}.")
    anatomy = schedule.network[tensor.layer].anatomy
    if role not in anatomy.parameters and role not in anatomy.state:
        return None
    return values(tensor.layer, role)


def _randomize(schedule: Schedule, tensor: ScheduleTensor, random: np.random.Generator, array: np.ndarray) -> None:
    if tensor.role is TensorRole.STATE:
        if tensor.name.endswith("running_variance"):
            array[...] = 1.0
        if not tensor.name.endswith((".scale", ".bias")):
            return
    if tensor.role in (TensorRole.PARAMETER, TensorRole.STATE):
        if len(tensor.shape) == 1 or tensor.name.endswith((".scale", ".bias")):
            array[...] = 1.0 if tensor.name.endswith(".scale") else 0.0
            return
        fan_in = schedule.network[tensor.layer].kind.fan_in(tensor.shape)
        array[...] = random.standard_normal(tensor.shape, np.float32) * np.float32(np.sqrt(2.0 / fan_in))
        return
    if ROLE_DTYPES[tensor.dtype].kind == "u":
        array[...] = random.integers(0, numbers_below(schedule, tensor), tensor.shape)
    else:
        array[...] = random.standard_normal(tensor.shape, np.float32)


def numbers_below(schedule: Schedule, tensor: ScheduleTensor) -> int:
    """Return what an input's whole numbers must be less than: rows of the table that it chooses from, or classes."""
    network = schedule.network
    if tensor.name in network.numbers_below:
        return network.numbers_below[tensor.name]
    return classes_of(network.outputs[0].shape) or 1


def load_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of an .npz file; raises UserError."""
    try:
        with np.load(path, allow_pickle=False) as file:
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise UserError(f"{path}: is one array (.npy), expected an archive of arrays (.npz)")
            return {name: file[name] for name in file.files}
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (UserError, MemoryError):
        raise
    except Exception:  # readers of archives raise all kinds on a damaged file
        raise UserError(f"{path}: holds no arrays as numpy.savez writes them") from None


def checked_arrays(schedule: Schedule, arrays: Mapping[str, np.ndarray], source: str) -> dict[str, np.ndarray]:
    """Return the user's arrays after checking that each fits an input, a parameter or a state of the schedule.

    Args:
        schedule: Steps of the iteration.
        arrays: Arrays by tensor.
        source: Where the arrays come from, for errors.

    Raises:
        UserError: One does not fit, or there is no such tensor.
    """
    known = {name: tensor for name, tensor in schedule.tensors.items() if tensor.role in GIVEN_ROLES}
    checked = {}
    for name, array in arrays.items():
        if name not in known:
            raise UserError(f"{source}: {unknown_name('tensor', name, known)}")
        tensor, meaning = known[name], schedule.network.meaning
        of_file = meaning.inputs.get(name) if meaning is not None else None
        needed = tensor.shape if of_file is None else of_file.with_images(schedule.batch)
        if array.shape != needed:
            raise UserError(
                f"{source}: '{name}' has shape {list(array.shape)}; with batch {schedule.batch} the network needs"
                f" {list(needed)}"
            )
        if of_file is not None:
            array = of_file.to_images(array, schedule.batch).reshape(tensor.shape)
        whole = ROLE_DTYPES[tensor.dtype].kind == "u"
        if array.dtype.kind not in ("iu" if whole else "fiu"):
            raise UserError(
                f"{source}: '{name}' is of {array.dtype}; allowed are {'whole' if whole else 'real'} numbers"
            )
        if tensor.dtype == "float16" and not np.abs(array).max() <= LARGEST_HALF:
            raise UserError(
                f"{source}: '{name}' has values beyond {FIXED_0(LARGEST_HALF)}, which float16 does not hold"
            )
        below = numbers_below(schedule, tensor) if whole else 0
        if whole and not (array.min() >= 0 and array.max() < below):
            raise UserError(
                f"{source}: '{name}' has values from {array.min()} to {array.max()}; allowed are 0 to {below - 1}"
            )
        checked[name] = array
    return checked


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an .npz file, whole or not at all.

    Args:
        path: Path of the file.
        arrays: Arrays by name.
    """
    contents = io.BytesIO()
    np.savez(contents, **dict(arrays))  # type: ignore[arg-type]  # of its own keywords, too
    write_whole(path, contents.getvalue())
