"""The options that say whether launches are sampled, and how well."""

from dataclasses import dataclass
from typing import Annotated

import typer

from gpusim.base.errors import UserError

ErrorOption = Annotated[
    str | None,
    typer.Option(
        "--error", metavar="PERCENT", help="Of a sampled launch: wanted half-width of the cycles. [default: 1%]"
    ),
]
ConfidenceOption = Annotated[
    str | None,
    typer.Option(
        "--confidence", metavar="PERCENT", help="Of a sampled launch: how sure half-widths are to be. [default: 95%]"
    ),
]


@dataclass(frozen=True)
class SamplingOptions:
    """How well launches are simulated. sample: None leaves it to the configuration."""

    sample: Annotated[
        bool | None,
        typer.Option(
            "--sample/--full",
            help="Simulate each launch in part and estimate the rest, every value with a half-width; or in whole.",
            show_default=False,
        ),
    ] = None
    error: ErrorOption = None
    confidence: ConfidenceOption = None

    def overrides(self, path: str = "sampling") -> list[str]:
        """Return what the options change, as `--set` takes it; raises UserError.

        path: of the section `sampling` in the configuration.
        """
        said = shares(self.error, self.confidence)
        if not self.sample:
            for option in said:
                raise UserError(f"--{option}: belongs to --sample")
            return [] if self.sample is None else [f"{path}=null"]
        values = [f"{name}: {value}" for name, value in said.items()]
        return [f"{path}={{{', '.join([*values, *self._more()])}}}"]

    def _more(self) -> list[str]:
        return []


@dataclass(frozen=True)
class JobSamplingOptions(SamplingOptions):
    """How well a job's launches are simulated, whose results are read back."""

    functional: Annotated[
        bool, typer.Option("--functional", help="With --sample: execute what is skipped too, for its results.")
    ] = False

    def overrides(self, path: str = "run.sampling") -> list[str]:
        """Return what the options change, as for any launch; `--functional` too is for sampled ones alone."""
        if self.functional and not self.sample:
            raise UserError("--functional: belongs to --sample")
        return super().overrides(path)

    def _more(self) -> list[str]:
        return [f"functional: {str(self.functional).lower()}"]


def shares(error: str | None, confidence: str | None) -> dict[str, float]:
    """Read the two options, by the names that `SamplingSpec` has for them; raises UserError."""
    said = {"error": _share("--error", error), "confidence": _share("--confidence", confidence)}
    return {name: value for name, value in said.items() if value is not None}


def _share(option: str, text: str | None) -> float | None:
    """Read '0.5%' and '0.5 %' as 0.005; raises UserError."""
    if text is None:
        return None
    number, percent, rest = text.partition("%")
    try:
        value = float(number) / 100
    except ValueError:
        value = 0.0
    if 0 < value < 1 and not percent:
        raise UserError(f"{option} {text}: the % sign is missing: {text.strip()}%")
    if not 0 < value < 1 or rest:
        raise UserError(f"{option} {text}: a percentage above 0% and below 100% is needed, such as 0.5%")
    return value
