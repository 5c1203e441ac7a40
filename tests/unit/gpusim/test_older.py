"""Are results that an earlier version wrote read as this version's: rows, columns, totals, and damage told?"""

import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.cli.main import invoke
from gpusim.results import metrics
from gpusim.results.report import terminal
from gpusim.results.report.older import upgraded
from gpusim.results.report.result import read
from gpusim.results.report.rows import views_of
from gpusim.study.compare.sides import side
from tests.support.results import QUIET, changed, network_of, older_network_of

WRITTEN = Path(__file__).resolve().parents[2] / "data" / "results"
NAMES = ("network-training", "network-both", "program", "run-both", "exec")
FASTER = changed(QUIET, {"kernel.cycles": 50_000, "kernel.time_us": 50.0})


def written(name: str) -> Any:
    """One of the results that commit 4c8459c has written."""
    return json.loads(gzip.decompress((WRITTEN / f"{name}.json.gz").read_bytes()))


@pytest.mark.parametrize(
    ("name", "kind", "columns", "rows"),
    [
        ("network-training", "net", [""], 18),
        ("network-both", "net", ["dense", "sparse"], 10),
        ("program", "hip", [""], 2),
        ("run-both", "run", ["dense", "sparse"], 0),
        ("exec", "exec", [""], 0),
    ],
)
def test_each_kind_of_result_is_read(name: str, kind: str, columns: list[str], rows: int) -> None:
    assert written(name)["schema_version"] < metrics.SCHEMA_VERSION, "an older one"
    result = read(written(name))
    assert (result.kind, [column.name for column in result.columns], len(result.rows)) == (kind, columns, rows)
    assert not result.stopped_by
    assert all(column.number("kernel.cycles") for column in result.columns)
    assert result.title.endswith(
        (" on MI6 (1 CU, 1.237 GHz)", "(36 CUs, 1.237 GHz)", "(64 CUs, 1 GHz)", "(1 CU, 1 GHz)")
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_result_of_this_version_stays_as_it_is_and_an_older_one_is_read_once(name: str) -> None:
    before = written(name)
    now = upgraded(before, name)
    assert before == written(name), "what was given is not changed"
    if before["schema_version"] == metrics.SCHEMA_VERSION - 1 and "kernels" not in before:
        assert now == {**before, "kind": now["kind"]}, "runs have the same shape"
    assert upgraded(network_of(conv1=QUIET), "x") == network_of(conv1=QUIET)


def test_a_networks_rows_columns_and_totals_are_those_that_were_written() -> None:
    document = written("network-training")
    result = read(document)
    (column,), total = result.columns, document["total"]
    assert [row.values["cycles"] for row in result.rows] == [row["cycles"] for row in document["layers"]]
    for row, held in zip(result.rows, document["layers"], strict=True):
        assert row.measured.name == f"{held['name']} {held['pass'].replace('_', ' ')}"
        assert row.measured.number("kernel.cycles") == held["cycles"]
        assert (row.measured.get("l1.hit_rate"), row.measured.get("dram.bytes")) == (
            held["l1_hit_rate"], held["dram_bytes"],
        )  # fmt: skip
    assert column.number("kernel.cycles") == total["cycles"] == sum(row["cycles"] for row in document["layers"])
    assert column.tree["total"]["launches"] == total["launches"]
    assert column.get("verification.passed") is True
    assert column.get("data.zero_fraction") is None, "`data` is a group of metrics, and was which values there are"
    lines = views_of(result).closing()
    assert lines[0].startswith(f"total: {total['time_us']:,.1f} us in {total['cycles']:,} cycles; ")
    assert lines[1].startswith(f"launches: {total['launches']}, of which {total['simulated_launches']} were simulated;")
    assert "real values; 18 of 18 rows compared with NumPy, all as expected" in lines
    by_pass, dearest = views_of(result).summaries()  # it did not say the layers' kinds
    assert {row[0]: row[3] for row in by_pass.rows} == {"forward": 10, "backward": 15, "update": 6}
    assert dearest.rows[0][0] == "fc forward"


def test_both_variants_of_a_network_stand_side_by_side() -> None:
    document = written("network-both")
    result = read(document)
    assert result.speed_up(result.columns[1]) == pytest.approx(document["normalized"]["total"]["speed_up"])
    for column in result.columns:
        assert column.number("kernel.cycles") == document[column.name]["total"]["cycles"]
    (sparse,) = views_of(result).further_tables()
    (row,) = [line.split("\t") for line in sparse.tabbed().splitlines() if line.startswith("conv2\t")]
    (told,) = document["normalized"]["layers"]
    assert row[0] == told["name"] and row[5] == f"{told['speed_up']:.2f}x" and row[6] == "implicit"
    said = views_of(result).remarks()
    (conv2,) = (line for line in said if line.startswith("dense: conv2 forward: "))
    assert conv2.endswith(
        "implicit by measurement; im2col_chunked 1.08 ×, winograd_2x2 1.13 ×, im2col 1.96 ×, winograd_4x4 2.24 ×"
    )
    assert not any(line.startswith("sparse: conv2") for line in said), "none was chosen for a layer that skips zeros"
    half = {**document, "sparse": None, "partial": True, "stopped_by": "out of time"}
    assert [column.name for column in read(half).columns] == ["dense"] and read(half).stopped_by == "out of time"


def test_rows_of_the_first_networks_need_all_their_multiply_accumulates() -> None:
    document = older_network_of(conv1=QUIET, fc=FASTER)
    for row in document["layers"]:
        del row["needed_macs"]
    assert [row.values["needed_macs"] for row in read(document).rows] == [10, 10]
    assert views_of(read(document)).closing()[0].startswith("total: ")


def test_the_same_network_reads_alike_in_both_shapes() -> None:
    older, now = read(older_network_of(conv1=QUIET, fc=FASTER)), read(network_of(conv1=QUIET, fc=FASTER))
    assert views_of(older).rows_table().tabbed() == views_of(now).rows_table().tabbed()
    assert views_of(older).closing() == views_of(now).closing()
    assert [one.get("kernel.cycles") for one in older.columns] == [one.get("kernel.cycles") for one in now.columns]
    assert (older.title, older.kind, older.remarks) == (now.title, now.kind, now.remarks)


def test_a_network_that_was_stopped_before_its_first_row_is_read() -> None:
    document = older_network_of(conv1=QUIET)
    document |= {"partial": True, "stopped_by": "interrupted", "total": {"launches": 1, "cycles": None}}
    document["layers"] = [{"name": "conv1", "pass": "forward", "macs": 1, "launches": 1, "simulated_launches": 0,
                           "verification": {"passed": None}, "cycles": None}]  # fmt: skip
    result = read(document)
    assert (
        views_of(result).summaries() == []
        and views_of(result).closing()[-2] == "interrupted: 1 of 1 rows are not finished"
    )
    terminal.show(document, io.StringIO())


def test_a_programs_kernels_are_rows_and_their_sums_its_totals() -> None:
    document = written("program")
    result = read(document)
    (column,) = result.columns
    timed, executed = result.rows
    assert (timed.measured.name, timed.values["cycles"], timed.values["timed"]) == ("sum", 5287, 1)
    assert timed.values["bound"] == {"name": "valu", "utilization": None} and executed.values["bound"] is None
    assert executed.values["simulated_launches"] == 0 and executed.values["cycles"] is None
    assert (column.number("kernel.cycles"), column.number("kernel.time_us")) == (5287, 5.287)
    assert column.number("kernel.wavefront_instructions") == 611 + 624
    assert column.tree["total"] == {
        "rows": 2, "launches": 2, "simulated_launches": 1, "cycles": 5287, "time_us": 5.287,
    }  # fmt: skip
    assert views_of(result).rows_table().tabbed().splitlines()[1:] == [
        "1\t5,287\t5.3\t100.0%\tvector ALUs\t611\tsum", "1\t–\t–\t–\t–\t624\tscale",
    ]  # fmt: skip
    untimed = {**document, "kernels": [document["kernels"][1]]}
    assert read(untimed).columns[0].get("kernel.cycles") is None


@pytest.mark.parametrize("name", NAMES)
def test_an_older_result_is_shown_compared_and_on_a_page(name: str, tmp_path: Path, capfd: Any) -> None:
    path = tmp_path / "old.json"
    path.write_text(json.dumps(written(name)))
    assert terminal.as_text(written(name))
    parts = side(str(path), tmp_path / "none.db").parts
    assert any(part.metrics.get("kernel.cycles") for part in parts.values())
    assert invoke(["compare", str(path), str(path)]) == 0
    assert "1.000" in capfd.readouterr().out
    pytest.importorskip("matplotlib")
    assert invoke(["report", str(path), "--html", str(tmp_path / "r.html"), "--quiet"]) == 0
    assert read(written(name)).what.split(":")[0] in (tmp_path / "r.html").read_text()


LOST = "lost"
DAMAGE: dict[str, list[tuple[list[Any], Any]]] = {
    "network-training": [
        (["layers"], 7), (["layers"], [1]), (["layers"], [{}]), (["total"], None), (["total"], {"metrics": 3}),
        (["verification"], None), (["config"], None), (["phase"], LOST), (["layers", 0, "name"], LOST),
        (["layers", 0, "macs"], LOST),
    ],
    "network-both": [
        (["dense", "layers"], LOST), (["sparse"], 7), (["sparse"], {"layers": []}), (["algorithms"], 3),
        (["algorithms"], [{}]), (["dense", "verification", "passed"], LOST),
    ],
    "program": [
        (["kernels"], None), (["kernels"], [None]), (["kernels", 0, "cycles"], LOST), (["kernels", 0, "timed"], LOST),
        (["kernels", 0, "bound"], LOST), (["kernels", 1, "launches"], LOST), (["config"], 3),
    ],
    "run-both": [(["config"], LOST), (["config"], None), (["partial"], LOST)],
    "exec": [(["kernel"], LOST), (["partial"], LOST)],
}  # fmt: skip


@pytest.mark.parametrize(("name", "way", "value"), [(name, *one) for name, held in DAMAGE.items() for one in held])
def test_a_damaged_one_is_refused_with_its_files_name(name: str, way: list[Any], value: Any) -> None:
    document = written(name)
    held = document
    for key in way[:-1]:
        held = held[key]
    if value == LOST:
        del held[way[-1]]
    else:
        held[way[-1]] = value
    with pytest.raises(UserError, match=r"^old\.json: (is damaged|is not a result)"):
        read(document, "old.json")


@pytest.mark.parametrize(
    ("version", "network"), [(1, False), (2, True), (0, True), (4, True), ("1", True), (None, False), (True, False)]
)
def test_a_version_that_never_was_is_refused(version: Any, network: bool) -> None:
    document = written("network-training" if network else "exec") | {"schema_version": version}
    said = f"old.json: has schema_version {version}; this version of gpusim reads 3, and 1 of networks, 2 of runs"
    with pytest.raises(UserError, match=re.escape(said)):
        read(document, "old.json")
