"""Does every reported figure have a second statement in the tests, which shares no code with the first?

Derived metrics have formulas in `test_metrics` and `test_energy`, needed work in `test_work_counted`. Counters are
compared with hand-counted programs, twins and references in the files below, or here with a functional execution,
which counts instructions without any timing. What has neither is listed with a reason.
"""

import re
from functools import cache
from pathlib import Path

import pytest

from gpusim.base.counters import Counter
from gpusim.base.jit import JIT_DISABLED
from gpusim.model.core.counters import TABLES
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.simulator import simulate
from gpusim.results import metrics
from isa.execution.emulator import FunctionalResult, run_functional
from isa.execution.executor import program_of
from tests.support.real_kernels import corpus_launch
from tests.unit.gpusim.test_metrics import EXPECTED

TESTS = Path(__file__).resolve().parents[2]
# files that compare counts with programs counted by hand, with twins or with references; laws between counts do not
# count, as both sides can be wrong
FILES = (
    "exact/test_*.py", "unit/memory/test_*_twin.py", "unit/memory/test_dram_exact.py",
    "unit/memory/test_dram_behaviour.py",
    "unit/memory/test_translation.py", "unit/memory/test_missing.py", "unit/memory/test_l2_share.py",
    "unit/memory/test_crossbar.py", "unit/memory/test_ports.py", "unit/spartan/*.py", "unit/core/test_occupancy.py",
    "unit/core/test_fetch.py", "unit/core/test_units.py", "unit/workloads/test_block_circulant.py",
    "support/reference_*.py", "support/scripted.py", "system/test_engine_modes.py", "system/test_sparse_products.py",
    "system/test_compact_on_write.py", "system/test_network_runs.py",
)  # fmt: skip
GPU = GpuSpec()
KERNELS = ("vector_add", "histogram_lds", "gemm_tiles")
INSTRUCTIONS = {
    "kernel.valu_instructions": "valu",
    "kernel.salu_instructions": "salu",
    "kernel.vmem_instructions": "vmem",
    "kernel.lds_instructions": "lds",
    "kernel.smem_instructions": "smem",
    "kernel.branch_instructions": "branch",
}
HERE = {
    *INSTRUCTIONS, "kernel.wavefronts_ended", "cu.wavefront_slot_cycles", "dram.bus_available_cycles",
    "cu.issue_cycles", "cu.resident_cycles", "cu.valu_busy_cycles", "cu.matrix_busy_cycles", "l1.return_busy_cycles",
}  # fmt: skip
# counters without a second statement, each with the reason
WITHOUT = {
    "dram.batches": "a count of the controller's own decisions, which differ with every policy",
    "engine.l2_stall_cycles": "of a queue's state in each cycle, which a law of cycles bounds alone",
    "l2.flush_cycles": "of a flush's own pace, which is assumed",
    "l2.sparse_fills": "equal to the engine's answered lines, which tests of spartan count",
    "l2.sparse_misses": "equal to the engine's requests, which tests of spartan count",
    "simulator.compile_s": "the host's clock",
    "simulator.cpu_s": "the host's clock",
    "simulator.wall_s": "the host's clock",
}


@cache
def texts() -> str:
    """The text of the files with statements."""
    files = sorted({file for pattern in FILES for file in TESTS.glob(pattern)})
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def is_stated(counter: Counter) -> bool:
    """Whether a file with statements names the count, by its name in facts or in the unit's state."""
    names = {counter.name, counter.state_field}
    return any(re.search(rf"\b{name}\b", texts()) for name in names)


def paths() -> dict[str, Counter]:
    return {f"{table.section}.{counter.name}": counter for table in TABLES for counter in table.counters}


def test_every_counter_has_a_second_statement_or_a_reason() -> None:
    missing = {path for path, counter in paths().items() if not is_stated(counter)} - HERE
    assert missing == WITHOUT.keys()


def test_every_derived_metric_has_a_second_formula() -> None:
    energy = (TESTS / "unit" / "gpusim" / "test_energy.py").read_text(encoding="utf-8")
    derived = {metric.path for metric in metrics.METRICS if metric.counter is None and not metric.of_run}
    by_hand = {path for path in derived if path.startswith("energy.") and f'"{path.removeprefix("energy.")}"' in energy}
    assert derived - by_hand - EXPECTED.keys() == set()


@cache
def executed(kernel: str) -> tuple[RunFacts, FunctionalResult]:
    """A kernel of the corpus, timed, and executed without timing."""
    return simulate(corpus_launch(kernel), GPU), run_functional(corpus_launch(kernel))


@pytest.mark.skipif(JIT_DISABLED, reason="minutes in plain Python; compiled it is the same code")
@pytest.mark.parametrize("kernel", KERNELS)
def test_what_is_issued_is_what_is_executed(kernel: str) -> None:
    facts, whole = executed(kernel)
    found = {path: facts.kernel[path.partition(".")[2]] for path in INSTRUCTIONS}
    assert found == {path: whole.instructions.get(unit, 0) for path, unit in INSTRUCTIONS.items()}
    assert facts.kernel.wavefronts_ended == whole.wavefronts
    assert facts.cu.wavefront_slot_cycles == facts.kernel.cycles * GPU.shader_arrays * GPU.cus_per_array * 4 * 10
    assert facts.dram.bus_available_cycles == facts.kernel.cycles * GPU.dram.channels


@pytest.mark.skipif(JIT_DISABLED, reason="minutes in plain Python; compiled it is the same code")
def test_times_of_a_single_wavefront() -> None:
    """It issues an instruction at a time, each once: there is no loop, and its branch is not taken."""
    launch = corpus_launch("vector_add")
    facts, whole = executed("vector_add")
    names = [instruction.opcode.mnemonic for instruction in program_of(launch.kernel).instructions]
    assert (whole.wavefronts, whole.wavefront_instructions) == (1, len(names))
    vector = [name for name in names if name.startswith("v_")]
    assert facts.cu.valu_busy_cycles == sum(8 if name.endswith("_b64") else 4 for name in vector)
    assert facts.cu.issue_cycles == len(names)
    assert facts.cu.resident_cycles == facts.cu.active_cycles
    assert facts.l1.return_busy_cycles == sum("_load_dword" in name for name in names if name.startswith("flat"))
