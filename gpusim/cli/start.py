"""Entry point of the `gpusim` command: safe against signals and closed streams before anything large is imported."""

import os
import signal
import sys

EXIT_INTERRUPTED = 130  # gpusim.base.errors has it, too: it is not imported before signals are looked after


def _leave(number: int, frame: object) -> None:
    """End the process at once: nothing has been begun that could be left half done."""
    try:
        os.write(2, b"gpusim: interrupted\n")
    finally:
        os._exit(EXIT_INTERRUPTED)


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # An exception could come up within an import, where other packages turn it into errors of their own. What begins
    # something that is to be cleaned up calls gpusim.base.interrupt.interrupt_python, or is an Interrupt's block.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, _leave)
    open_streams()
    from gpusim.cli.main import main as run

    run()


def open_streams() -> None:
    """Let standard streams that the caller has closed lead nowhere, and write what a stream cannot encode as '?'.

    Otherwise the next file that is opened would become standard output, and what is printed would be written into it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number: this one
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", errors="replace", closefd=False))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    main()
