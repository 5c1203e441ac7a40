"""Does the hint for a missing extra name a command that can work, however gpusim was installed?"""

import shlex
import sys

import pytest

from gpusim.base import installation
from gpusim.base.errors import MissingExtraError

FROM = [
    ({"url": "file:///home/a%20b/gpusim", "dir_info": {"editable": True}}, ["-e", "/home/a b/gpusim[plot]"]),
    ({"url": "file:///home/x/gpusim", "dir_info": {}}, ["/home/x/gpusim[plot]"]),
    ({"url": "file:///home/x/gpusim-0.1.whl", "archive_info": {}}, ["/home/x/gpusim-0.1.whl[plot]"]),
    ({"url": "https://host/gpusim.tar.gz", "archive_info": {}}, ["gpusim[plot] @ https://host/gpusim.tar.gz"]),
    (
        {"url": "https://host/gpusim.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
        ["gpusim[plot] @ git+https://host/gpusim.git@abc"],
    ),
    ({}, ["-e", f"{installation._CLONE}[plot]"]),
]


@pytest.mark.parametrize(("origin", "words"), FROM)
def test_the_command_names_where_gpusim_came_from(
    origin: dict, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "_direct_url", lambda: origin)
    message = str(MissingExtraError("a picture", "plot"))
    head, _, command = message.partition(": ")
    assert head == "a picture needs the extra 'plot'"
    assert shlex.split(command) == [sys.executable, "-m", "pip", "install", *words]


def test_what_is_installed_here_is_read() -> None:
    assert shlex.split(installation.install_command("plot"))[:4] == [sys.executable, "-m", "pip", "install"]
