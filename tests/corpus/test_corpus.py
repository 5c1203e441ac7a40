"""Does the code that stock clang builds, at any level and code-object version, give NumPy's results?"""

from itertools import product

import numpy as np
import pytest

from tests.corpus.build import BASE, VARIANTS, Variant, differences, missing_tool, sources
from tests.corpus.cases_science import aes_blocks, aes_keys
from tests.corpus.execute import execute, kernel_names, kernel_of
from tests.corpus.table import CASES, Case
from tests.support.daily import parametrize_daily


# each change runs every case of one variant, and of each other variant every sixth, other cases of each
@parametrize_daily(
    "variant, case",
    product(VARIANTS, CASES),
    {
        v * len(CASES) + c
        for v, variant in enumerate(VARIANTS)
        for c in range(len(CASES))
        if variant == BASE or c % 6 == v % 6
    },
    ids=lambda value: value.kernel if isinstance(value, Case) else value.name,
)
def test_results(variant: Variant, case: Case) -> None:
    for size in case.sizes:
        result = execute(kernel_of(variant, case), case, size)
        assert result.finished and result.wavefront_instructions > 0


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_every_kernel_of_the_corpus_has_its_case(variant: Variant) -> None:
    assert kernel_names(variant) == {(case.source, case.kernel) for case in CASES}
    assert {source for source, _ in kernel_names(variant)} == {path.stem for path in sources()}


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_the_variants_have_the_code_object_version_they_name(variant: Variant) -> None:
    assert {kernel_of(variant, case).code_object_version for case in CASES} == {variant.version}


def test_the_spilling_kernel_spills() -> None:
    case = next(case for case in CASES if case.kernel == "spilling")
    assert kernel_of(BASE, case).private_segment_bytes > 0 and kernel_of(BASE, case).vgprs <= 24


def test_the_cipher_reference_gives_the_standards_example() -> None:
    """FIPS 197, appendix C.1."""
    text, key = (
        np.frombuffer(bytes.fromhex(t), np.uint8)
        for t in ("00112233445566778899aabbccddeeff", "000102030405060708090a0b0c0d0e0f")
    )
    assert aes_blocks(text[None], aes_keys(key)).tobytes().hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


# one of each compiler, of the older at night; `python -m tests.corpus.build --check` compares all
@parametrize_daily("variant", (BASE, Variant(14, 1, 2)), {0}, ids=lambda variant: variant.name)
def test_committed_objects_are_what_the_sources_give(variant: Variant) -> None:
    reason = missing_tool(variant.clang)
    if reason:
        pytest.skip(reason)
    assert differences(variant) == []
