"""Is a live view's port one that is free and a port, and is any other told in one line?"""

import socket

import pytest

from gpusim.base.errors import UserError
from gpusim.results.live.view import _listening


def test_a_free_port_is_taken_and_one_in_use_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(UserError, match=f"{port}: another program has this port; without a number any free one is"):
            _listening(str(port), quiet=False)
    for given in (str(port), "0", ""):
        server = _listening(given, quiet=False)
        server.server_close()
        assert server.server_port == port or given in ("0", "")


@pytest.mark.parametrize("port", ["65536", "000080", "-1", "http", "8 0"])
def test_what_is_no_port_is_told(port: str) -> None:
    with pytest.raises(UserError, match=f"{port}: a port is needed, 1 to 65535"):
        _listening(port, quiet=False)


@pytest.mark.parametrize("port", ["0", ""])
def test_a_port_that_nobody_would_be_told_is_refused(port: str) -> None:
    with pytest.raises(UserError, match="with --quiet a port has to be named"):
        _listening(port, quiet=True)
