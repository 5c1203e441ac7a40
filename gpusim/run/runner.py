"""One run from configuration to facts: data and launches, the command queue, simulation, comparison with NumPy."""

import time

from gpusim.base.errors import UserError
from gpusim.base.host_memory import peak_memory_mb
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Progress, Reporter
from gpusim.config.run import RunConfig
from gpusim.core.facts import RunFacts
from gpusim.core.simulator import simulate
from gpusim.host.queue import Command, run_queue
from gpusim.jit import cache_dir, is_compiled
from gpusim.results.record import RunRecord, VerificationFacts
from gpusim.timeline.timeline import Timeline
from isa.launch import Launch
from spartan.engine_spec import sib_layout
from workloads.operators.gemm import SOFTWARE, build_gemm_launches


def run(
    config: RunConfig, reporter: Reporter, interrupt: Interrupt, timeline: Timeline | None = None
) -> list[RunRecord]:
    """Simulate what `config.run` asks for; one record, or the dense and the sparse one.

    timeline: what happens in the launches is drawn into it.
    After Ctrl-C the list holds what is known by then, its last record marked partial.
    """
    mode = config.run.engine
    records: list[RunRecord] = []
    for sparse in {"off": (False,), "on": (True,), "both": (False, True)}[mode]:
        kernel = config.kernels.sparse if sparse else config.kernels.dense
        engine = sparse and kernel != SOFTWARE
        record = RunRecord(engine, kernel, [], variant=("sparse" if sparse else "dense") if mode == "both" else "")
        records.append(record)
        try:
            _run_one(config, record, reporter, interrupt, timeline)
        except KeyboardInterrupt:
            record.partial = True
        if not record.launches:
            record.launches.append(
                RunFacts.of(record.partial, kernel={"name": kernel, "cycles": 0, "clock_ghz": config.gpu.clock_ghz})
            )
        record.peak_memory_mb = peak_memory_mb()
        if record.partial:
            break
    return records


def _run_one(
    config: RunConfig, record: RunRecord, reporter: Reporter, interrupt: Interrupt, timeline: Timeline | None
) -> None:
    start = time.perf_counter()
    reporter.say(f"{record.kernel}: preparing {config.workload.layer.name}, batch {config.workload.batch}")
    job = build_gemm_launches(config, record.kernel)
    record.zero_fraction, record.zero_line_fraction = job.zero_fractions()
    record.setup_s = time.perf_counter() - start
    commands = [
        Command(launch.kernel.name, _kernel_run(launch, config, record, reporter, interrupt, timeline), barrier=True)
        for launch in job.launches
    ]
    record.host_time_us = run_queue(config.gpu.kernel_launch_us, commands)[-1].ended_us
    record.partial = interrupt.asked
    if config.run.verify and not record.partial:
        start = time.perf_counter()
        checked = job.verify()
        record.verify_s = time.perf_counter() - start
        record.verification = VerificationFacts(checked.passed, checked.max_error, checked.bound)


def _kernel_run(  # type: ignore[no-untyped-def]
    launch: Launch,
    config: RunConfig,
    record: RunRecord,
    reporter: Reporter,
    interrupt: Interrupt,
    timeline: Timeline | None,
):
    """A function that simulates the launch, keeps its facts in the record and returns its time in microseconds."""
    engine = config.engine if record.uses_engine else None
    if engine is not None:
        try:
            sib_layout(engine, launch.regions)
        except ValueError as error:
            raise UserError(f"engine: {error}") from None

    def run_kernel() -> float:
        if interrupt.asked:
            return 0.0
        if not (is_compiled("isa") and is_compiled("timing")):
            reporter.say(f"compiling the core: once, less than a minute; kept in {cache_dir('timing').parent}")
        with reporter.following(launch.kernel.name) as update:

            def observer(progress: Progress) -> bool:
                # from here on the core is in its loop and comes back several times a second
                interrupt.deferred = True
                update(progress)
                return not interrupt.asked

            try:
                facts = simulate(
                    launch,
                    config.gpu,
                    engine,
                    observer,
                    config.run.checked,
                    hotspots=bool(config.run.hotspots),
                    timeline=timeline,
                )
                del facts.hotspots[config.run.hotspots :]
            finally:
                interrupt.deferred = False
        record.launches.append(facts)
        return facts.time_us

    return run_kernel
