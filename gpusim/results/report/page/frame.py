"""The frame of every page: a head with style and policy, a heading, the foot, and the script."""

from collections.abc import Sequence

from gpusim.base.html import Element, hashed, read_asset, tag, written
from gpusim.base.version import __version__


def frame(title: str, heading: str, main: Sequence[Element], made_from: str) -> str:
    """Return the HTML of a page that loads nothing and runs nothing but its own script.

    Args:
        title: Of the window.
        heading: Heading of the page.
        main: What stands between heading and foot.
        made_from: What the foot names.
    """
    script = read_asset(__file__, "page.js") + read_asset(__file__, "viewer.js")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"gpusim: {title}"),
        tag("style", read_asset(__file__, "page.css")),
    )
    body = tag(
        "body",
        tag("a", "To the results", href="#results", class_="skip"),
        tag("header", tag("h1", heading)),
        tag("main", *main, id="results"),
        tag("footer", tag("p", f"Made by gpusim {__version__} from: {made_from}.")),
        tag("script", script),
    )
    return "<!DOCTYPE html>\n" + written(tag("html", head, body, lang="en")) + "\n"


def _policy(script: str) -> str:
    """Return the content security policy: nothing is loaded, and only the page's own script runs, by its hash."""
    return (
        f"default-src 'none'; script-src {hashed(script)}; style-src 'unsafe-inline'; base-uri 'none'; "
        "form-action 'none'"
    )
