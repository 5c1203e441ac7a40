"""Where compiled code is kept: every source that goes into it changes the folder's name, and nothing else does."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpusim.base.jit import cache
from tests.structure.imports import ROOT, sources


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one source in each place, and two of one name in one."""
    for place in sorted({place for places in cache.DOMAINS.values() for place in places}):
        file = tmp_path / place if place.endswith(".py") else tmp_path / place / "unit.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {place}\n")
    for folder in ("memory/dram", "memory/cache", "gpusim/results/report"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "state.py").write_text(f"# {folder}\n")
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    return tmp_path


def hashes() -> tuple[str, str]:
    """Of both domains, calculated anew."""
    calculate = cache.domain_hash.__wrapped__
    cache._checksum.cache_clear()
    return calculate("isa"), calculate("timing")


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("gpusim/base/jit/unit.py", (True, True)),
        ("isa/unit.py", (True, False)),
        ("isa/trace.py", (True, True)),
        ("isa/opcodes/opcode.py", (True, True)),
        ("isa/opcodes/table.txt", (True, False)),
        ("memory/dram/state.py", (False, True)),
        ("gpusim/model/core/unit.py", (False, True)),
        ("gpusim/results/report/state.py", (False, False)),
    ],
)
def test_a_changed_source_changes_the_hash_of_what_it_goes_into(
    tree: Path, file: str, changes: tuple[bool, bool]
) -> None:
    before = hashes()
    (tree / file).write_text("changed\n")
    assert tuple(a != b for a, b in zip(before, hashes(), strict=True)) == changes


def test_a_new_a_removed_and_a_moved_source_change_it(tree: Path) -> None:
    seen = {hashes()[1]}
    (tree / "memory/new.py").write_text("")
    seen.add(hashes()[1])
    (tree / "memory/new.py").rename(tree / "memory/dram/new.py")
    seen.add(hashes()[1])
    (tree / "memory/dram/new.py").unlink()
    assert len(seen) == 3 and hashes()[1] in seen


def test_exchanged_sources_of_one_name_change_it(tree: Path) -> None:
    before = hashes()[1]
    first, second = tree / "memory/dram/state.py", tree / "memory/cache/state.py"
    (a, b) = first.read_text(), second.read_text()
    first.write_text(b)
    second.write_text(a)
    assert hashes()[1] != before


@pytest.mark.parametrize("flag", cache.FLAGS)
def test_a_flag_of_the_compiler_changes_it(tree: Path, flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = hashes()
    monkeypatch.setenv(flag, "something else")
    assert all(a != b for a, b in zip(before, hashes(), strict=True))


@pytest.fixture(autouse=True)
def no_checksum_of_a_test_stays() -> Iterator[None]:
    yield
    cache._checksum.cache_clear()


def _covered(domain: str, path: Path) -> bool:
    place = path.relative_to(ROOT).as_posix()
    return any(place == covered or place.startswith(f"{covered}/") for covered in cache.DOMAINS[domain])


@pytest.mark.compiled_tier  # it reads sources
def test_all_that_goes_into_compiled_code_changes_its_hash() -> None:
    # constants of other modules are part of the code; so are those that a module's own constants are made from
    files = dict(sources())
    missing = set()
    for module, path in files.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        compiled = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in node.decorator_list)
        ]
        if not compiled:
            continue
        imported = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in node.names:
                    whole = f"{node.module}.{name.name}"
                    imported[name.asname or name.name] = whole if whole in files else node.module
        constants = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
        domain = cache.domain_of(module)
        used = {n.id for part in [*compiled, *constants] for n in ast.walk(part) if isinstance(n, ast.Name)}
        needed = {module} | {imported[name] for name in used if imported.get(name) in files}
        missing |= {(module, source) for source in needed if not _covered(domain, files[source])}
    assert missing == set()
