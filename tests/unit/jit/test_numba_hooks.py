"""The private hooks into Numba: each is where it is expected, and nothing depends on them but speed."""

import json
import os
import subprocess
import sys

import pytest

from gpusim.jit import JIT_DISABLED, numba_hooks

# a small machine's unit, compiled as the core is: every kind of function that the hooks treat apart
PROBE = """
import json
import numpy as np
from gpusim.jit import Field, State, jit, new_record, record_dtype
from gpusim.jit.compile import compile_functions

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
    assert numba_hooks.check() == []


@pytest.mark.parametrize("hook", numba_hooks.HOOKS, ids=lambda hook: hook.name)
def test_a_hook_that_is_gone_is_named(hook: numba_hooks.Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook.holder, hook.name, lambda other: None)
    assert [hook.name in line and hook.purpose in line for line in numba_hooks.check()] == [True]


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
