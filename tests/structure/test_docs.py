"""The documentation names files, folders, commands, places and versions that are there."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from docs._site import stored_pages
from docs._site.reference_pages import PAGES as GENERATED_REFERENCE
from gpusim.base.version import __version__
from tests.structure.imports import ROOT, TOPS

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
_FOLDERS = ("changelogs", "docs", "tests", "sim_configs", "examples", *TOPS)
# pages that the site's build makes (docs/_site/hooks.py): links may lead there
GENERATED = {DOCS / name for name in (*stored_pages.names(), *(f"reference/{page}.md" for page in GENERATED_REFERENCE))}
# what else is read as prose: older changelogs, and what stands in results as pages
MORE_PAGES = sorted([*(ROOT / "changelogs").glob("*.md"), *(ROOT / "results").rglob("*.md")])
LINKING = sorted([*ROOT.glob("*.md"), *(page for folder in _FOLDERS for page in (ROOT / folder).rglob("*.md"))])
DECISIONS = [page for page in PAGES if page.parent.name == "decisions" and page.name != "README.md"]
README_LINES = 104  # a stranger reads it whole
CHANGELOG = ROOT / "CHANGELOG.md"
_PATH = re.compile(rf"`((?:{'|'.join(TOPS)}|tests|docs|sim_configs|results|examples)/[\w./-]*\w)/?(?:::\w+)?`")
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_VERSION = re.compile(r"^## (\d+)\.(\d+)\.(\d+), (\d{4}-\d{2}-\d{2})$", re.MULTILINE)
_NO_PROSE = re.compile(r"^```.*?^```$|<!--.*?-->|^ *[|#!].*?$|^    .*?$", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )")
_TARGET = re.compile(r"\]\([^()\s]+\)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
MOST_WORDS = 35
_INSTALLED = (
    "python3 -m venv .venv && .venv/bin/pip install -r requirements{}.lock"
    " && .venv/bin/pip install --no-deps --no-build-isolation -e . && "
)


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def _id(page: Path) -> str:
    return str(page.relative_to(ROOT))


def missing(text: str) -> list[str]:
    """Paths named in a text that are not there; those of files that are made when something runs are not meant."""
    return [path for path in _PATH.findall(text) if not (ROOT / path).exists()]


def long_sentences(text: str) -> list[str]:
    """Return the sentences, to their full stops, of too many words, those in brackets counted.

    Code and targets of links are not counted, nor the words of tables, headings and examples.
    """
    prose = _TARGET.sub("]", re.sub(r"`[^`]*`", "0", _NO_PROSE.sub("\n\n", text)))
    parts = (part for block in _BLOCK.split(prose) for part in _SENTENCE_END.split(block))
    return [" ".join(part.split()) for part in parts if len(re.findall(r"[A-Za-z][A-Za-z'’-]*", part)) > MOST_WORDS]


@pytest.mark.parametrize("page", [*PAGES, CHANGELOG, *MORE_PAGES], ids=_id)
def test_a_sentence_has_one_idea(page: Path) -> None:
    assert long_sentences(_text(page)) == []


def test_a_long_sentence_is_seen() -> None:
    words = " ".join(["word"] * MOST_WORDS)
    assert long_sentences(f"# {words} word\n\n{words} `code`.\n- [{words}](a/link.md)") == []
    assert long_sentences(f"{words} (more).") == [f"{words} (more)."]
    assert long_sentences(f"{words}; word: word.") == [f"{words}; word: word."]
    assert long_sentences(f"A start. Then {words}.") == [f"Then {words}."]


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_what_a_page_names_is_there(page: Path) -> None:
    assert missing(_text(page)) == []


@pytest.mark.parametrize(
    "path",
    ["README.md", "docs/README.md", "CITATION.cff", "pyproject.toml", "gpusim/__init__.py", "gpusim/cli/main.py"],
)
def test_what_presents_the_project_names_no_generation_alone(path: str) -> None:
    """GCN3 was the first of several: a line that names it names the others too."""
    lines = [line for line in _text(ROOT / path).splitlines() if "GCN3" in line]
    assert [line for line in lines if not ("Vega" in line and "CDNA" in line)] == []


def test_a_path_that_is_gone_is_seen() -> None:
    assert missing("`memory/wheel.py`, `memory/gone.py`, `isa/` and `tests/exact`") == ["memory/gone.py"]


@cache
def _places(page: Path) -> frozenset[str]:
    """Names of a page's headings as a link says them, by the rule that GitHub has for them."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", _text(page)), re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in plain)


def astray(page: Path, text: str) -> list[str]:
    """Relative links of a page that lead to no file, or to no heading of it."""
    found = []
    for link in _LINK.findall(_FENCE.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, place = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if target in GENERATED:
            continue  # the site's build checks their headings
        if not target.exists() or (place and place not in _places(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", LINKING, ids=_id)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert astray(page, _text(page)) == []


def test_a_link_that_leads_nowhere_is_seen() -> None:
    text = "[a](docs/how-to/hip.md) [b](docs/gone.md) [c](docs/how-to/hip.md#opencl) [d](docs/how-to/hip.md#gone) [e](https://example.org/x)"
    assert astray(ROOT / "README.md", text) == ["docs/gone.md", "docs/how-to/hip.md#gone"]


SECTIONS = ("tutorials", "how-to", "reference", "explanation", "results")


@pytest.mark.parametrize("section", SECTIONS)
def test_every_page_is_in_its_section_s_list(section: str) -> None:
    index = DOCS / section / "README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in _LINK.findall(_text(index))}
    assert sorted(_id(page) for page in index.parent.glob("*.md") if page not in linked | {index}) == []


def test_there_are_words_alone_among_the_pages() -> None:
    """Results, examples and what makes the site lie elsewhere."""
    files = [path for path in DOCS.rglob("*") if path.is_file() and "_site" not in path.parts]
    assert [_id(path) for path in files if path.suffix != ".md"] == []
    assert sorted(path.name for path in DOCS.iterdir() if path.is_dir()) == sorted((*SECTIONS, "_site"))


@pytest.mark.parametrize("page", sorted((DOCS / "results").glob("*.md")), ids=_id)
def test_a_page_of_results_says_which_model_made_them(page: Path) -> None:
    if page.name != "README.md":
        assert "\n> Figures: " in _text(page).partition("\n## ")[0]


def buildings(text: str) -> list[str]:
    """Return the words for parts of a building in a text or a name: nobody can search for them."""
    return re.findall(r"(?<![a-z])(?:rooms?|doors?|houses?|storeys?|shel(?:f|ves))(?![a-z])", text, re.IGNORECASE)


def test_pages_and_code_speak_of_packages_and_layers() -> None:
    files = [*PAGES, CHANGELOG, *(path for top in (*TOPS, "tests") for path in sorted((ROOT / top).rglob("*.py")))]
    files = [path for path in files if path.name not in (Path(__file__).name, "test_words.py")]  # which name them
    words = {_id(path): buildings(_text(path)) for path in files}
    assert {path: each for path, each in words.items() if each} == {}


def test_a_part_of_a_building_is_seen() -> None:
    assert buildings("has_room of _ROOMS; the next door") == ["room", "ROOMS", "door"]
    assert buildings("mushrooms, outdoors, warehouse") == []


def test_the_readme_is_short_and_says_how_to_run_and_to_test() -> None:
    text = _text(ROOT / "README.md")
    assert text.count("\n") <= README_LINES
    assert f"{_INSTALLED.format('')}.venv/bin/gpusim run layerB.yaml --engine on\n" in text
    test = f'{_INSTALLED.format("-dev")}PATH="$PWD/.venv/bin:$PATH" .ci/test'
    assert test in text
    assert test in _text(ROOT / "CONTRIBUTING.md")


def test_ci_does_what_the_readme_says() -> None:
    """`.ci/run` installs and tests by the same words, in an environment elsewhere."""
    run = _text(ROOT / ".ci" / "run")
    assert 'pip" install --quiet -r requirements-dev.lock\n' in run
    assert 'pip" install --quiet --no-deps --no-build-isolation -e .\n' in run
    assert 'PATH="$venv/bin:$PATH" .ci/test\n' in run


def test_every_locked_package_has_its_version_and_hashes() -> None:
    """So that pip checks what it downloads, and nothing that is not listed is installed."""
    for name in ("requirements.lock", "requirements-dev.lock", "requirements-extras.lock", "requirements-docs.lock"):
        lines = [line for line in _text(ROOT / name).splitlines() if line and line[0] not in "#-"]
        heads = [number for number, line in enumerate(lines) if not line.startswith(" ")]
        assert heads
        for head, following in zip(heads, [*heads[1:], len(lines)], strict=True):
            assert "==" in lines[head], f"{name}: {lines[head]}"
            assert following > head + 1 and all("--hash=sha256:" in line for line in lines[head + 1 : following])


def test_what_repeats_the_version_says_the_same() -> None:
    versions = [tuple(map(int, found[:3])) for found in _VERSION.findall(_text(CHANGELOG))]
    dates = [found[3] for found in _VERSION.findall(_text(CHANGELOG))]
    assert len(versions) == _text(CHANGELOG).count("\n## ") - 1, "all but Unreleased"
    assert versions == sorted(set(versions), reverse=True)
    assert dates == sorted(dates, reverse=True)
    released = ".".join(map(str, versions[0]))
    own = tuple(map(int, __version__.removesuffix(".dev0").split(".")))
    assert own > versions[0] if __version__.endswith(".dev0") else own == versions[0]
    citation = _text(ROOT / "CITATION.cff")
    assert f"\nversion: {released}\n" in citation
    assert f'\ndate-released: "{dates[0]}"\n' in citation


def test_a_change_is_one_line_of_the_changelog() -> None:
    section = _text(CHANGELOG).partition("\n## Unreleased\n")[2]
    lines = [line for line in section.partition("\n## ")[2].splitlines() if line and line[0] not in "#<"][1:]
    assert [line for line in lines if not line.startswith("- ") or len(line) > 120] == []


CHANGES = sorted(set((ROOT / "changelog.d").iterdir()) - {ROOT / "changelog.d" / "template.md"})


@pytest.mark.parametrize("change", CHANGES, ids=_id)
def test_a_change_s_file_has_one_line_and_a_kind(change: Path) -> None:
    assert re.fullmatch(r"[a-z0-9-]+\.(changed|added|fixed)\.md", change.name)
    (line,) = _text(change).splitlines()
    assert line[0].isalnum() or line[0] == "`"
    assert line.endswith(".") and len(f"- {line}") <= 120


def test_a_version_s_section_is_made_of_its_changes() -> None:
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9", "--date", "2100-01-01"]
    made = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert made.startswith("## 9.9.9, 2100-01-01\n\n")
    parts = re.split(r"^### (\w+)\n", made, flags=re.MULTILINE)[1:]
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    for kind in ("changed", "added", "fixed"):
        lines = re.findall(r"^- (.*)$", sections.get(kind.capitalize(), ""), re.MULTILINE)
        assert sorted(lines) == sorted(_text(change).strip() for change in CHANGES if f".{kind}." in change.name)


@pytest.mark.parametrize("page", DECISIONS, ids=_id)
def test_a_decision_is_short_and_has_its_parts(page: Path) -> None:
    lines = _text(page).splitlines()
    assert 15 <= len(lines) <= 30
    parts = ["Context", "Decision", "Consequences", "Measured"]
    assert [line.removeprefix("## ") for line in lines if line.startswith("## ")] == parts
    assert f"]({page.name})" in _text(page.parent / "README.md")


_RUN = re.compile(r"python -m ((?:gpusim|tests|docs)(?:\.\w+)*)")


def commands_by_module() -> dict[str, set[str]]:
    """Map each of the project's modules that a tracked text runs by `python -m` to the files that name it."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    commands: dict[str, set[str]] = {}
    for name in listed:
        if name.endswith((".py", ".md", ".yml", ".yaml")) or name.startswith(".ci/"):
            for module in _RUN.findall((ROOT / name).read_text(encoding="utf-8")):
                commands.setdefault(module, set()).add(name)
    return commands


def can_be_run(module: str) -> bool:
    """Tell whether `python -m` does something with a module."""
    path = ROOT / module.replace(".", "/")
    file = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    return file.exists() and (
        file.name == "__main__.py" or '__name__ == "__main__"' in file.read_text(encoding="utf-8")
    )


def test_modules_that_texts_run_can_be_run() -> None:
    """A module without an entry point ends without a word when it is run."""
    assert can_be_run("tests.support.write_units") and not can_be_run("gpusim.model.core.units")
    assert {module: names for module, names in commands_by_module().items() if not can_be_run(module)} == {}
