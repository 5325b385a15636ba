#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what `tracesmith export sqlite` writes, by Python's SQLite: each call and each command that has a time is there
once, with the values that `tsview --json` gives, each number that refers to something leads to it, and queries of the kind
that scripts for Nsight Systems ask give what the program did."""
import collections
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

BIN, PROGRAMS = os.environ["TEST_BIN"], os.environ["TEST_PROGRAMS"]
FAILED = 0


def check(ok, what):
    global FAILED
    if not ok:
        FAILED += 1
        print("not so:", what)


def run(*command, status=0, **keywords):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)
    if done.returncode != status:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def tool(name):
    return os.path.join(BIN, name)


def record(program, trace, *arguments, **variables):
    run(tool("tsrecord"), "--emu", "--gpu-time=1", "--quiet", "-o", trace, "--", os.path.join(PROGRAMS, program), *arguments,
        env=dict(os.environ, **variables))


def records(trace, *options):
    lines = run(tool("tsview"), "--json", *options, trace).stdout.splitlines()
    return json.loads(lines[0]), [json.loads(line) for line in lines[1:]]


def export(trace, *options):
    path = trace + ".sqlite"
    done = run(tool("tracesmith"), "export", "sqlite", "--json", "--force", "-o", path, *options, trace)
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    return database, json.loads(done.stdout)


def tables(database):
    return {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def rows(database, table):
    return list(database.execute(f'SELECT * FROM "{table}"')) if table in tables(database) else []


# Columns that are numbers of texts, of rows elsewhere.
TEXTS = {"nameId", "demangledName", "shortName", "mangledName", "symbol", "module", "labelId"}
LABELS = {"copyKind": "ENUM_CUDA_MEMCPY_OPER", "srcKind": "ENUM_CUDA_MEM_KIND", "dstKind": "ENUM_CUDA_MEM_KIND",
          "memKind": "ENUM_CUDA_MEM_KIND", "memoryOperationType": "ENUM_CUDA_DEV_MEM_EVENT_OPER",
          "syncType": "ENUM_CUPTI_SYNC_TYPE", "launchType": "ENUM_CUDA_KERNEL_LAUNCH_TYPE"}


def check_references(name, database):
    texts = {row["id"] for row in rows(database, "StringIds")}
    stacks = {row["id"] for row in rows(database, "CUDA_CALLCHAINS")}
    for table in tables(database):
        for row in rows(database, table):
            for column in row.keys():
                value = row[column]
                if value is None:
                    continue
                if column in TEXTS:
                    check(value in texts, f"{name}: {table}.{column} {value} is a text")
                elif column == "callchainId":
                    check(value in stacks, f"{name}: {table}.{column} {value} is a stack")
                elif column in LABELS:
                    ids = {label["id"] for label in rows(database, LABELS[column])}
                    check(value in ids, f"{name}: {table}.{column} {value} has a name")


DEVICE_TABLES = ["KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE"]


def commands_of(database):
    """seq -> table and row of commands on the device."""
    found = collections.defaultdict(list)
    for table in DEVICE_TABLES:
        for row in rows(database, "CUPTI_ACTIVITY_KIND_" + table):
            found[row["correlationId"]].append((table, row))
    for row in rows(database, "TRACESMITH_COMMAND"):
        found[row["seq"]].append(("own", row))
    return found


def check_calls(name, database, all_records):
    calls = [r for r in all_records if r["api"] != "core"]
    written = {row["correlationId"]: row for row in rows(database, "CUPTI_ACTIVITY_KIND_RUNTIME")}
    texts = {row["id"]: row["value"] for row in rows(database, "StringIds")}
    check(len(written) == len([r for r in calls if r["api"] == "cuda"]), f"{name}: each call of CUDA is there once")
    for call in calls:
        row = written.get(call["seq"])
        if not row:
            check(call["api"] != "cuda", f"{name}: call {call['seq']} is there")
            continue
        check((row["start"], row["end"], texts[row["nameId"]]) ==
              (call["time_ns"], call["time_ns"] + call["duration_ns"], call["call"]), f"{name}: call {call['seq']}: {tuple(row)}")
        check(row["globalTid"] % 0x1000000 == call["thread"], f"{name}: call {call['seq']} is of its thread")


def check_commands(name, database, all_records):
    times = {(r["args"]["of_stream"], r["args"]["of_position"]): r["args"] for r in all_records if r["call"] == "gpu_time"}
    found = commands_of(database)
    expected = 0
    texts = {row["id"]: row["value"] for row in rows(database, "StringIds")}
    for r in all_records:
        time = times.get((r["stream"], r["position"]))
        if r["api"] != "cuda" or not time or r["call"] in ("cuEventRecord", "cuStreamWaitEvent"):
            continue
        here = found.get(r["seq"], [])
        check(len(here) == 1, f"{name}: command {r['seq']} {r['call']} is there once, not {len(here)} times")
        expected += 1
        for table, row in here:
            check((row["start"], row["end"]) == (time["start_ns"], time["start_ns"] + time["duration_ns"]),
                  f"{name}: times of command {r['seq']}")
            if table == "KERNEL":
                check(texts[row["mangledName"]] == r["args"]["name"], f"{name}: kernel {r['seq']}")
    return expected


def compare(folder, name, *arguments, **variables):
    trace = os.path.join(folder, name + ".sbt")
    record(name, trace, *arguments, **variables)
    head, all_records = records(trace)
    database, said = export(trace)
    check_references(name, database)
    check_calls(name, database, all_records)
    check_commands(name, database, all_records)
    check(said["call_count"] == len([r for r in all_records if r["api"] != "core"]), f"{name}: --json counts calls")
    check(said["command_count"] == sum(len(v) for v in commands_of(database).values()), f"{name}: --json counts commands")
    check(database.execute("PRAGMA integrity_check").fetchone()[0] == "ok", f"{name}: SQLite finds no fault")
    start = rows(database, "TARGET_INFO_SESSION_START_TIME")[0]
    check(start["utcEpochNs"] == head["start_realtime_ns"], f"{name}: the session's start")
    check({"CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS"} <= tables(database), f"{name}: tables that scripts expect")
    return database


def check_queries(database):
    """Joins that scripts for Nsight Systems make."""
    launches = database.execute(
        "SELECT k.start - r.start, s.value, r.globalTid / 0x1000000 % 0x1000000 AS pid "
        "FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId "
        "AND r.globalTid / 0x1000000 = k.globalPid / 0x1000000 JOIN StringIds s ON s.id = k.shortName").fetchall()
    kernels = database.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0]
    check(len(launches) == kernels == 64, f"each kernel has its launch: {len(launches)} of {kernels}")
    check(all(row[0] >= 0 for row in launches), "no kernel begins before its launch")
    check({row[1] for row in launches} == {"copy", "mix"}, "kernels by their short names")
    copies = dict(database.execute("SELECT e.label, sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY JOIN ENUM_CUDA_MEMCPY_OPER e "
                                   "ON e.id = copyKind GROUP BY copyKind").fetchall())
    check(copies == {"Host-to-Device": 32 * 16384, "Device-to-Host": 32 * 16384}, f"bytes by kind of copy: {copies}")
    balance = database.execute("SELECT sum(CASE memoryOperationType WHEN 0 THEN bytes ELSE -bytes END) FROM "
                               "CUDA_GPU_MEMORY_USAGE_EVENTS").fetchone()[0]
    check(balance == 0, f"all memory is freed: {balance}")
    frames = database.execute("SELECT s.value FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN CUDA_CALLCHAINS c ON c.id = r.callchainId "
                              "JOIN StringIds s ON s.id = c.symbol WHERE c.unresolved = 0").fetchall()
    check("main" in {row[0] for row in frames}, "stacks lead to main()")


def check_damage(folder, trace):
    """Whatever is damaged, what is exported says so, or nothing is."""
    whole = {row["correlationId"] for row in rows(export(trace)[0], "CUPTI_ACTIVITY_KIND_RUNTIME")}
    with open(trace, "rb") as file:
        good = file.read()
    broken = os.path.join(folder, "broken.sbt")
    for part in range(1, 20):
        bad = bytearray(good)
        bad[len(bad) * part // 20] ^= 0x40
        with open(broken, "wb") as file:
            file.write(bad if part < 19 else good[:len(good) * 2 // 3])
        done = subprocess.run([tool("tracesmith"), "export", "sqlite", "--force", "-o", broken + ".sqlite", broken],
                              capture_output=True, text=True, check=False)
        check(done.returncode in (0, 2), f"damage {part}: status {done.returncode} {done.stderr}")
        if done.returncode == 0:
            database = sqlite3.connect(broken + ".sqlite")
            database.row_factory = sqlite3.Row
            there = {row["correlationId"] for row in rows(database, "CUPTI_ACTIVITY_KIND_RUNTIME")}
            check(there == whole or (there < whole and rows(database, "DIAGNOSTIC_EVENT")), f"damage {part} is a diagnostic")


def check_parts(folder):
    """A range, streams, a damaged trace, a refused output."""
    trace = os.path.join(folder, "pipeline.sbt")
    _, some = records(trace, "--range=100:200")
    database, _ = export(trace, "--range=100:200")
    check_calls("range", database, some)
    _, some = records(trace, "--streams=1")
    database, _ = export(trace, "--streams=1")
    check_calls("streams", database, some)
    check({row[0] for row in database.execute("SELECT DISTINCT streamId FROM CUPTI_ACTIVITY_KIND_KERNEL")} <= {1}, "one stream")
    check_damage(folder, trace)
    done = run(tool("tracesmith"), "export", "sqlite", trace, status=2)
    check("-o" in done.stderr, "standard output is refused, and the remedy named")
    done = run(tool("tracesmith"), "export", "sqlite", "-o", os.path.join(folder, "none", "x"), trace, status=2)
    check("none" in done.stderr, "a folder that is not there is named")


with tempfile.TemporaryDirectory() as folder:
    check_queries(compare(folder, "pipeline"))
    for program in ("streams", "graphs", "copies", "pools", "threads", "values"):
        compare(folder, program)
    compare(folder, "saxpy", TS_EMU_TIME="virtual")
    check_parts(folder)
sys.exit(1 if FAILED else 0)
