"""Is a perturbed machine another draw of the same one: other cycles, the same work; and is 0 no perturbation at all?"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpusim.cli.main import invoke
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.machine import new_machine
from gpusim.model.core.occupancy import occupancy
from gpusim.model.core.perturbation import DELAY_CYCLES, perturb
from gpusim.model.core.simulator import simulate
from gpusim.results.report.sweeps.answers import describe_best_designs
from gpusim.results.report.sweeps.points import merged_repeats
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.sweep_points import swept
from tests.support.functional import Device, kernel

N = 16384
GPU = GpuSpec.model_validate({"name": "small", "shader_arrays": 2, "cus_per_array": 2})


def _run(**more: Any) -> tuple[dict[str, Any], np.ndarray]:
    device = Device()
    for name in "abc":
        device.put(name, np.arange(N, dtype=np.float32))
    launch = device.launch(kernel("vector_add", "vector_add"), N, 64, "a", "b", "c", N)
    facts = simulate(launch, GPU, checked=True, **more)
    sections = {name: dict(held) for name, held in facts.sections.items() if name != "simulator"}
    return sections, device.get("c")


@pytest.mark.compiled_tier
def test_another_draw_changes_cycles_and_no_work() -> None:
    plain, result = _run()
    assert _run(perturbation=0)[0] == plain
    drawn = [_run(perturbation=number) for number in (1, 2, 3)]
    assert _run(perturbation=1)[0] == drawn[0][0]
    cycles = {one["kernel"]["cycles"] for one, _ in drawn} | {plain["kernel"]["cycles"]}
    assert len(cycles) >= 3
    assert max(cycles) - min(cycles) < DELAY_CYCLES // 2  # the delay itself is none of the kernel's cycles
    for one, stored in drawn:
        assert np.array_equal(stored, result)
        for section, name in (
            ("kernel", "wavefront_instructions"),
            ("kernel", "wavefronts"),
            ("l1", "read_transactions"),
            ("l1", "write_transactions"),
        ):
            assert one[section][name] == plain[section][name] > 0


def test_places_are_drawn_within_the_machine() -> None:
    device = Device()
    device.put("a", np.zeros(64, np.float32))
    launch = device.launch(kernel("vector_add", "vector_add"), 64, 64, "a", "a", "a", 64)
    fit = occupancy(launch, GPU.cu)
    before = new_machine(GPU, launch, fit)
    assert perturb(before, 0) == 0
    assert before.tobytes() == new_machine(GPU, launch, fit).tobytes()
    drawn = []
    for number in range(1, 9):
        m = new_machine(GPU, launch, fit)
        delay = perturb(m, number)
        channel = m.dram.channel
        assert 0 <= delay < DELAY_CYCLES and 0 <= m.run.cu_next < m.cu.cus
        assert (channel["refresh_at"][:, : int(m.dram.ranks)] > 0).all()
        assert np.array_equal(channel["refresh_due"], channel["refresh_at"][:, : int(m.dram.ranks)].min(axis=1))
        drawn.append((delay, int(m.run.cu_next), int(channel["refresh_due"][0]), tuple(m.xbar.next_port)))
    assert all(len({one[k] for one in drawn}) > 2 for k in range(4))


@pytest.mark.compiled_tier
def test_a_difference_within_the_draws_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cycle more of the crossbar is lost among the draws; 115 more are not."""
    monkeypatch.chdir(tmp_path)
    size = "{fill: 1, dtype: float32, shape: [2048]}"
    fixed = ["global_size=[2048]", "arguments.n.value=2048", *(f"arguments.{name}={size}" for name in "abc")]
    sets = [word for one in fixed for word in ("--set", one)]
    said = []
    for axis in ("gpu.crossbar.request_latency_cycles=35,36", "gpu.crossbar.request_latency_cycles=35,150"):
        command = ["sweep", "vector_add", *sets, "--set", axis, "--perturb", "4", "--quiet"]
        assert invoke(command) == 0
        with StoreReader("gpusim.db") as results:
            found = swept(results, len(said) + 1)
        assert found.with_role("repeat") == ["run.perturbation"] and len(found.places) == 8
        assert len(merged_repeats(found).places) == 2
        said.append("\n".join(describe_best_designs(found)))
    assert "no value can be told from another" in said[0] and "cannot be told apart" in said[0]
    assert "no effect" not in said[1]


def test_a_sampled_run_has_no_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(["run", "layerC", "--engine", "off", "--sample", "--set", "run.perturbation=3"]) == 2
    assert "run.perturbation: 3 is not allowed of a sampled run" in capfd.readouterr().err
