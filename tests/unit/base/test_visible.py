"""Do control characters in names from files reach the terminal as text, wherever they are printed?"""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.progress import Progress, Reporter
from gpusim.base.table import Table, columns
from gpusim.base.visible import make_streams_visible
from gpusim.cli.main import invoke
from gpusim.config.files import SHIPPED
from gpusim.results.report.layout import plain, write

EVIL, SEEN = "\x1b]0;x\x1b\\\x9b2J", r"\x1b]0;x\x1b\\x9b2J"


class Terminal(io.StringIO):
    """A text that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def bar(out: Terminal) -> None:
    reporter = Reporter(stream=out)
    with reporter.following(f"title {EVIL}") as update:
        update(Progress(1, 1, 2, 3))
        reporter.say(f"above {EVIL}")


@pytest.mark.parametrize(
    "show",
    [
        lambda out: write([plain(f"a {EVIL}")], out),
        lambda out: Table(columns(f"a {EVIL}"), [(f"b {EVIL}",)], title=EVIL, notes=[EVIL]).show(out),
        lambda out: Reporter(stream=out).say(f"a {EVIL}"),
        bar,
    ],
    ids=["screen", "table", "line", "bar"],
)
def test_a_terminal_gets_text(show: Any) -> None:
    out = Terminal()
    show(out)
    assert SEEN in out.getvalue()
    assert not any(part in out.getvalue() for part in ("\x1b]", "\x1b\\", "\x9b"))


def test_streams_show_what_is_printed_and_let_rich_s_sequences_pass() -> None:
    out = Terminal()
    with make_streams_visible(out, out):
        print(EVIL)
        with Reporter(stream=sys.stdout).following("t") as update:
            update(Progress(1, 1, 2, 3))
    assert out.getvalue().startswith(f"{SEEN}\n") and "\x1b[?25l" in out.getvalue()


def test_names_of_code_objects_configurations_and_results(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = (SHIPPED / "examples" / "vector_add.hsaco").read_bytes()
    (tmp_path / "k.hsaco").write_bytes(code.replace(b"vector_add", b"v\x1b[2Jr_add"))
    assert invoke(["disasm", str(tmp_path / "k.hsaco")]) == 0
    assert r"v\x1b[2Jr_add" in shown(capfd)
    (tmp_path / "g.yaml").write_text('base: mi6\nname: "\\e[2Jgpu"\n')
    assert invoke(["show", str(tmp_path / "g.yaml")]) == 0
    assert r"\x1b[2Jgpu: 36" in shown(capfd)
    assert invoke(["run", "layerB", "--set", f"workload.{EVIL}=1"]) == 2
    assert SEEN in shown(capfd)
    figures = [{"name": "\x1b[2J", "value": value, "unit": ""} for value in (1, 2)]
    for number, figure in enumerate(figures):
        (tmp_path / f"{number}.json").write_text(json.dumps({"figures": [figure]}))
    names = [str(tmp_path / f"{number}.json") for number in range(2)]
    assert invoke(["compare", *names]) == 0
    assert r"\x1b[2J" + "\t1\t2" in shown(capfd)
    assert invoke(["compare", *names, "--json", "-"]) == 0
    assert "\x1b[2J" in json.loads(capfd.readouterr().out)["parts"][0]["changes"][0].values()


def shown(capfd: pytest.CaptureFixture[str]) -> str:
    """What was printed, in which no control character is left."""
    text = "".join(capfd.readouterr())
    assert "\x1b" not in text and "\x9b" not in text
    return text
