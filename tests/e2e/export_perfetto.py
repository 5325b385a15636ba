#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has protoc read what `tracesmith export perfetto` writes, by a schema of our own (perfetto.proto), and asserts what
Perfetto's importer relies on: clocks, one sequence, each number of a text written before it is used, slices that end and
nest, ids of events that exist, arrows where `tracesmith graph` has edges, and the times that `tsview` has."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BIN, PROGRAMS = os.environ["TEST_BIN"], os.environ["TEST_PROGRAMS"]
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perfetto.proto")
FAILED = 0
BEGIN, END, INSTANT, COUNTER, STATE = 1, 2, 3, 4, 5


def check(ok, what):
    global FAILED
    if not ok:
        FAILED += 1
        print("not so:", what)


def run(*command, status=0, text=True, **keywords):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=text, **keywords)
    if done.returncode != status:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr}")
    return done


def tool(name):
    return os.path.join(BIN, name)


def record(program, trace, **variables):
    run(tool("tsrecord"), "--emu", "--gpu-time=1", "--quiet", "-o", trace, "--", os.path.join(PROGRAMS, program),
        env=dict(os.environ, **variables))


def records(trace, *options):
    lines = run(tool("tsview"), "--json", *options, trace).stdout.splitlines()
    return json.loads(lines[0]), [json.loads(line) for line in lines[1:]]


# ---- protoc's text --------------------------------------------------------------------------------------------------

def unquote(text):
    return re.sub(rb'\\(?:([0-7]{3})|(.))', lambda m: bytes([int(m[1], 8)]) if m[1] else
                  {b"n": b"\n", b"t": b"\t", b"r": b"\r"}.get(m[2], m[2]), text.encode("latin-1")).decode("utf-8", "replace")


def parse(lines):
    """A message: name -> list of values; messages are dicts."""
    top = collections.defaultdict(list)
    stack = [top]
    for line in lines:
        line = line.strip()
        if line.endswith("{"):
            inner = collections.defaultdict(list)
            stack[-1][line[:-1].strip()].append(inner)
            stack.append(inner)
        elif line == "}":
            stack.pop()
        elif line:
            name, value = line.split(": ", 1)
            stack[-1][name].append(unquote(value[1:-1]) if value.startswith('"') else int(value))
    return top


def decode(data, name):
    text = run("protoc", "--decode=perfetto.protos.Trace", "-I", os.path.dirname(SCHEMA), SCHEMA, input=data, text=False).stdout
    lines = text.decode("utf-8", "surrogateescape").splitlines()
    unknown = [line for line in lines if re.match(r"\s*\d+(:| \{)", line)]
    check(not unknown, f"{name}: fields that the schema does not have: {unknown[:3]}")
    return parse(lines)["packet"]


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def unpacked(data):
    """The packets that compressed ones hold."""
    out, at = b"", 0
    while at < len(data):
        key, at = varint(data, at)
        size, at = varint(data, at)
        check(key == 1 << 3 | 2, "a trace has nothing but packets")
        packet, at = data[at:at + size], at + size
        key, inner = varint(packet, 0)
        if key == 133 << 3 | 2:
            size, inner = varint(packet, inner)
            out += run("zstd", "-d", "-q", "-c", input=packet[inner:inner + size], text=False).stdout
    return out


# ---- what a reader relies on ----------------------------------------------------------------------------------------

def one(message, name, default=None):
    return message[name][0] if message.get(name) else default


TABLES = ["event_categories", "event_names", "debug_annotation_names", "function_names", "frames", "callstacks", "mapping_paths",
          "source_paths", "mappings", "graphics_contexts", "gpu_specifications", "compute_kernels", "compute_arg_names"]


class Reader:
    def __init__(self, packets, name):
        self.name, self.tables = name, {table: {} for table in TABLES}
        self.tracks, self.slices, self.open = {}, [], collections.defaultdict(list)
        self.stages, self.submitted, self.states, self.counters = {}, {}, [], []
        self.instants = []
        check(one(packets[0], "sequence_flags") == 3, f"{name}: the first packet clears the state")
        snapshot = one(packets[0], "clock_snapshot")
        self.clocks = {one(c, "clock_id"): one(c, "timestamp") for c in snapshot["clocks"]}
        check(one(snapshot, "primary_trace_clock") in self.clocks, f"{name}: the primary clock has a time")
        check(one(one(packets[0], "trace_packet_defaults"), "timestamp_clock_id") in self.clocks, f"{name}: the default clock, too")
        for packet in packets:
            check(one(packet, "trusted_packet_sequence_id") == 1, f"{name}: each packet is of the sequence")
            self.packet(packet)
        check(not any(self.open.values()), f"{name}: each slice ends")

    def text(self, table, iid, field="name"):
        check(iid in self.tables[table], f"{self.name}: {table} has {iid}")
        return one(self.tables[table].get(iid, {}), field)

    def packet(self, packet):
        for table, entries in one(packet, "interned_data", {}).items():
            for entry in entries:
                iid = one(entry, "iid")
                check(iid and iid not in self.tables[table], f"{self.name}: {table} {iid} is new")
                self.tables[table][iid] = entry
        for kind in ("track_descriptor", "track_event", "gpu_render_stage_event"):
            if kind in packet:
                getattr(self, kind)(one(packet, kind), one(packet, "timestamp"))

    def track_descriptor(self, track, _):
        parent = one(track, "parent_uuid")
        check(parent is None or parent in self.tracks, f"{self.name}: a parent comes first")
        self.tracks[one(track, "uuid")] = track

    def stack(self, iid):
        frames = self.tables["callstacks"].get(iid, {}).get("frame_ids", [])
        check(frames, f"{self.name}: stack {iid}")
        names = []
        for frame in (self.tables["frames"].get(f, {}) for f in frames):
            names.append(self.text("function_names", one(frame, "function_name_id"), "str"))
            if one(frame, "mapping_id"):
                check("rel_pc" in frame, f"{self.name}: a frame in a mapping has its place there")
                self.text("mapping_paths", one(self.tables["mappings"][one(frame, "mapping_id")], "path_string_ids"), "str")
            if one(frame, "source_path_iid"):
                self.text("source_paths", one(frame, "source_path_iid"), "str")
        return names

    def track_event(self, event, time):
        kind, track = one(event, "type"), one(event, "track_uuid")
        check(track in self.tracks, f"{self.name}: the track of an event")
        if kind == END:
            check(self.open[track], f"{self.name}: an end has a begin")
            if self.open[track]:
                event = self.open[track].pop()
                event["end"] = time
                check(event["begin"] <= time, f"{self.name}: a slice ends after it begins")
                self.slices.append(event)
            return
        if kind == COUNTER:
            self.counters.append((track, time, one(event, "counter_value")))
            return
        category = [self.text("event_categories", iid) for iid in event["category_iids"]]
        made = {"name": self.text("event_names", one(event, "name_iid")), "category": category, "track": track, "begin": time,
                "seq": None, "stack": None}
        for note in event["debug_annotations"]:
            if self.text("debug_annotation_names", one(note, "name_iid")) == "seq":
                made["seq"] = one(note, "uint_value")
        if "callstack_iid" in event:
            made["stack"] = self.stack(one(event, "callstack_iid"))
        for event_id in one(event, "gpu_correlation", {}).get("render_stage_submission_event_ids", []):
            self.submitted[event_id] = made
        if kind == BEGIN:
            self.open[track].append(made)
        elif kind == STATE:
            check("state" in self.tracks[track], f"{self.name}: a state is on a track of states")
            self.states.append((one(self.tracks[track], "name"), time, made["name"], one(event, "tracesmith", {})))
        else:
            check(kind == INSTANT, f"{self.name}: a type of events: {kind}")
            self.instants.append(made)

    def gpu_render_stage_event(self, event, time):
        event_id = one(event, "event_id")
        check(event_id and event_id not in self.stages, f"{self.name}: the id of a stage is its own")
        stage = {"begin": time, "end": time + one(event, "duration"), "waits": event["event_wait_ids"],
                 "queue": self.text("gpu_specifications", one(event, "hw_queue_iid")),
                 "stage": self.text("gpu_specifications", one(event, "stage_iid")),
                 "category": one(self.tables["gpu_specifications"][one(event, "stage_iid")], "category"),
                 "name": self.text("event_names", one(event, "name_iid")), "kernel": None, "launch": None,
                 "extra": {one(e, "name"): one(e, "value") for e in event["extra_data"]}}
        check(one(event, "context") in self.tables["graphics_contexts"], f"{self.name}: the context of a stage")
        if "kernel_iid" in event:
            stage["kernel"] = self.text("compute_kernels", one(event, "kernel_iid"))
            launch = one(event, "launch")
            check(stage["category"] == 2, f"{self.name}: a kernel is of the category compute")
            stage["launch"] = {self.text("compute_arg_names", one(a, "name_iid")): one(a, "uint_value") for a in launch["args"]}
            stage["grid"] = [one(one(launch, "grid_size"), axis) for axis in "xyz"]
            stage["block"] = [one(one(launch, "workgroup_size"), axis) for axis in "xyz"]
            check({"device", "stream"} <= stage["launch"].keys(), f"{self.name}: a launch names its device and stream")
        self.stages[event_id] = stage


def check_nesting(reader):
    by_track = collections.defaultdict(list)
    for s in reader.slices:
        by_track[s["track"]].append((s["begin"], -s["end"]))
    for slices in by_track.values():
        ends = []
        for begin, end in sorted(slices):
            while ends and ends[-1] <= begin:
                ends.pop()
            check(not ends or -end <= ends[-1], f"{reader.name}: slices of a track nest")
            ends.append(-end)


# ---- against other tools --------------------------------------------------------------------------------------------

NO_WORK = {"cuEventRecord", "cuStreamWaitEvent", "cuEventRecordWithFlags"}


def check_against_view(reader, trace, *options):
    head, all_records = records(trace, *options)
    start = head["start_monotonic_ns"]
    check(reader.clocks == {3: start, 1: head["start_realtime_ns"]}, f"{reader.name}: clocks of the session")
    calls = {r["seq"]: r for r in all_records if r["api"] != "core"}
    slices = {s["seq"]: s for s in reader.slices if "label" not in s["category"]}
    check(slices.keys() == calls.keys(), f"{reader.name}: a slice for each call")
    for seq in slices.keys() & calls.keys():
        s, r = slices[seq], calls[seq]
        check((s["begin"], s["end"], s["name"]) == (start + r["time_ns"], start + r["time_ns"] + r["duration_ns"], r["call"]),
              f"{reader.name}: call {seq}")
        thread = one(reader.tracks[s["track"]], "thread")
        check(one(thread, "tid") == r["thread"], f"{reader.name}: call {seq} is on its thread")
    times = {(r["args"]["of_stream"], r["args"]["of_position"]): r["args"] for r in all_records if r["call"] == "gpu_time"}
    for seq, r in calls.items():
        time = times.get((r["stream"], r["position"]))
        if not time or r["call"] in NO_WORK:
            continue
        stage = reader.stages.get(seq + 1)
        check(stage, f"{reader.name}: command {seq} {r['call']} has a stage")
        if not stage:
            continue
        check((stage["begin"], stage["end"] - stage["begin"]) == (start + time["start_ns"], time["duration_ns"]),
              f"{reader.name}: time of command {seq}")
        check(stage["queue"] == f"stream {r['stream']}", f"{reader.name}: queue of command {seq}")
        check(reader.submitted.get(seq + 1, {}).get("seq") == seq, f"{reader.name}: an arrow leads from call {seq} to its command")
        if stage["kernel"]:
            check(stage["grid"] == [r["args"][f"gridDim{a}"] for a in "XYZ"], f"{reader.name}: grid of {seq}")
            check(stage["block"] == [r["args"][f"blockDim{a}"] for a in "XYZ"], f"{reader.name}: block of {seq}")
    for event_id, stage in reader.stages.items():
        for wait in stage["waits"]:
            check(wait in reader.stages, f"{reader.name}: {event_id} waits for {wait}, which is there")
            if wait in reader.stages:
                check(reader.stages[wait]["end"] <= stage["begin"], f"{reader.name}: {event_id} begins after {wait} has ended")


def arrows_of_graph(trace):
    """Pairs of commands with work that an event orders, found from the edges of `tracesmith graph`."""
    graph = json.loads(run(tool("tracesmith"), "graph", "--json", trace).stdout)
    _, all_records = records(trace)
    calls = {r["seq"]: r for r in all_records}
    work_before, last, expected = {}, {}, set()
    waits, pending = collections.defaultdict(set), collections.defaultdict(set)
    for edge in graph["edges"]:
        if edge["reason"] in ("event", "default stream"):
            waits[edge["to"]].add(edge["from"])
    for seq in sorted(calls):
        r = calls[seq]
        if r["stream"] is None or not r["position"]:
            continue
        pending[r["stream"]] |= {work_before.get(source, source) for source in waits[seq]}
        if r["call"] in NO_WORK:
            work_before[seq] = last.get(r["stream"])
        else:
            expected |= {(source, seq) for source in pending[r["stream"]] if source is not None}
            pending[r["stream"]] = set()
            last[r["stream"]] = seq
    return expected


def export(trace, *options):
    path = trace + ".pftrace"
    said = run(tool("tracesmith"), "export", "perfetto", "--json", "--force", "-o", path, *options, trace)
    with open(path, "rb") as file:
        return file.read(), json.loads(said.stdout)


def compare(folder, program, arrows=False, **variables):
    trace = os.path.join(folder, program + ".sbt")
    record(program, trace, **variables)
    plain, said = export(trace, "--plain", "--states")
    packed, _ = export(trace, "--states")
    check(unpacked(packed) == plain, f"{program}: compressed packets are the same ones")
    reader = Reader(decode(plain, program), program)
    check_nesting(reader)
    check_against_view(reader, trace)
    check(said["command_count"] == len(reader.stages), f"{program}: --json counts commands")
    check(said["state_count"] == len(reader.states), f"{program}: --json counts states")
    if arrows:
        found = {(wait - 1, event_id - 1) for event_id, stage in reader.stages.items() for wait in stage["waits"]}
        expected = arrows_of_graph(trace)
        check(expected and found == expected, f"{program}: arrows: {sorted(found ^ expected)[:5]} of {len(expected)}")
    check_states(reader, trace, program)
    return trace, reader


def check_states(reader, trace, program):
    view = json.loads(run(tool("tsview"), "--states", "--json", trace).stdout)
    expected = [("state of " + i["of"], i["begin_ns"], i["state"] + (": " + i["reason"] if i["reason"] else ""))
                for kind in ("streams", "engines", "devices") for i in view[kind]]
    start = reader.clocks[3]
    found = [(subject, time - start, name) for subject, time, name, _ in reader.states]
    check(sorted(found) == sorted(expected), f"{program}: states are those of tsview")


def check_pipeline(reader):
    kernels = [s for s in reader.stages.values() if s["kernel"]]
    check(len(kernels) == 64 and {s["name"] for s in kernels} == {"copy", "mix"}, "pipeline: kernels by their names")
    copies = [s for s in reader.stages.values() if s["stage"] == "copy"]
    check(sum(int(s["extra"]["bytes"]) for s in copies) == 64 * 16384, "pipeline: bytes of copies")
    check(any(s["stack"] and "main" in s["stack"][-4:] + s["stack"][:4] for s in reader.slices), "pipeline: stacks lead to main()")
    last = {}
    for track, _, value in reader.counters:
        last[track] = value
    check(last and not any(last.values()), f"pipeline: all memory is given back: {last}")


def check_parts(folder, trace):
    data, _ = export(trace, "--plain", "--range=200:400")
    reader = Reader(decode(data, "range"), "range")
    _, some = records(trace, "--range=200:400")
    check({s["seq"] for s in reader.slices} == {r["seq"] for r in some if r["api"] != "core"}, "a range has its calls")
    with open(trace, "rb") as file:
        good = file.read()
    broken = os.path.join(folder, "broken.sbt")
    for part in range(1, 8):
        bad = bytearray(good)
        bad[len(bad) * part // 8] ^= 0x40
        with open(broken, "wb") as file:
            file.write(bad)
        done = subprocess.run([tool("tracesmith"), "export", "perfetto", "--plain", "--force", "-o", broken + ".pf", broken],
                              capture_output=True, text=True, check=False)
        check(done.returncode in (0, 2), f"damage {part}: {done.returncode} {done.stderr}")
        if done.returncode == 0:
            with open(broken + ".pf", "rb") as file:
                reader = Reader(decode(file.read(), f"damage {part}"), f"damage {part}")
            check("damage" not in done.stderr or reader.instants, f"damage {part} is a finding")


if not shutil.which("protoc") or not shutil.which("zstd"):
    print("no protoc or no zstd")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    pipeline, reader = compare(folder, "pipeline", arrows=True)
    check_pipeline(reader)
    for program in ("streams", "graphs", "copies", "threads", "default_streams"):
        compare(folder, program)
    compare(folder, "timed", TS_EMU_TIME="virtual")
    check_parts(folder, pipeline)
sys.exit(1 if FAILED else 0)
