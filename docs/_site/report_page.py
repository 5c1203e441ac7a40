"""The tables of how-to/report.md; `python -m docs._site.report_page` renews the screen in README.md."""

import contextlib
import io
from pathlib import Path

from docs._site.pages import renewed, table
from gpusim.base.formats import PERCENT_0, RATIO
from gpusim.results.report.measures import unit_name
from gpusim.results.report.rules import RULES
from gpusim.results.report.screen import top_findings
from gpusim.results.report.sections import SECTIONS, list_section_paths
from tests.support.program_counters import CASES, recorded

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"


def sections() -> str:
    """The sections, and how many metrics each shows."""
    rows = [
        [f"`{section.key}`", section.title, section.tells, str(len(list_section_paths(section)) or "–")]
        for section in SECTIONS
    ]
    return table(["`--section`", "heading", "tells", "metrics"], rows)


def rules() -> str:
    """The rules, as their table has them."""
    rows = [
        [f"`{rule.name}`", rule.section, PERCENT_0(rule.above), _text(rule.text), _text(rule.advice)] for rule in RULES
    ]
    return table(["rule", "section", "above", "says", "what to do"], rows)


def programs() -> str:
    """The findings on each program whose counters are recorded, in the order of the screen."""
    rows = []
    for name, case in CASES.items():
        said = [
            f"`{one.rule.name}`" + (f" {RATIO(one.gain)}" if one.gain else "") for one in top_findings(recorded(name))
        ]
        rows.append([f"`{case.source}`", ", ".join(said), f"`{case.quiet}`", case.reason])
    return table(["program", "findings, and up to which gain", "no finding of", "since"], rows)


def screen() -> str:
    """What `gpusim exec vector_add` prints on a pipe."""
    from gpusim.cli.main import invoke

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = invoke(["exec", "vector_add"])
    if code:
        raise ValueError(f"gpusim exec vector_add ends with {code}")
    return f"```\n{out.getvalue().rstrip()}\n```"


def _text(text: str) -> str:
    """With metrics as code, and the figures that a rule makes itself as words."""
    for name, words in (("measure", "x %"), ("bound", unit_name("dram")), ("near", "y %"), ("advice", "by unit")):
        text = text.replace(f"{{{name}}}", words)
    return text.replace("{", "`").replace("}", "`").replace("|", "\\|")


def main() -> None:
    """Make the example anew."""
    README.write_text(renewed(README.read_text(encoding="utf-8"), {"screen": screen}), encoding="utf-8")


if __name__ == "__main__":
    main()
