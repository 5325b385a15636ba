#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One of our own calls fails, at each point of a run.

usage: failing_calls.py capture|drm|hsa|vulkan|tools [RUN [KIND [N]]]

tests/programs/failing_calls.c makes the n-th allocation, write, thread start, open, ioctl or other system call
of the preload library, or of a tool, fail. TS_TEST_ALL: every n; otherwise some of each kind.

capture, drm, hsa, vulkan: the program's output and exit status are those without us; what the trace holds is well
formed and readable; nothing is missing from it without being counted or said.
tools: they end with a result that is the same as without the failure, or with an error and a message; they
never crash, hang, or leave a file that is half written.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BIN = pathlib.Path(os.environ["TEST_BIN"])
PROGRAMS = pathlib.Path(os.environ["TEST_PROGRAMS"])
EMU = os.environ["TEST_EMU"]
CAPTURE = os.environ["TEST_CAPTURE"]
FAILING = os.environ["TEST_FAILING_CALLS"]
KINDS = ["memory", "write", "thread", "open", "ioctl", "system"]
ALL = bool(os.environ.get("TS_TEST_ALL"))
SOME = 2 if sys.argv[1] in ("vulkan", "tools") else 3
MODES = {None: [{}, {"FAIL_ALL": "1"}], "write": [{}, {"FAIL_ALL": "1"}, {"FAIL_SHORT": "1"}]}
TIME_LIMIT = 120
LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"

# What is recorded: a program, its arguments, settings; whether two recordings of it are the same.
RUNS = {
    "saxpy": (["saxpy"], {}, True),
    "hostmem": (["hostmem"], {"TS_THREADS": "0"}, True),
    "ends": (["ends"], {"TS_STACKS": "all", "TS_LANE_SIZE": "256K"}, True),
    "pipeline": (["pipeline", "3"], {"TS_READBACK": "store"}, False),
    "threads": (["threads", "3"], {"TS_THREADS": "3", "TS_STACKS": "all", "TS_LANE_SIZE": "256K"}, False),
    "graphs": (["graphs"], {"TS_CHECKSUM": "sync"}, False),
    "checkpoint": (["rounds", "6"], {"TS_CHECKPOINT": "10", "TS_STACKS": "off"}, False),
    "vk_auto": (["vk_modes", "plain"], {}, True),
    "vk_pages": (["vk_modes", "plain"], {"TS_VK_MEMORY": "pages"}, True),
    "vk_hash": (["vk_modes", "push"], {"TS_VK_MEMORY": "hash", "TS_CHECKSUM": "sync"}, True),
    "vk_shadow": (["vk_modes", "template"], {"TS_VK_MEMORY": "shadow", "TS_CHECKSUM": "sync", "TS_THREADS": "0"},
                  True),
    "vk_unread": (["vk_truth", "unread"], {"TS_LANE_SIZE": "256K", "TS_STACKS": "all"}, True),
    "vk_hidden": (["vk_truth", "unread"], {"TS_CHECKSUM": "submit", "TS_TEST_DRIVER": "discrete,local"}, True),
    "vk_sync": (["vk_sync", "semaphore", "epoll"], {"TS_TEST_DRIVER": "fds"}, False), # numbers of descriptors
    "vk_threads": (["vk_truth", "threads"], {"TS_THREADS": "3", "TS_STACKS": "all", "TS_LANE_SIZE": "256K"}, False),
    "vk_checkpoint": (["vk_truth", "threads"], {"TS_CHECKPOINT": "10", "TS_STACKS": "off"}, False),
}
VULKAN = pathlib.Path(os.environ.get("TEST_VULKAN", "."))


def is_vulkan(run):
    return run.startswith("vk_")


def command_of(run):
    program = RUNS[run][0]
    return [(VULKAN if is_vulkan(run) else PROGRAMS) / program[0], *program[1:]]


def device_of(run):
    """Settings by which the run's program and its replay find their device; recording adds to LD_PRELOAD."""
    if FAKE:
        return {"FAKE_DRM": RUNS[run][1]["FAKE_DRM"], "LD_PRELOAD": FAKE}
    if not is_vulkan(run):
        return {}
    kind = RUNS[run][1].get("TS_TEST_DRIVER", "")
    return {"VK_ICD_FILENAMES": VULKAN / "vk_driver.json" if kind else LAVAPIPE, "TS_TEST_DRIVER": kind}


# Memory that is followed in place: there is nothing to compare.
NORMAL = {"vk_pages": (3,)}
# How often a program asks is chance. So is, with several threads, how often a device is idle.
# Of "random" the program is judged, not what a replay finds in a trace that ends somewhere in its middle: once it was
# "different".
CHANCE = {"random": ("readback", "checksum")}
POLLS = ("vkGetFenceStatus", "vkGetSemaphoreCounterValue", "vkGetEventStatus", "vkGetQueryPoolResults")


# The same on GPU files, for which a preloaded library stands in (tests/drm/): its driver.
FAKE = os.environ.get("TEST_FAKE", "")
MODES_OF = os.environ.get("TEST_MODES", "")
DRM_RUNS = {
    "amdgpu": ([MODES_OF, "amdgpu"], {"FAKE_DRM": "amdgpu"}, False),
    "i915": ([MODES_OF, "i915"], {"FAKE_DRM": "i915", "TS_CHECKSUM": "sync", "TS_STACKS": "all"}, False),
    "virtgpu": ([MODES_OF, "virtgpu"], {"FAKE_DRM": "virtio_gpu", "TS_THREADS": "0"}, False),
    "memory": ([MODES_OF, "amdgpu_memory"], {"FAKE_DRM": "amdgpu", "TS_CHECKSUM": "sync"}, False),
    "udmabuf": ([MODES_OF, "udmabuf"], {"FAKE_DRM": "amdgpu"}, False),
}
OF_API = ("cu", "vk", "readback", "checksum")

KERNELS = str(PROGRAMS / "hsa_kernels.hsaco")
HSA_RUNS = {
    "inplace": (["hsa_inplace", KERNELS], {"TS_THREADS": "0"}, False),
    "gate": (["hsa_results", KERNELS, "gate", "locked"], {"TS_STACKS": "all", "TS_LANE_SIZE": "256K"}, False),
    "learns": (["hsa_learns", KERNELS, "handler"], {"TS_CHECKSUM": "sync"}, False),
    "waits": (["hsa_waits", "many"], {}, False),
    "random": (["hsa_random", KERNELS, "2"], {"TS_LANE_SIZE": "256K"}, False),
}
# By API: the runs, and the calls that each recording of a program has as often.
OTHER_RUNS = {
    "drm": (DRM_RUNS, ("DRM_", "gpu_", "readback", "checksum")),
    "hsa": (HSA_RUNS, ("aql_", "hsa_amd_memory_async_copy", "hsa_memory_copy", "hsa_queue_", "hsa_executable_",
                       "readback")),
}


class Wrong(Exception):
    pass


def execute(folder, words, settings=None):
    environment = {**os.environ, "TS_TEST_PTX": str(PROGRAMS / "kernels.ptx"), "LD_LIBRARY_PATH": EMU,
                   **(settings or {})}
    try:
        return subprocess.run([str(word) for word in words], cwd=folder, env=environment, timeout=TIME_LIMIT,
                              capture_output=True, text=True, errors="replace", check=False)
    except subprocess.TimeoutExpired:
        raise Wrong(f"{words[0]} hangs") from None


def tool(folder, name, *words, settings=None):
    result = execute(folder, [BIN / name, *words], settings)
    if result.returncode not in (0, 1, 2, 3):
        raise Wrong(f"{name} {words}: exit status {result.returncode}, {result.stderr}")
    return result


def failing(ours, kind, at, counts):
    return {"FAIL_IN": ours, "FAIL_KIND": kind, "FAIL_AT": str(at), "FAIL_COUNTS": str(counts)}


def read_counts(path):
    words = path.read_bytes()
    numbers = [int.from_bytes(words[i:i + 8], "little") for i in range(0, len(words), 8)]
    return dict(zip(KINDS, numbers)), numbers[len(KINDS)]


def some_of(count):
    """All numbers from 1, or some: the first ones, the last ones, and others between."""
    if ALL or count <= SOME:
        return range(1, count + 1)
    edge = SOME // 4
    middle = SOME - 2 * edge
    return sorted({*range(1, edge + 1), *range(count - edge + 1, count + 1),
                   *(edge + (count - 2 * edge) * i // middle for i in range(1, middle))})


# ---- capture ----------------------------------------------------------------------------------------------

def record(folder, run, kind, at, modes):
    return execute(folder, command_of(run),
                   {**RUNS[run][1], **device_of(run), "LD_PRELOAD": f"{FAILING} {CAPTURE} {FAKE}", "TS_OUTPUT": "t.sbt",
                    **failing("libts_capture", kind, at, folder / "counts"), **modes})


def calls_of(folder, trace):
    shown = tool(folder, "tsview", "--json", trace)
    if shown.returncode:
        raise Wrong(f"tsview: {shown.returncode} {shown.stderr}")
    lines = [json.loads(line) for line in shown.stdout.splitlines()]
    counts = {}
    for line in lines[1:]:
        if "call" in line and "unfinished" not in line:
            counts[line["call"]] = counts.get(line["call"], 0) + 1
    return lines[0], counts


def check_trace(folder, run, whole, whole_calls):
    head, calls = calls_of(folder, "t.sbt")
    checked = tool(folder, "tracesmith", "check", "t.sbt")
    if checked.returncode:
        raise Wrong(f"check: {checked.stdout}{checked.stderr}")
    missing = {name: count - calls.get(name, 0) for name, count in whole_calls.items()
               if calls.get(name, 0) < count and name.startswith(OF_API)
               and name not in (*POLLS, *CHANCE.get(run, ())) and (RUNS[run][2] or not is_vulkan(run) or name != "checksum")}
    said = head["end"] != "finished" or head["lost"] or head["filtered"] or head["tainted"]
    if missing and not said:
        raise Wrong(f"missing without a word: {missing}, {head}")
    replayed = tool(folder, "tsreplay", *([] if FAKE or is_vulkan(run) else ["--device", "emu"]), "t.sbt",
                    settings=device_of(run))
    if replayed.returncode == 1 and run not in CHANCE or (replayed.returncode == 0 and missing):
        raise Wrong(f"tsreplay: {replayed.returncode} {replayed.stdout}{replayed.stderr} {missing}")
    if not RUNS[run][2]:
        return head["end"] if said else f"replay {replayed.returncode}"
    compared = tool(folder, "tsdiff", whole, "t.sbt")
    if compared.returncode == 1 or (compared.returncode == 0 and replayed.returncode not in NORMAL.get(run, (0,))):
        raise Wrong(f"tsdiff: {compared.returncode} {compared.stdout} tsreplay: {replayed.returncode} "
                    f"{replayed.stdout}{replayed.stderr}")
    return head["end"] if said else f"replay {replayed.returncode}, diff {compared.returncode}"


def check_messages(messages, plain):
    rest = [line for line in messages.splitlines() if not line.startswith("tracesmith: ")]
    if rest != plain.splitlines():
        raise Wrong(f"other messages: {messages}")
    for line in messages.splitlines():
        if re.search(r": *;|: *$|\(null\)", line):
            raise Wrong(f"a message that says nothing: {line}")


def one_of_capture(top, run, plain, whole_calls, kind, at, modes):
    with tempfile.TemporaryDirectory(dir=top) as name:
        folder = pathlib.Path(name)
        result = record(folder, run, kind, at, modes)
        place = read_counts(folder / "counts")[1]
        try:
            if result.returncode != plain.returncode:
                raise Wrong(f"exit status {result.returncode}, not {plain.returncode}: {result.stderr}")
            if result.stdout != plain.stdout:
                raise Wrong(f"other output: {result.stdout}")
            check_messages(result.stderr, plain.stderr)
            if (folder / "t.sbt").exists():
                outcome = check_trace(folder, run, top / f"{run}.sbt", whole_calls)
                left = {path.name for path in folder.iterdir()} - {"t.sbt", "counts"}
            else:
                outcome = "nothing"
                left = {path.name for path in folder.iterdir()} - {"counts"}
                if "tracesmith: " not in result.stderr:
                    raise Wrong("no trace, and no word")
            if left:
                raise Wrong(f"left: {left}: {result.stderr}")
        except Wrong as wrong:
            return f"{run}: {kind} {at} {modes} at {place:#x}: {wrong}", None
        return None, outcome


def capture_points(top, wanted):
    run_wanted, kind_wanted, at_wanted = (wanted + [None] * 3)[:3]
    for run in RUNS:
        if run_wanted not in (None, run) or is_vulkan(run) != (sys.argv[1] == "vulkan"):
            continue
        plain = execute(top, command_of(run), device_of(run))
        base = top / f"base-{run}"
        base.mkdir()
        record(base, run, "none", 0, {})
        (base / "t.sbt").rename(top / f"{run}.sbt")
        counts = read_counts(base / "counts")[0]
        whole_calls = calls_of(top, f"{run}.sbt")[1]
        for kind, count in counts.items():
            if kind_wanted not in (None, kind):
                continue
            for at in [int(at_wanted)] if at_wanted else some_of(count):
                for modes in MODES[kind] if kind in MODES else MODES[None]:
                    yield (one_of_capture, top, run, plain, whole_calls, kind, at, modes)


# ---- tools ------------------------------------------------------------------------------------------------

# What the tool is called with; the files that it makes. In each folder: t.sbt, the same recorded again (u.sbt),
# one without an end (torn.sbt), one with a damaged chunk (bad.sbt), one of a program that was killed
# (killed.sbt, with its buffer file).
TOOLS = {
    "view": (["tsview", "t.sbt"], []),
    "view-json": (["tsview", "--json", "t.sbt"], []),
    "view-killed": (["tsview", "killed.sbt"], ["killed.sbt"]),
    "info": (["tracesmith", "info", "t.sbt"], []),
    "check": (["tracesmith", "check", "t.sbt"], []),
    "check-bad": (["tracesmith", "check", "bad.sbt"], []),
    "replay": (["tsreplay", "--device", "emu", "t.sbt"], []),
    "replay-killed": (["tsreplay", "--device", "emu", "killed.sbt"], ["killed.sbt"]),
    "replay-check": (["tsreplay", "--device", "emu", "--check=3", "t.sbt"], []),
    "diff": (["tsdiff", "t.sbt", "u.sbt"], []),
    "diff-other": (["tsdiff", "t.sbt", "other.sbt"], []),
    "trim": (["tracesmith", "trim", "--device", "emu", "--range", "12:40", "-o", "out.sbt", "t.sbt"],
             ["out.sbt"]),
    "redact": (["tracesmith", "redact", "-o", "out.sbt", "t.sbt"], ["out.sbt"]),
    "repair": (["tsview", "--repair", "torn.sbt"], ["torn.sbt"]),
    "merge": (["tracesmith", "merge", "--perfetto=out.json", "t.sbt"], ["out.json"]),
}
VIEWERS = ("view", "info", "merge")
CHANGING = re.compile(r"[0-9.]+ (s|ms|us)\b|[0-9]+ of [0-9]+ bytes|/[^ ]*/ts-failing[^/]*/[^/]*/")


def make_traces(folder):
    for name, program in (("t", ["hostmem"]), ("u", ["hostmem"]), ("other", ["saxpy"])):
        execute(folder, [PROGRAMS / program[0], *program[1:]],
                {"LD_PRELOAD": CAPTURE, "TS_STACKS": "off", "TS_OUTPUT": f"{name}.sbt"})
    whole = (folder / "t.sbt").read_bytes()
    (folder / "torn.sbt").write_bytes(whole[:len(whole) * 3 // 4])
    middle = len(whole) // 2
    (folder / "bad.sbt").write_bytes(whole[:middle] + bytes([whole[middle] ^ 0x55]) + whole[middle + 1:])
    # The preload library cannot write any more: what it has stays in the buffer file.
    execute(folder, [PROGRAMS / "hostmem"],
            {"LD_PRELOAD": f"{FAILING} {CAPTURE}", "TS_OUTPUT": "killed.sbt", "FAIL_ALL": "1",
             **failing("libts_capture", "write", 15, folder / "counts")})
    (folder / "counts").unlink()


def run_tool(top, name, kind, at, modes):
    """The result, what is in the folder afterwards, the place of the failure, the counts."""
    with tempfile.TemporaryDirectory(dir=top) as made:
        folder = pathlib.Path(made)
        for path in (top / "traces").iterdir():
            shutil.copy2(path, folder / path.name)
        words = TOOLS[name][0]
        counts = top / f"counts-{folder.name}"
        result = execute(folder, [BIN / words[0], *words[1:]],
                         {"LD_PRELOAD": FAILING, **failing("-,libzstd", kind, at, counts), **modes})
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        numbers, place = read_counts(counts)
        counts.unlink()
        state = ""
        for output in TOOLS[name][1]:
            if output in files and output.endswith(".sbt"):
                again = ["--repair"] if name == "repair" else []
                # First this one: it brings in what the buffer file has, or does what could not be done.
                shown = tool(folder, "tsview", *again, output)
                checked = tool(folder, "tracesmith", "check", output)
                state += f"{checked.returncode} {shown.returncode} {shown.stdout.count(chr(10))};"
        return result, files, place, numbers, state


def same_text(a, b):
    return CHANGING.sub("*", a) == CHANGING.sub("*", b)


def check_files(name, files, before, whole, state, whole_state):
    outputs = TOOLS[name][1]
    left = set(files) - set(before) - set(outputs) - set(whole)
    if left:
        raise Wrong(f"left: {left}")
    for path, content in before.items():
        if path not in outputs and not path.startswith("killed.sbt") and files.get(path) != content:
            raise Wrong(f"{path} was changed")
    for output in outputs:
        if output in before and output not in files:
            raise Wrong(f"{output} is gone")
        # A new file is whole or not there; one that is completed in place can be completed later.
        if output in files and state != whole_state:
            raise Wrong(f"{output}: {state} and not {whole_state}")
        if output in files and output.endswith(".json"):
            json.loads(files[output])


def one_of_tools(top, name, plain, kind, at, modes):
    whole, whole_files, whole_state = plain
    try:
        result, files, place, _, state = run_tool(top, name, kind, at, modes)
    except Wrong as wrong:
        return f"{name}: {kind} {at} {modes}: {wrong}", None
    try:
        if result.returncode not in (whole.returncode, 2):
            raise Wrong(f"exit status {result.returncode}, not {whole.returncode}: {result.stdout[-500:]} "
                        f"{result.stderr}")
        is_same = result.returncode == whole.returncode and same_text(result.stdout, whole.stdout)
        # A viewer shows what can be read, and says what cannot.
        tells_less = name.startswith(VIEWERS) and result.stderr != whole.stderr
        if "could not be read" in result.stdout:
            state = whole_state = "" # it is counted in the copy, too
            tells_less = True
        if result.returncode == 1 and "different" in result.stdout:
            tells_less = True # as it should; the bytes that differ may not be shown
        if result.returncode != 2 and not is_same and not tells_less:
            raise Wrong(f"other output: {result.stdout[-500:]} {result.stderr}")
        if result.returncode == 2 and not is_same and not result.stderr and "cannot tell" not in result.stdout:
            raise Wrong(f"fails without a word: {result.stdout[-500:]}")
        if "Sanitizer" in result.stderr:
            raise Wrong(result.stderr)
        if not is_same and result.returncode == 2 and "memory" in kind and re.search(r": *$", result.stderr, re.M):
            raise Wrong(f"a message that says nothing: {result.stderr}")
        before = {path.name: path.read_bytes() for path in (top / "traces").iterdir()}
        check_files(name, files, before, whole_files, state, whole_state)
    except Wrong as wrong:
        return f"{name}: {kind} {at} {modes} at {place:#x}: {wrong}", None
    return None, "same" if is_same else "error"


def tools_points(top, wanted):
    name_wanted, kind_wanted, at_wanted = (wanted + [None] * 3)[:3]
    (top / "traces").mkdir()
    make_traces(top / "traces")
    for name in TOOLS:
        if name_wanted not in (None, name):
            continue
        result, files, _, counts, state = run_tool(top, name, "none", 0, {})
        for kind, count in counts.items():
            if kind_wanted not in (None, kind):
                continue
            for at in [int(at_wanted)] if at_wanted else some_of(count):
                for modes in MODES[kind] if kind in MODES else MODES[None]:
                    yield (one_of_tools, top, name, (result, files, state), kind, at, modes)


# ---- main -------------------------------------------------------------------------------------------------

def main():
    if os.environ.get("TEST_SANITIZED") and sys.argv[1] != "tools":
        return 77
    if sys.argv[1] == "vulkan" and not (pathlib.Path(LAVAPIPE).exists() and (VULKAN / "vk_truth").exists()):
        return 77
    if sys.argv[1] in OTHER_RUNS:
        global RUNS, OF_API
        RUNS, OF_API = OTHER_RUNS[sys.argv[1]]
    points = tools_points if sys.argv[1] == "tools" else capture_points
    outcomes, wrong = {}, []
    with tempfile.TemporaryDirectory(prefix="ts-failing.") as name, \
            concurrent.futures.ThreadPoolExecutor(2) as pool:
        top = pathlib.Path(name)
        for future in [pool.submit(*point) for point in points(top, sys.argv[2:])]:
            message, outcome = future.result()
            if message:
                wrong.append(message)
                print(message, flush=True)
            else:
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
    print(f"{sum(outcomes.values())} points: {outcomes}; {len(wrong)} wrong")
    return 1 if wrong or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
