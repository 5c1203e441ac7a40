"""Do `--sample` and its neighbours say what they mean, to configurations and to scripts?"""

from dataclasses import replace

import pytest

from gpusim.base.errors import UserError
from gpusim.cli.options import JobSamplingOptions, SamplingOptions
from gpusim.config.files import opened
from gpusim.config.gpu import GPU_FOLDER
from gpusim.config.network_run import load_settings
from gpusim.config.run import load_run
from gpusim.jobs.api import checks
from gpusim.model.sampling.spec import SamplingSpec

PRODUCT = {"gpu": "mi6", "workload": {"kind": "gemm", "name": "x", "m": 1, "n": 1, "k": 1}}


def loaded(*sets: str, **run: object) -> SamplingSpec | None:
    return load_run({**PRODUCT, "run": run}, list(sets)).run.sampling


def test_the_command_line_lays_over_the_file() -> None:
    assert loaded() is None
    asked = JobSamplingOptions(sample=True, error="1%", confidence="99%", functional=True)
    assert loaded(*asked.overrides()) == SamplingSpec(error=0.01, confidence=0.99, functional=True)
    assert loaded(*JobSamplingOptions(sample=True).overrides()) == SamplingSpec()
    assert loaded(*JobSamplingOptions().overrides(), sampling={"error": 0.02}) == SamplingSpec(error=0.02)
    assert loaded(*JobSamplingOptions(sample=False).overrides(), sampling={"error": 0.02}) is None


def network_sampling(*sets: str) -> SamplingSpec | None:
    return load_settings(opened("mi6", GPU_FOLDER), list(sets)).sampling


def test_a_network_s_settings_have_theirs_without_a_section_for_runs() -> None:
    assert network_sampling() is None
    asked = SamplingOptions(sample=True, error="1%", confidence="99%")
    assert network_sampling(*asked.overrides()) == SamplingSpec(error=0.01, confidence=0.99)
    assert network_sampling("sampling.error=0.02", *SamplingOptions().overrides()) == SamplingSpec(error=0.02)
    assert network_sampling("sampling.error=0.02", *SamplingOptions(sample=False).overrides()) is None


@pytest.mark.parametrize("kind", [SamplingOptions, JobSamplingOptions])
@pytest.mark.parametrize("text", ["0%", "100%", "50%%", "half%", "1%2", "-1%", "nan%", ""])
def test_what_is_no_percentage_is_refused(text: str, kind: type[SamplingOptions]) -> None:
    with pytest.raises(UserError, match=r"--error .*: a percentage above 0% and below 100%"):
        kind(sample=True, error=text).overrides()


@pytest.mark.parametrize("text", ["0.5", "1 "])
def test_a_percentage_without_its_sign_is_told_so(text: str) -> None:
    with pytest.raises(UserError, match=f"--error {text}: the % sign is missing: {text.strip()}%"):
        SamplingOptions(sample=True, error=text).overrides()


@pytest.mark.parametrize("sample", [None, False])
@pytest.mark.parametrize(
    "options", [SamplingOptions(error="1%"), SamplingOptions(confidence="90%"), JobSamplingOptions(functional=True)]
)
def test_what_belongs_to_sampling_needs_it(options: SamplingOptions, sample: bool | None) -> None:
    with pytest.raises(UserError, match="belongs to --sample"):
        replace(options, sample=sample).overrides()


def test_a_script_may_say_it_in_several_ways() -> None:
    assert checks.sampling(False) is None and checks.sampling(None) is None
    assert checks.sampling(True) == SamplingSpec()
    assert checks.sampling(0.01) == checks.sampling({"error": 0.01}) == SamplingSpec(error=0.01)
    assert checks.sampling(SamplingSpec(confidence=0.9)) == SamplingSpec(confidence=0.9)
    for wrong, message in (
        ("yes", "sample: str 'yes'"),
        ({"eror": 0.1}, "error"),
        (2.0, "error"),
        ([1], "sample: list"),
    ):
        with pytest.raises(UserError, match=message):
            checks.sampling(wrong)
