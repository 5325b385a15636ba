#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package: what it reads, that it copies nothing, that neither threads, nor close(), nor an enemy's file
crash it.

usage: python_test.py [TEST...]   TEST_BIN, TEST_EMU, TEST_PROGRAMS and TEST_SOURCE as the end-to-end tests have them
"""

import ctypes
import gc
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

TOP = pathlib.Path(os.environ["TEST_SOURCE"])
PACKAGE = TOP / "bindings/python"
TOOLS = pathlib.Path(os.environ["TEST_BIN"])
EMU = pathlib.Path(os.environ["TEST_EMU"])
PROGRAMS = pathlib.Path(os.environ["TEST_PROGRAMS"])
DRIVER = str(EMU / "libcuda.so.1")
os.environ["TRACESMITH_LIBRARY"] = str(TOOLS.parent / "include/libtracesmith.so.0")
os.environ["TRACESMITH_TOOL"] = str(TOOLS / "tracesmith")
os.environ["TS_TEST_PTX"] = str(PROGRAMS / "kernels.ptx")
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
sys.dont_write_bytecode = True
sys.path.insert(0, str(PACKAGE))
import tracesmith  # noqa: E402
from tracesmith import _abi  # noqa: E402
from tracesmith._library import Handle  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None
try:
    import pandas
except ImportError:
    pandas = None

WORK = pathlib.Path(tempfile.mkdtemp(prefix="ts-python."))
TRACE, TIMED = WORK / "t.sbt", WORK / "v.sbt"


def setUpModule():
    tracesmith.record([str(PROGRAMS / "pipeline"), "4"], str(TRACE), emu=True)
    tracesmith.record([str(PROGRAMS / "pipeline"), "4"], str(TIMED), emu=True, options=["--gpu-time=1"],
                      env={"TS_EMU_TIME": "virtual"})


def tearDownModule():
    shutil.rmtree(WORK)


def tool(*words) -> dict:
    return json.loads(subprocess.run([TOOLS / "tracesmith", *map(str, words)], check=True, capture_output=True, text=True).stdout)


def python(code: str, **environment) -> str:
    """Runs code in a process of its own: a driver stays in the process that has replayed."""
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(PACKAGE)!r})\nimport tracesmith\n{code}"],
                          capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        raise AssertionError(f"status {done.returncode}: {done.stderr}")
    return done.stdout.strip()


class Abi(unittest.TestCase):
    def test_structs_and_functions_are_those_of_the_headers(self):
        lines = []
        for kind in _abi.STRUCTS:
            lines.append(f"struct {kind.c_name} - 0 {ctypes.sizeof(kind)}")
            for name, _ in kind._fields_:
                member = getattr(kind, name)
                lines.append(f"struct {kind.c_name} {name} {member.offset} {member.size}")
        lines += [f"function {name} {len(arguments)}" for name, (_, arguments) in _abi.FUNCTIONS.items()]
        compare = [sys.executable, TOP / "tests/bindings/layout.py", TOP / "include", *os.environ.get("CC", "cc").split()]
        done = subprocess.run(compare, input="\n".join(lines), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        wrong = "\n".join(lines).replace(f"sbt_record - 0 {ctypes.sizeof(_abi.Record)}", "sbt_record - 0 8")
        self.assertNotEqual(subprocess.run(compare, input=wrong, capture_output=True, text=True).returncode, 0)

    def test_a_library_that_is_not_there(self):
        says = python("try: tracesmith.open('x')\nexcept OSError as e: print(e)", TRACESMITH_LIBRARY="/missing.so")
        self.assertIn("/missing.so", says)
        self.assertIn("TRACESMITH_LIBRARY", says)

    def test_a_tool_that_is_not_there(self):
        self.assertIn("TRACESMITH_TOOL", python("try: tracesmith.find_tool()\nexcept OSError as e: print(e)",
                                                TRACESMITH_TOOL="/missing"))


class Reading(unittest.TestCase):
    def test_records_are_those_that_the_tool_shows(self):
        shown = [json.loads(line) for line in subprocess.run(
            [TOOLS / "tsview", "--json", TIMED], check=True, capture_output=True, text=True).stdout.splitlines()]
        shown = {line["seq"]: line for line in shown if "seq" in line and "call" in line}
        with tracesmith.open(TIMED) as trace:
            ours = {record.seq: record for record in trace}
            self.assertEqual(len(ours), trace.totals.record_count)
            self.assertGreater(len(shown), 100)
            for seq, line in shown.items():
                self.assertEqual(ours[seq].name, line["call"])
            launch = next(record for record in trace if record.kernel == "mix")
            self.assertEqual(launch.fields["gridDimX"], 16)
            self.assertEqual(launch.fields["name"], "mix")
            self.assertIn("main at program.h", launch.stacktrace()[0])
            self.assertEqual(launch.schema.kind, tracesmith.Kind.COMMAND)
            self.assertEqual(trace.end, tracesmith.End.FINISHED)
            self.assertFalse(trace.missing.end)
            self.assertEqual(trace.examine().record_count, 0)
            self.assertEqual(trace.damage, [])
            self.assertIn("process.pid", trace.metadata)

    def test_selection(self):
        with tracesmith.open(TRACE) as trace:
            self.assertEqual([record.seq for record in trace.records(seq=(3, 6))], [3, 4, 5])
            self.assertEqual({record.stream for record in trace.records(streams=[1, None])}, {1, None})
            self.assertEqual({int(s) for s in trace.commands(streams=[2]).view("stream")}, {2})
            self.assertEqual(list(trace.records(streams=[])), [])
            with self.assertRaises(ValueError):
                trace.records(seq=(6, 6))

    def test_blobs(self):
        with tracesmith.open(TRACE) as trace:
            found = 0
            for record in trace:
                for field in record.schema.fields:
                    if field.type == tracesmith.FieldType.BLOB and record.fields.get(field.name) is not None:
                        self.assertEqual(len(record.blob(field.name)), record.fields[field.name])
                        found += 1
            self.assertGreater(found, 4)
            with self.assertRaises(KeyError):
                next(iter(trace)).blob("nothing")

    def test_errors_have_message_and_code(self):
        with self.assertRaises(tracesmith.TraceSmithError) as caught:
            tracesmith.open(WORK / "missing.sbt")
        self.assertIn("missing.sbt", str(caught.exception))
        self.assertEqual(caught.exception.code, tracesmith.ErrorCode.NOT_FOUND)
        with self.assertRaises(ValueError):
            tracesmith.open("nul\0nul")
        with tracesmith.open(TRACE) as trace, self.assertRaises(tracesmith.TraceSmithError) as caught:
            trace.stack(123456)
        self.assertEqual(caught.exception.code, tracesmith.ErrorCode.NOT_FOUND)

    def test_statistics(self):
        with tracesmith.open(TIMED) as trace:
            statistics = trace.statistics()
            self.assertEqual(statistics.record_count, trace.totals.record_count)
            self.assertEqual(statistics.command_count, tool("stats", "--json", TIMED)["command_count"])
            self.assertEqual({c.name: c.count for c in statistics.calls}["cuLaunchKernel"], 8)


class Tables(unittest.TestCase):
    def test_views_need_no_numpy(self):
        with tracesmith.open(TIMED) as trace:
            table = trace.record_table()
            self.assertEqual(list(table.view("seq")), list(range(trace.totals.record_count)))
            self.assertTrue(table.view("seq").readonly)
            self.assertEqual(len(trace.record_table(streams=[77]).view("result")), 0)
            commands = trace.commands()
            works = commands.labels("work")
            self.assertIn("kernel", {works[number] for number in commands.view("work")})
            with self.assertRaises(KeyError):
                commands.view("nothing")
        seq, kernels = commands.view("seq"), commands.labels("kernel")
        del commands, table
        gc.collect()
        self.assertEqual(list(seq), sorted(seq))
        self.assertEqual(kernels[0], "")

    @unittest.skipUnless(numpy, "needs NumPy")
    def test_arrays_are_not_copied_and_keep_their_memory(self):
        destroyed = []
        with tracesmith.open(TIMED) as trace:
            table = trace.commands()
        destroy = table._handle._destroy
        table._handle._destroy = lambda pointer: (destroyed.append(1), destroy(pointer))
        first, again = table["seq"], table["seq"]
        self.assertEqual(first.ctypes.data, again.ctypes.data)
        self.assertFalse(first.flags.writeable or first.flags.owndata)
        part, expected = first[2:5], list(first[2:5])
        del table, first, again, trace
        gc.collect()
        self.assertEqual(destroyed, [])
        self.assertEqual(list(part), expected)
        del part
        gc.collect()
        self.assertEqual(destroyed, [1])

    @unittest.skipUnless(pandas, "needs pandas")
    def test_frames(self):
        with tracesmith.open(TIMED) as trace:
            frame, array = trace.to_pandas(), trace.commands()
            records = trace.record_table().to_pandas()
            empty = trace.commands(streams=[77]).to_pandas()
        kernels = frame[frame.work == "kernel"]
        ours = (kernels.end_ns - kernels.start_ns).groupby(kernels.kernel.astype(str)).sum().to_dict()
        stats = tool("stats", "--json", "--section=kernels", TIMED)["kernels"]
        self.assertEqual(ours, {row["name"]: row["total_ns"] for row in stats if row["work"] == "kernel"})
        self.assertEqual(len(empty), 0)
        self.assertEqual((records.call == "cuLaunchKernel").sum(), 8)
        frame = array.to_pandas()
        self.assertEqual(frame["seq"].to_numpy().ctypes.data, array["seq"].ctypes.data)

    def test_graph(self):
        with tracesmith.open(TRACE) as trace:
            table = trace.graph()
            reasons = table.labels("reason")
            ours = {(a, b, reasons[c]) for a, b, c in zip(table.view("from"), table.view("to"), table.view("reason"))}
            with_memory = len(trace.graph(memory=True))
        graph = tool("graph", "--json", TRACE)
        self.assertEqual(ours, {(edge["from"], edge["to"], edge["reason"]) for edge in graph["edges"]})
        self.assertGreater(with_memory, len(ours))


class Verdicts(unittest.TestCase):
    def test_diff(self):
        other = WORK / "other.sbt"
        tracesmith.record([str(PROGRAMS / "pipeline"), "3"], str(other), emu=True)
        with tracesmith.open(TRACE) as a, tracesmith.open(other) as b:
            self.assertEqual(tracesmith.diff(a, a).verdict, tracesmith.Verdict.SAME)
            result = tracesmith.diff(a, b)
            self.assertEqual(result.verdict, tracesmith.Verdict.DIFFERENT)
            self.assertGreater(result.seq_a, 0)
            self.assertTrue(result.first.call)
            self.assertEqual(tracesmith.diff(a, b, streams=[]).verdict, tracesmith.diff(a, a, streams=[]).verdict)

    REPLAY = f"r = tracesmith.replay(tracesmith.open({str(TRACE)!r}), device='emu', driver={DRIVER!r})\n"

    def test_replay(self):
        self.assertEqual(python(self.REPLAY + "print(int(r.verdict), r.checksum_count, r.is_software)"), "0 4 True")
        self.assertEqual(python(self.REPLAY + "print(int(r.verdict), r.differences[0].call, r.differences[0].actual[:2])",
                                TS_EMU_NOOP="1"), "1 cuMemcpyDtoHAsync_v2 b'\\x00\\x00'")

    def test_check(self):
        code = f"t = tracesmith.open({str(TRACE)!r})\nr = tracesmith.check(t, device='emu', driver={DRIVER!r})\n"
        self.assertEqual(python(code + "print(int(r.verdict), [a.arm for a in r.arms][:2])"), "0 ['recording', 'repeat']")
        wrong = WORK / "wrong.sbt"
        tracesmith.record([str(PROGRAMS / "wrong"), "atomic"], str(wrong), emu=True)
        code = code.replace(str(TRACE), str(wrong))
        self.assertEqual(python(code + "print([a.arm for a in r.arms if a.verdict == 1], r.arms[2].difference.function)"),
                         "['schedule'] sum_atomic")
        self.assertIn("fork", python(self.REPLAY + "try: tracesmith.check(tracesmith.open(" + repr(str(TRACE)) +
                                     "))\nexcept tracesmith.TraceSmithError as e: print(e)"))

    def test_record(self):
        done = tracesmith.record(["sh", "-c", "echo out; exit 3"], str(WORK / "none.sbt"), check=False)
        self.assertEqual((done.returncode, done.stdout), (3, "out\n"))
        with self.assertRaises(subprocess.CalledProcessError):
            tracesmith.record(["false"], str(WORK / "none.sbt"))


USES = {
    "session": lambda t: t.session, "totals": lambda t: t.totals, "end": lambda t: t.end, "metadata": lambda t: t.metadata,
    "damage": lambda t: t.damage, "missing": lambda t: t.missing, "examine": lambda t: t.examine(),
    "schemas": lambda t: t.schemas, "iter": lambda t: [record.fields for record in t], "stack": lambda t: t.stack(1),
    "commands": lambda t: t.commands(), "record_table": lambda t: t.record_table(), "graph": lambda t: t.graph(memory=True),
    "statistics": lambda t: t.statistics(), "diff": lambda t: tracesmith.diff(t, t),
}


class Closing(unittest.TestCase):
    def test_every_use_after_close_raises(self):
        trace = tracesmith.open(TRACE)
        through = iter(trace)
        record = next(through)
        trace.stack(1)
        trace.close()
        trace.close()
        for name, use in USES.items():
            with self.subTest(name), self.assertRaises(tracesmith.ClosedError):
                use(trace)
        with self.assertRaises(tracesmith.ClosedError):
            next(through)
        with self.assertRaises(tracesmith.ClosedError):
            tracesmith.replay(trace)
        self.assertEqual(record.seq, 0)
        repr(record)

    def test_an_iterator_that_is_closed(self):
        with tracesmith.open(TRACE) as trace:
            through = iter(trace)
            through.close()
            with self.assertRaises(tracesmith.ClosedError):
                next(through)

    def test_what_is_made_while_its_owner_is_closed(self):
        ended = []
        owner = Handle(1, lambda pointer: ended.append("owner"), "the owner")
        with self.assertRaises(tracesmith.ClosedError) as caught, owner.use():
            owner.close()
            Handle(2, lambda pointer: ended.append("part"), "the part", owner)
        self.assertEqual(ended, ["part", "owner"])
        del caught
        gc.collect()
        self.assertEqual(ended, ["part", "owner"])
        owner = Handle(1, lambda pointer: ended.append("owner"), "the owner")
        part = Handle(2, lambda pointer: ended.append("part"), "the part", owner)
        owner.close()
        self.assertEqual(ended, ["part", "owner"])
        part.close()
        self.assertEqual(ended, ["part", "owner"] * 2)

    def test_threads_use_a_trace_while_it_is_closed(self):
        for delay in (0, 0.002, 0.01, 0.03):
            trace = tracesmith.open(TRACE)
            shared, problems = iter(trace), []

            def work(use):
                try:
                    while True:
                        use(trace)
                        next(shared, None)
                except tracesmith.ClosedError:
                    pass
                except BaseException as error:
                    problems.append(error)

            threads = [threading.Thread(target=work, args=(use,)) for use in USES.values()]
            for thread in threads:
                thread.start()
            threading.Event().wait(delay)
            trace.close()
            for thread in threads:
                thread.join()
            self.assertEqual(problems, [])

    def test_threads_see_the_same(self):
        with tracesmith.open(TRACE) as trace:
            expected, found = [r.fields for r in trace], []
            threads = [threading.Thread(target=lambda: found.append([r.fields for r in trace])) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(found, [expected] * 4)


class Hostile(unittest.TestCase):
    def test_no_file_crashes(self):
        folders = [TOP / "tests/fuzz/corpus", TOP / "tests/golden/bad", TOP / "tests/golden"]
        files = [path for folder in folders for path in sorted(folder.iterdir()) if path.is_file()]
        opened = 0
        for path in files:
            try:
                trace = tracesmith.open(path)
            except tracesmith.TraceSmithError:
                continue
            opened += 1
            with trace:
                for name, use in USES.items():
                    try:
                        use(trace)
                    except tracesmith.TraceSmithError:
                        pass
                if pandas:
                    try:
                        trace.to_pandas()
                    except tracesmith.TraceSmithError:
                        pass
        self.assertGreater(opened, 50)
        self.assertGreater(len(files), opened)


class Around(unittest.TestCase):
    def test_pip_installs_it(self):
        if not all(importlib.util.find_spec(name) for name in ("pip", "setuptools", "wheel")):
            self.skipTest("needs pip, setuptools and wheel")
        copy = WORK / "package"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("build", "*.egg-info", ".mypy_cache"))
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index",
                        "--disable-pip-version-check", "--root-user-action=ignore", "--target", WORK / "site", copy], check=True)
        self.assertTrue((WORK / "site/tracesmith/py.typed").exists())
        self.assertIn("tracesmith.pytest_plugin", "".join(p.read_text() for p in (WORK / "site").glob("*/entry_points.txt")))
        # The library is found beside the package, too.
        (WORK / "site/tracesmith/libtracesmith.so.0").symlink_to(os.environ["TRACESMITH_LIBRARY"])
        environment = {**os.environ, "PYTHONPATH": str(WORK / "site")}
        del environment["TRACESMITH_LIBRARY"]
        done = subprocess.run([sys.executable, "-c", f"import tracesmith; print(len(list(tracesmith.open({str(TRACE)!r}))))"],
                              cwd=WORK, env=environment, capture_output=True, text=True)
        self.assertGreater(int(done.stdout or 0), 100, done.stderr)

    def test_pytest_plugin(self):
        if not importlib.util.find_spec("pytest"):
            self.skipTest("needs pytest")
        test = WORK / "test_plugin.py"
        test.write_text(f"def test_good(assert_deterministic):\n    assert_deterministic([{str(PROGRAMS / 'pipeline')!r}, '2'])\n"
                        f"def test_bad(assert_deterministic):\n    assert_deterministic([{str(PROGRAMS / 'wrong')!r}, 'atomic'])\n"
                        "def test_fails(assert_deterministic):\n    assert_deterministic(['false'])\n"
                        "def test_no_gpu(assert_deterministic):\n    assert_deterministic(['true'])\n")
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tracesmith.pytest_plugin",
                               test], cwd=WORK, env={**os.environ, "PYTHONPATH": str(PACKAGE)}, capture_output=True, text=True)
        self.assertIn("3 failed, 1 passed", done.stdout, done.stderr)
        self.assertIn("the GPU's work is not deterministic", done.stdout)
        self.assertIn("sum_atomic", done.stdout)
        self.assertIn("false ended with status 1", done.stdout)
        self.assertIn("true sent nothing to a GPU", done.stdout)

    def test_notebook(self):
        cells = json.loads((PACKAGE / "examples/first.ipynb").read_text())["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        if not pandas:
            self.skipTest("needs pandas")
        says = python(code, TRACE=str(TIMED))
        self.assertIn("cuLaunchKernel", says)
        self.assertIn("mix", says)

    def test_types(self):
        if not shutil.which("mypy") or not os.environ.get("TS_TEST_ALL"):
            self.skipTest("needs mypy and ten seconds: TS_TEST_ALL=1")
        done = subprocess.run(["mypy", "--cache-dir", WORK / "mypy"], cwd=PACKAGE, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
