"""Do networks skip the zeros of their activation maps as they should: values right, launches told apart, compared?"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import gpusim
from gpusim.cli.main import invoke
from gpusim.config.workload import EngineMode
from gpusim.jobs.networks import choice, run
from gpusim.jobs.networks.kept import LaunchCache
from gpusim.results.report.many import as_markdown
from gpusim.results.report.page.parts import fragment
from gpusim.results.report.result import read
from gpusim.results.report.rows import views_of
from spartan.engine_spec import EngineSpec
from tests.support.network_runs import GPU, Ran, piped, run_job, shown
from tests.support.small_networks import layer
from workloads.operators import conv_sparse

# equal convolutions over different maps, of multiples of a line; the last one's zeros are those of two ReLUs' sum
MAPS = [
    layer("first", "convolution", filters=16, kernel=3, padding=1),
    layer("relu1", "relu"),
    layer("a", "convolution", filters=16, kernel=3, padding=1),
    layer("relu2", "relu"),
    layer("b", "convolution", filters=16, kernel=3, padding=1),
    layer("sum", "add", ["relu2", "relu1"]),
    layer("c", "convolution", ["sum"], filters=16, kernel=3, padding=1),
    layer("all", "add", ["b", "c"]),
]
NETWORK = {"input": [16, 8, 8], "layers": MAPS}
SPARSE = ("a", "b", "c")


def record_of(described: dict[str, Any] = NETWORK, **values: Any) -> Ran:
    return run_job(described, values.pop("settings", None), **{"batch": 2, "engine": "on", **values})


def simulated(found: Ran) -> dict[str, int]:
    return {step.step.layer: len(step.simulated) for step in found.last.steps if step.zeros_of}


@pytest.fixture(scope="module")
def lenet(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("lenet") / "both.json"
    command = ["net", "lenet", "--batch", "2", "--engine", "both", "--checked", "--jobs", "1", "--quiet"]
    assert invoke([*command, "--json", str(path)]) == 0
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def rows_of(tree: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in tree["rows"]}


def test_lenet_with_the_engine_and_without(lenet: dict[str, Any]) -> None:
    assert lenet["engine_mode"] == "both" and lenet["values"] == "real" and not lenet["partial"]
    choices = {variant: rows_of(lenet[variant])["conv2"].get("choice") for variant in ("dense", "sparse")}
    assert choices["sparse"] is None, "the sparse one is asked for by name"
    for variant, conv2 in (("dense", choices["dense"]["kernel"]), ("sparse", "ellpack_dib")):
        tree, rows = lenet[variant], rows_of(lenet[variant])
        assert tree["verification"]["passed"] is True
        assert tree["total"]["compared_rows"] == tree["total"]["rows"] == len(rows) == 8
        assert rows["conv1"]["operator"] == "convolution forward (implicit)"
        assert rows["conv2"]["operator"] == f"convolution forward ({conv2})"
        assert tree["kernel"]["cycles"] == tree["total"]["cycles"] == sum(row["cycles"] for row in rows.values())
        assert bool(rows["conv2"]["metrics"]["engine"]) == (variant == "sparse") == ("zeros" in rows["conv2"])
        assert bool(tree["engine"]) == (variant == "sparse")
        assert ("why_dense" in rows["conv1"]) == (variant == "sparse")
    conv2 = rows["conv2"]
    needed = conv2["macs"] * (1 - conv2["zeros"]["of_terms"])
    assert conv2["needed_macs"] == pytest.approx(needed, abs=1) and 0 < needed <= conv2["macs"]
    counts = rows["conv2"]["metrics"]["engine"]
    assert counts["requests"] > 0 == counts["response_mismatches"] == counts["faults"]
    assert counts["lines_fetched"] == counts["lines_needed"] + counts["lines_wasted"]


def test_a_speed_up_is_against_the_fastest_dense_algorithm(
    lenet: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    dense, sparse = (rows_of(lenet[variant])["conv2"] for variant in ("dense", "sparse"))
    chosen = dense["choice"]
    computing = chosen["cycles"].keys() | chosen["at_least"].keys()
    assert computing == {"implicit", "im2col", "im2col_chunked", "padding_free"}, "of several maps"
    assert len(chosen["cycles"]) > 1
    assert dense["cycles"] == chosen["cycles"][chosen["kernel"]] == min(chosen["cycles"].values())
    ratio = dense["cycles"] / sparse["cycles"]
    cycles = [lenet[variant]["total"]["cycles"] for variant in ("dense", "sparse")]
    result = read(lenet)
    assert [column.name for column in result.columns] == ["dense", "sparse"]
    assert result.speed_up(result.columns[0]) == 1, "the dense one is what all are compared with"
    assert result.speed_up(result.columns[1]) == cycles[0] / cycles[1], "wherever it is shown"
    assert lenet["normalized"]["kernel.cycles"] == cycles[1] / cycles[0], "as of any run"
    (table,) = views_of(result).further_tables()
    (row,) = table.rows
    shown_there = dict(zip((column.head for column in table.columns), row, strict=True))
    assert shown_there["speed-up"].value == ratio and shown_there["dense by"] == chosen["kernel"]
    whole, layer_ = f"all rows: {cycles[0] / cycles[1]:.3f}x", f"{ratio:.2f}x"
    for text in (piped(lenet), as_markdown(lenet), fragment(lenet), "\n".join(shown(lenet, 120, monkeypatch))):
        assert layer_ in text
    for text in (piped(lenet), as_markdown(lenet), "\n".join(shown(lenet, 120, monkeypatch))):
        assert whole in text
    factor = f"{cycles[0] / cycles[1]:.2f} ×"
    assert all(factor in text for text in (piped(lenet), fragment(lenet))), "the screen and the page say it too"


def test_launches_over_other_zeros_are_no_equals() -> None:
    real = record_of()
    assert real.passed is True
    assert simulated(real) == dict.fromkeys(SPARSE, 4), "equal shapes, other maps"
    zeros = {row.step.layer: row.zeros for row in real.last.steps if row.zeros_of}
    assert all(zero is not None and 0.2 < zero.fraction < zero.of_terms for zero in zeros.values())
    of = {"data": "synthetic", "verify": False}
    assert sum(simulated(record_of(**of, settings={"sparsity": 0.5})).values()) == 4, "made-up maps are alike"
    other = {"sparsity": 0.5, "layer_sparsity": {"b": 0.9}}
    assert sorted(simulated(record_of(**of, settings=other)).values()) == [0, 4, 4]


def test_each_chunk_of_images_has_zeros_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conv_sparse, "CHUNK_BYTES", 1)
    found = record_of(layers=":a")
    assert found.passed is True and simulated(found) == {"a": 1 + 2 * 3}
    made_up = record_of(layers="a", data="synthetic", settings={"sparsity": 0.5})
    assert simulated(made_up) == {"a": 1 + 3}


def test_what_a_sparse_product_cannot_do_is_dense_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conv_sparse, "MAX_TILED_ROWS", 16 * 9 - 1)
    found = record_of(layers=":a")
    step = next(step for step in found.last.steps if step.step.layer == "a")
    assert found.passed is True and step.operators == ("convolution forward (implicit)",)
    assert step.why_dense.startswith("144 weights of a filter; allowed are at most 143") and not step.zeros_of


def test_both_variants_have_data_of_one_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(choice.ALGORITHMS, "convolution", ("implicit",))
    plain = record_of(engine="off", timing=False).last.planned_bytes
    monkeypatch.setattr(run, "MOST_REAL_BYTES", plain)  # with the sparse algorithm's workspace it is too large
    found = record_of(engine="both", settings={"sparsity": 0.5})
    assert [record.real for record in found.variants.values()] == [False, False]
    assert found.tree["values"] == "synthetic"
    assert found.variants["sparse"].planned_bytes > plain


def test_more_zeros_cost_less_and_are_those_that_were_asked_for() -> None:
    cycles = []
    for sparsity in (0.0, 0.5, 1.0):
        found = record_of(layers="a", data="synthetic", settings={"sparsity": sparsity})
        (step,) = found.last.steps
        assert step.facts is not None and step.zeros is not None
        assert step.zeros.fraction == pytest.approx(sparsity, abs=0.05)
        cycles.append(step.facts.cycles)
    assert cycles == sorted(cycles, reverse=True) and len(set(cycles)) == 3


@pytest.mark.parametrize("engine", ["on", "both"])
def test_the_second_table_fits_a_terminal(engine: EngineMode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(choice.ALGORITHMS, "convolution", ("implicit", "im2col"))
    found = record_of(layers="a", engine=engine)
    tree = found.tree
    lines = shown(tree, 80, monkeypatch)
    assert max(map(len, lines)) <= 80 and not any("…" in line for line in lines)
    head = next(line for line in lines if line.startswith("layer") and "padded" in line)
    last = lines[lines.index(head) + 1]
    assert last.split()[0] == "a" and last.rstrip().endswith("%"), "the row is one line, none of its cells cut"
    assert len(last.split()) == len(head.replace("dense us", "dense_us").replace("dense by", "dense_by").split())
    if engine == "both":
        dense, sparse = (rows_of(tree[variant])["a"] for variant in ("dense", "sparse"))
        fastest = dense["choice"]["kernel"]
        assert f"({fastest})" in dense["operator"]
        assert f"{dense['cycles'] / sparse['cycles']:.2f}x {fastest} " in last
    else:
        assert "speed-up" not in head and "choice" not in rows_of(tree)["a"]
    text = as_markdown(tree)
    assert text.count("\n| a |") == 1 + 1 and ("speed-up:" in text) == (engine == "both")


def test_in_software_there_is_no_engine() -> None:
    found = record_of(layers=":a", settings={"sparse_convolution": "ellpack_dib_software"})
    step = next(step for step in found.last.steps if step.step.layer == "a")
    assert found.passed is True and step.facts is not None and step.facts.engine is None
    assert step.operators == ("convolution forward (ellpack_dib_software)",) and len(step.simulated) == 5


def test_several_processes_and_training_find_the_same() -> None:
    one, two = (record_of({**NETWORK, "layers": [*MAPS[:3], POOL]}, train=True, jobs=jobs) for jobs in (1, 2))
    assert one.passed is True
    cycles = [[step.facts.cycles if step.facts else None for step in found.last.steps] for found in (one, two)]
    assert cycles[0] == cycles[1] and None not in cycles[0]
    assert [s.zeros for s in one.last.steps] == [s.zeros for s in two.last.steps]
    backward = [s for s in one.last.steps if "convolution backward" in s.operators[0]]
    assert len(backward) == 3 and all("(implicit)" in s.operators[0] and "gradients" in s.why_dense for s in backward)


POOL = layer("pool", "average_pool", whole=True)


def test_what_is_kept_is_the_engine_s(tmp_path: Path) -> None:
    found = record_of(layers="a", data="synthetic", settings={"sparsity": 0.5}, store=tmp_path / "s.db")
    (step,) = found.last.steps
    served = [one for one in step.classes if one.regions]
    assert len(served) == 1
    small = EngineSpec(compaction_units=1)
    for one in step.classes:
        assert LaunchCache(tmp_path / "s.db", GPU, engine_spec=EngineSpec()).get(one) is not None
        assert (LaunchCache(tmp_path / "s.db", GPU, engine_spec=small).get(one) is None) == bool(one.regions)
    again = record_of(layers="a", data="synthetic", settings={"sparsity": 0.5}, store=tmp_path / "s.db")
    assert simulated(again) == {"a": 0} and again.last.steps[0].facts == step.facts


def test_a_script_gets_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(choice.ALGORITHMS, "convolution", ("implicit",))
    result = gpusim.run_network(NETWORK, batch=1, layers="a", engine="both", quiet=True)
    assert result.passed is True
    assert [row["name"] for row in result.sparse["rows"]] == ["a"] and result.sparse.total.cycles > 0
    assert result.normalized["kernel.cycles"] == result.sparse.kernel.cycles / result.dense.kernel.cycles


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--engine", "on", "--data", "synthetic"], "layer 'a' (forward): made-up maps have as many zeros as is said"),
        (["--engine", "on", "--set", "sparsity=0.5"], "sparsity: the iteration's values are real"),
        (["--engine", "on", "--set", "layer_sparsity.d=0.5"], "layer_sparsity: unknown layer 'd'"),
        (["--engine", "both", "--outputs", "y.npz"], "outputs: engine both runs the network twice"),
        (["--engine", "on", "--set", "engine.sib_kib=4096"], "do not fit the part of L2 that the engine takes"),
        (["--set", "convolution=ellpack_dib"], "allowed: implicit"),
        (["--engine", "on", "--set", "sparse_convolution=im2col"], "allowed: ellpack_dib, ellpack_dib_registers"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], said: str, tmp_path: Path, capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("maps.yaml").write_text(yaml.safe_dump(NETWORK))
    assert invoke(["net", "maps.yaml", *arguments, "--quiet"]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gpusim: error: ") and captured.err.count("\n") == 1, captured.err
    assert said in captured.err


def test_benchmarks_of_their_own_have_no_engine(capfd: pytest.CaptureFixture) -> None:
    assert invoke(["net", "--dnnmark", "--engine", "on"]) == 2
    assert "--engine on: --dnnmark runs benchmarks of its own" in capfd.readouterr().err
