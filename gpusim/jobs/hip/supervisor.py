"""A HIP program's process and those that it starts: started, served, waited for; nothing of them is left behind."""

import array
import ctypes
import os
import secrets
import selectors
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.base.progress import Reporter, current_reporter
from gpusim.jobs.hip.building import DRIVER_LIBRARY
from gpusim.jobs.hip.built import (
    PROFILERS,
    compiler_folder,
    driver_folder,
    libraries,
    module_folder,
    plugin_folder,
    rocm_folder,
    stand_in_folder,
    unnumbered_folder,
)
from gpusim.jobs.hip.jax_convolutions import FLAG as CONVOLUTION_FLAG
from gpusim.jobs.hip.protocol import DRIVER_VARIABLE, HOST_POINTERS_VARIABLE, SOCKET_VARIABLE
from workloads.toolchain.compilers import ROCM_VARIABLE

LIBRARY_PATH_VARIABLE = "GPUSIM_LIBRARY_PATH"  # for helper programs in --root: where their libraries are
ICD_VARIABLE = "OCL_ICD_VENDORS"  # of OpenCL's loaders: the folder with an .icd file for each platform
# XLA computes products itself, in place of rocBLAS and hipBLASLt, and measures no alternatives
RCCL = "librccl.so.1"  # reads the kernel driver's files
XLA_FLAGS = (
    "--xla_gpu_gemm_rewrite_size_threshold=1000000000",
    "--xla_gpu_enable_cublaslt=false",
    "--xla_gpu_autotune_level=0",
)
_PERIOD_S = 0.2  # in which a signal is seen
_GRACE_S = 2.0  # for a program that is asked to end
_PR_SET_PDEATHSIG = 1
_DESCRIPTORS = 2  # of a process that introduces itself: its end of a socket pair, its memory file
_CREDENTIALS = struct.Struct("3i")  # of a connected process: its number, user, group
LOADERS = ("lib64/ld-linux-x86-64.so.2", "usr/lib64/ld-linux-x86-64.so.2")
FOLDERS = (
    "usr/lib/x86_64-linux-gnu",
    "lib/x86_64-linux-gnu",
    "usr/lib",
    "usr/lib/x86_64-linux-gnu/blas",
    "usr/lib/x86_64-linux-gnu/lapack",
)


class HostProgramError(UserError):
    """A program that cannot be started."""


class ServedProcess(Protocol):
    """A process of the program, as it is served."""

    connection: socket.socket

    def receive(self) -> bool:
        """Serve what has arrived over the connection; returns False once the process has closed its end."""

    def end(self) -> None:
        """Close the connection: the process has ended, or is served no longer."""


NewSession = Callable[[socket.socket, int], ServedProcess]


@dataclass(frozen=True)
class HostProgram:
    """A program to run."""

    arguments: Sequence[str]
    """Program and arguments."""
    root: Path | None = None
    """Folder with the libraries of another system, including its C library; None: those of the host."""
    host_pointers: bool = False
    """Release 5's `hipPointerGetAttributes` describes memory that HIP does not know, as release 6's does."""
    architecture: str = ""
    """The GPU's, for which hipcc compiles, or a stand-in where there is none; empty: no stand-in."""
    has_regions: bool = False
    """The program finds the module by which it declares sparse regions."""
    jax: bool = False
    """The program is one of JAX: it sees the kernel driver's files, and has stand-ins for libraries that XLA needs."""
    compute_units: int = 0
    """The GPU's, for the kernel driver's files, by which JAX counts cards and RCCL finds how they are linked."""

    def started_by(self, library_folder: Path, rocm: Path | None) -> tuple[list[str], dict[str, str]]:
        """Return command and environment that put gpusim's library first; raises HostProgramError.

        rocm: what the program takes for ROCm's folder (`rocm_folder`).
        """
        environment = {**os.environ, **({} if rocm is None else {ROCM_VARIABLE: str(rocm)})}
        environment.setdefault("HIP_PLATFORM", "amd")  # hipcc takes a CUDA that it finds for the platform
        if self.architecture:  # for which hipcc compiles where it finds no GPU
            environment.setdefault("HCC_AMDGPU_TARGET", self.architecture)
        if rocm is not None:  # as CuPy has it
            environment.setdefault("ROCM_HOME", str(rocm))
        if self.architecture and (compiler := compiler_folder(self.architecture)) is not None:
            environment["PATH"] = os.pathsep.join([environment.get("PATH", os.defpath), str(compiler)])
        if self.has_regions:
            _add_modules(environment, module_folder())
        environment[ICD_VARIABLE] = str(library_folder)
        if self.host_pointers:
            environment[HOST_POINTERS_VARIABLE] = "1"
        if self.root is None:
            others = [Path(folder) for folder in environment.get("LD_LIBRARY_PATH", "").split(os.pathsep) if folder]
            known = [*others, *(Path("/") / folder for folder in FOLDERS)]
            first = [library_folder, *self._made_folders(library_folder, known, environment)]
            environment["LD_LIBRARY_PATH"] = os.pathsep.join(map(str, [*first, *others]))
            return list(self.arguments), environment
        root = self.root.absolute()
        loader = next((root / name for name in LOADERS if (root / name).exists()), None)
        if loader is None:
            raise HostProgramError(f"--root {self.root}: has no {' or '.join(LOADERS)}, the loader of its C library")
        folders = [root / folder for folder in FOLDERS]
        made = self._made_folders(library_folder, folders, environment)
        path = os.pathsep.join(map(str, [library_folder, *made, *folders]))
        environment[LIBRARY_PATH_VARIABLE] = path
        return [str(loader), "--library-path", path, *self.arguments], environment

    def _made_folders(self, library_folder: Path, folders: Sequence[Path], environment: dict[str, str]) -> list[Path]:
        """Return folders with what libraries lack in `folders`; for JAX the environment too gets what it looks for."""
        names = unnumbered_folder(folders)
        replaced = stand_in_folder(folders, library_folder, () if self.jax else PROFILERS)
        if self.jax or any((folder / RCCL).exists() for folder in folders):
            self._show_driver(library_folder, environment)
        if self.jax and replaced is not None:
            environment["XLA_FLAGS"] = " ".join([*XLA_FLAGS, *filter(None, [environment.get("XLA_FLAGS")])])
            missing = sorted(path.name for path in replaced.iterdir())
            flags = environment["XLA_FLAGS"]
            if any(library.startswith("libMIOpen") for library in missing):  # its plugin sets the flag
                _add_modules(environment, plugin_folder())
                flags = f"{CONVOLUTION_FLAG} {flags}"
            text = f"gpusim: not there, and functions of theirs fail: {', '.join(missing)}; XLA_FLAGS: {flags}"
            current_reporter().say(text)
        return [*filter(None, [names, replaced])]

    def _show_driver(self, library_folder: Path, environment: dict[str, str]) -> None:
        """Let the program see files of the GPU's kernel driver, where there is none."""
        driver = None if Path("/sys/class/kfd").exists() else driver_folder(self.compute_units)
        if driver is not None:
            environment[DRIVER_VARIABLE] = str(driver)
            first = environment.get("LD_PRELOAD")
            environment["LD_PRELOAD"] = os.pathsep.join([*filter(None, [first]), str(library_folder / DRIVER_LIBRARY)])


def _add_modules(environment: dict[str, str], folder: Path | None) -> None:
    """Add a folder to those where a Python program finds modules."""
    if folder is not None:
        modules = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([*filter(None, [modules]), str(folder)])


def run_program(
    program: HostProgram,
    reporter: Reporter,
    new_session: Callable[[], NewSession],
    stopped: Callable[[], bool],
) -> int:
    """Run a program to its end and serve its processes; returns its exit code, 128 + N if signal N ended it.

    Raises HostProgramError.

    Args:
        new_session: Called once, when the program runs; returns the function that makes what serves a process, given a
            connection and a memory file.
        stopped: Tells whether the user has asked for the end.
    """
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        raise HostProgramError("HIP programs run on x86-64 Linux alone")
    command, environment = program.started_by(libraries(), rocm_folder(program.root))
    name = f"gpusim-{secrets.token_hex(16)}"
    environment[SOCKET_VARIABLE] = name
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as broker:
        broker.bind(f"\0{name}")
        broker.listen()
        return _run(command, environment, broker, reporter, new_session, stopped)


def _run(
    command: list[str],
    environment: dict[str, str],
    broker: socket.socket,
    reporter: Reporter,
    new_session: Callable[[], NewSession],
    stopped: Callable[[], bool],
) -> int:
    try:
        process = subprocess.Popen(command, env=environment, preexec_fn=_dies_with(os.getpid()))
    except OSError as error:
        why = "is a folder" if Path(command[0]).is_dir() else error.strerror or error
        raise HostProgramError(f"{command[0]}: cannot be started: {why}") from None
    try:
        _serve(broker, process, new_session(), stopped)
    finally:
        _end(process)
    code = process.returncode
    if stopped() and code:
        return EXIT_INTERRUPTED
    if code < 0:
        reporter.say(f"gpusim: the program was ended by signal {-code} ({signal.Signals(-code).name})")
        return 128 - code
    return code


def _dies_with(parent: int) -> Callable[[], None]:
    """Return a function that the child calls before it becomes the program.

    It lets the child get SIGTERM when this process ends, in whatever way.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def prepare() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def _serve(
    broker: socket.socket,
    process: "subprocess.Popen[bytes]",
    session: NewSession,
    stopped: Callable[[], bool],
) -> None:
    """Serve until the program has ended and none of its processes is connected any more."""
    with selectors.DefaultSelector() as waiting:
        ended = os.pidfd_open(process.pid)
        waiting.register(ended, selectors.EVENT_READ, "ended")
        waiting.register(broker, selectors.EVENT_READ, "introduced")
        sessions = 0
        running = True
        try:
            while running or sessions:
                if stopped():
                    return
                for key, _ in waiting.select(_PERIOD_S):
                    if key.data == "ended":
                        waiting.unregister(ended)
                        running = False
                    elif key.data == "introduced":
                        introduced = _introduced(broker)
                        if introduced is not None:
                            served = session(*introduced)
                            waiting.register(served.connection, selectors.EVENT_READ, served)
                            sessions += 1
                    elif not key.data.receive():
                        waiting.unregister(key.fileobj)
                        key.data.end()
                        sessions -= 1
        finally:
            for key in list(waiting.get_map().values()):
                if not isinstance(key.data, str):
                    key.data.end()
            os.close(ended)


def _introduced(broker: socket.socket) -> tuple[socket.socket, int] | None:
    """Receive the connection and the memory file of a new process; None of one that does not send them, or of another
    user's.
    """
    descriptors = array.array("i")
    caller, _ = broker.accept()
    with caller:
        _, user, _ = _CREDENTIALS.unpack(caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
        if user != os.getuid():
            return None
        caller.settimeout(_GRACE_S)
        try:
            _, control, _, _ = caller.recvmsg(1, socket.CMSG_LEN(_DESCRIPTORS * descriptors.itemsize))
        except OSError:
            return None
    for level, kind, content in control:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(content[: _DESCRIPTORS * descriptors.itemsize])
    if len(descriptors) != _DESCRIPTORS:
        return None
    connection, file = descriptors
    return socket.socket(fileno=connection), file


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Wait for the program's end; if it still runs, terminate it, and kill it if that does not help."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
