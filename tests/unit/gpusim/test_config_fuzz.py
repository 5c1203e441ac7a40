"""Is any configuration, however odd, either accepted or refused in one line?"""

import contextlib
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.config import files
from gpusim.config.models import collect_kinds
from gpusim.config.run import RunConfig, load_run
from tests.support.daily import given_daily


def paths(model: type, prefix: str = "") -> list[str]:
    out = []
    for name, field in model.model_fields.items():  # type: ignore[attr-defined]
        out.append(prefix + name)
        for kind in (field.annotation, *collect_kinds(field.annotation).values()):
            if hasattr(kind, "model_fields"):
                out += paths(kind, f"{prefix}{name}.")
    return out


PATHS = paths(RunConfig)
ODD = ["null", "true", "-1", "0", "1.5", "1e400", ".nan", ".inf", "[]", "{}", "{base: mi6}", "[1, [2]]", "x", "''", "~"]
ODD += [
    "2020-01-01",
    "&a [*a]",
    "*a",
    "!!binary aGk=",
    "!!set {a, b}",
    "0x10",
    "9" * 5000,
    "[" * 600,  # deeper than the parser goes
    "{1: 2}",
    "\\x00",
]


@pytest.fixture(scope="module", autouse=True)
def shipped_files_are_parsed_once() -> Iterator[None]:
    """Their text stays as it is, and to parse one takes far longer than all that is tested here."""
    read, parsed = files.read, cache(files.read)

    def read_quickly(path: Path) -> dict:
        return deepcopy(parsed(path)) if path.is_relative_to(files.SHIPPED) else read(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "read", read_quickly)
        yield


def refused_in_one_line(*sets: str) -> None:
    with contextlib.suppress(UserError):
        try:
            load_run("layerB.yaml", list(sets))
        except UserError as error:
            assert error.problems
            assert all(problem and "\n" not in problem for problem in error.problems)
            raise


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(PATHS), st.sampled_from(ODD))
@example("gpu", "&a {base: mi6, x: *a}")
def test_odd_values_anywhere(path: str, value: str) -> None:
    refused_in_one_line(f"{path}={value}")


@given_daily(15, 60, st.text(max_size=12), st.text(max_size=12))
def test_any_text(path: str, value: str) -> None:
    refused_in_one_line(f"{path}={value}")


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(PATHS), st.text("ab._", max_size=4), st.sampled_from(ODD))
def test_odd_paths(path: str, more: str, value: str) -> None:
    refused_in_one_line(f"{path}.{more}={value}")


@given_daily(
    20,
    60,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from([*PATHS, "base", "x"]), v, max_size=4),
        max_leaves=10,
    ),
)
@example(data={"gpu": ""})
def test_any_file(tmp_path_factory: pytest.TempPathFactory, data: object) -> None:
    path: Path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_text(yaml.safe_dump(data))
    with contextlib.suppress(UserError):
        load_run(str(path))
