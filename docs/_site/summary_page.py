"""`python -m docs._site.summary_page`: the paragraphs at the head of Spartan's page, in `docs/README.md` too.

How old their runs are is said by the note at the head of that page.
"""

from docs._site.pages import DOCS, RESULTS, renewed
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.page.summary import summarize
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.records import load

NAME = "spartan"
PAGE = DOCS / "README.md"


def paragraphs() -> str:
    """The paragraphs as a list in Markdown, from the recorded results."""
    publication = Publication(load_reproduction(NAME), load(RESULTS / NAME, NAME))
    return "\n".join(f"- **{one.topic}**: {one.text}" for one in summarize(publication, ages={}))


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), {NAME: paragraphs}), encoding="utf-8")
