"""Does every kind of bad configuration get one line that says where, what, and what is allowed?"""

from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import yaml
from pydantic import model_validator

from gpusim.base.errors import UserError
from gpusim.base.spec import Spec, param
from gpusim.config import files, yaml_values
from gpusim.config.check import checked
from gpusim.config.exec import load_exec
from gpusim.config.gpu import load_gpu
from gpusim.config.models import list_fields
from gpusim.config.run import load_run
from gpusim.config.tree import ConfigTree, parse_set
from tests.support.daily import parametrize_daily


class Cache(Spec):
    size_kib: int = param(16, "capacity", "test", ge=1, le=64)
    ways: int = param(4, "ways", "test", ge=1)
    rate: float = param(1.0, "rate", "test", gt=0)
    policy: Literal["oldest", "round_robin"] = param("oldest", "policy", "test")
    bypass: bool = param(False, "bypass", "test")
    grid: tuple[int, int] = param((1, 1), "grid", "test")

    @model_validator(mode="after")
    def _divides(self) -> "Cache":
        if self.size_kib % self.ways:
            raise ValueError(f"size_kib {self.size_kib} does not divide by {self.ways} ways")
        return self


class Machine(Spec):
    name: str = param(..., "name", "test")
    l1: Cache = Cache()
    l2: Cache | None = None


def machine(data: dict, **sets: str) -> Machine:
    tree = ConfigTree(origins={(): ("run.yaml", ())})
    tree.merge(data, "run.yaml")
    for path, text in sets.items():
        where, value = parse_set(f"{path.replace('__', '.')}={text}")
        tree.replace(where, value, f"--set {'.'.join(where)}={text}", ())
    return checked(Machine, tree)


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (
            {"name": "x", "l1": {"sise_kib": 3}},
            ["run.yaml: l1.sise_kib: unknown key", "did you mean 'size_kib'", "ways"],
        ),
        ({"name": "x", "l3": {}}, ["run.yaml: l3: unknown key", "allowed: name, l1, l2"]),
        ({"name": "x", "l2": {"sise_kib": 3}}, ["run.yaml: l2.sise_kib: unknown key", "did you mean 'size_kib'"]),
        ({"l1": {}}, ["run.yaml: name: is required but missing"]),
        ({"name": "x", "l1": {"size_kib": 0}}, ["l1.size_kib: 0 is not allowed: must be at least 1"]),
        ({"name": "x", "l1": {"size_kib": 65}}, ["l1.size_kib: 65 is not allowed: must be at most 64"]),
        ({"name": "x", "l1": {"size_kib": 1.5}}, ["l1.size_kib: 1.5 is not allowed: must be a whole number"]),
        ({"name": "x", "l1": {"size_kib": True}}, ["l1.size_kib: true is not allowed: must be a whole number"]),
        ({"name": "x", "l1": {"size_kib": "big"}}, ['l1.size_kib: "big" is not allowed: must be a whole number']),
        ({"name": "x", "l1": {"rate": 0}}, ["l1.rate: 0 is not allowed: must be more than 0"]),
        ({"name": "x", "l1": {"rate": float("nan")}}, ["l1.rate: NaN is not allowed: must be a number"]),
        ({"name": "x", "l1": {"bypass": 1}}, ["l1.bypass: 1 is not allowed: must be true or false"]),
        ({"name": "x", "l1": {"grid": 3}}, ["l1.grid: 3 is not allowed: must be a list"]),
        ({"name": "x", "l1": {"grid": [1, 2, 3]}}, ["l1.grid: [1, 2, 3] is not allowed: must have at most 2 elements"]),
        ({"name": "x", "l1": 3}, ["l1: 3 is not allowed"]),
        ({"name": 3}, ["name: 3 is not allowed: must be text"]),
        ({"name": "x", "l1": {"policy": "oldst"}}, ['"oldst" is not allowed', "did you mean 'oldest'", "round_robin"]),
        ({"name": "x", "l1": {"size_kib": 18, "ways": 4}}, ["run.yaml: l1: size_kib 18 does not divide by 4 ways"]),
    ],
)
def test_message_names_place_value_and_what_is_allowed(data: dict, parts: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        machine(data)
    text = str(caught.value)
    assert "\n" not in text
    for part in parts:
        assert part in text


def test_message_names_the_source_a_value_came_from() -> None:
    with pytest.raises(UserError, match=r"^--set l1.ways=0: 0 is not allowed: must be at least 1$"):
        machine({"name": "x", "l1": {"ways": 2}}, l1__ways="0")


def test_list_in_yaml_is_a_tuple_and_whole_number_is_a_float() -> None:
    made = machine({"name": "x", "l1": {"grid": [2, 3], "rate": 2}})
    assert made.l1.grid == (2, 3)
    assert made.l1.rate == 2.0


def test_fields_at_walks_through_optional_models() -> None:
    assert list_fields(Machine, ("l2",)) == list(Cache.model_fields)
    assert list_fields(Machine, ("name",)) == []
    assert list_fields(Machine, ("nothing", "here")) == []


@pytest.mark.parametrize("text", ["x", "=3", "a..b=1", ".a=1", "a=[", "a={"])
def test_bad_set_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="--set"):
        parse_set(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("a.b=1", 1), ("a.b=1e9", 1e9), ("a.b=on", "on"), ("a.b=true", True), ("a.b=[1, 2]", [1, 2]), ("a.b=", None)],
)
def test_set_values_are_yaml(text: str, value: object) -> None:
    assert parse_set(text) == (("a", "b"), value)


# ten lines that stand for a billion values
@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("base: &b {x: 1, y: 2}\nmine: {<<: *b, y: 3}\n", {"x": 1, "y": 3}),
        ("one: &a {x: 1}\ntwo: &b {<<: *a, x: 2, y: 4}\nmine: {<<: [*a, *b]}\n", {"x": 1, "y": 4}),
    ],
)
def test_merge_keys_bring_what_a_mapping_does_not_say_itself(text: str, values: dict[str, int]) -> None:
    assert yaml_values.parse_value(text)["mine"] == values


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in pairwise("abcdefghi")
)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: [1\n", "not valid YAML"),
        ("a: 1\na: 2\n", "key 'a' is given twice"),
        ("x: {b: 1, b: 2}\n", "key 'b' is given twice"),
        ("a: &a {x: 1}\nb: {<<: *a, y: 1, y: 2}\n", "key 'y' is given twice"),
        ("3: 1\n", "not text"),
        ("- 1\n", "a configuration is a mapping"),
        ("a: !!python/object:os.system 1\n", "not valid YAML"),
        (BOMB, "more than 100000 values, aliases counted as what they stand for"),
        ("a: &a [*a]\n", "more than 100000 values"),
        ("a: " + "[" * 5000, "nested more than 100 deep"),
        ("a: " + "{b: " * 101 + "1" + "}" * 101, "nested more than 100 deep"),
        ("a: 1\n" + "#" * (1 << 18), "has at most 256 KiB"),
        ("a: 2001-99-99\n", "not valid YAML"),
        ("\x7fELF\x02", "is a code object, not a configuration: use gpusim disasm"),
        ("words", "not text"),
        ("# nothing\n", "is empty: a configuration is a mapping"),
    ],
)
def test_broken_file_is_one_line(tmp_path, text: str, part: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "broken.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        files.read(path)
    assert str(path) in str(caught.value)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["[", "- ", "{a: ", "? ", "[1, ["])
@pytest.mark.parametrize("depth", [150, 100_000])
def test_what_is_nested_too_deeply_is_refused(text: str, depth: int) -> None:
    # libyaml's composer would overflow the stack, Python's parser raises RecursionError or finds no end
    with pytest.raises(yaml.YAMLError):
        yaml_values.parse_value(text * depth)


def test_nesting_as_people_write_it_is_read() -> None:
    value = yaml_values.parse_value("[" * 99 + "]" * 99)
    for _ in range(98):
        (value,) = value
    assert value == []


@parametrize_daily("path", sorted(files.SHIPPED.rglob("*.yaml")), range(0, 10_000, 4), ids=lambda path: path.stem)
def test_both_parsers_read_the_same(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert (
        yaml.load(text, yaml_values._FastLoader)
        == yaml.load(text, yaml_values._Loader)
        == yaml_values.parse_value(text)
    )


def test_a_mistake_is_told_in_the_words_of_python_s_parser(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("a: [1, 2\n")
    with pytest.raises(UserError, match=r"broken.yaml:2:1: not valid YAML: expected ',' or '\]', but got"):
        files.read(path)


def test_binary_file_is_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(UserError, match="cannot be read"):
        files.read(path)


def test_unknown_file_names_the_nearest_shipped_one(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"layerD.yaml: no such .* did you mean 'layer[ABC].yaml'"):
        files.find("layerD.yaml")


def test_an_ending_alone_is_no_likeness(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    for name in ("nope.yaml", "nope", "adir.yml"):
        with pytest.raises(UserError) as caught:
            files.find(name)
        assert "did you mean" not in str(caught.value) and "layerB" in str(caught.value)


def test_a_kernel_s_source_is_told_from_a_configuration(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "mine.cl"
    path.write_text("kernel void mine(global int *a) { a[0] = 1; }\n")
    with pytest.raises(UserError, match=r"is a kernel's source.*gpusim kernels build .*mine\.cl makes a code object"):
        load_exec(path)


@pytest.mark.parametrize("name", ["layerB.yaml", "layerB", "sim_configs/layerB.yaml"])
def test_shipped_file_is_found_from_any_folder(tmp_path, monkeypatch, name: str) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    assert files.find(name) == files.SHIPPED / "layerB.yaml"


def test_own_file_comes_before_a_shipped_one(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "layerB.yaml").write_text("gpu: mi6\n")
    assert files.find("layerB.yaml").read_text() == "gpu: mi6\n"


def test_a_wrong_configuration_says_all_that_is_wrong() -> None:
    with pytest.raises(UserError) as caught:
        machine({"l1": {"size_kib": 65, "ways": 0, "rat": 1.5}, "l2": {"policy": "oldst"}, "l3": {}}, l1__grid="3")
    assert sorted(caught.value.problems) == [
        "--set l1.grid=3: 3 is not allowed: must be a list",
        "run.yaml: l1.rat: unknown key; did you mean 'rate'? (allowed: size_kib, ways, rate, policy, bypass, grid)",
        "run.yaml: l1.size_kib: 65 is not allowed: must be at most 64",
        "run.yaml: l1.ways: 0 is not allowed: must be at least 1",
        "run.yaml: l2.policy: \"oldst\" is not allowed; did you mean 'oldest'? (allowed: oldest, round_robin)",
        "run.yaml: l3: unknown key; did you mean 'l2'? (allowed: name, l1, l2)",
        "run.yaml: name: is required but missing",
    ]
    assert str(caught.value) == "\n".join(caught.value.problems)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("gpu.engine.sib_kib=4", "engine.sib_kib"),
        ("gpu.sib_kib=4", "engine.sib_kib"),
        ("workload.input_channels=4", "workload.layer.input_channels"),
        ("l2.size_kib=4", "gpu.l2.size_kib"),
        ("dram.standard=hbm2", "gpu.dram.standard"),
        ("gpu.l2.sise_kib=4", "size_kib"),
        ("run.batch=4", "workload.batch"),
    ],
)
def test_a_path_that_is_none_is_answered_with_the_nearest_of_all(text: str, meant: str) -> None:
    with pytest.raises(UserError) as caught:
        load_run("layerB.yaml", [text])
    assert str(caught.value).startswith(f"--set {text}: unknown key; did you mean '{meant}'?")


def test_every_bad_assignment_is_said() -> None:
    with pytest.raises(UserError) as caught:
        load_run("layerB.yaml", ["workload", "a..b=1", "a=[", "workload.batch=2"])
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "--set workload",
        "--set a..b=1",
        "--set a=[",
    ]


@pytest.mark.parametrize(
    ("load", "name", "parts"),
    [
        (load_run, "vector_add", ["is the execution of one kernel, not a run", "gpusim exec vector_add"]),
        (load_run, "mi6", ["is a GPU, not a run", "--set gpu=mi6"]),
        (load_run, "hbm2e", ["is a DRAM standard, not a run", "--set gpu.dram.standard=hbm2e"]),
        (load_exec, "layerB", ["is a run, not the execution of one kernel", "gpusim run"]),
        (load_run, {"code_object": "x"}, ["configuration: is the execution of one kernel, not a run"]),
    ],
)
def test_a_file_of_another_kind_is_recognised(load, name, parts: list[str]) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError) as caught:
        load(name)
    for part in parts:
        assert part in str(caught.value)


def test_mappings_are_taken_as_files_are() -> None:
    mine = {"base": "mi6", "l2": {"size_kib": np.int64(1024)}, "name": "mine"}
    expected = load_gpu("mi6", ["l2.size_kib=1024", "name=mine"])
    assert (
        load_gpu(mine)
        == load_gpu({"gpu": mine})
        == load_gpu("mi6", {"gpu.l2.size_kib": 1024, "name": "mine"})
        == expected
    )
    endless: dict = {}
    endless["l2"] = endless
    for wrong in (3, None, {1: 2}, {"l2": object()}, endless, {"l2": {"size_kib": "x"}}):
        with pytest.raises(UserError):
            load_gpu(wrong)  # type: ignore[arg-type]
    for odd in ("l2.size_kib=1", 3, [3], {3: 4}, {"": 4}, {"l2.size_kib": object()}):
        with pytest.raises(UserError, match="sets"):
            load_gpu("mi6", odd)  # type: ignore[arg-type]
