"""Are the tables of docs/sizes.md those of the sweeps beside it?"""

from tests.support.sizes_page import KERNELS, PAGE, page, points


def test_the_tables_are_those_of_the_sweeps() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text
    assert all(point["state"] == "done" for kernel in KERNELS for point in points(kernel))
