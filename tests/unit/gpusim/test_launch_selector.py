"""Are launches selected by kernel, number, stream and line, and is what selects none explained?"""

import pytest

from gpusim.base.errors import UserError
from gpusim.base.launch_selector import LaunchIdentity, ProgramLine, parse_selector

LAUNCHES = [
    LaunchIdentity("_Z4gemmPf", 1, title="gemm"),
    LaunchIdentity("_Z4saxpyf", 2, 1, "saxpy", ProgramLine("/home/of/train.py", 12)),
    LaunchIdentity("copy", 3, 1, "copy"),
    LaunchIdentity("_Z4gemmPf", 4, 2, "gemm", ProgramLine("/home/of/other_train.py", 30)),
    LaunchIdentity("copy", 5),
]


def selected(*conditions: str) -> list[int]:
    selector = parse_selector("--only", conditions)
    return [launch.number for launch in LAUNCHES if selector.selects(launch)]


@pytest.mark.parametrize(
    ("conditions", "numbers"),
    [
        ([], [1, 2, 3, 4, 5]),
        (["kernel=^gemm$"], [1, 4]),
        (["kernel=_Z4gemm"], [1, 4]),
        (["kernel=gemm", "kernel=copy"], [1, 3, 4, 5]),
        (["launch=2"], [2]),
        (["launch=2-4"], [2, 3, 4]),
        (["launch=-2,4-"], [1, 2, 4, 5]),
        (["stream=1"], [2, 3]),
        (["stream=0,2"], [1, 4, 5]),
        (["kernel=copy", "stream=1", "launch=2-"], [3]),
        ([" kernel = copy "], [3, 5]),
        (["line=12"], [2]),
        (["line=train.py:10-20"], [2]),
        (["line=of/train.py:12,30"], [2]),
        (["line=10-"], [2, 4]),
        (["line=other_train.py"], [4]),
        (["line=rain.py:1-"], []),
        (["kernel=nothing"], []),
    ],
)
def test_conditions_of_one_kind_are_alternatives_and_all_kinds_are_met(
    conditions: list[str], numbers: list[int]
) -> None:
    assert selected(*conditions) == numbers


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("gemm", "did you mean 'kernel=gemm'?"),
        ("3-7", "did you mean 'launch=3-7'?"),
        ("kernle=a", "unknown condition 'kernle'; did you mean 'kernel'? allowed: kernel, launch, stream, line"),
        ("kernel=", "a value is missing"),
        ("kernel=(", "no regular expression"),
        ("launch=0", "'0' is no whole number from 1"),
        ("launch=1-x", "'x' is no whole number from 1"),
        ("launch=-", "a range is FIRST-LAST"),
        ("launch=7-3", "the range ends at 3, before it begins"),
        ("stream=-1", "'-1' is no whole number from 0"),
        ("stream=1,", "'' is no whole number from 0"),
        ("line=train.py:0", "'0' is no whole number from 1"),
        ("line=train.py:3-x", "'x' is no whole number from 1"),
    ],
)
def test_what_is_no_condition_is_refused(condition: str, words: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_selector("--only", [condition])
    assert words in str(refused.value) and str(refused.value).startswith(f"--only {condition}: ")


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        (["kernel=gem_"], "kernel=gem_: no launch has such a kernel; did you mean 'gemm'? kernels: "),
        (["launch=9", "kernel=gemm"], "launch=9: no launch has such a number; they are 1 to 5"),
        (["stream=3"], "stream=3: no launch has such a stream; streams: 0, 1, 2"),
        (["line=7"], "line=7: no launch has such a line; lines: /home/of/train.py:12, /home/of/other_train.py:30"),
        (["kernel=gemm", "stream=1"], "kernel=gemm, stream=1: no launch meets all of these conditions; kernels: "),
    ],
)
def test_why_no_launch_is_selected_is_explained(conditions: list[str], text: str) -> None:
    assert parse_selector("--only", conditions).explain_nothing(LAUNCHES).startswith(text)
    assert parse_selector("--only", conditions).explain_nothing([]).endswith(": nothing was launched")


def test_a_program_without_lines_is_said_to_have_none() -> None:
    explained = parse_selector("--only", ["line=a.py:3"]).explain_nothing(LAUNCHES[:1])
    assert explained == "line=a.py:3: no launch has such a line; no launch comes from a line of a Python program"
