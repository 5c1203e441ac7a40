"""Starting the live view of a run, and ending it with the run."""

import contextlib
import errno
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gpusim.base.errors import UserError
from gpusim.base.follow import attach_follower
from gpusim.base.progress import Reporter
from gpusim.base.version import __version__

if TYPE_CHECKING:
    from gpusim.results.live.server import LiveServer

OPTION = "--live"
_PATIENCE_S = 3.0  # with the server's end


@contextmanager
def live_view(port: str | None, title: str, reporter: Reporter) -> Iterator[None]:
    """Show the run on a page on the loopback interface within the block.

    The server is a process of its own, so that it answers while compiled code runs, and so that no thread is there when
    the run forks processes.

    Args:
        port: as the option gives it; empty: any free one, None: no page.
        title: of the page.
        reporter: reports the page's address.

    Raises:
        UserError: the port cannot be had.
    """
    if port is None:
        yield
        return
    import multiprocessing

    from gpusim.base.children import hold_signals
    from gpusim.results.live.sender import Sender  # imports the compiled core: up to a second

    server = _listening(port, reporter.quiet)
    try:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    except (AttributeError, OSError) as error:
        server.server_close()
        raise UserError(f"{OPTION}: this system has no sockets that keep packets apart: {error}") from None
    run = {"title": title, "version": __version__, "process": os.getpid()}
    sys.stdout.flush()
    sys.stderr.flush()
    process = multiprocessing.get_context("fork").Process(target=_serve, args=(server, theirs, ours, run), daemon=True)
    with hold_signals():
        process.start()
    theirs.close()
    address = f"http://{server.server_name}:{server.server_port}/"
    server.server_close()
    sender = Sender(ours)
    outcome = "ended"
    try:
        with attach_follower(sender):
            reporter.say(f"live view: {address}")
            yield
    except KeyboardInterrupt:
        outcome = "interrupted"
        raise
    except BaseException as error:
        outcome = f"failed: {error}"
        raise
    finally:
        sender.finish(outcome)
        process.join(_PATIENCE_S)
        if process.is_alive():
            process.kill()
            process.join()
        if process.exitcode:
            reporter.say("live view: its server was ended; the run went on without it")


def _listening(port: str, quiet: bool) -> "LiveServer":
    if not hasattr(os, "fork"):
        raise UserError(f"{OPTION}: this system cannot fork processes")
    if port and not (port.isdecimal() and len(port) < 6 and int(port) < 1 << 16):
        raise UserError(f"{OPTION} {port}: a port is needed, 1 to 65535, or 0 or nothing for any free one")
    number = int(port or 0)
    if quiet and not number:
        raise UserError(f"{OPTION}: with --quiet a port has to be named, since the address is not printed")
    from gpusim.results.live.server import LiveServer

    try:
        return LiveServer(number)
    except OSError as error:
        why = {errno.EADDRINUSE: "another program has this port", errno.EACCES: "this port is not for everyone"}
        said = why.get(error.errno or 0, error.strerror or str(error))
        raise UserError(f"{OPTION} {port}: {said}; without a number any free one is taken") from None


def _serve(server: "LiveServer", from_run: socket.socket, to_server: socket.socket, run: Mapping[str, Any]) -> None:
    """Run the server's process, which ends with the run, whatever signals reach them both."""
    from gpusim.base.children import deliver_signals
    from gpusim.results.live.server import serve

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    deliver_signals()
    to_server.close()  # the run's end: when all of its processes are gone, reading ends
    with contextlib.suppress(OSError):
        serve(server, from_run, run)
