"""Docstrings say something: a function's begins with a verb, and none is a riddle of a word or two.

A rule that a machine can check: the first word of a function's docstring is none of those that begin a phrase without
a verb (properties, like classes and modules, may name what they are), and every docstring has three words or more.
"""

import ast
import re
from collections.abc import Iterator

import pytest

import gpusim
from tests.structure.imports import ROOT, docstring, package_of, packages, parsed, sources, walked

FEWEST_WORDS = 3
# words that begin a phrase without a verb: what comes after them is left for the reader to guess
VERBLESS = frozenset(
    [
        "a",
        "about",
        "across",
        "after",
        "again",
        "all",
        "also",
        "an",
        "and",
        "another",
        "any",
        "around",
        "as",
        "at",
        "because",
        "before",
        "behind",
        "below",
        "beside",
        "between",
        "both",
        "but",
        "by",
        "each",
        "either",
        "every",
        "everything",
        "few",
        "first",
        "for",
        "from",
        "given",
        "how",
        "however",
        "if",
        "in",
        "into",
        "it",
        "its",
        "itself",
        "just",
        "last",
        "less",
        "like",
        "many",
        "more",
        "most",
        "much",
        "neither",
        "never",
        "next",
        "no",
        "none",
        "nor",
        "not",
        "nothing",
        "now",
        "of",
        "off",
        "on",
        "once",
        "one",
        "only",
        "or",
        "other",
        "others",
        "our",
        "out",
        "over",
        "own",
        "part",
        "per",
        "same",
        "several",
        "since",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "three",
        "through",
        "to",
        "twice",
        "two",
        "under",
        "unless",
        "until",
        "up",
        "upon",
        "was",
        "what",
        "whatever",
        "when",
        "where",
        "whether",
        "which",
        "while",
        "who",
        "whose",
        "why",
        "with",
        "within",
        "without",
    ]
)


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, str, bool]]:
    """Yield line, text, and whether it is a function's, of every docstring below the module's own."""
    for node in walked(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        text = ast.get_docstring(node)
        if text is None:
            continue
        named = isinstance(node, ast.ClassDef) or any("property" in ast.unparse(one) for one in node.decorator_list)
        yield node.lineno, text, not named


def problems(source: str) -> list[tuple[int, str]]:
    """Return line and complaint for each docstring of a source text that breaks the rule."""
    found = []
    for line, text, of_function in _docstrings(parsed(source)):
        words = text.split()
        first = words[0].strip("'\"`.,:;()").lower() if words else ""
        if len(words) < FEWEST_WORDS:
            found.append((line, f"fewer than {FEWEST_WORDS} words: {text!r}"))
        elif of_function and (first in VERBLESS or not first.isalpha()):
            found.append((line, f"begins with no verb: {text.splitlines()[0]!r}"))
    return found


def _problems_of(package: str) -> list[str]:
    return [
        f"{path}:{line}: {problem}"
        for module, path in sources()
        if package_of(module) == package
        for line, problem in problems(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("package", sorted(packages()))
def test_docstrings_begin_with_a_verb_and_are_no_riddles(package: str) -> None:
    assert _problems_of(package) == []


RIDDLES = ("Two.", "As configured.", "What is said of energy.", "The same of jobs, then.", "12 of them at most.")


@pytest.mark.parametrize("text", RIDDLES)
def test_riddles_are_found(text: str) -> None:
    assert len(problems(f'def f():\n    """{text}"""\n')) == 1


def test_a_property_may_name_what_it_is() -> None:
    source = (
        'class A:\n    """Rows and columns."""\n    @property\n    def x(self):\n        """The number of rows."""\n'
    )
    assert problems(source) == []


# files whose functions scripts call; of any other file that gpusim exports from, what is exported
SCRIPTS = (
    *(f"gpusim/jobs/api/{path.name}" for path in sorted((ROOT / "gpusim" / "jobs" / "api").glob("*.py"))),
    *("gpusim/jobs/run.py", "gpusim/jobs/networks/script.py"),
    *("gpusim/results/store/reading.py", "gpusim/study/sweep/script.py"),
)
BUILT_BY_SCRIPTS = ("Device", "Module", "Sweep")  # classes; all others come from a function


def arguments(function: ast.FunctionDef) -> list[str]:
    """Return the names of a function's arguments, without the object itself."""
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    every += [argument for argument in (function.args.vararg, function.args.kwarg) if argument is not None]
    return [argument.arg for argument in every if argument.arg not in ("self", "cls")]


def public_functions() -> Iterator[tuple[str, ast.FunctionDef, str]]:
    """Yield each function of the interface for scripts, with its docstring; of a constructor that of its class."""
    exported = {module.replace(".", "/") + ".py" for module in gpusim._EXPORTED.values()}
    for file in sorted({*SCRIPTS, *exported}):
        tree = parsed((ROOT / file).read_text(encoding="utf-8"))
        for node in tree.body:
            if file not in SCRIPTS and getattr(node, "name", "") not in gpusim._EXPORTED:
                continue
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                yield f"{file}:{node.name}", node, ast.get_docstring(node) or ""
            for member in node.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_") else ():
                if not isinstance(member, ast.FunctionDef):
                    continue
                name = f"{file}:{node.name}.{member.name}"
                if not member.name.startswith("_"):
                    yield name, member, ast.get_docstring(member) or ""
                elif member.name == "__init__" and node.name in BUILT_BY_SCRIPTS:
                    yield name, member, ast.get_docstring(node) or ""


def undocumented(function: ast.FunctionDef, text: str) -> list[str]:
    """Return what the docstring of a function with several arguments lacks."""
    if len(arguments(function)) < 2:
        return []
    listed = text.partition("Args:\n")[2]
    missing = [name for name in arguments(function) if f"\n    {name}: " not in f"\n{listed}"]
    returns = function.returns is None or ast.unparse(function.returns) != "None"
    missing += ["Returns:"] * (returns and "\nReturns:\n" not in text)
    raises = any(isinstance(node, ast.Raise) for node in ast.walk(function))
    return missing + ["Raises:"] * (raises and "\nRaises:\n" not in text)


def test_functions_for_scripts_document_arguments_results_and_errors() -> None:
    functions = list(public_functions())
    assert len(functions) > 40
    assert {name: lacks for name, function, text in functions if (lacks := undocumented(function, text))} == {}


def faces() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield each package's public face: functions that other packages import. Compiled ones, inlined, have none."""
    trees = {module: parsed(path.read_text(encoding="utf-8")) for module, path in sources()}
    imported = {
        (node.module, alias.name)
        for module, tree in trees.items()
        for node in walked(tree)
        if isinstance(node, ast.ImportFrom) and node.module in trees
        if package_of(node.module) != package_of(module)
        for alias in node.names
    }
    for module, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and (module, node.name) in imported:
                if not any(re.search("jit|intrinsic", ast.unparse(each)) for each in node.decorator_list):
                    yield f"{module}:{node.name}", node


def test_functions_that_other_packages_import_document_arguments_and_errors() -> None:
    """As Google's guide has it, `Returns:` may be left out where the first sentence says what is returned."""
    lacking = {}
    for name, function in faces():
        text = ast.get_docstring(function) or ""
        lacks = set(undocumented(function, text)) - {"Returns:"}
        if lacks - ({"Raises:"} if re.search(r"\b[Rr]aises? ", text) else set()):
            lacking[name] = lacks
    assert lacking == {}


def test_what_a_docstring_lacks_is_named() -> None:
    source = "def f(a, b):\n    if a:\n        raise ValueError\n    return b\n"
    function = parsed(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert undocumented(function, "Compute.") == ["a", "b", "Returns:", "Raises:"]
    text = "Compute.\n\nArgs:\n    a: first.\n    b: second.\n\nReturns:\n    b.\n\nRaises:\n    ValueError: a is true."
    assert undocumented(function, text) == []
    assert undocumented(function, text.replace("    b: second.\n", "")) == ["b"]


@pytest.mark.parametrize("package", sorted(packages()))
def test_a_package_says_why_it_is_so(package: str) -> None:
    assert "\nWhy so: " in docstring(package)
