"""`gpusim reproduce --stale`, `--renew`, `--check`, `--prove` and `--table`: recorded figures and how old they are."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.base.progress import Reporter

if TYPE_CHECKING:
    from gpusim.lab.ages.check import CheckedFigure
    from gpusim.lab.ages.recording import Recording, RenewalOptions
    from gpusim.lab.ages.stale import AgedFigure
    from gpusim.lab.versions.equivalence import Equivalence

EXIT_SOME_FAILED = 1
TABLE_FORMATS = (".csv", ".json", ".parquet")
GOLDEN = "tests/system/test_golden.py"


@dataclass(frozen=True)
class AgeOptions:
    """Options about the age of recorded figures; PUBLICATION then names a recording."""

    stale: Annotated[
        bool,
        typer.Option(
            "--stale",
            help="List the recorded figures that are older than the model, and what making them anew would cost.",
        ),
    ] = False
    renew: Annotated[
        float | None,
        typer.Option(
            "--renew",
            metavar="MINUTES",
            min=0.01,
            help="Make old figures anew for so many CPU minutes, the most read first; the same command goes on.",
        ),
    ] = None
    check: Annotated[
        int | None,
        typer.Option(
            "--check",
            metavar="N",
            min=1,
            help="Draw N recorded points and run them anew: old ones that are equal are of the present model.",
        ),
    ] = None
    prove: Annotated[
        str | None,
        typer.Option(
            "--prove",
            metavar="WHY",
            help="Declare that a change moves no figure, by kind: golden metrics and a tenth of the points are equal.",
        ),
    ] = None
    table: Annotated[
        Path | None,
        typer.Option(
            "--table",
            metavar="FILE",
            help="Write the values of recorded figures as one long table (.csv, .json or .parquet).",
        ),
    ] = None
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of what is drawn.")] = 1
    most_s: Annotated[
        float,
        typer.Option("--most", metavar="SECONDS", min=0.1, help="With --check: points that take at most so much."),
    ] = 60.0
    results: Annotated[
        Path | None,
        typer.Option("--results", metavar="DIR", help="Folder of recorded results. [default: the repository's]"),
    ] = None

    @property
    def is_asked(self) -> bool:
        """Tell whether any of what needs recorded figures is asked for; raise UserError for two of them."""
        asked = {"--renew": self.renew, "--check": self.check, "--prove": self.prove, "--table": self.table}
        given = [*(["--stale"] if self.stale else []), *(name for name, value in asked.items() if value is not None)]
        if len(given) > 1:
            raise UserError(f"{' and '.join(given)}: one of them at a time")
        return bool(given)


def show_ages(names: Sequence[str], asked: AgeOptions, store: Path, jobs: int, reporter: Reporter) -> int:
    """List, renew, check, carry forward or write recorded figures; return the exit code.

    Args:
        names: Recordings; none stands for all.
        asked: What is to be done.
        store: Store of finished runs.
        jobs: Worker processes.
        reporter: Where progress is reported.
    """
    from gpusim.lab.ages.recording import RenewalOptions
    from gpusim.lab.ages.registry import select_recordings
    from gpusim.lab.ages.stale import age_figures, table_of_figures, table_of_recordings
    from gpusim.lab.versions.equivalence import load_equivalences
    from gpusim.lab.versions.model import RESULTS, present_model

    folder = asked.results or RESULTS
    recordings = select_recordings(folder, list(names)).values()
    if asked.table is not None:
        return _write_table(recordings, asked.table, reporter)
    now, equivalences = present_model(), load_equivalences(folder)
    aged = age_figures(recordings, now, equivalences)
    options = RenewalOptions(store=store, jobs=jobs, reporter=reporter)
    if asked.check is not None:
        return _check(aged, asked, options)
    if asked.renew is not None:
        return _renew(aged, asked.renew, options, bool(names))
    if asked.prove is not None:
        return _prove(aged, asked, folder, equivalences, options)
    (table_of_figures if names else table_of_recordings)(aged).show(sys.stdout)
    return 0


def _write_table(recordings: "Iterable[Recording]", file: Path, reporter: Reporter) -> int:
    from gpusim.base.files import write_whole
    from gpusim.base.outputs import check_outputs
    from gpusim.lab.ages.long_table import make_long_table

    if file.suffix not in TABLE_FORMATS:
        raise UserError(f"--table {file}: must end in {', '.join(TABLE_FORMATS)}")
    check_outputs({"--table": file})
    table = make_long_table(recordings)
    text = table.csv() if file.suffix == ".csv" else table.json() if file.suffix == ".json" else None
    write_whole(file, text.encode() if text is not None else table.parquet())
    reporter.say(f"{len(table.rows)} values in {file}")
    return 0


def _check(aged: "Mapping[str, Sequence[AgedFigure]]", asked: AgeOptions, options: "RenewalOptions") -> int:
    from gpusim.lab.ages.check import CHECKED, check_figures, describe_undrawn, draw_figures, stamp_equal

    assert asked.check is not None
    checked: list[CheckedFigure] = []
    problems: list[str] = []
    for name, figures in draw_figures(aged, asked.check, asked.seed, asked.most_s).items():
        options.reporter.say(f"{name}: {len(figures)} figures")
        try:
            checked += check_figures(figures, options)
        except UserError as error:  # a library is not installed, say
            problems.append(f"{name}: {len(figures)} figures could not be made: {error}")
    wrong = sum(entry.verdict == "WRONG" for entry in checked)
    stamped = stamp_equal(checked)
    notes = [
        f"{len(checked)} drawn by seed {asked.seed}: {wrong} listed as of the present model and different,"
        f" {stamped} listed as old and equal, which are of the present model from now on",
        *problems,
        *(f"not drawn: {reason}" for reason in describe_undrawn(aged, asked.most_s)),
    ]
    CHECKED.table([entry.row() for entry in checked], notes=notes).show(sys.stdout)
    return EXIT_SOME_FAILED if wrong or problems else 0


def _renew(aged: "Mapping[str, Sequence[AgedFigure]]", minutes: float, options: "RenewalOptions", named: bool) -> int:
    from gpusim.lab.ages.renewal import renew_figures

    outcome = renew_figures(aged, 60 * minutes, options, named)
    print(outcome.sentence())
    for problem in outcome.problems:
        print(f"- {problem}")
    if outcome.renewed:
        options.reporter.say("python -m docs._site.ages renews the notes at the heads of the repository's pages")
    if outcome.interrupted:
        options.reporter.say("stopped: what had ended is recorded, and the same command goes on")
        return EXIT_INTERRUPTED
    return EXIT_SOME_FAILED if outcome.problems else 0


def _prove(
    aged: "Mapping[str, Sequence[AgedFigure]]",
    asked: AgeOptions,
    folder: Path,
    equivalences: "Sequence[Equivalence]",
    options: "RenewalOptions",
) -> int:
    """Declare equivalences of the recordings whose drawn points are equal; return whether all were."""
    from gpusim.lab.ages.check import prove_equal
    from gpusim.lab.ages.commands import FileRecording
    from gpusim.lab.versions.equivalence import save_equivalences
    from gpusim.lab.versions.model import present_model

    _require_golden(options.reporter)
    rows, failed = list(equivalences), 0
    for name, figures in aged.items():
        if not figures or isinstance(figures[0].recording, FileRecording):
            continue
        if obstacle := figures[0].recording.obstacle:
            print(f"{name}: not declared: {obstacle}")
            continue
        assert asked.prove is not None
        try:
            proof = prove_equal(figures, present_model(), equivalences, asked.prove, asked.seed, options)
        except UserError as error:
            failed += 1
            print(f"{name}: not declared: {error}")
            continue
        rows += proof.rows
        save_equivalences(folder, rows)  # what is proved stays, also where the rest is stopped
        failed += len(proof.problems)
        for row in proof.rows:
            of = f"{name}, {row.kind}" if row.kind else name
            print(f"{of}: {row.points} points keep their age: {row.drawn} of them were run again and are equal")
        for problem in proof.problems:
            print(f"{name}: not declared: {problem}")
    return EXIT_SOME_FAILED if failed else 0


def _require_golden(reporter: Reporter) -> None:
    """Run the golden metrics; raise UserError where they have moved, or are not there."""
    import subprocess

    from gpusim.lab.versions.model import ROOT

    if not (ROOT / GOLDEN).is_file():
        raise UserError(f"--prove: needs {GOLDEN} of a checkout of the repository")
    reporter.say(f"{GOLDEN}: golden metrics")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", GOLDEN], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        raise UserError(f"--prove: {GOLDEN} fails: golden metrics have moved, and so do figures")
