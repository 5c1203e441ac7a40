"""Exact cases of the matrix unit: passes, what of the vector ALU is left, products that follow one another.

Cycles of a product and how many of them leave the vector ALU to others: AMD's matrix instruction calculator.
"""

from pathlib import Path

import pytest

from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from isa.lanes.matrix import matrix_product
from tests.exact.machine import TURN, finished, first_issue, run
from tests.support.assembly import Assembly

OBJECTS = Path(__file__).parent / "objects"
ON_MI100 = Assembly(OBJECTS / "matrix_products_gfx908.hsaco", gpu="gfx908")
ON_MI200 = Assembly(OBJECTS / "matrix_products_gfx90a.hsaco", gpu="gfx90a")
ASSEMBLIES = {"gfx908": ON_MI100, "gfx90a": ON_MI200}

# cycles of the matrix unit, and of the vector ALU among them
MI100 = {
    "v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]": (64, 8),
    "v_mfma_f32_16x16x4f32 a[0:3], v0, v1, a[0:3]": (32, 8),
    "v_mfma_f32_4x4x4f16 a[0:3], v[0:1], v[2:3], a[0:3]": (8, 8),
    "v_mfma_i32_32x32x8i8 a[0:15], v0, v1, a[0:15]": (64, 8),
}
MI200 = {
    "v_mfma_f32_32x32x8bf16_1k a[0:15], v[0:1], v[2:3], a[0:15]": (64, 4),
    "v_mfma_f32_4x4x4f16 a[0:3], v[0:1], v[2:3], a[0:3]": (8, 4),
    "v_mfma_f64_16x16x4f64 a[0:7], v[0:1], v[2:3], a[0:7]": (32, 32),
    "v_mfma_f64_4x4x4f64 a[0:1], v[0:1], v[2:3], a[0:1]": (16, 16),
}
CASES = [("gfx908", text, *of) for text, of in MI100.items()] + [("gfx90a", text, *of) for text, of in MI200.items()]
REPEATS, BESIDE = 5, 20
pytestmark = pytest.mark.compiled_tier


def name(text: str, what: str) -> str:
    return f"{what}_{text.split()[0]}"


for _gpu, _text, _cycles, _taken in CASES:
    ASSEMBLIES[_gpu].kernel(
        name(_text, "chain"), f"    .rept {REPEATS}\n    {_text}\n    .endr\n    s_endpgm", vgprs=64
    )
    _adds = f"    {_text}\n    .rept {BESIDE}\n    v_add_f32 v4, v5, v6\n    .endr\n    s_endpgm"
    ASSEMBLIES[_gpu].kernel(name(_text, "beside"), _adds, vgprs=64)
ON_MI100.kernel("waits", "    v_add_f32 v4, v5, v6\n    s_nop 9\n    v_add_f32 v4, v5, v6\n    s_endpgm")


def case(architecture: str, kernel: str, gpu: GpuSpec, wavefronts: int = 1, wait_state_cycles: int = 4) -> RunFacts:
    cu = gpu.cu.model_copy(update={"wait_state_cycles": wait_state_cycles})
    machine = gpu.model_copy(update={"architecture": architecture, "cu": cu})
    return run(ASSEMBLIES[architecture][kernel], machine, wavefronts=wavefronts)


@pytest.mark.parametrize(("architecture", "text", "cycles", "taken"), CASES)
def test_products_on_the_same_sums_follow_as_the_matrix_unit_comes_free(
    gpu: GpuSpec, architecture: str, text: str, cycles: int, taken: int
) -> None:
    facts = case(architecture, name(text, "chain"), gpu)
    assert facts.cycles == finished(first_issue(gpu) + (REPEATS - 1) * cycles + TURN)
    assert facts.cu.matrix_busy_cycles == REPEATS * cycles
    assert facts.cu.valu_busy_cycles == REPEATS * taken
    assert (facts.kernel.matrix_instructions, facts.kernel.valu_instructions) == (REPEATS, 0)
    product = matrix_product(text.split()[0])
    operations = 2 * product.m * product.n * product.k * product.blocks
    assert facts.kernel.matrix_flops == (0 if product.kind == "i8" else REPEATS * operations)
    assert facts.stalls["matrix_unit"] == (REPEATS - 1) * (cycles - TURN)
    # two wavefronts on each SIMD share its matrix unit
    start = max(first_issue(gpu, simd) for simd in range(4))
    both = case(architecture, name(text, "chain"), gpu, wavefronts=8)
    assert both.cycles == finished(start + (2 * REPEATS - 1) * cycles + TURN)


@pytest.mark.parametrize(("architecture", "text", "cycles", "taken"), CASES)
def test_vector_instructions_issue_beside_a_product(
    gpu: GpuSpec, architecture: str, text: str, cycles: int, taken: int
) -> None:
    facts = case(architecture, name(text, "beside"), gpu)
    assert facts.cycles == finished(first_issue(gpu) + taken + BESIDE * TURN)
    assert facts.cu.matrix_busy_cycles == cycles


@pytest.mark.parametrize("wait_state_cycles", [1, 4])
def test_wait_states_last_as_long_as_the_compute_unit_says(gpu: GpuSpec, wait_state_cycles: int) -> None:
    facts = case("gfx908", "waits", gpu, wait_state_cycles=wait_state_cycles)
    waited = -(-10 * wait_state_cycles // TURN) * TURN
    assert facts.cycles == finished(first_issue(gpu) + TURN + waited + TURN)
