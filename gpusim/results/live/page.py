"""The live page: one HTML document with its style and script in it, in the colours of the HTML report."""

from functools import cache

from gpusim.base.html import hashed, read_asset
from gpusim.results.report.page import charts


@cache
def page() -> str:
    """Return the page, which gets its data from `state.json`."""
    return read_asset(__file__, "page.html").replace("{style}", _style()).replace("{script}", _script())


@cache
def policy() -> str:
    """Return the content security policy: the page's own style and script, and requests to its own origin."""
    return (
        f"default-src 'none'; script-src {hashed(_script())}; style-src {hashed(_style())}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@cache
def _style() -> str:
    colours = "".join(f" --c{number}: {colour};" for number, colour in enumerate(charts.COLOURS))
    return f"{read_asset(charts.__file__, 'page.css')}:root {{{colours} }}\n{read_asset(__file__, 'page.css')}"


@cache
def _script() -> str:
    return read_asset(__file__, "page.js")
