#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""emu_lab_test.py PROGRAM: each seeded fault is found and told whole; its correct twin is silent."""
import json
import os
import subprocess
import sys
import tempfile


def run(case, check="all", **settings):
    """-> stdout words, stderr, reports."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        env = {k: v for k, v in os.environ.items() if not k.startswith("TS_")}
        env.update(TS_EMU_CHECK=check, TS_EMU_REPORT=report, **settings)
        done = subprocess.run([sys.argv[1], case], env=env, capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode == 0, (case, done)
        lines = []
        if os.path.exists(report):
            with open(report, encoding="utf-8") as f:
                lines = [json.loads(line) for line in f]
    assert all(one["schema"] == "tsemu-report/1" for one in lines), lines
    told = done.stderr.count("tracesmith emu: ") - done.stderr.count("private driver tables")
    assert len(lines) == told, (case, done.stderr)
    return done.stdout.split(), done.stderr, lines


def one(case, check, error="0", settings=None, **kw):
    out, err, reports = run(case, kw.pop("what", "all"), **(settings or {}))
    assert out == [error, "0"], (case, out, err)
    assert len(reports) == 1, (case, reports)
    report = reports[0]
    assert report["check"] == check, report
    assert str(report["error"]) == error, report
    for name, value in kw.items():
        assert report[name] == value, (case, name, report[name])
    if check != "leak":
        assert any(s.startswith("launch ") for s in report["launched_by"]), report
    return report, err


def silent(case, check="all"):
    out, err, reports = run(case, check)
    assert out == ["0", "0"] and not err and not reports, (case, out, err)


# ---- errors of a launch: the driver's codes, whole messages ----

bad, text = one("bounds", "fault", "700", error_name="CUDA_ERROR_ILLEGAL_ADDRESS", kernel="k")
assert bad["by"]["block"] == [0, 0, 0] and bad["by"]["thread"] == [100, 0, 0], bad
assert bad["access"]["kind"] == "store" and bad["access"]["space"] == "global", bad
assert bad["access"]["size"] == 4, bad
inner, outer = bad["by"]["stack"]
assert (inner["function"], inner["text"]) == ("helper", "st.global.u32 [%rd1], %r1;"), inner
assert (inner["source"], inner["source_line"]) == ("/src/wrong.cu", 17), inner
assert (outer["function"], outer["source_line"]) == ("k", 30), outer
assert outer["text"] == "call helper, (a);", outer
near = bad["allocation"]
assert (near["size"], near["state"], near["where"], near["distance"]) == (400, "live", "after", 0)
assert int(bad["access"]["address"], 16) == int(near["address"], 16) + 400, bad
assert any(s.startswith("memory_for ") for s in near["allocated_by"]), near
for part in ("CUDA_ERROR_ILLEGAL_ADDRESS (700)", "kernel k", "block (0,0,0)", "thread (100,0,0)",
             "#0 helper, PTX line", "(/src/wrong.cu:17)", "0 bytes after the end of 400 bytes of",
             "allocated by", "launched by", "#1 main "):
    assert part in text, (part, text)
silent("bounds_right")

bad, _ = one("freed", "fault", "700")
assert bad["allocation"]["state"] == "freed" and bad["allocation"]["where"] == "inside", bad
assert any("memory_for" in s for s in bad["allocation"]["freed_by"]), bad
bad, _ = one("misaligned", "fault", "716", error_name="CUDA_ERROR_MISALIGNED_ADDRESS")
assert bad["allocation"]["where"] == "inside", bad
bad, _ = one("shared_bounds", "fault", "700")
assert bad["access"]["space"] == "shared" and bad["by"]["thread"] == [1, 0, 0], bad
bad, _ = one("const_bounds", "fault", "700")
assert bad["access"]["kind"] == "load" and bad["allocation"]["where"] == "before", bad
assert bad["allocation"]["distance"] == 8, bad
one("trap", "fault", "719")
one("no_function", "fault", "718", error_name="CUDA_ERROR_INVALID_PC")
bad, _ = one("recursion", "fault", "714", error_name="CUDA_ERROR_HARDWARE_STACK_ERROR")
assert "stack overflow" in bad["message"], bad
assert {level["function"] for level in bad["by"]["stack"]} == {"deep"}, bad
bad, text = one("endless", "fault", "702", settings={"TS_EMU_TIMEOUT": "0.2"},
                error_name="CUDA_ERROR_LAUNCH_TIMEOUT")
assert sum(s["threads"] for s in bad["standing"]) == 64, bad
assert "threads of the block run at PTX line" in text, text
bad, _ = one("barrier", "fault", "702")
assert {s["why"] for s in bad["standing"]} == {"wait at a barrier"}, bad
assert sorted(s["threads"] for s in bad["standing"]) == [32, 32], bad

out, text, (bad,) = run("right", TS_EMU_MEMORY="200")
assert bad["check"] == "memory" and bad["error"] == 2 and "400 bytes were asked for" in text, bad

# ---- what a launch survives ----

bad, _ = one("uninit", "uninit")
assert bad["access"]["space"] == "global" and "4 were never written" in bad["message"], bad
assert bad["allocation"]["state"] == "live" and bad["by"]["stack"][0]["text"].startswith("ld.global")
silent("uninit_right")
one("uninit_copied", "uninit", what="uninit")
bad, _ = one("uninit_shared", "uninit", variable="byte 0 of tile")
assert bad["access"]["space"] == "shared", bad
silent("uninit_shared_right")
bad, _ = one("uninit_local", "uninit")
assert bad["access"]["space"] == "local" and "of which 4 were" in bad["message"], bad
silent("uninit_local_right")

bad, text = one("race", "race", what="race", after_kind="load")
assert bad["by"]["thread"][0] // 32 != bad["after"]["thread"][0] // 32, bad
assert bad["by"]["stack"][0]["text"].startswith("st.shared"), bad
assert bad["after"]["stack"][0]["text"].startswith("ld.shared"), bad
assert bad["variable"].endswith("of tile") and "after a load by" in text, bad
silent("race_right")
bad, _ = one("race_after", "race")
assert {bad[who]["stack"][0]["text"][:9] for who in ("by", "after")} == {"ld.shared", "st.shared"}
one("race_warp", "race", after_kind="store")
silent("race_warp_right")
one("race_stores", "race", after_kind="store", what="race")
silent("race_stores_right")
silent("race_atomic_right", "race")
bad, _ = one("blocks", "blocks", after_kind="store")
assert (bad["by"]["block"], bad["after"]["block"]) == ([1, 0, 0], [0, 0, 0]), bad
silent("blocks_right")

bad, _ = one("leak", "leak")
assert bad["allocation"]["size"] == 400 and bad["allocation"]["kind"] == "device memory", bad

# ---- only what was asked for ----

silent("uninit", "race,blocks,leak,bounds")
silent("race", "blocks,leak,bounds")
silent("blocks", "uninit,race,leak,bounds")
silent("leak", "uninit,race,blocks,bounds")

# ---- TS_EMU_SCHEDULE: blocks and warps (emu_order_test.py: streams) ----


def order(schedule):
    out, _, _ = run("order", TS_EMU_SCHEDULE=schedule)
    return [int(word) for word in out[1:-1]]


orders = {schedule: order(schedule) for schedule in
          ("fifo", "reverse", "random:1", "random:2", "random:3")}
for schedule, tickets in orders.items():
    assert sorted(tickets) == list(range(32)), (schedule, tickets)
    assert order(schedule) == tickets, (schedule, tickets, "is not repeatable")
assert orders["fifo"] == list(range(32)), orders
assert orders["reverse"] == list(range(31, -1, -1)), orders
for schedule in ("random:1", "random:2", "random:3"):
    tickets = orders[schedule]
    blocks = [tickets[4 * k:4 * k + 4] for k in range(8)]
    assert [min(b) for b in blocks] != sorted(min(b) for b in blocks), (schedule, tickets)
assert len({tuple(t) for t in orders.values()}) == 5, orders
assert any(tickets[k] > tickets[k + 1] for s, tickets in orders.items() if s[1] == "a"
           for k in range(0, 32, 4)), orders # warps of a block

# ---- the CUDA runtime's question is answered once, in one line ----

out, err, _ = run("tables")
assert err.count("CUDA runtime") == 1 and err.count("\n") == 1, err
