"""Is a process that gets a signal as soon as it exists never a second copy of the one that started it?"""

import subprocess
import sys

# the signal comes between the fork and the first instruction of the process, where the handler is still the other one's
PROGRAM = """
import os, signal
from gpusim.base.children import ProcessPool

def interrupted(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGTERM, interrupted)
os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGTERM))
children = ProcessPool(1)
try:
    children.start("work", lambda: 1)
except KeyboardInterrupt:
    print("a second copy", flush=True)
    os._exit(0)
print(*(outcome for _, outcome in children.outcomes(30)))
assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
"""


def test_a_signal_right_after_the_fork_leaves_the_work_to_its_process() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "1\n"
