"""Runs one case of the corpus functionally and compares the results."""

import zlib
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from isa.execution.emulator import FunctionalResult, run_functional
from isa.object.code_object import Kernel, load_code_object
from tests.corpus.build import Variant, committed
from tests.corpus.case import Call, Case
from tests.support.functional import Device

MAX_INSTRUCTIONS = 1 << 24  # of a wavefront: far above any case


@cache
def _kernels(variant: Variant, source: str) -> Mapping[str, Kernel]:
    return load_code_object(committed(variant)[source]).kernels


def kernel_of(variant: Variant, case: Case) -> Kernel:
    """The case's kernel as the variant built it."""
    return _kernels(variant, case.source)[case.kernel]


def kernel_names(variant: Variant) -> set[tuple[str, str]]:
    """(source, kernel) of all that the variant has."""
    return {(source, name) for source in committed(variant) for name in _kernels(variant, source)}


@cache
def call_of(case: Case, size: Any) -> Call:
    """The case's data of a size, the same in every process and for every variant."""
    return case.call(np.random.default_rng(zlib.crc32(f"{case.kernel} {size}".encode())), size)


def execute(kernel: Kernel, case: Case, size: Any) -> FunctionalResult:
    """Run the case's kernel and compare every buffer; raises AssertionError that says what differs."""
    call = call_of(case, size)
    space = sum(array.nbytes + 16384 for array in call.buffers.values())
    device = Device((1 << 24) + space)
    for name, array in call.buffers.items():
        device.put(name, array)
    launch = device.launch(
        kernel, call.global_size, call.local_size, *call.arguments, dynamic_lds_bytes=call.dynamic_lds_bytes
    )
    result = run_functional(launch, MAX_INSTRUCTIONS)
    for name, array in call.buffers.items():
        got = device.get(name).reshape(array.shape)
        check(f"{case.kernel} {size}: {name}", got, call, name)
    return result


def check(what: str, got: np.ndarray, call: Call, name: str) -> None:
    """A buffer against what is expected; one that no result is expected in must be as it was."""
    expected = call.expected.get(name)
    if expected is None:
        assert np.array_equal(got, call.buffers[name]), f"{what}: an input changed"
        return
    assert got.shape == np.shape(expected), f"{what}: has shape {got.shape}, expected {np.shape(expected)}"
    close = call.close
    if got.dtype.kind in "iub" or (np.ndim(close.absolute) == 0 and not close.absolute and not close.relative):
        wrong = np.argwhere(got != expected)
        assert not len(wrong), f"{what}: {len(wrong)} differ, first at {wrong[0]}: {_pair(got, expected, wrong[0])}"
        return
    wide = np.asarray(expected).astype(np.complex128 if got.dtype.kind == "c" else np.float64)
    allowed = np.asarray(close.absolute) + close.relative * np.abs(wide) + np.finfo(got.dtype).tiny
    difference = np.abs(got - wide)
    wrong = np.argwhere(~(difference <= allowed))
    assert not len(wrong), (
        f"{what}: {len(wrong)} differ by more than allowed ({close.reason}), first at {wrong[0]}:"
        f" {_pair(got, expected, wrong[0])}, allowed {np.broadcast_to(allowed, difference.shape)[tuple(wrong[0])]}"
    )


def _pair(got: np.ndarray, expected: np.ndarray, place: np.ndarray) -> str:
    return f"{got[tuple(place)]!r}, expected {np.asarray(expected)[tuple(place)]!r}"
