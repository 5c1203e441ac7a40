"""Do kernels with matrix products go through every command on CDNA cards, and does each name the matrix unit?"""

import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

from gpusim.results.report.result import RunMetrics
from tests.support.daily import parametrize_daily
from tests.support.invoked import invoked
from tests.support.trace_reader import read_trace

DATA = Path(__file__).parents[1] / "data/kernels"
CARDS = {"mi100": "gfx908", "mi210": "gfx90a", "mi250x_die": "gfx90a"}
FULL = 60  # iterations with two products each
COMPUTE_UNITS = 4
S_NOP = 0xBF800000
pytestmark = pytest.mark.compiled_tier


def written(folder: Path, card: str, kernel: str) -> Path:
    """The file of one of the two kernels, for a small card."""
    draw = np.random.default_rng(1)
    a, b = (draw.integers(-4, 5, (64, 32)).astype(np.float16) for _ in range(2))
    np.save(folder / "a.npy", a)
    np.save(folder / "b.npy", b)
    np.save(folder / "c.npy", (a.astype(np.float64) @ b.T.astype(np.float64)).astype(np.float32))
    work_items = 256 * 2 * COMPUTE_UNITS
    arguments = {
        "product": {
            "a": {"npy": "a.npy"},
            "b": {"npy": "b.npy"},
            "c": {"fill": 0, "dtype": "float32", "shape": [64, 64], "expected": "c.npy"},
            "n": {"value": 64},
            "k": {"value": 32},
        },
        "registers": {
            "a": {"npy": "a.npy"},
            "c": {"fill": 0, "dtype": "float32", "shape": [work_items]},
            "count": {"value": FULL},
        },
    }[kernel]
    data = {
        "gpu": {"base": card, "shader_arrays": 2, "cus_per_array": 2, "memory_mib": 64},
        "code_object": str(DATA / f"matrix_product.{CARDS[card]}.hsaco"),
        "kernel": kernel,
        "global_size": [64 * 2, 2] if kernel == "product" else [work_items],
        "local_size": [64, 1] if kernel == "product" else [256],
        "arguments": arguments,
    }
    path = folder / "kernel.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def test_a_product_is_right_and_checked(tmp_path: Path) -> None:
    for card in CARDS:
        path = written(tmp_path, card, "product")
        done = invoked(["exec", str(path)])
        assert done.returncode == 0 and "verified               passed, error 0" in done.stdout, done.stderr
        done = invoked(["check", str(path)])
        assert done.returncode == 0 and "nothing found" in done.stdout, done.stdout


def check_timeline(path: Path, units: int, wavefronts_of_a_simd: int) -> None:
    """Each SIMD's matrix unit has a track with all of its wavefronts' products, one after another."""
    products = read_trace(path).of("matrix product")
    tracks = {product.track for product in products}
    assert len(tracks) == units and {name[-1] for name in tracks} == {f"SIMD {simd} matrix unit" for simd in range(4)}
    for track in tracks:
        own = sorted((one for one in products if one.track == track), key=lambda one: one.begin)
        assert [one.cycles for one in own] == [64] * (2 * FULL * wavefronts_of_a_simd)
        assert all(one.end <= after.begin for one, after in pairwise(own))
        assert len({one.notes["slot"] for one in own}) == wavefronts_of_a_simd
        assert all(one.name.startswith("v_mfma") and one.name in one.notes["at"] for one in own)


@parametrize_daily("card", ["mi100", "mi210"], [0])
def test_the_matrix_unit_is_bound_stall_and_busy_share(tmp_path: Path, card: str) -> None:
    path, result = written(tmp_path, card, "registers"), tmp_path / "result.json"
    timeline = tmp_path / "t.pftrace"
    done = invoked(
        ["exec", str(path), "--json", str(result), "--every", "1000", "--hotspots", "--timeline", str(timeline)]
    )
    assert done.returncode == 0, done.stderr
    check_timeline(timeline, COMPUTE_UNITS * 4, wavefronts_of_a_simd=2)
    run = RunMetrics("", json.loads(result.read_text()))
    wavefronts = 4 * 2 * COMPUTE_UNITS
    busy = wavefronts * FULL * 2 * 64  # cycles of a product
    assert run.get("cu.matrix_busy_cycles") == busy
    assert run.get("roofline.matrix") == busy / (4 * COMPUTE_UNITS)
    assert (run.share("stalls.matrix_unit") or 0) > 0.5
    series = run.tree["series"]["counts"]
    assert sum(series["cu.matrix_busy_cycles"]) == busy
    assert sum(series["kernel.matrix_instructions"]) == run.get("kernel.matrix_instructions") == wavefronts * FULL * 2
    screen = done.stdout
    assert "the bottleneck: matrix units" in screen
    assert screen.split("bound by")[1].splitlines()[1].split()[:2] == ["matrix", "units"]
    assert screen.split("wavefronts' cycles")[1].splitlines()[1].split()[:2] == ["matrix", "unit"]
    assert "no arithmetic" not in screen  # the other three of five instructions are issued beside the products
    dearest = screen.split("Source Counters")[1].splitlines()[2]
    assert "v_mfma_f32_32x32x8f16" in dearest and "matrix_unit" in dearest
    done = invoked(["exec", str(path), "--section", "speed_of_light"])
    (utilization,) = (line for line in done.stdout.splitlines() if "profile.tensor_utilization" in line)
    assert utilization.split()[1:] == [f"{100 * run.number('profile.tensor_utilization'):.1f}", "%"]
    cycles = float(invoked(["exec", str(path), "--estimate"]).stdout.splitlines()[1].split("\t")[2].replace(",", ""))
    assert cycles >= busy / (4 * COMPUTE_UNITS)


@pytest.mark.parametrize("card", ["mi100", "mi210"])
def test_a_kernel_without_its_wait_states_is_reported(tmp_path: Path, card: str) -> None:
    """The compiler's s_nop between a product and what reads its sums, each made as short as can be."""
    path = written(tmp_path, card, "product")
    words = np.frombuffer((DATA / f"matrix_product.{CARDS[card]}.hsaco").read_bytes(), np.uint32).copy()
    waits = (words > S_NOP) & (words < S_NOP + 16)
    assert waits.any()
    words[waits] = S_NOP
    data = yaml.safe_load(path.read_text())
    data["code_object"] = str(tmp_path / "short.hsaco")
    (tmp_path / "short.hsaco").write_bytes(words.tobytes())
    path.write_text(yaml.safe_dump(data))
    reported = r"gpusim: kernel 'product': [1-9]\d* missing wait states: real hardware would read old values"
    for command in ("exec", "check"):
        assert re.search(reported, invoked([command, str(path)]).stderr), command
    done = invoked(["disasm", str(tmp_path / "short.hsaco"), "--hazards"])
    assert done.returncode == 1 and re.search(r"wait states needed after v_mfma.*\[mfma-", done.stdout)
