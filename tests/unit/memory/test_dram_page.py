"""The DRAM page: are its tables those of the code?"""

import re

import pytest

from docs._site.dram_mixes import MIXES, row
from docs._site.dram_page import SECTIONS, random_rate
from docs._site.pages import DOCS, renewed
from docs._site.sections import DRAM_RUNS
from gpusim.base.jit import JIT_DISABLED
from memory.dram.constraints import RULES

PAGE = DOCS / "reference" / "dram.md"


@pytest.mark.compiled_tier  # a page's text
@pytest.mark.parametrize("section", DRAM_RUNS)
def test_the_page_has_the_tables_of_the_code(section):
    if section == "measured" and JIT_DISABLED:
        pytest.skip("takes minutes without the compiler")
    page = PAGE.read_text(encoding="utf-8")
    assert renewed(page, {section: SECTIONS[section]}) == page, "run python -m docs._site.sections reference/dram"


@pytest.mark.skipif(JIT_DISABLED, reason="takes minutes without the compiler")
def test_the_page_has_the_random_mixes_as_measured():
    # one of fifteen rows; the others are made by the same command
    line = "| " + " | ".join(row("gddr6", MIXES[2])) + " |"
    assert line in PAGE.read_text(encoding="utf-8"), "run python -m docs._site.sections reference/dram:mixes"


@pytest.mark.skipif(JIT_DISABLED, reason="takes minutes without the compiler")
def test_the_page_says_what_the_window_of_32_activates_costs():
    without = random_rate("gddr5", tuple(rule for rule in RULES if rule.name != "t32AW"))
    said = re.search(r"It costs (\d+) % of the\s+bandwidth of random\s+lines", PAGE.read_text(encoding="utf-8"))
    assert round(100 * (1 - random_rate("gddr5") / without)) == int(said[1])
