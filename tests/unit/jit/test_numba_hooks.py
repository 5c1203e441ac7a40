"""The private hooks into Numba: each is where it is expected, and nothing depends on them but speed."""

import inspect
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from numba import types
from numba.core import serialize
from numba.core.base import BaseContext
from numba.core.caching import Cache
from numba.core.callconv import CPUCallConv
from numba.core.codegen import CPUCodeLibrary
from numba.core.cpu import CPUContext
from numba.core.dispatcher import Dispatcher
from numba.core.types.functions import BaseFunction
from numba.core.typing.context import BaseContext as BaseTypingContext
from numba.np import arrayobj

from gpusim.base.jit import JIT_DISABLED, numba_hooks


@dataclass(frozen=True)
class Hook:
    """A function of Numba's that is replaced or called: where it is, its parameters, what it is for."""

    holder: Any
    name: str
    parameters: str
    purpose: str


HOOKS: tuple[Hook, ...] = (
    Hook(arrayobj, "fix_integer_index", "context builder idxty idx size", "indices without Python's negative ones"),
    Hook(
        CPUCallConv,
        "call_function",
        "self builder callee resty argtys args attrs",
        "no zeros where a callee writes its result",
    ),
    Hook(CPUCallConv, "get_return_type", "self ty", "the same"),
    Hook(CPUCallConv, "_get_arg_packer", "self argtypes", "the same"),
    Hook(CPUCallConv, "_get_return_status", "self builder code excinfoptr", "the same"),
    Hook(CPUContext, "get_returned_value", "self builder ty val", "the same"),
    Hook(BaseContext, "declare_function", "self module fndesc", "functions apart from their callers, or cold"),
    Hook(CPUContext, "get_executable", "self library fndesc env", "no entry point for a part of its callers"),
    Hook(
        CPUContext,
        "create_cpython_wrapper",
        "self library fndesc env call_helper release_gil",
        "none of such a part, which Python does not call",
    ),
    Hook(CPUCodeLibrary, "finalize", "self", "no linking and optimizing of such a part; each linked once to a whole"),
    Hook(CPUCodeLibrary, "_optimize_final_module", "self", "calls that stay within one library"),
    Hook(BaseFunction, "get_call_type", "self context args kws", "what a function gives for some types, found once"),
    Hook(types.Record, "__repr__", "self", "no text of the machine's hundreds of fields for messages nobody reads"),
    Hook(Cache, "load_overload", "self sig target_context", "parts do not come from Numba's cache"),
    Hook(Cache, "save_overload", "self sig data", "parts stay out of Numba's cache"),
    Hook(Dispatcher, "_reset_overloads", "self", "to forget such a part, so that a call from Python compiles anew"),
    Hook(Dispatcher, "disable_compile", "self val", "one specialization a function"),
    Hook(Dispatcher, "add_overload", "self cres", "a part that another process has compiled"),
    Hook(BaseContext, "insert_user_function", "self func fndesc libs", "the same"),
    Hook(serialize, "dumps", "obj", "what another process needs of a part, as bytes"),
    Hook(CPUCodeLibrary, "_get_compiled_object", "self", "an entry point's machine code, to be kept"),
    Hook(BaseTypingContext, "resolve_value_type", "self val", "the type of an intrinsic"),
)


def check() -> list[str]:
    """List the hooks whose function in Numba is gone or has other parameters, each with its purpose."""
    wrong = []
    for hook in HOOKS:
        place = f"{getattr(hook.holder, '__name__', hook.holder)}.{hook.name}"
        function = getattr(hook.holder, hook.name, None)
        if function is None:
            wrong.append(f"{place} is gone ({hook.purpose})")
            continue
        function = inspect.unwrap(function, stop=lambda f: hasattr(f, "__signature__"))
        found = " ".join(inspect.signature(function).parameters)
        if found != hook.parameters:
            wrong.append(f"{place} takes ({found}), not ({hook.parameters}) ({hook.purpose})")
    return wrong


# a small machine's unit, compiled as the core is: every kind of function that the hooks treat apart
PROBE = """
import json
import numpy as np
from gpusim.base.jit import Field, State, jit, new_record, record_dtype
from gpusim.base.jit.compile import compile_functions

PART = State("part", {"count": Field((), "calls"), "row": Field((8,), "sums")})

@jit(inline=True)
def _add(m, k, value):
    m.part.row[k & 7] += value
    m.part.count += 1

@jit(outline=True)
def _apart(m, k):
    _add(m, k, 3 * k)
    return m.part.row[k & 7]

@jit(cold=True)
def _rarely(m, k):
    m.part.row[7] -= k

@jit
def drive(m, n):
    total = 0
    for k in range(n):
        total += _apart(m, k)
        if k % 100 == 99:
            _rarely(m, k)
    return total

record = new_record(record_dtype([PART]))
compile_functions([_add, _apart, _rarely, drive], record)
print(json.dumps([int(drive(record, 1000)), int(record.part.count), record.part.row.tolist()]))
"""


def test_every_hook_is_where_it_is_expected() -> None:
    assert check() == []


def test_what_is_replaced_is_listed() -> None:
    replaced = re.findall(r'\((\w+), "(\w+)", \w', Path(numba_hooks.__file__).read_text(encoding="utf-8"))
    listed = {(hook.holder.__name__.rpartition(".")[2], hook.name) for hook in HOOKS}
    assert len(replaced) > 8 and {(holder.removeprefix("types."), name) for holder, name in replaced} <= listed


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook.name)
def test_a_hook_that_is_gone_is_named(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook.holder, hook.name, lambda other: None)
    assert [hook.name in line and hook.purpose in line for line in check()] == [True]


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_without_hooks_the_results_are_the_same(tmp_path) -> None:  # type: ignore[no-untyped-def]
    script = tmp_path / "probe.py"
    script.write_text(PROBE)
    found = []
    for plain in ("", "1"):
        environment = {**os.environ, "GPUSIM_CACHE_DIR": str(tmp_path / f"cache{plain}"), "GPUSIM_PLAIN_NUMBA": plain}
        environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]
    assert found[0][1] == 1000
