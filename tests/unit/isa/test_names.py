"""Are C++ names shown as a reader writes them, and does a short form find its kernel, and only where it is clear?"""

import pytest

from isa.object.names import KernelNameError, find, readable, short

pytestmark = pytest.mark.compiled_tier  # nothing of this is ever compiled

GEMM_FLOAT = "_Z4gemmIfLi16EEvPKT_PS0_i"
GEMM_DOUBLE = "_Z4gemmIdLi16EEvPKT_PS0_i"
HIDDEN = "_ZN12_GLOBAL__N_14gemmIfLi16EEEvPKT_PS1_i"
SCALE_INT, SCALE_FLOAT = "_Z5scalePii", "_Z5scalePff"
NESTED = "_ZN3lib4blas4copyINS_4pairIiEEEEvPT_"
UNSIGNED = "_Z4tileIdLj64ELm8EEvPT_"
HALF = "_Z4axpyIDF16_EvT_PKS0_PS0_"


@pytest.mark.parametrize(
    ("name", "whole", "alone"),
    [
        (GEMM_FLOAT, "void gemm<float, 16>(float const*, float*, int)", "gemm<float, 16>"),
        (SCALE_INT, "scale(int*, int)", "scale"),
        (HIDDEN, "void (anonymous namespace)::gemm<float, 16>(float const*, float*, int)", "gemm<float, 16>"),
        (f"{GEMM_FLOAT}@3", "void gemm<float, 16>(float const*, float*, int)@3", "gemm<float, 16>@3"),
        (HALF, "void axpy<_Float16>(_Float16, _Float16 const*, _Float16*)", "axpy<_Float16>"),
        ("vector_add", "vector_add", "vector_add"),
        ("_Znonsense", "_Znonsense", "_Znonsense"),
    ],
)
def test_readable_names(name: str, whole: str, alone: str) -> None:
    assert (readable(name), short(name)) == (whole, alone)


KERNELS = dict.fromkeys(
    (GEMM_FLOAT, GEMM_DOUBLE, SCALE_INT, SCALE_FLOAT, NESTED, UNSIGNED, "plain", "twice@0", "twice@1")
)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        (GEMM_FLOAT, GEMM_FLOAT),
        ("void gemm<double, 16>(double const*, double*, int)", GEMM_DOUBLE),
        ("gemm<double,16>(double const *, double *, int)", GEMM_DOUBLE),
        ("gemm<float, 16>", GEMM_FLOAT),
        ("gemm<float,16>", GEMM_FLOAT),
        ("scale(float*, float)", SCALE_FLOAT),
        ("lib::blas::copy<lib::pair<int> >", NESTED),
        ("copy<lib::pair<int>>", NESTED),
        ("copy", NESTED),
        ("tile<double, 64u, 8ul>", UNSIGNED),
        ("tile<double, 64, 8>", UNSIGNED),
        ("plain", "plain"),
        ("twice@1", "twice@1"),
    ],
)
def test_a_form_that_is_clear_finds_its_kernel(asked: str, name: str) -> None:
    assert find(KERNELS, asked, "file") == name


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("gemm", r"file: 'gemm' may be any of gemm<double, 16>, gemm<float, 16>$"),
        ("scale", r"'scale' may be any of scale\(float\*, float\), scale\(int\*, int\)$"),
        ("twice", r"'twice' may be any of twice@0, twice@1$"),
        ("gem<float, 16>", r"unknown kernel 'gem<float, 16>'; did you mean 'gemm<float, 16>'\? allowed: "),
        ("", r"unknown kernel ''; allowed: "),
    ],
)
def test_what_is_not_clear_is_refused_with_what_there_is(asked: str, message: str) -> None:
    with pytest.raises(KernelNameError, match=message):
        find(KERNELS, asked, "file")


def test_a_name_within_an_anonymous_namespace_is_found_without_it() -> None:
    assert find({HIDDEN: None, "other": None}, "gemm<float, 16>", "file") == HIDDEN


def test_long_lists_are_cut() -> None:
    with pytest.raises(KernelNameError, match=r"k11 and 88 more$"):
        find({f"k{i:02}": None for i in range(100)}, "nothing at all", "file")
