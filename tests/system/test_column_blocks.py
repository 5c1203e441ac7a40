"""Does a product that exceeds the GPU's memory give in blocks of columns what it gives in whole, and count it once?"""

import numpy as np
import pytest

import gpusim
from gpusim.base.errors import UserError
from gpusim.jobs import column_blocks
from workloads.operators.gemm import GemmOperator

LAYER = {
    "workload.layer.input_channels": 16,
    "workload.layer.output_channels": 64,
    "workload.data": "synthetic_maps",
    "workload.sparsity": 0.6,
    "workload.batch": 160,  # of 16 columns, of 832 bytes in B and 256 in C
    "gpu.shader_arrays": 1,
    "gpu.cus_per_array": 2,
    "kernels.dense": "sgemm_wide",
    "run.checked": True,
}
WHOLE, SMALL = {"gpu.memory_mib": 64}, {"gpu.memory_mib": 1}


def found(engine: str, *more: dict) -> gpusim.RunResult:
    sets = {key: value for each in (LAYER, *more) for key, value in each.items()}
    return gpusim.run("layerB.yaml", engine=engine, sets=sets, quiet=True)


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """C of each block that is compared, as device memory holds it."""
    kept: list[np.ndarray] = []
    original = column_blocks.verify

    def verify(operator: GemmOperator):  # type: ignore[no-untyped-def]
        kept.append(np.array(operator.outputs["C"]))
        return original(operator)

    monkeypatch.setattr(column_blocks, "verify", verify)
    monkeypatch.setattr("gpusim.jobs.running.operators.verify", lambda operator, _: verify(operator))
    return kept


@pytest.mark.parametrize("data", ["synthetic", "synthetic_maps", "resampled"])
def test_blocks_of_images_are_the_whole_to_the_bit(results: list[np.ndarray], data: str) -> None:
    of_file = {"workload.layer.input_channels": 512, "workload.layer.output_channels": 4, "workload.batch": 12}
    sets = {"workload.data": data, "gpu.memory_mib": 2} | (of_file if data == "resampled" else {"gpu.memory_mib": 1})
    whole = found("off", sets, WHOLE)
    assert len(results) == 1
    blocks = found("off", sets)
    assert len(results) > 3, "several blocks"
    assert np.array_equal(np.concatenate(results[1:]), results[0])
    assert whole.passed and blocks.passed
    assert blocks["data"]["zero_fraction"] == pytest.approx(whole["data"]["zero_fraction"], abs=1e-12)
    assert blocks["data"]["zero_line_fraction"] == pytest.approx(whole["data"]["zero_line_fraction"], abs=1e-12)
    copies = [each for each in blocks.records[0].commands if each.copied_bytes]
    assert [each.name[0] for each in copies] == ["C", "B"] * (len(results) - 2)
    assert (whole["data"]["column_blocks"], blocks["data"]["column_blocks"]) == (None, len(results) - 1)
    assert f"{len(results) - 1} blocks of columns" in str(blocks)


@pytest.mark.parametrize(
    ("engine", "more"),
    [
        ("on", {}),
        ("on", {"engine.compact": "on_write"}),
        ("on", {"kernels.sparse": "software"}),
        ("on", {"kernels.sparse": "csc"}),
        ("on", {"kernels.sparse": "auto"}),
        ("off", {"kernels.dense": "auto"}),
    ],
)
def test_every_way_runs_in_blocks(engine: str, more: dict) -> None:
    batch = 80
    blocks = found(engine, more, SMALL, {"workload.batch": batch})
    assert blocks.passed
    (record,) = blocks.records
    assert len([each for each in record.commands if each.copied_bytes]) >= 2
    if more.get("engine.compact"):
        assert record.total.engine.lines_handed_over == batch * 16 * 9


def test_a_product_that_leaves_no_space_for_code_runs_in_blocks_too() -> None:
    """Of 17 KiB an image, in 1 MiB: for one of these batches the matrices fit, and the kernel beside them does not."""
    blocks = [found("off", {"workload.batch": batch}, SMALL)["data"]["column_blocks"] for batch in range(57, 61)]
    whole = blocks.count(None)
    assert 0 < whole < len(blocks)
    assert blocks == [None] * whole + [2] * (len(blocks) - whole)


def test_sampled_blocks_are_not_verified() -> None:
    larger = {
        "workload.batch": 600,
        "gpu.memory_mib": 2,
        "gpu.cus_per_array": 1,
    }  # blocks of rounds enough to be sampled
    sampled = found("off", {"run.checked": False, "run.sampling": {"error": 0.1}}, larger)
    assert sampled.passed is None
    launches = sampled.records[0].launches
    assert len(launches) > 2 and not any(each.sampling.complete for each in launches)


def test_a_wrong_element_of_a_block_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    original, seen = column_blocks.verify, []

    def verify(operator: GemmOperator):  # type: ignore[no-untyped-def]
        if len(seen) == 1:
            operator.outputs["C"][3, 5] += 1.0
        seen.append(len(operator.outputs["C"]))
        return original(operator)

    monkeypatch.setattr(column_blocks, "verify", verify)
    blocks = found("off", SMALL)
    assert not blocks.passed
    assert len(seen) > 2


def test_what_no_block_holds_is_refused() -> None:
    with pytest.raises(UserError, match=r"the smallest block of columns, need .* MiB .*; the GPU has 1 MiB"):
        found("off", SMALL, {"workload.layer.input_channels": 512, "workload.layer.output_channels": 512})


def test_products_of_libraries_are_refused() -> None:
    with pytest.raises(
        UserError, match=r"rocblas: .* not run in blocks of columns: allowed are at most \d+ of the 2560"
    ):
        found("off", SMALL, {"kernels.dense": "rocblas"})


def test_a_cycle_limit_in_the_first_block_ends_the_run() -> None:
    stopped = found("off", {"run.max_cycles": 500}, SMALL)
    assert stopped.records[0].partial and len(stopped.records[0].launches) == 1
