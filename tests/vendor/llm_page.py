"""The page docs/results/llm.md: its runs by one command, what is kept of them, and its tables.

    python -m tests.vendor.llm_page run FOLDER [RUN...]   # runs all or some, and renews the page
    python -m tests.vendor.llm_page keep RUN RESULT [S]   # a result (`--json`) or output that is there, S: processor s
    python -m tests.vendor.llm_page                       # the page from what is kept, results/llm.json

FOLDER: filled by `python -m tests.vendor.packages FOLDER llama`. tinygrad's run needs it installed, and a comgr.
"""

import json
import math
import re
import resource
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from docs._site.pages import renewed, table
from isa.object.names import short
from tests.vendor.llama import Gemma, Shape, write_model

PAGE = Path(__file__).resolve().parents[2] / "docs/results/llm.md"
KEPT = PAGE.parents[2] / "results/llm.json"
BLOCKS = 32  # of the model, of which one is run
PROMPT = 64  # tokens of the prompt that llama-bench is given
TOKENS = 2  # that it generates
SAME = 0.01  # by so much weights may differ for a model to be the same
CPU_BACKEND = "libggml-cpu-x64.so"
# the card that published figures are of: MI6 is a Polaris 10 as well, with four compute units more
RX570 = "--gpu mi6 --set gpu.shader_arrays=8 --set gpu.clock_ghz=1.244"
SHARD = "-o MUL_MAT,RMS_NORM,SCALE,SILU,SUM_ROWS,ARGMAX,CONT -p 'm=16,n=[18],k=256,bs=.1,1.,nr=.1,1.,per|ne=.(64|10),5'"
_SAMPLED = "--data synthetic --sample --error 5%"
_NET = "gpusim net llama-7b-block{} " + _SAMPLED + " --set attention=auto{} {}"
_HALF = " --set weights=float16"
_MI60 = "--gpu mi60"
_BENCH = "gpusim hip --root {root} {} -- {root}/usr/bin/llama-bench -m model.gguf -r 1 --no-warmup -ngl 99 {}"
WHOLE = "Gemma 3 1B"  # in a run's name: the whole model, where others are one block of many
_GEMMA = _BENCH.replace("model.gguf", "gemma.gguf").format(f"{RX570} --sample --error 5%", "{}", root="{{root}}")
_OPS = "gpusim hip --root {root} --gpu r9nano --timing off -- {ops} test -b ROCm0 " + SHARD
_TINYGRAD = "gpusim hip --gpu r9nano {}-- python tests/vendor/tinygrad_training.py"
RUNS = {
    "decode, r9nano": _NET.format("-decode", "", "--gpu r9nano"),
    "decode, FP16, r9nano": _NET.format("-decode", _HALF, "--gpu r9nano"),
    "prefill, r9nano": _NET.format("", "", "--gpu r9nano"),
    "prefill, FP16, r9nano": _NET.format("", _HALF, "--gpu r9nano"),
    "decode, mi60": _NET.format("-decode", "", _MI60),
    "decode, FP16, mi60": _NET.format("-decode", _HALF, _MI60),
    "prefill, mi60": _NET.format("", "", _MI60),
    "prefill, FP16, mi60": _NET.format("", _HALF, _MI60),
    "rows of 4160, r9nano": f"gpusim net tests/vendor/llama-gate-4160.yaml {_SAMPLED} --gpu r9nano",
    "llama.cpp decode, r9nano": _BENCH.format("--gpu r9nano", f"-p 0 -n {TOKENS}", root="{root}"),
    "llama.cpp decode, rx570": _BENCH.format(RX570, f"-p 0 -n {TOKENS}", root="{root}"),
    "llama.cpp prefill, rx570": _BENCH.format(f"{RX570} --sample --error 5%", f"-p {PROMPT} -n 0", root="{root}"),
    f"llama.cpp decode, {WHOLE}, rx570": _GEMMA.format(f"-p 0 -n {TOKENS}"),
    f"llama.cpp prefill, {WHOLE}, rx570": _GEMMA.format(f"-p {PROMPT} -n 0"),
    "llama.cpp decode, mi50": _BENCH.format("--gpu mi50", f"-p 0 -n {TOKENS}", root="{root}"),
    "llama.cpp prefill, mi50": _BENCH.format("--gpu mi50 --sample --error 5%", f"-p {PROMPT} -n 0", root="{root}"),
    "test-backend-ops": _OPS,
    "tinygrad": _TINYGRAD.format("--timing off "),
    "tinygrad, CPU": "python tests/vendor/tinygrad_training.py",
}
# tokens a second that others measured: of what, with how many weights of its blocks, and with which run here they are
# compared. Gemma 3 1B: 999.89 million without a table of 262,144 words of 1152 values; Llama 3 8B: 8.03 billion without
# two of 128,256 of 4096; Qwen3 4B: 4.02 billion without one of 151,936 of 2560
PUBLISHED = (
    ("RX 570, Llama 2 7B, Q4_0, Ollama 0.5.4", "decode", 27.46, 6.476e9, "llama.cpp decode, rx570",
     "[ollama-for-amd 51](https://github.com/likelovewant/ollama-for-amd/issues/51)"),
    ("RX 570, Gemma 3 1B, IQ1_S, llama.cpp", "decode", 53.55, 0.698e9, f"llama.cpp decode, {WHOLE}, rx570",
     "[ollama 2453](https://github.com/ollama/ollama/issues/2453)"),
    ("RX 570, Gemma 3 1B, IQ1_S, llama.cpp", "prefill", 669.73, 0.698e9, f"llama.cpp prefill, {WHOLE}, rx570",
     "[ollama 2453](https://github.com/ollama/ollama/issues/2453)"),
    ("MI50, Llama 3 8B, Q4_0, llama.cpp, 128 at a time", "prefill", 753.17, 6.979e9, "llama.cpp prefill, mi50",
     "[llama.cpp 27841](https://github.com/ggml-org/llama.cpp/pull/27841)"),
    ("MI50, Llama 3 8B, Q4_0, llama.cpp, 128 at a time", "prefill", 753.17, 6.979e9, "prefill, FP16, mi60",
     "[llama.cpp 27841](https://github.com/ggml-org/llama.cpp/pull/27841)"),
    ("MI50, Qwen3 4B, Q4_0, llama.cpp", "decode", 127.95, 3.633e9, "llama.cpp decode, mi50",
     "[llama.cpp-gfx906](https://github.com/iacopPBK/llama.cpp-gfx906)"),
    ("MI50, Qwen3 4B, Q4_0, llama.cpp", "decode", 127.95, 3.633e9, "decode, FP16, mi60",
     "[llama.cpp-gfx906](https://github.com/iacopPBK/llama.cpp-gfx906)"),
)  # fmt: skip


def kept_of(name: str, text: str, cpu_s: float | None = None) -> dict[str, Any]:
    """Return what is kept of a run: of a JSON result times, bounds and counters; of an output the lines that count."""
    if name.startswith("tinygrad"):
        return {"losses": re.findall(r"^\d+\.\d{7}$", text, re.MULTILINE)}
    if name == "test-backend-ops":
        passed = re.findall(r"(\d+)/(\d+) tests passed", text)[0]
        launches = sum(int(one) for one in re.findall(r"^(\d+)\t[–\d,.]+\t[–\d,.]+\t", text, re.MULTILINE))
        return {"passed": int(passed[0]), "tests": int(passed[1]), "launches": launches}
    result = json.loads(text)
    gpu, total = result["config"]["gpu"], result["total"]
    if not total.get("launches"):
        raise SystemExit(f"{name}: no kernel was launched; `gpusim hip` shows what its program says")
    held = {
        "launches": total["launches"], "time_us": total["time_us"], "half_width_us": total.get("time_us_half_width", 0),
        "simulated": (total.get("sampling") or {}).get("fraction", 1.0), "launch_us": gpu["kernel_launch_us"],
        "cpu_s": cpu_s, **_counters(result | {"bound": total["bound"], "stalls": total["stalls"]}), "rows": [],
    }  # fmt: skip
    for row in sorted(result["rows"], key=lambda one: -one["time_us"]):
        name_ = short(row["name"]) if result["kind"] == "hip" else f"{row['name']}, {row['operator']}"
        values = {"name": name_, "launches": row["launches"], "time_us": row["time_us"]}
        held["rows"].append(values | _counters(row["metrics"] | {"bound": row["bound"], "stalls": row["stalls"]}))
    return held


def _counters(of: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "bound": [of["bound"]["name"], round(of["bound"]["utilization"], 4)],
        "stalls": {name: round(share, 4) for name, share in of["stalls"].items()},
        "dram_bytes": of["dram"]["bytes"],
        "dram_busy": round(of["dram"]["bandwidth_utilization"], 4),
        "l2_hits": round(of["l2"]["hit_rate"], 4),
    }


def block_us(name: str, run: Mapping[str, Any]) -> float:
    """Return the time of a block's kernels for all tokens of the run.

    llama.cpp's last block, the only one here, goes on after attention with the last token alone: of a prompt, its
    products for one token are left out, and the feed-forward layer's are taken at the rate of attention's.
    """
    if not name.startswith("llama.cpp prefill") or WHOLE in name:
        return float(run["time_us"])
    alone, products = (
        math.fsum(row["time_us"] for row in run["rows"] if row["name"].startswith(kernel))
        for kernel in ("mul_mat_vec_q<", "mul_mat_q<")
    )
    shape = Shape()
    return float(run["time_us"] - alone + products * (shape.block_parameters / (4 * shape.hidden**2) - 1))


def tokens_a_second(name: str, run: Mapping[str, Any], launching: bool = True) -> float:
    """Return tokens a second of the whole model's blocks; launching: with what each launch takes before it."""
    if name.startswith("llama.cpp"):
        tokens = TOKENS if "decode" in name else PROMPT
    else:
        tokens = 1 if "decode" in name else 128
    blocks = 1 if WHOLE in name else BLOCKS
    return tokens / (blocks * 1e-6 * (block_us(name, run) + launching * run["launches"] * run["launch_us"]))


def _runs(prefix: str) -> dict[str, Any]:
    held = json.loads(KEPT.read_text(encoding="utf-8"))
    return {name: held[name] for name in RUNS if name in held and name.startswith(prefix)}


def _shares(stalls: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in stalls.items())


def _summary(runs: Mapping[str, Any]) -> str:
    rows = []
    for name, run in runs.items():
        time_us, (bound, used) = run["time_us"], run["bound"]
        cells = [name, f"{time_us:,.0f} ± {run['half_width_us']:,.0f}"]
        cells += [f"{tokens_a_second(name, run, launching):,.1f}" for launching in (False, True)]
        cells += [str(run["launches"]), f"{bound} {100 * used:.0f} %", f"{run['dram_bytes'] / time_us / 1e3:,.0f}"]
        cells += [f"{100 * run['dram_busy']:.0f} %", _shares(run["stalls"]), f"{100 * run['simulated']:.0f} %"]
        rows.append([*cells, "" if run["cpu_s"] is None else f"{run['cpu_s']:.0f}"])
    head = ["run", "kernels, us", "tokens a second, all blocks", "with launching", "launches", "bound", "GB/s"]
    return table([*head, "DRAM busy", "stalls", "simulated", "processor, s"], rows)


def _dearest(runs: Mapping[str, Any]) -> str:
    rows = []
    for name, run in runs.items():
        for row in run["rows"][:4]:
            bound, used = row["bound"]
            rows.append(
                [name, f"`{row['name']}`", str(row["launches"]), f"{row['time_us']:,.0f}",
                 f"{100 * row['time_us'] / run['time_us']:.0f} %", f"{bound} {100 * used:.0f} %",
                 f"{row['dram_bytes'] / row['time_us'] / 1e3:,.0f}", f"{100 * row['l2_hits']:.0f} %",
                 _shares(row["stalls"])]
            )  # fmt: skip
    return table(["run", "kernel", "launches", "us", "share", "bound", "GB/s", "L2 hits", "stalls"], rows)


def rows() -> str:
    """The gate with rows of 4096 and of 4160 values."""
    held = _runs("")
    prefill = next(row for row in held["prefill, r9nano"]["rows"] if row["name"].startswith("gate"))
    found = {"4096": prefill, "4160": held["rows of 4160, r9nano"]["rows"][0]}
    return table(
        ["values of a row", "us", "bound", "L2 hits", "stalls"],
        [
            [values, f"{row['time_us']:,.0f}", f"{row['bound'][0]} {100 * row['bound'][1]:.0f} %",
             f"{100 * row['l2_hits']:.0f} %", _shares(row["stalls"])]
            for values, row in found.items()
        ],
    )  # fmt: skip


def published() -> str:
    """Published figures beside ours, by multiply-accumulates with the blocks' weights, as models differ."""
    held, rows = _runs(""), []
    for of, phase, said, weights, name, source in PUBLISHED:
        found, theirs = ["–"] * 4, 1e-9 * weights * said
        if name in held:
            ours = tokens_a_second(name, held[name])
            blocks, shape = (Gemma.blocks, Gemma()) if WHOLE in name else (BLOCKS, Shape())
            macs = 1e-9 * blocks * shape.block_parameters * ours
            found = [name, f"{ours:,.1f}", f"{macs:,.0f}", f"{macs / theirs:.2f}"]
        rows.append([of, phase, f"{said:,.1f}", f"{theirs:,.0f}", *found, source])
    head = ["card, model, format", "phase", "tokens a second", "G MACs a second", "run here", "tokens a second here"]
    return table([*head, "G MACs a second here", "here / published", "source"], rows)


def launching() -> str:
    """Of published decoding of a model that is run here, the time of a launch that would explain what is off."""
    held, rows = _runs(""), []
    for of, phase, said, weights, name, _ in PUBLISHED:
        blocks, shape = (Gemma.blocks, Gemma()) if WHOLE in name else (BLOCKS, Shape())
        if name not in held or phase != "decode" or abs(blocks * shape.block_parameters / weights - 1) > SAME:
            continue
        run, times = held[name], (1 if WHOLE in name else BLOCKS) / TOKENS
        kernels_us, launches = times * block_us(name, run), times * run["launches"]
        token_us = 1e6 / said
        rows.append(
            [of, f"{token_us:,.0f}", f"{kernels_us:,.0f}", f"{launches:,.0f}", f"{run['launch_us']:.1f}",
             f"{(token_us - kernels_us) / launches:.1f}"]
        )  # fmt: skip
    head = ["card, model, format", "a token, published, us", "its kernels here, us", "its launches here"]
    return table([*head, "a launch here, us", "a launch that would explain it, us"], rows)


def programs() -> str:
    """What programs gave."""
    held, rows = _runs(""), []
    if "test-backend-ops" in held:
        ops = held["test-backend-ops"]
        rows.append(
            ["`test-backend-ops`", f"{ops['passed']} of {ops['tests']} tests passed, {ops['launches']} launches"]
        )
    if "tinygrad" in held and "tinygrad, CPU" in held:
        pairs = list(zip(*(held[name]["losses"] for name in ("tinygrad", "tinygrad, CPU")), strict=True))
        off = max(abs(float(first) - float(second)) for first, second in pairs)
        how = f"at most {off:.0e} from" if off else "to the seventh digit"
        losses = f"losses {pairs[0][0]} to {pairs[-1][0]}, {how} the CPU's"
        rows.append(["`tinygrad_training.py`", f"{len(pairs)} steps, {losses}"])
    return table(["program", "result"], rows)


def commands() -> str:
    """The commands of all runs."""
    return "```sh\n" + "\n".join(f"{command}  # {name}" for name, command in RUNS.items()) + "\n```"


SECTIONS: dict[str, Callable[[], str]] = {
    "programs": programs,
    "llama.cpp": lambda: _summary(_runs("llama.cpp")),
    "llama.cpp kernels": lambda: _dearest(_runs("llama.cpp")),
    "blocks": lambda: _summary(_runs("decode") | _runs("prefill")),
    "blocks kernels": lambda: _dearest(_runs("decode") | _runs("prefill")),
    "rows": rows,
    "published": published,
    "launching": launching,
    "commands": commands,
}


def keep(name: str, text: str, cpu_s: float | None = None) -> None:
    """Keep a run's figures."""
    held = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    held[name] = kept_of(name, text, cpu_s)
    KEPT.write_text(json.dumps({one: held[one] for one in RUNS if one in held}, indent=1) + "\n", encoding="utf-8")


def run(folder: Path, names: Sequence[str]) -> None:
    """Run these commands, or all, under the packages in `folder`, and keep what they give."""
    libraries = folder / "usr/lib/x86_64-linux-gnu"
    for link, target in (  # the backends are looked for in the working folder, the programs' library beside the others
        (folder / "libggml-hip.so", libraries / "ggml/backends0/libggml-hip.so"),
        (folder / CPU_BACKEND, libraries / "ggml/backends0" / CPU_BACKEND),
        (libraries / "libllama-bench-impl.so", libraries / "llama/libllama-bench-impl.so"),
    ):
        if not link.exists():
            link.symlink_to(target)
    for file, shape, kind in (("model.gguf", Shape(), "q4_0"), ("gemma.gguf", Gemma(), "iq1_s")):
        if not (folder / file).exists():
            write_model(folder / file, shape, kind)
    for name in names or RUNS:
        command = RUNS[name].format(root=folder, ops=folder / "usr/libexec/x86_64-linux-gnu/ggml/test-backend-ops")
        words = shlex.split(command.replace("tests/vendor", str(Path(__file__).parent)))
        result = folder / "result.json"
        if words[0] == "gpusim":
            words[:1] = [sys.executable, "-c", "from gpusim.cli.start import main; main()"]
            if "--timing" not in words:
                place = words.index("--") if "--" in words else len(words)
                words[place:place] = ["--json", str(result)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace", check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        keep(name, result.read_text() if str(result) in words else done.stdout + done.stderr, cpu_s)


def main() -> None:
    """Do as the command line asks, and renew the page."""
    words = sys.argv[1:]
    if words[:1] == ["run"]:
        run(Path(words[1]).absolute(), words[2:])
    elif words[:1] == ["keep"]:
        keep(words[1], Path(words[2]).read_text(encoding="utf-8"), float(words[3]) if words[3:] else None)
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), SECTIONS), encoding="utf-8")


if __name__ == "__main__":
    main()
