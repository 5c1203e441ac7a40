"""Recordings that other commands make: rows of correlations, cases of the sampling suite, and files as a whole."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.base.files import write_whole
from gpusim.base.formats import GENERAL
from gpusim.cli.main import invoke
from gpusim.lab.ages.long_table import RecordedValue, name_versions, numbers_of
from gpusim.lab.ages.recording import RecordedFigure, Recording, RenewalOptions, spent_seconds
from gpusim.lab.checks.sampling.generated import scale_of
from gpusim.lab.checks.sampling.measure import SamplingCaseResult, read_outcomes
from gpusim.lab.silicon.compare import CorrelationPoint
from gpusim.lab.silicon.cost import least_seconds
from gpusim.lab.silicon.kernels import kernel_files
from gpusim.lab.silicon.measured import load_measured
from gpusim.lab.silicon.prediction import Conditions
from gpusim.lab.silicon.report import SavedComparison, document, restored, serialize_point
from gpusim.lab.versions.model import ANY_RUN, PARTS, RESULTS, ROOT, UNRECORDED, FigureVersion, present_model
from gpusim.lab.versions.recorded import encode_models, encode_version, parse_models, parse_version
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.results.report.document import as_json

LEDGER = "versions.json"
_MEASURED = re.compile(r"^\| ([^|]+) \| (\d[\d.]*) \| ([^|]+) \|", re.MULTILINE)


def read_json(path: Path) -> Any:
    """Read a file of results; raise UserError."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"{path}: is no JSON: {error}") from None


def run_command(*arguments: str) -> None:
    """Run a command of gpusim without its report; raise UserError where it fails, KeyboardInterrupt as it was."""
    with redirect_stdout(StringIO()):
        code = invoke(list(arguments))
    if code == EXIT_INTERRUPTED:
        raise KeyboardInterrupt
    if code not in (0, 1):  # 1: some of its points were not made
        raise UserError(f"gpusim {shlex.join(arguments)}: ended with exit code {code}")


# behind a table's name: options that its rows were run with; None: more than options, which no command repeats by rows
ROWS_BY: Mapping[str, Sequence[str] | None] = {
    "-exact": ("--exact",),
    "-sampled": (),
    "-unhashed": None,
    "-search": None,
}


CORRELATED = ("measured_us", "modelled_us", "kernels_us", "launch_us", "ratio", "simulated_share")
"""Values of a row that the long table has."""


class CorrelationRecording(Recording):
    """The rows of a table of measured points, or some of them that were run in another way."""

    @property
    def command(self) -> str:  # type: ignore[override]
        """What a user calls to make all of it."""
        return "" if self._options is None else shlex.join(["gpusim", "correlate", self._table, *self._options])

    @property
    def _suffix(self) -> str:
        return next((suffix for suffix in ROWS_BY if self.name.endswith(suffix)), "")

    @property
    def _options(self) -> Sequence[str] | None:
        return ROWS_BY.get(self._suffix, ())

    @property
    def _table(self) -> str:
        return self.name.rpartition("/")[2].removesuffix(self._suffix)

    @property
    def files(self) -> Sequence[Path]:
        """The file of the rows."""
        return [self.folder / f"{self.name}.json"]

    @cached_property
    def obstacle(self) -> str:
        """Why rows cannot be made anew: they were made by more than options, or a package is not installed."""
        if self._options is None:
            return "no command makes some of its rows"
        try:
            kernel_files(load_measured(self._table)[0].kernels, None)
        except UserError as error:
            return str(error)
        return ""

    def _load(self) -> SavedComparison:
        return restored(read_json(self.files[0]), str(self.files[0]))

    def figures(self) -> Mapping[str, RecordedFigure]:
        """Return the rows by their labels, with the least that each takes: no time is recorded."""
        comparison, (table, _) = self._load(), load_measured(self._table)
        conditions = Conditions.of(table, 25.0, SamplingSpec())
        return {label: self._figure(comparison, row, conditions) for label, row in _by_label(comparison).items()}

    def values(self) -> Iterator[RecordedValue]:
        """Yield the measured and the modelled times of the rows, and their ratios."""
        comparison = self._load()
        for label, row in _by_label(comparison).items():
            version = name_versions([comparison.versions.get(label, UNRECORDED)])
            for measure, value in numbers_of(serialize_point(row), CORRELATED).items():
                width = row.prediction.half_width_us if measure == "kernels_us" else 0.0
                yield RecordedValue(
                    publication=self.name, figure="rows", labels={"row": label}, measure=measure, value=value,
                    half_width=width or None, version=version,
                )  # fmt: skip

    def _figure(self, comparison: SavedComparison, row: CorrelationPoint, conditions: Conditions) -> RecordedFigure:
        point = row.prediction.point
        return RecordedFigure(
            key=point.label,
            version=comparison.versions.get(point.label, UNRECORDED),
            digits=serialize_point(row),
            seconds=least_seconds(point, conditions) * row.prediction.simulated,
            is_estimated=True,
        )

    def renew(self, keys: Sequence[str], options: RenewalOptions) -> None:
        """Run rows, and put them in the place of those that were there."""
        assert self._options is not None
        output = options.store.with_name(f"{self._table}-rows.json")
        only = [text for key in keys for text in ("--only", key)]
        shared = ["--jobs", str(options.jobs), "--store", str(options.store), "--json", str(output), "--quiet"]
        run_command("correlate", self._table, *self._options, *only, *shared)
        new, earlier = restored(read_json(output)), self._load()
        rows = _by_label(earlier) | _by_label(new)
        self._write(earlier._replace(rows=list(rows.values()), versions={**earlier.versions, **new.versions}))
        output.unlink()

    def stamp(self, versions: Mapping[str, FigureVersion]) -> None:
        """Record that later models make the same digits. versions: by the rows' labels."""
        earlier = self._load()
        self._write(earlier._replace(versions={**earlier.versions, **versions}))

    def _write(self, comparison: SavedComparison) -> None:
        write_whole(self.files[0], as_json(document(load_measured(self._table)[0], comparison)).encode())


def _by_label(comparison: SavedComparison) -> dict[str, CorrelationPoint]:
    return {row.prediction.point.label: row for row in comparison.rows}


CHECKED = ("rounds", "cycles", "error", "half_width", "fraction")
"""Values of a case that the long table has; the half-width is relative, and the error's own."""


class SamplingRecording(Recording):
    """The cases of the sampling suite."""

    command = "gpusim check-sampling"

    @property
    def files(self) -> Sequence[Path]:
        """The file of the cases."""
        return [self.folder / f"{self.name}.json"]

    def figures(self) -> Mapping[str, RecordedFigure]:
        """Return the cases by name."""
        cases = read_outcomes(self.files[0])
        return {case.name: _figure_of_case(case) for case in cases}

    def values(self) -> Iterator[RecordedValue]:
        """Yield what was found of each case: its error, half-width and the share that was simulated."""
        for case in read_outcomes(self.files[0]):
            for measure, value in numbers_of(vars(case), CHECKED).items():
                yield RecordedValue(
                    publication=self.name, figure=case.kind, labels={"case": case.name}, measure=measure, value=value,
                    half_width=case.half_width if measure == "error" and case.is_sampled else None,
                    version=name_versions([case.version]),
                )  # fmt: skip

    def renew(self, keys: Sequence[str], options: RenewalOptions) -> None:
        """Simulate cases in whole and sampled, and put them in the place of those that were there."""
        path = self.files[0]
        sampling = read_json(path)["sampling"]
        how = [text for name in ("error", "confidence") for text in (f"--{name}", f"{GENERAL(100 * sampling[name])}%")]
        only = [text for key in keys for text in ("--only", key)]
        shared = ["--update", str(path), "--json", str(path), "--jobs", str(options.jobs), "--quiet"]
        run_command("check-sampling", *only, *how, *shared)

    def stamp(self, versions: Mapping[str, FigureVersion]) -> None:
        """Record that later models make the same digits. versions: by the cases' names."""
        content = read_json(self.files[0])
        models = {**content.get("models", {}), **encode_models(versions.values())}
        for case in content["cases"]:
            if case["name"] in versions:
                case["version"] = encode_version(versions[case["name"]])
        used = {(case.get("version") or {}).get("model") for case in content["cases"]}
        content["models"] = {name: model for name, model in models.items() if name in used}
        write_whole(self.files[0], as_json(content).encode())


class GeneratedSamplingRecording(SamplingRecording):
    """The rows of the generated suite. A seed is measured anew from its first launch to the last that is recorded."""

    command = "gpusim check-sampling generated"

    def renew(self, keys: Sequence[str], options: RenewalOptions) -> None:
        """Simulate launches in whole and sampled; each has all of its rows anew."""
        path = self.files[0]
        rows = {row.name: row for row in read_outcomes(path)}
        confidence = read_json(path)["confidence"]
        suites = {name: (row.seed, scale_of(name)) for name, row in rows.items()}
        for seed, scale in dict.fromkeys(suites[key] for key in keys):
            own = [row for row in rows.values() if suites[row.name] == (seed, scale)]
            only = dict.fromkeys(key.partition(",")[0] for key in keys if suites[key] == (seed, scale))
            last = max(int(row.name.partition(",")[0].rpartition("-")[2]) for row in own)
            errors = sorted({row.asked for row in own})
            run_command(
                "check-sampling", "generated", "--seed", str(seed), "--launches", str(last + 1), "--scale", str(scale),
                *(text for name in only for text in ("--only", name)),
                *(text for error in errors for text in ("--error", f"{GENERAL(100 * error)}%")),
                "--confidence", f"{GENERAL(100 * confidence)}%", "--json", str(path),
                "--jobs", str(options.jobs), "--quiet",
            )  # fmt: skip


def _figure_of_case(case: SamplingCaseResult) -> RecordedFigure:
    seconds = {"whole_s": None, "sampled_s": None, "policy": None, "version": None}
    return RecordedFigure(
        key=case.name,
        version=case.version,
        digits={**case.described(), **seconds},
        seconds=case.whole_s + case.sampled_s,
        kind=case.kind,
    )


class FileRecording(Recording):
    """A file, or a table in a page, whose version the ledger has. It is one figure, named as the recording."""

    @property
    def _row(self) -> Mapping[str, Any]:
        row: Mapping[str, Any] = read_json(self.folder / LEDGER)["files"][self.name]
        return row

    @property
    def command(self) -> str:  # type: ignore[override]
        """What makes it, in a shell at the repository's root."""
        return str(self._row["command"])

    @property
    def files(self) -> Sequence[Path]:
        """The ledger, and the file itself where it lies in the folder."""
        path = self.folder / self.name.partition(":")[0]
        return [self.folder / LEDGER, *([path] if path.is_file() else [])]

    def figures(self) -> Mapping[str, RecordedFigure]:
        """Return the file as one figure."""
        ledger = read_json(self.folder / LEDGER)
        version = parse_version(self._row["version"], parse_models(ledger["models"]))
        path = self.folder / self.name.partition(":")[0]
        digits = path.read_text(encoding="utf-8") if path.is_file() else None
        figure = RecordedFigure(
            key=self.name,
            version=version,
            digits=digits,
            seconds=self._row["seconds"],
            is_estimated=self._row.get("estimated", False),
        )
        return {self.name: figure}

    def values(self) -> Iterator[RecordedValue]:
        """Yield what was measured of the model, where the file is a page of microbenchmarks."""
        figure = self.figures()[self.name]
        if not self.name.startswith("microbenchmarks/") or figure.digits is None:
            return
        seen: set[tuple[str, str]] = set()
        _, _, table = figure.digits.partition("| what | model | unit |")
        for what, value, unit in _MEASURED.findall(table.partition("\n\n")[0]):
            if (what, unit) not in seen:  # a row for each published value that it is compared with
                seen.add((what, unit))
                yield RecordedValue(
                    publication=self.name, figure="measured", labels={"unit": unit}, measure=what, value=float(value),
                    version=name_versions([figure.version]),
                )  # fmt: skip

    @property
    def obstacle(self) -> str:
        """Why it cannot be made anew."""
        if not self.command:
            return "no command makes it by itself"
        return "" if self.folder == RESULTS else f"{self.command} writes into the repository's results alone"

    def renew(self, keys: Sequence[str], options: RenewalOptions) -> None:
        """Run the command, and record the version and what it took."""
        start = spent_seconds()
        search_path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        environment = {**os.environ, "PATH": search_path}
        shell = ["bash", "-c", self.command]
        done = subprocess.run(shell, cwd=ROOT, env=environment, check=False, stdout=subprocess.DEVNULL)
        if done.returncode:
            raise UserError(f"{self.name}: {self.command}: exit code {done.returncode}")
        stamp_files(self.folder, {self.name: spent_seconds() - start})

    def stamp(self, versions: Mapping[str, FigureVersion]) -> None:
        """Record that a later model makes the same file. versions: by the file's name."""
        _write_versions(self.folder, versions, {})


def stamp_files(folder: Path, seconds: Mapping[str, float | None]) -> None:
    """Record that files were made by the present model.

    Args:
        folder: Folder of results.
        seconds: Processor seconds that making them took, by name; None: not known, as it was.
    """
    model = present_model()
    _write_versions(folder, {name: FigureVersion(model, _uses(name)) for name in seconds}, seconds)


def _write_versions(folder: Path, versions: Mapping[str, FigureVersion], seconds: Mapping[str, float | None]) -> None:
    ledger = read_json(folder / LEDGER)
    for name, version in versions.items():
        if name not in ledger["files"]:
            raise UserError(f"{folder / LEDGER}: has no file {name}")
        row = ledger["files"][name]
        row["version"] = encode_version(version)
        spent = seconds.get(name)
        if spent is not None:
            row["seconds"] = round(spent, 1)
            row.pop("estimated", None)
    models = {**parse_models(ledger["models"]), **encode_models(versions.values())}
    used = {row["version"].get("model") for row in ledger["files"].values()}
    ledger["models"] = {name: model for name, model in models.items() if name in used}
    write_whole(folder / LEDGER, write_ledger(ledger).encode())


def _uses(name: str) -> tuple[str, ...]:
    """Return the parts of the model that a file depends on; a table in a page may depend on any."""
    more = {"networks": (), "sweeps": (), "sampling": (), "microbenchmarks": ("microbench",)}.get(
        name.partition("/")[0]
    )
    return tuple(PARTS) if more is None else (*ANY_RUN, "objects", "configurations", *more)


def write_ledger(ledger: Mapping[str, Any]) -> str:
    """Return the ledger's text, a line for each file."""
    lines = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(ledger["files"].items())]
    models = [f"  {json.dumps(name)}: {json.dumps(model)}" for name, model in sorted(ledger["models"].items())]
    head = f' "schema": {ledger["schema"]},\n "compared": {json.dumps(ledger["compared"])},\n "models": {{\n'
    head += ",\n".join(models)
    return "{\n" + head + '\n },\n "files": {\n' + ",\n".join(lines) + "\n }\n}\n"


def file_names(folder: Path) -> Iterator[str]:
    """Yield the names of the files that the ledger has."""
    if (folder / LEDGER).is_file():
        yield from read_json(folder / LEDGER)["files"]


if __name__ == "__main__":
    stamp_files(RESULTS, dict.fromkeys(sys.argv[1:]))
