"""One process of a HIP program: its memory, code, streams, and what each of its requests does."""

import os
import select
import socket
import struct
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from gpusim.base.errors import GpusimError, SimulationError, UserError
from gpusim.base.formats import COUNT, GENERAL
from gpusim.base.launch_selector import LaunchIdentity, ProgramLine
from gpusim.base.progress import Progress, Reporter
from gpusim.base.version import __version__
from gpusim.jobs.hip import device
from gpusim.jobs.hip.code import CodeStore, UnknownCodeError
from gpusim.jobs.hip.compilation import CompileRequest, compile_program
from gpusim.jobs.hip.errors import HipError
from gpusim.jobs.hip.hostcall import HostCalls
from gpusim.jobs.hip.image import shared_memory
from gpusim.jobs.hip.launching import TIME_LIMIT, Launcher, LaunchOptions, ProgramLaunches
from gpusim.jobs.hip.protocol import ANSWER, NO_OFFSET, OPS, REQUEST, ArgumentKind, Copied, ProtocolOperation, Source
from gpusim.jobs.hip.textures import ObjectRequest, SamplerRequest, object_words, sampler_words
from gpusim.jobs.hip.translation import DataObject, TranslationRequest, translate
from gpusim.jobs.host.queue import SLOTS, StreamQueue
from gpusim.jobs.running.runner import CYCLE_LIMIT
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.occupancy import Occupancy, OccupancyError, occupancy
from gpusim.results.records.bounds import LATENCY
from isa.architecture import LANES
from isa.device_memory import Allocation, DeviceMemoryError
from isa.execution.executor import check_workgroup, program_of
from isa.execution.faults import FAULT_LIMIT, ExecutionFault
from isa.grid import GridError
from isa.image_resource import ImageError
from isa.kernarg import explicit
from isa.launch import Launch
from isa.object.code_object import CodeObjectError, Kernel
from isa.object.names import short
from isa.opcodes import ARCHITECTURES
from isa.region import SparseRegion
from spartan.engine_spec import MAX_REGIONS

_REQUEST = struct.Struct(REQUEST)
_RECEIVED_AT_ONCE = 1 << 16  # a larger buffer is mapped anew for each message
_KINDS = ("hipMalloc", "hipHostMalloc", "hipMallocManaged")  # by the number of the request
_KINDS_OF_ARGUMENTS = {
    "by_value": ArgumentKind.VALUE,
    "global_buffer": ArgumentKind.GLOBAL,
    "dynamic_shared_pointer": ArgumentKind.LOCAL,
    "image": ArgumentKind.IMAGE,
    "sampler": ArgumentKind.SAMPLER,
}
_ALL_STREAMS = (1 << 64) - 1
_BLOCK_STEP = LANES
_LOOK_S = 0.05
_PAGE_BYTES = 4096  # what a GPU's driver allocates at least
_BLOCK_BYTES = 2 << 20  # what it takes small allocations from (ROCr: fragments of blocks of 2 MiB)


class RegionError(UserError):
    """A program declares something sparse that the engine cannot serve."""


class VersionError(UserError):
    """The program's library is of another version of gpusim."""


def round_up_dynamic_lds(of_kernel: int, dynamic: int, granularity: int) -> int:
    """Return the bytes of dynamic LDS with which a workgroup has whole blocks, as it has on a GPU.

    rocFFT's real transforms read past what they ask for and use none of it. of_kernel: bytes beside the dynamic ones.
    """
    return -(-(of_kernel + dynamic) // granularity) * granularity - of_kernel


class Session:
    """Serves one process over `connection`; its device memory is the memory file `file`.

    stopped: tells whether the user has asked for the end of the run.
    """

    def __init__(
        self,
        connection: socket.socket,
        file: int,
        options: LaunchOptions,
        launches: ProgramLaunches,
        reporter: Reporter,
        stopped: Callable[[], bool],
    ) -> None:
        self.connection = connection
        self._gpu, self._reporter, self._stopped = options.gpu, reporter, stopped
        self._max_cycles, self._max_s = options.launches.max_cycles, options.max_seconds or float("inf")
        # of the launch that runs; begun: None until its first instructions, which may have to be compiled first
        self._begun_s: float | None = None
        self._out_of_time = False
        self._exact = options.bounds == "exact"
        self._us_of_byte = 1e6 / options.gpu.dram.bytes_per_s
        self._looked_s = 0.0  # when it was last looked whether the process is there
        slack_bytes = _BLOCK_BYTES if options.bounds == "loose" else 0
        self._memory = shared_memory(file, options.gpu.memory_mib << 20, slack_bytes)
        self._memory.drops_lds = not (self._exact or options.check)
        os.close(file)
        self._allocations: dict[int, Allocation] = {}
        self._code = CodeStore(self._memory, options.gpu, options.gpus_that_run)
        self._launcher = Launcher(options, launches, reporter)
        self._recorder = options.recorder
        self._calls = HostCalls(self._memory)
        self._queue = StreamQueue(options.gpu.kernel_launch_us)
        self._error = HipError.Success  # the first error among requests that are not answered
        self._fatal = False  # after a fault nothing runs any more
        self._received = bytearray()
        self._served: dict[int, tuple[ProtocolOperation, struct.Struct, Callable[..., Any]]] = {
            op.number: (op, struct.Struct(op.layout), getattr(self, f"_{op.name.lower()}")) for op in OPS
        }
        self._process = 0
        self._lines: dict[int, ProgramLine] = {}  # of the program, if it is one of Python's
        self._has_engine = options.engine is not None
        self._regions: dict[int, SparseRegion] = {}  # whose marked loads the engine serves, by address

    def receive(self) -> bool:
        """Read what has arrived and serve all complete requests; returns False once the process has closed its end."""
        try:
            data = self.connection.recv(_RECEIVED_AT_ONCE)
        except ConnectionResetError:
            return False
        self._received += data
        while len(self._received) >= _REQUEST.size:
            number, size = _REQUEST.unpack_from(self._received)
            end = _REQUEST.size + size
            if len(self._received) < end:
                break
            body = bytes(memoryview(self._received)[_REQUEST.size : end])
            del self._received[:end]
            self._serve(number, body)
        return bool(data)

    def _serve(self, number: int, body: bytes) -> None:
        op, values, serve = self._served[number]
        try:
            status, answer = HipError.Success, serve(*values.unpack_from(body), body[values.size :])
        except GpusimError as error:
            status, answer = self._failed(error), b""
        if op.answer is None:
            self._error = self._error or status
            return
        if isinstance(answer, tuple):
            status, answer = answer
        try:
            self.connection.sendall(struct.pack(ANSWER, status, len(answer or b"")) + (answer or b""))
        except OSError:  # the process has ended
            return

    def _failed(self, error: GpusimError) -> HipError:
        """Report an error to the user, and return the error code that the program gets."""
        status = next((code for kind, code in _STATUS if isinstance(error, kind)), HipError.LaunchFailure)
        if not isinstance(error, UnknownCodeError):
            for line in (*str(error).splitlines(), *getattr(error, "__notes__", ())):
                self._reporter.say(f"gpusim: {line}")
        return status

    def end(self) -> None:
        """Close the connection and finish the queue: the process has ended, or is served no longer."""
        self.connection.close()
        self._queue.finish()
        self._launcher.ended(self._queue.times, self._process)

    # --- requests, by their names

    def _hello(self, process: int, version: bytes) -> bytes:
        if version.decode() != __version__:
            raise VersionError(f"the program's runtime library is gpusim {version.decode()}'s, this is {__version__}")
        self._process = process
        known = list(device.attributes(self._gpu))
        pairs = b"".join(struct.pack("<ii", *pair) for pair in known)
        properties = b"".join(_text(layout) for layout in device.properties(self._gpu))
        properties += _text(self._gpu.architecture.encode())
        refused = device.refused_attributes()
        names = b"".join(struct.pack("<i", number) + _text(name.encode()) for number, name in refused)
        facts = struct.pack("<QI", self._memory.capacity_bytes, len(known)) + pairs + properties
        return facts + struct.pack("<I", len(refused)) + names

    def _allocate(self, size: int, kind: int, _: bytes) -> bytes:
        held = size if self._exact else -(-size // _PAGE_BYTES) * _PAGE_BYTES
        allocation = self._memory.allocate(held, f"{_KINDS[kind]} of {COUNT(size)} bytes")
        self._allocations[allocation.address] = allocation
        return struct.pack("<Q", allocation.address)

    def _image(self, *values: int | bytes) -> bytes:
        *asked, _ = values
        return object_words(ObjectRequest(*asked), ARCHITECTURES[self._gpu.architecture].image_generation)  # type: ignore[arg-type]

    def _sampler(self, *values: int | bytes) -> bytes:
        *asked, _ = values
        return sampler_words(SamplerRequest(*asked))  # type: ignore[arg-type]

    def _free(self, address: int, _: bytes) -> None:
        allocation = self._allocations.pop(address)
        for start in [one for one in self._regions if address <= one < allocation.end]:
            del self._regions[start]
        self._memory.free(allocation)

    def _region(self, address: int, rows: int, columns: int, leading: int, _: bytes) -> bytes:
        """Declare a matrix whose marked loads the engine serves, or end that (no rows)."""
        if not rows:
            self._regions.pop(address, None)
        else:
            try:
                region = SparseRegion(address, rows, columns, leading)
            except ValueError as error:
                raise RegionError(str(error)) from None
            within = self._memory.at(address)
            if within is None or region.end > within.end:
                raise RegionError(
                    f"sparse region at {address:#x}: {COUNT(region.end - address)} bytes reach beyond its allocation"
                )
            if address not in self._regions and len(self._regions) >= MAX_REGIONS:
                raise RegionError(f"sparse region at {address:#x}: there are {MAX_REGIONS} at most at a time")
            self._regions[address] = region
        return struct.pack("<I", self._has_engine)

    def _no_code(self, others: bytes) -> bytes:
        raise CodeObjectError(self._code.explain_missing_code(others.decode("utf-8", "replace")))

    def _load(self, data: bytes) -> bytes:
        return struct.pack("<Q", self._code.load(data))

    def _unload(self, module: int, _: bytes) -> None:
        self._code.unload(module)

    def _function(self, module: int, name: bytes) -> bytes:
        number, kernel = self._code.function(module, name.decode())
        facts = (
            kernel.kernarg_bytes,
            kernel.max_workgroup_size or 0,
            kernel.lds_bytes,
            kernel.private_segment_bytes,
            kernel.vgprs,
            kernel.sgprs,
        )
        offsets = {argument.kind: argument.offset for argument in kernel.arguments}
        hidden = [offsets.get(f"hidden_global_offset_{axis}", NO_OFFSET) for axis in "xyz"]
        arguments = explicit(kernel)
        described = b"".join(
            struct.pack(
                "<4I",
                argument.offset,
                argument.size,
                _KINDS_OF_ARGUMENTS.get(argument.kind, ArgumentKind.OTHER),
                argument.alignment,
            )
            + _text(argument.name.encode())
            + _text(argument.type_name.encode())
            for argument in arguments
        )
        required = kernel.required_workgroup_size or (0, 0, 0)
        return struct.pack("<Q13I", number, *facts, *required, *hidden, len(arguments)) + described

    def _kernels(self, module: int, _: bytes) -> bytes:
        names = self._code.names(module)
        return struct.pack("<I", len(names)) + b"".join(_text(name.encode()) for name in names)

    def _symbol(self, module: int, name: bytes) -> bytes:
        return struct.pack("<QQ", *self._code.symbol(module, name.decode()))

    def _launch(self, function: int, stream: int, *values: int | bytes) -> None:
        gx, gy, gz, bx, by, bz, lds, line, kernarg = values
        if self._fatal:
            return
        kernel = self._code.kernel(function)
        if not self._exact:
            lds = round_up_dynamic_lds(kernel.lds_bytes, int(lds), self._gpu.cu.lds_granularity_bytes)
        regions = tuple(self._regions.values()) if self._has_engine else ()
        launch = Launch(kernel, self._memory, kernarg, (gx, gy, gz), (bx, by, bz), lds, regions=regions)  # type: ignore[arg-type]
        self._run(self._calls.with_buffer(launch), stream, self._lines.get(int(line)))

    def _line(self, number: int, line: int, body: bytes) -> None:
        texts = _RequestReader(body)
        self._lines[number] = ProgramLine(texts.text(), line, texts.text())

    def _run(self, launch: Launch, stream: int, line: ProgramLine | None) -> None:
        serve = self._calls.serve if self._calls.is_used_by(launch) else None
        number = self._queue.stream_number(stream)
        launched = self._queue.launches + 1
        identity = LaunchIdentity(launch.kernel.name, launched, number, short(launch.kernel.name), line)
        self._begun_s, self._out_of_time = None, False
        try:
            selected = self._launcher.selects(identity)
            run = partial(self._launcher.run, launch, selected, self._go_on, serve)
            facts = self._recorded(launch, run) if selected else run()
        except (ExecutionFault, SimulationError) as error:
            self._fatal = True
            self._launcher.note_fault(launch)
            if isinstance(error, ExecutionFault) and error.code == FAULT_LIMIT:
                error.add_note("gpusim hip --max-instructions N sets the limit")
            raise
        self._report_strays(launch.kernel.name)
        limit = self._limit_reached(facts)
        if limit:
            self._reporter.say(
                f"gpusim: kernel '{short(launch.kernel.name)}' was ended after {limit}. One that waits for the program "
                "waits for ever: launches and copies are done one after another, in the order of the calls"
            )
            self._error = self._error or HipError.LaunchTimeOut
            self._launcher.note_stop(TIME_LIMIT if self._out_of_time else CYCLE_LIMIT)
        place = {"process": self._process, "number": launched, "stream": number}
        note = self._launcher.note(launch, facts, line, **place)
        if facts.roofline is None:
            self._queue.kernel(stream, 0.0, name=launch.kernel.name)
        else:
            demands = self._demands(launch, facts)
            self._queue.kernel(stream, facts.time_us, demands, note, launch.kernel.name)
        self._fatal |= facts.partial

    def _recorded(self, launch: Launch, run: Callable[[], RunFacts]) -> RunFacts:
        """Run a launch, and write it down where the user has asked for it."""
        if self._recorder is None:
            return run()
        code = lambda: self._code.code_object(launch.kernel)  # noqa: E731
        return self._recorder.run(launch, self._calls.is_used_by(launch), code, run)

    def _limit_reached(self, facts: RunFacts) -> str:
        """Return which limit ended a launch; empty if none did."""
        if facts.partial and self._out_of_time:
            return f"{GENERAL(self._max_s)} seconds (--max-seconds)"
        if facts.partial and self._max_cycles and facts.cycles >= self._max_cycles:
            return f"{COUNT(self._max_cycles)} cycles (--max-cycles)"
        return ""

    def _report_strays(self, kernel: str) -> None:
        """Count accesses that a GPU does not stop; the first of each kernel and kind is reported to the user."""
        for stray in self._memory.strays:
            if self._launcher.is_first_stray(kernel, stray):
                self._reporter.say(f"gpusim: {stray.text}")
        self._memory.strays.clear()

    def _demands(self, launch: Launch, facts: RunFacts) -> dict[str, float]:
        """Return which share of the GPU a kernel that was simulated alone needs: of each unit, and of the workgroups'
        slots.
        """
        x, y, z = launch.workgroups
        held = occupancy(launch, self._gpu.cu).workgroups_per_cu * self._gpu.cus
        units = {name: n / max(facts.cycles, 1) for name, n in facts.roofline.items() if name != LATENCY}
        return {**units, SLOTS: min(1.0, x * y * z / held)}

    def _copied(self, stream: int, size: int, way: int, blocking: int, _: bytes) -> None:
        self._launcher.bytes_moved()
        over_link = way != Copied.WITHIN_DEVICE
        if over_link:
            time_us = self._gpu.host_link.copy_us(size)
        else:  # each byte is read and written, or only written
            time_us = self._gpu.kernel_launch_us + 2 * size * self._us_of_byte
        name, direction = f"copy of {COUNT(size)} bytes", Copied(way).name.lower().replace("_", " the ")
        self._queue.copy(stream, time_us, over_link, bool(blocking), name, size, direction=direction)

    def _settle(self, _: bytes) -> tuple[HipError, bytes]:
        error = self._error
        self._error = HipError.LaunchFailure if self._fatal else HipError.Success
        printed, self._calls.printed = bytes(self._calls.printed), bytearray()
        return error, printed

    def _new_stream(self, stream: int, non_blocking: int, _: bytes) -> None:
        self._queue.new_stream(stream, not non_blocking)

    def _record(self, event: int, stream: int, _: bytes) -> None:
        self._queue.record(event, stream)

    def _wait(self, stream: int, event: int, _: bytes) -> None:
        self._queue.wait(stream, event)

    def _command(self, event: int, stream: int, _: bytes) -> None:
        self._queue.mark(event, stream)

    def _times(self, event: int, _: bytes) -> bytes:
        return struct.pack("<4Q", *(round(us * 1e3) for us in self._queue.times_us(event)))

    def _waited(self, stream: int, _: bytes) -> None:
        self._queue.synchronize(None if stream == _ALL_STREAMS else stream)

    def _event_waited(self, event: int, _: bytes) -> None:
        self._queue.wait_for(event)

    def _elapsed(self, first: int, last: int, _: bytes) -> bytes:
        return struct.pack("<f", self._queue.elapsed_ms(first, last))

    def _occupancy(self, function: int, work_items: int, lds: int, _: bytes) -> bytes:
        try:
            fit = self._fit(self._code.kernel(function), work_items, lds).workgroups_per_cu
        except OccupancyError:
            fit = 0
        return struct.pack("<II", fit, fit * self._gpu.cus)

    def _prepare(self, function: int, *values: int | bytes) -> bytes:
        """Answer a program before its first launch of a kernel in workgroups of a size.

        What is wrong with either is an error of that launch: code that cannot be executed, too much LDS.
        """
        *size, lds, _ = values
        kernel = self._code.kernel(function)
        program_of(kernel)
        launch = Launch(kernel, self._memory, b"", tuple(size), tuple(size), lds)  # type: ignore[arg-type]
        check_workgroup(launch)
        return struct.pack("<I", occupancy(launch, self._gpu.cu).workgroups_per_cu * self._gpu.cus)

    def _block_size(self, function: int, lds: int, limit: int, _: bytes) -> bytes:
        """Answer with the workgroup size at which most wavefronts are resident, the largest such, and the workgroups in
        the grid that fill the GPU.
        """
        kernel = self._code.kernel(function)
        most = min(limit or device.MOST_WORK_ITEMS, kernel.max_workgroup_size or device.MOST_WORK_ITEMS)
        best = (0, min(most, _BLOCK_STEP), 0)
        for size in range(_BLOCK_STEP, most + 1, _BLOCK_STEP):
            try:
                held = self._fit(kernel, size, lds).workgroups_per_cu
            except OccupancyError:
                break
            waves = min(held * size // LANES, self._gpu.cu.waves_per_simd * SIMDS)
            best = max(best, (waves, size, held))
        return struct.pack("<II", best[1], best[2] * self._gpu.cus)

    def _compile(self, source: int, expressions: int, body: bytes) -> tuple[HipError, bytes]:
        done = compile_program(_compile_request(body, Source(source), expressions), self._gpu.architecture)
        answer = b"".join(map(_text, (*(n.encode() for n in done.lowered), done.log.encode(), done.code)))
        return HipError.Success if done.code else HipError.InvalidSource, answer

    def _translate(self, action: int, language: int, body: bytes) -> tuple[HipError, bytes]:
        done = translate(_translation_request(action, language, body), self._gpu.architecture)
        results = b"".join(
            struct.pack("<I", data.kind) + _text(data.name.encode()) + _text(data.contents) for data in done.results
        )
        answer = _text(done.log.encode()) + struct.pack("<I", len(done.results)) + results
        return HipError.Success if done.done else HipError.InvalidSource, answer

    # ---

    def _fit(self, kernel: Kernel, work_items: int, lds: int) -> Occupancy:
        launch = Launch(kernel, self._memory, b"", (work_items, 1, 1), (work_items, 1, 1), lds)
        return occupancy(launch, self._gpu.cu)

    def _go_on(self, _: Progress) -> bool:
        """Tell whether a launch is to go on: the user has not asked for the end, and the process is still there."""
        now = time.monotonic()
        if self._begun_s is None:
            self._begun_s = now
        if now - self._looked_s < _LOOK_S:
            return True
        self._looked_s = now
        if now - self._begun_s > self._max_s:
            self._out_of_time = True
            return False
        poll = select.poll()
        poll.register(self.connection, select.POLLHUP)
        return not self._stopped() and not poll.poll(0)


_STATUS: tuple[tuple[type[GpusimError], HipError], ...] = (
    (DeviceMemoryError, HipError.OutOfMemory),
    (ImageError, HipError.InvalidValue),
    (RegionError, HipError.InvalidValue),
    (UnknownCodeError, HipError.NotFound),
    (OccupancyError, HipError.LaunchOutOfResources),
    (GridError, HipError.InvalidConfiguration),
    (CodeObjectError, HipError.NoBinaryForGpu),
    (VersionError, HipError.InsufficientDriver),
)


def _text(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


class _RequestReader:
    """A request's texts and numbers, read in their order."""

    def __init__(self, body: bytes) -> None:
        self._body, self._at = body, 0

    def count(self) -> int:
        """Read a number (u32)."""
        self._at += 4
        return int.from_bytes(self._body[self._at - 4 : self._at], "little")

    def contents(self) -> bytes:
        """Read bytes, which follow their number."""
        size = self.count()
        self._at += size
        return self._body[self._at - size : self._at]

    def text(self) -> str:
        """Read a text."""
        return self.contents().decode("utf-8", "replace")


def _compile_request(body: bytes, language: Source, expressions: int) -> CompileRequest:
    """Decode what a program wants compiled."""
    texts = _RequestReader(body)
    source, name = texts.text(), texts.text()
    wanted = tuple(texts.text() for _ in range(expressions))
    files = {texts.text(): texts.contents() for _ in range(texts.count())}
    options = tuple(texts.text() for _ in range(texts.count()))
    return CompileRequest(source, name, files, options, wanted, language)


def _translation_request(action: int, language: int, body: bytes) -> TranslationRequest:
    """Decode what a program wants translated."""
    texts = _RequestReader(body)
    isa, folder = texts.text(), texts.text()
    options = tuple(texts.text() for _ in range(texts.count()))
    inputs = tuple(DataObject(texts.count(), texts.text(), texts.contents()) for _ in range(texts.count()))
    return TranslationRequest(action, language, isa, options, folder, inputs)
