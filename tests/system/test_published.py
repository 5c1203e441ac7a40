"""Is the project ready to be published: its wheel, manual page, metadata and forms for issues?"""

import os
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from docs._site import summary_page
from docs._site.man_page import FILE, man_page
from docs._site.pages import RESULTS, section
from docs._site.stored_pages import PUBLICATIONS
from gpusim.base.version import __version__
from gpusim.cli.main import all_sections
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.page.markdown import markdown
from gpusim.lab.papers.page.writing import RenderedPublication
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.records import load
from tests.structure.test_docs import long_sentences

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.generated
def test_the_manual_page_has_every_command() -> None:
    text = man_page()
    assert FILE.read_text(encoding="utf-8") == text
    for entries in all_sections().values():
        for name in entries:
            assert f"\n.B gpusim {name}".replace("-", "\\-") in text


@pytest.mark.generated
def test_the_documentation_begins_with_spartan_s_sentences() -> None:
    assert section(summary_page.PAGE.read_text(encoding="utf-8"), summary_page.NAME) == summary_page.paragraphs(), (
        "python -m docs._site.summary_page renews them"
    )


@pytest.mark.nightly
@pytest.mark.parametrize("name", PUBLICATIONS)
def test_the_sentences_of_a_publication_s_page_are_short(name: str) -> None:
    page = markdown(RenderedPublication(Publication(load_reproduction(name), load(RESULTS / name, name))).page)
    lists = ("Older than the present model", "Not run")  # of points, by name: no sentences
    assert [text for text in long_sentences(page) if not text.startswith(lists)] == []


def test_classifiers_are_those_of_the_index() -> None:
    known = pytest.importorskip("trove_classifiers").classifiers
    assert [one for one in PROJECT["classifiers"] if one not in known] == []
    named = {one.rpartition(" :: ")[2] for one in PROJECT["classifiers"] if "Python :: 3." in one}
    assert PROJECT["requires-python"].removeprefix(">=") in named
    assert PROJECT["keywords"] == sorted(set(PROJECT["keywords"]))


@pytest.mark.parametrize(
    "form", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda path: path.stem
)
def test_a_form_for_issues_asks_what_is_needed(form: Path) -> None:
    found = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert found["name"] and found["description"]
    ids = [field["id"] for field in found["body"]]
    assert len(ids) == len(set(ids))
    assert any(field.get("validations", {}).get("required") for field in found["body"])


@pytest.mark.nightly
def test_the_wheel_runs_a_shipped_example_in_an_environment_of_its_own(tmp_path: Path) -> None:
    """Dependencies are this environment's; what is gpusim's comes from the wheel alone."""
    pytest.importorskip("hatchling")
    without_compiler = {**os.environ, "PATH": ""}  # the runtime library for programs has a test of its own
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, env=without_compiler, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith(f"gpusim-{__version__}-py3-none-")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"gpusim/py.typed", "sim_configs/examples/vector_add.hsaco", "workloads/kernels/sgemm.hsaco"} <= set(names)
    assert any(name.endswith("share/man/man1/gpusim.1") for name in names)
    assert not [name for name in names if name.split("/")[0] in ("tests", "docs", "results")]

    environment, site = tmp_path / "venv", sysconfig.get_paths()["purelib"]
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = environment / "bin/python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    (packages,) = environment.glob("lib/python3*/site-packages")
    (packages / "dependencies.pth").write_text(f"{site}\n")
    assert (environment / "share/man/man1/gpusim.1").is_file()
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = [str(environment / "bin/gpusim"), "exec", "vector_add"]
    done = subprocess.run(run, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "verified               passed" in done.stdout
    where = "import gpusim, isa; print(gpusim.__file__, isa.__file__)"
    done = subprocess.run(
        [str(python), "-c", where], cwd=tmp_path, env=clean, capture_output=True, text=True, check=True
    )
    assert all(Path(file).is_relative_to(packages) for file in done.stdout.split())
