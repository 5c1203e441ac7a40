"""The file of `gpusim exec`: a kernel of the user's own, its grid, its arguments and what they should hold after it."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import FiniteFloat, model_validator

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.formats import GENERAL
from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.check import checked
from gpusim.config.engine import check_share
from gpusim.config.gpu import layered
from gpusim.config.tree import Assignment, Sets, assignments
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.perturbation import MOST as MOST_PERTURBATIONS
from gpusim.model.core.perturbation import MOST_DRAWS
from gpusim.model.energy.spec import EnergySpec
from gpusim.model.sampling.spec import SamplingSpec
from isa.image_resource import why_no_sampler
from isa.launch import MAX_WAVEFRONT_INSTRUCTIONS
from spartan.engine_spec import EngineSpec

EXAMPLE_FOLDER = "examples"

_SOURCES = ("npy", "fill", "random", "value", "local_bytes", "sampler", "null")
ScalarType = Literal[
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"
]


class SamplerSpec(Spec):
    """How a kernel samples its images: OpenCL C's sampler_t."""

    filter: Literal["nearest", "linear"] = param("nearest", "what a sample is of: the texel, or those around it", "")
    address: Literal["none", "clamp", "clamp_to_edge", "repeat", "mirrored_repeat"] = param(
        "none", "what is beyond the image; clamp: zeros, as with none, which promises that nothing is", ""
    )
    normalized: bool = param(False, "coordinates from 0 to 1, else in texels", "")

    @model_validator(mode="after")
    def _is_one_of_opencl(self) -> "SamplerSpec":
        if problem := why_no_sampler(self.address, self.normalized):
            raise ValueError(problem)
        return self


class ArgumentSpec(Spec):
    """One kernel argument: an array or image in device memory (npy, fill or random), a number, local memory, a sampler,
    or null.
    """

    npy: str | None = param(None, "array: file written by numpy.save", "user")
    fill: int | float | None = param(None, "array: every element", "user")
    random: Literal["uniform", "normal", "integers"] | None = param(
        None,
        "array: uniform in [low, high), normal with mean 0 and deviation 1, whole numbers from low to high - 1",
        "",
    )
    value: int | float | None = param(None, "a number, passed by value", "user")
    local_bytes: int | None = param(None, "dynamic LDS that the argument points to", "user", ge=0)
    sampler: SamplerSpec | None = param(None, "how images are sampled", "user")
    null: bool = param(False, "the null pointer", "user")
    dtype: ScalarType | None = param(
        None, "type of the elements or of the value; null: what the code object says of the argument", "user"
    )
    shape: tuple[int, ...] | None = param(None, "of an array that is filled or random", "user", min_length=1)
    seed: int = param(0, "of a random array", "arbitrary", ge=0, lt=2**63)
    low: FiniteFloat = param(0.0, "smallest random element", "")
    high: FiniteFloat = param(1.0, "end of the random elements", "")
    image: Literal["1d", "2d", "3d", "1d_array", "2d_array"] | None = param(
        None, "the array is an image, of axes [layer or z, y, x, channel], without the last for one channel", "user"
    )
    fractions: bool = param(False, "an image's whole numbers are read as parts of the largest one", "user")
    expected: str | int | float | None = param(
        None, "what the array holds after the kernel: a file written by numpy.save, or one number", "user"
    )
    absolute: float = param(0.0, "allowed difference", "", ge=0)
    relative: float = param(0.0, "allowed difference as a part of the expected value", "", ge=0)
    output: str | None = param(None, "file that gets the array after the kernel, as by numpy.save", "user")
    sparse: str | None = param(
        None, "format in which the engine answers marked loads of the array; its last axis is a column", "user"
    )

    @property
    def is_array(self) -> bool:
        """Whether the argument is an array in device memory."""
        return self.npy is not None or self.fill is not None or self.random is not None

    @property
    def is_typed(self) -> bool:
        """Whether the argument is made of numbers whose type is to be known: dtype, or the code object's metadata."""
        return self.fill is not None or self.random is not None or self.value is not None

    @model_validator(mode="after")
    def _is_one_thing(self) -> "ArgumentSpec":
        given = [name for name in _SOURCES if getattr(self, name) is not None and getattr(self, name) is not False]
        if len(given) != 1:
            raise ValueError(f"an argument is one of {', '.join(_SOURCES)}; given: {', '.join(given) or 'none'}")
        made = self.fill is not None or self.random is not None
        if made != (self.shape is not None):
            raise ValueError(f"'{given[0]}' {'needs' if made else 'takes no'} shape")
        if self.dtype is not None and not self.is_typed:
            raise ValueError(f"'{given[0]}' takes no dtype")
        if self.shape is not None and min(self.shape) < 1:
            raise ValueError(f"shape {list(self.shape)} has no elements")
        if not self.is_array and (self.expected is not None or self.output is not None):
            raise ValueError("only an array has an expected content and an output file")
        if self.sparse is not None and (not self.is_array or self.image is not None):
            raise ValueError("only an array is sparse: npy, fill or random, and no image")
        if not self.is_array and self.image is not None:
            raise ValueError("only an array is an image: npy, fill or random")
        if self.fractions and self.image is None:
            raise ValueError("only an image has fractions")
        if self.random is not None and self.low >= self.high:
            raise ValueError(f"low {GENERAL(self.low)} must be less than high {GENERAL(self.high)}")
        return self


class RecordedSpec(Spec):
    """A launch that `gpusim hip --record` has written down: the argument block and all memory as they were."""

    before: str = param(..., "file of device memory before the launch", "user")
    after: str | None = param(None, "file of what the launch changed, which is then expected", "user")
    drops_lds: bool = param(False, "accesses beyond LDS read 0 and write nothing, as in the program", "user")
    slack_bytes: int = param(0, "accesses in a block of so many bytes that has an allocation are done", "user", ge=0)


class ExecRunSpec(Spec):
    """The manner of running the kernel."""

    timing: bool = param(True, "false: execute for the results alone, without cycles", "")
    checked: bool = param(False, "assert the model's conservation laws and rooflines at the end of each kernel", "")
    hotspots: int = param(0, "costliest instructions to list, by the wavefronts' cycles; 0: none", "", ge=0, le=10_000)
    max_instructions: int = param(
        MAX_WAVEFRONT_INSTRUCTIONS,
        "instructions of one wavefront before it counts as an endless loop, as do 64 times as many of all wavefronts "
        "without one of them ending",
        "assumed",
        ge=1,
        le=1 << 60,
    )
    max_cycles: int = param(
        0, "of each kernel, which is stopped there, and the run with it; 0: any", "", ge=0, le=1 << 60
    )
    every: int = param(
        0, "cycles of the intervals in which counts are kept apart too, as a series; 0: none", "", ge=0, le=1 << 60
    )
    sampling: SamplingSpec | None = param(None, "simulate launches in part and estimate the rest; null: in whole", "")
    perturbation: int = param(
        0, "draw of what a machine does not fix when a launch begins; 0: all arbiters at their first place", "", ge=0,
        lt=MOST_PERTURBATIONS,
    )  # fmt: skip
    draws: int = param(
        1, "draws of the machine, from `perturbation` on, each run as a whole; several: means with intervals", "", ge=1,
        le=MOST_DRAWS,
    )  # fmt: skip


class ExecConfig(Spec):
    """Everything that one execution of a kernel depends on."""

    gpu: GpuSpec = param(..., "the GPU; a file without one: r9nano", "user")
    code_object: str = param(..., "AMDGPU code object (ELF, gfx803): a path from here or beside this file", "user")
    kernel: str | None = param(None, "kernel's name; null: the code object's only one", "user")
    global_size: tuple[int, ...] = param(..., "work-items in x, y, z", "user", min_length=1, max_length=3)
    local_size: tuple[int, ...] | None = param(
        None, "work-items of a workgroup; null: what the kernel requires", "user", min_length=1, max_length=3
    )
    global_offset: tuple[int, ...] = param((0,), "first work-item's number", "", min_length=1, max_length=3)
    dynamic_lds_bytes: int = param(0, "LDS in addition to that of arguments", "", ge=0, le=65536)
    arguments: dict[str, ArgumentSpec] = param({}, "by name; in order where the code object tells no names", "user")
    recorded: RecordedSpec | None = param(None, "arguments and memory of a recorded launch, in place of arguments", "")
    engine: EngineSpec | None = param(None, "the compaction engine, for arguments that are sparse; null: none", "user")
    energy: EnergySpec = EnergySpec()
    run: ExecRunSpec = ExecRunSpec()

    @property
    def sparse(self) -> dict[str, str]:
        """The formats of the sparse arguments by name."""
        return {name: spec.sparse for name, spec in self.arguments.items() if spec.sparse is not None}

    @model_validator(mode="after")
    def _has_an_engine(self) -> "ExecConfig":
        if self.sparse and self.engine is None:
            raise ValueError(f"arguments.{next(iter(self.sparse))}: sparse: needs the engine (engine: default)")
        if self.sparse and self.engine is not None:
            check_share(self.gpu, self.engine)
        return self

    @model_validator(mode="after")
    def _arguments_are_given_once(self) -> "ExecConfig":
        if self.recorded is not None and (self.arguments or any(self.global_offset)):
            raise ValueError(
                "recorded: it has the arguments, with which arguments and global_offset do not go together"
            )
        return self

    @model_validator(mode="after")
    def _results_are_computed(self) -> "ExecConfig":
        sampling = self.run.sampling
        if sampling is not None and not sampling.functional:
            read = [
                name for name, spec in self.arguments.items() if spec.output is not None or spec.expected is not None
            ]
            if self.recorded is not None and self.recorded.after is not None:
                read.append("recorded")
            if read:
                raise ValueError(
                    f"run.sampling: {', '.join(read)}: output and expected need the results of skipped workgroups, for"
                    " which there is run.sampling.functional=true (--functional)"
                )
        return self

    def resolved(self) -> dict[str, Any]:
        """Return every value as plain data; numbers that JSON has no form for are texts, as YAML writes them."""
        return {key: _finite(value) for key, value in self.model_dump(mode="json").items()}

    def inputs(self, beside: Path) -> list[Path]:
        """List the files that the execution reads; beside: the execution's own file."""
        names = [self.code_object]
        if self.recorded is not None:
            names += [name for name in (self.recorded.before, self.recorded.after) if name is not None]
        for argument in self.arguments.values():
            names += [name for name in (argument.npy, argument.expected) if isinstance(name, str)]
        return [resolve_path(name, beside) for name in names]

    @property
    def outputs(self) -> dict[str, Path]:
        """The files that the execution writes, by the path of the value that names each."""
        named = ((name, argument.output) for name, argument in self.arguments.items())
        return {f"arguments.{name}.output": Path(output) for name, output in named if output is not None}


def resolve_path(name: str, beside: Path) -> Path:
    """Return the file that a path means; it need not exist.

    Args:
        name: path from here, else beside the execution's file.
        beside: the execution's file.

    Returns:
        The path.
    """
    try:
        asked = Path(name).expanduser()
        return asked if asked.is_absolute() or asked.exists() else beside.parent / asked
    except (OSError, RuntimeError, ValueError):  # a name that no file can have
        return Path(name)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(held) for key, held in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    return value


def load_exec(given: files.Given, sets: Sets = ()) -> tuple[ExecConfig, Path]:
    """Load the execution of one kernel.

    Args:
        given: a file's path, a shipped file's name, or a mapping such as a file holds.
        sets: `path=value` texts or a mapping of paths to values, applied in order.

    Returns:
        The configuration and its file's path.

    Raises:
        UserError: the configuration is not valid; the message has a line for each problem.
    """
    document = files.opened(given, EXAMPLE_FOLDER)
    files.require(document, EXAMPLE_FOLDER)
    said = assignments(sets)
    try:
        return checked(ExecConfig, layered(document, said, ExecConfig)), document.path
    except UserError:
        _check_names(document, said)  # a part of an argument that the file does not have: rather than what it lacks
        raise


def _check_names(document: files.Document, sets: Sequence[Assignment]) -> None:
    """Raise UserError for a value of an argument that the file does not have."""
    known = document.data.get("arguments")
    for one in sets:
        if one.path[0] == "arguments" and len(one.path) > 2 and isinstance(known, dict) and one.path[1] not in known:
            raise UserError(f"{one.source}: {unknown_name('argument', one.path[1], known)}")
