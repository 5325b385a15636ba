#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what `tracesmith export chrome` and `csv` write, by Python's readers: each call and each command that has a time is there
once with the values of `tsview --json`, arrows lead from calls to commands, slices nest."""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

BIN, PROGRAMS = os.environ["TEST_BIN"], os.environ["TEST_PROGRAMS"]
FAILED = 0
NO_WORK = {"cuEventRecord", "cuStreamWaitEvent", "cuEventRecordWithFlags"}


def check(ok, what):
    global FAILED
    if not ok:
        FAILED += 1
        print("not so:", what)


def run(*command, **keywords):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **keywords)
    if done.returncode != 0:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout[-1000:]}{done.stderr}")
    return done


def tool(name):
    return os.path.join(BIN, name)


def records(trace, *options):
    lines = run(tool("tsview"), "--json", *options, trace).stdout.splitlines()
    return json.loads(lines[0]), [json.loads(line) for line in lines[1:]]


def export(how, trace, *options):
    return run(tool("tracesmith"), "export", how, *options, trace).stdout


def times_of(all_records):
    """seq -> start and duration of what has a time."""
    places = {(r["stream"], r["position"]): r["seq"] for r in all_records if r["position"]}
    times = {}
    for r in all_records:
        if r["call"] == "gpu_time":
            seq = places.get((r["args"]["of_stream"], r["args"]["of_position"]))
            times[seq] = (r["args"]["start_ns"], r["args"]["duration_ns"])
    return times


def micros(text_ns):
    return round(text_ns * 1000)


def check_chrome(name, trace, *options):
    head, all_records = records(trace, *options)
    data = json.loads(export("chrome", trace, *options))
    check(data["baseTimeNanoseconds"] == head["start_realtime_ns"], f"{name}: times count from the session's start")
    events = data["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    host = {e["args"]["seq"]: e for e in slices if "call" in e.get("args", {})}
    device = {e["args"]["seq"]: e for e in slices if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")}
    calls = {r["seq"]: r for r in all_records if r["api"] != "core"}
    check(host.keys() == calls.keys(), f"{name}: a slice for each call")
    for seq in host.keys() & calls.keys():
        r, e = calls[seq], host[seq]
        check((micros(e["ts"]), micros(e["dur"]), e["tid"], e["args"]["call"]) ==
              (r["time_ns"], r["duration_ns"], r["thread"], r["call"]), f"{name}: call {seq}: {e}")
    times = times_of(all_records)
    for seq, (start, duration) in times.items():
        if seq is None or calls[seq]["call"] in NO_WORK:
            continue
        e = device.get(seq)
        check(e and (micros(e["ts"]), micros(e["dur"])) == (start, duration), f"{name}: command {seq}: {e}")
        check(e and e["args"]["stream"] > 0 and e["args"]["correlation"] == seq, f"{name}: facts of command {seq}")
        check(e and host[seq]["args"]["correlation"] == seq, f"{name}: call and command {seq} have one number")
        if e and calls[seq]["call"] == "cuLaunchKernel":
            check(host[seq]["name"] == "cudaLaunchKernel", f"{name}: launches have the name that readers know")
            check(e["args"]["grid"] == [calls[seq]["args"][f"gridDim{a}"] for a in "XYZ"], f"{name}: grid of {seq}")
    begins = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    check(begins.keys() == ends.keys() == device.keys(), f"{name}: an arrow for each command")
    for seq, e in ends.items():
        check(seq not in device or (e["ts"], e["tid"], e["pid"]) == tuple(device[seq][k] for k in ("ts", "tid", "pid")),
              f"{name}: the arrow of {seq} ends at its command")


def check_csv(name, trace, *options):
    _, all_records = records(trace, *options)
    text = export("csv", trace, *options)
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    calls = {r["seq"]: r for r in all_records}
    times = times_of(all_records)
    sent = [r for r in all_records if r["position"] and r["kind"] in ("command", "signal", "wait") and "failed" not in r["flags"]]
    check(sorted(int(row["seq"]) for row in rows) == [r["seq"] for r in sent], f"{name}: a line for each command")
    for row in rows:
        r = calls[int(row["seq"])]
        check((row["call"], int(row["stream"]), int(row["position"]), int(row["thread"]), int(row["call_ns"])) ==
              (r["call"], r["stream"], r["position"], r["thread"], r["time_ns"]), f"{name}: {row}")
        if r["seq"] in times:
            check((int(row["start_ns"]), int(row["duration_ns"])) == times[r["seq"]], f"{name}: time of {r['seq']}")
        check(None not in row and None not in row.values(), f"{name}: as many cells as names in {r['seq']}")


with tempfile.TemporaryDirectory() as folder:
    for program in ("pipeline", "graphs", "copies", "threads"):
        trace = os.path.join(folder, program + ".sbt")
        run(tool("tsrecord"), "--emu", "--gpu-time=1", "--quiet", "-o", trace, "--", os.path.join(PROGRAMS, program))
        check_chrome(program, trace)
        check_csv(program, trace)
    trace = os.path.join(folder, "pipeline.sbt")
    check_chrome("range", trace, "--range=100:300")
    check_csv("streams", trace, "--streams=1,2")
sys.exit(1 if FAILED else 0)
