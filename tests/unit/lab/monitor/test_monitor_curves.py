"""Curves from files: what is read, and what is refused by name and place."""

from pathlib import Path

import numpy as np
import pytest

from gpusim.lab.monitor.curves import Curves, CurvesError, load_curves


def written(folder: Path, text: str) -> str:
    path = folder / "curves.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_csv_is_read_and_lines_are_straight_between_rows(tmp_path: Path) -> None:
    held = load_curves(written(tmp_path, "iteration,conv1,conv2\n2,0.5,0\n6,0.7,1\n"))
    assert held.maps == ("conv1", "conv2") and held.length == 7
    assert held.line("conv1") == pytest.approx([0.5, 0.5, 0.5, 0.55, 0.6, 0.65, 0.7])
    assert held.line("conv2")[4] == 0.5


def test_what_capture_writes_is_read() -> None:
    held = load_curves("vggnet11")
    assert held.maps == tuple(f"conv{number}" for number in range(2, 9))
    assert held.iterations[:2].tolist() == [78, 156] and held.length == 7801
    assert held.sparsity[0].tolist() == [0.3745, 0.4475, 0.6774, 0.5822, 0.6341, 0.4628, 0.6858]
    assert held.name == "vggnet11"


def test_an_npz_is_read(tmp_path: Path) -> None:
    path = tmp_path / "curves.npz"
    values = np.array([[0.1, 0.2], [0.3, 0.4]], np.float32)
    np.savez(path, iterations=np.array([0, 5]), maps=np.array(["a", "b"]), sparsity=values)
    held = load_curves(str(path))
    assert held.maps == ("a", "b")
    assert held.line("b") == pytest.approx(np.linspace(0.2, 0.4, 6))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no row with a column 'iteration'"),
        ("iteration,a\n", "no row"),
        ("step,a\n1,0.5\n", "no row with a column 'iteration' (columns: step, a)"),
        ("epoch,sparsity_a\n1,0.5\n", "no row with a column 'steps'"),
        ("iteration\n1\n", "no map"),
        ("iteration,a\n1,0.5\n2\n", "line 3: has not the 2 values"),
        ("iteration,a\n1,0.5,7\n", "line 2: has not the 2 values"),
        ("iteration,a\n1,half\n", "line 2, column 'a': 'half' is not a number"),
        ("iteration,a\n1.5,0.5\n", "line 2, column 'iteration': '1.5' is not a whole number"),
        ("iteration,a,b\n1,0.5,nan\n", "map 'b', iteration 1: sparsity nan"),
        ("iteration,a\n1,1.01\n", "map 'a', iteration 1: sparsity 1.01; must be from 0 to 1"),
        ("iteration,a\n5,0.5\n5,0.5\n", "iteration 5 comes after 5"),
        ("iteration,a\n-1,0.5\n", "iteration -1; must be from 0"),
        ("iteration,a\n99999999999999999999,0.5\n", "must be from 0"),
    ],
)
def test_a_csv_that_is_not_one_is_refused(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(CurvesError) as caught:
        load_curves(written(tmp_path, text))
    assert part in str(caught.value) and "\n" not in str(caught.value)


def test_two_maps_of_a_name_are_refused() -> None:
    with pytest.raises(CurvesError, match="two maps are named 'a'"):
        Curves("x", ("a", "a"), np.arange(2), np.zeros((2, 2)))


def test_files_that_are_missing_or_broken_are_named(tmp_path: Path) -> None:
    with pytest.raises(CurvesError, match="did you mean 'vggnet11'"):
        load_curves("vggnet")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(CurvesError, match=r"broken\.npz: cannot be read as curves"):
        load_curves(str(tmp_path / "broken.npz"))
    np.savez(tmp_path / "other.npz", iterations=np.arange(3))
    with pytest.raises(CurvesError, match=r"other\.npz: cannot be read as curves: no array"):
        load_curves(str(tmp_path / "other.npz"))
    np.savez(tmp_path / "shape.npz", iterations=np.arange(3), maps=np.array(["a"]), sparsity=np.zeros((2, 1)))
    with pytest.raises(CurvesError, match=r"sparsity has shape \[2, 1\]; must be \[3, 1\]"):
        load_curves(str(tmp_path / "shape.npz"))
    np.savez(tmp_path / "kind.npz", iterations=np.zeros(3), maps=np.array(["a"]), sparsity=np.zeros((3, 1)))
    with pytest.raises(CurvesError, match="whole numbers"):
        load_curves(str(tmp_path / "kind.npz"))
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CurvesError, match=r"bytes\.csv: cannot be read as curves"):
        load_curves(str(tmp_path / "bytes.csv"))
