#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same CPU events as each tracer would keep them, to stdout: beside the jobs of
kernel_records.py, a program (thread 78) that is put off once while it submits, is interrupted,
reads from a disk, sleeps until its job is complete, and is woken.

usage: cpu_files.py text|report|script|dat6|dat7|dat7z|perf [lost|local|disorder]"""
import struct
import subprocess
import sys

PAGE = 4096
START_NS = 1000  # as the trace that make_trace writes
SWITCH, WAKEUP, IRQ_ENTER, IRQ_EXIT, ISSUE, COMPLETE, MARK = range(7)
NAMES = ["sched_switch", "sched_wakeup", "irq_handler_entry", "irq_handler_exit", "block_rq_issue",
         "block_rq_complete", "print"]
SYSTEMS = ["sched", "sched", "irq", "irq", "block", "block", "ftrace"]

# us, cpu, tid, tracepoint, what it says
EVENTS = [
    (400, 1, 91, SWITCH, ("disk", 91, 1, "swapper/1", 0)),
    (500, 0, 0, SWITCH, ("swapper/0", 0, 0, "app", 78)),
    (1005, 0, 78, IRQ_ENTER, (16, "toygpu")),
    (1008, 0, 78, IRQ_EXIT, (16,)),
    (1015, 0, 78, ISSUE, (8 << 20, 4096, 8)),
    (1020, 0, 78, SWITCH, ("app", 78, 0, "my editor", 90)),
    (1040, 0, 90, SWITCH, ("my editor", 90, 1, "app", 78)),
    (1062, 0, 78, SWITCH, ("app", 78, 2, "swapper/0", 0)),
    (1500, 1, 0, COMPLETE, (8 << 20, 4096, 8)),
    (2061, 1, 0, WAKEUP, ("app", 78)),
    (2066, 0, 0, SWITCH, ("swapper/0", 0, 0, "app", 78)),
    (2600, 0, 78, SWITCH, ("app", 78, 1, "swapper/0", 0)),
]
FORMATS = {
    SWITCH: (314, "<16siiq16sii", [("char prev_comm[16]", 16), ("pid_t prev_pid", 4), ("int prev_prio", 4),
                                   ("long prev_state", 8), ("char next_comm[16]", 16), ("pid_t next_pid", 4),
                                   ("int next_prio", 4)]),
    WAKEUP: (315, "<16siii", [("char comm[16]", 16), ("pid_t pid", 4), ("int prio", 4), ("int target_cpu", 4)]),
    IRQ_ENTER: (140, "<iI8s", [("int irq", 4), ("__data_loc char[] name", 4)]),
    IRQ_EXIT: (139, "<ii", [("int irq", 4), ("int ret", 4)]),
    ISSUE: (1080, "<IIQII", [("dev_t dev", 4), ("", 4), ("sector_t sector", 8), ("unsigned int nr_sector", 4),
                             ("unsigned int bytes", 4)]),
    COMPLETE: (1081, "<IIQII", [("dev_t dev", 4), ("", 4), ("sector_t sector", 8), ("unsigned int nr_sector", 4),
                                ("int error", 4)]),
    MARK: (5, None, [("unsigned long ip", 8), ("char buf[]", 0)]),
}


def mono(us):
    return START_NS + us * 1000


class Clock:
    """A tracer's own clock: 5 s ahead, and 1 % fast."""
    def __init__(self, local):
        self.local = local

    def ns(self, us):
        return 5_000_000_000 + mono(us) + us * 10 if self.local else mono(us)


def payload(kind, says):
    ident, layout, _ = FORMATS[kind]
    head = struct.pack("<HBBi", ident, 0, 0, 0)
    if kind == SWITCH:
        body = struct.pack(layout, says[0].encode(), says[1], 120, says[2], says[3].encode(), says[4], 120)
    elif kind == WAKEUP:
        body = struct.pack(layout, says[0].encode(), says[1], 120, 0)
    elif kind == IRQ_ENTER:
        body = struct.pack(layout, says[0], 16 | 7 << 16, says[1].encode())
    elif kind == IRQ_EXIT:
        body = struct.pack(layout, says[0], 1)
    elif kind == MARK:
        body = struct.pack("<Q", 0) + says[0].encode() + b"\n\0"
        body += bytes(-len(body) % 4)
    else:
        body = struct.pack(layout, says[0], 0, says[1], says[2], 0)
    return head, body


def with_tid(head, tid):
    return head[:4] + struct.pack("<i", tid)


def format_file(kind):
    ident, _, fields = FORMATS[kind]
    lines = [f"name: {NAMES[kind]}", f"ID: {ident}", "format:"]
    offset = 0
    common = [("unsigned short common_type", 2), ("unsigned char common_flags", 1),
              ("unsigned char common_preempt_count", 1), ("int common_pid", 4)]
    for name, size in common + fields:
        if name:
            lines.append(f"\tfield:{name};\toffset:{offset};\tsize:{size};\tsigned:1;")
        offset += size
    return ("\n".join(lines) + "\n\nprint fmt: \"%d\", REC->none\n").encode()


# ---- text ----

def fields(kind, says):
    if kind == SWITCH:
        state = "RSD"[says[2]]
        return (f"prev_comm={says[0]} prev_pid={says[1]} prev_prio=120 prev_state={state} ==> "
                f"next_comm={says[3]} next_pid={says[4]} next_prio=120")
    if kind == WAKEUP:
        return f"comm={says[0]} pid={says[1]} prio=120 target_cpu=000"
    if kind == IRQ_ENTER:
        return f"irq={says[0]} name={says[1]}"
    if kind == IRQ_EXIT:
        return f"irq={says[0]} ret=handled"
    if kind == MARK:
        return says[0]
    return f"8,0 R 4096 () {says[1]} + {says[2]} [app]"


def text(events, clock, lost, style):
    out = []
    if style == "text":
        out.append("# tracer: nop\n#\n# entries-in-buffer/entries-written: 12/12   #P:2\n#")
    if style == "report":
        out.append("cpus=2")
    for us, cpu, tid, kind, says in events:
        name = NAMES[kind]
        stamp = f"{clock.ns(us) // 10**9}.{clock.ns(us) // 1000 % 10**6:06}"
        if lost and us == 2600:
            out.append("CPU:0 [LOST 5 EVENTS]")
        if style == "text":
            name = "tracing_mark_write" if kind == MARK else name
            out.append(f"         name [0]-{tid:<7} [{cpu:03}] d.h2. {stamp}: {name}: {fields(kind, says)}")
        elif style == "report":
            out.append(f"      a name-{tid:<5} [{cpu:03}]  {stamp}: {name + ':':<20} {fields(kind, says)}")
        else:
            out.append(f"        a name {tid:>5} [{cpu:03}] {stamp}: {SYSTEMS[kind]:>8}:{name}: {fields(kind, says)}")
    return ("\n".join(out) + "\n").encode()


# ---- trace.dat ----

def page(events, clock, lost):
    """One page of a CPU."""
    out, last = b"", clock.ns(events[0][0])
    for us, _, tid, kind, says in events:
        head, body = payload(kind, says)
        data = with_tid(head, tid) + body
        delta = clock.ns(us) - last
        last += delta
        if delta >> 27:
            out += struct.pack("<II", 30 | (delta & 0x7ffffff) << 5, delta >> 27)
            delta = 0
        out += struct.pack("<I", len(data) // 4 | delta << 5) + data
    commit = len(out) | (1 << 31 | 1 << 30 if lost else 0)
    out = struct.pack("<QQ", clock.ns(events[0][0]), commit) + out
    if lost:
        out += struct.pack("<Q", 5)
    return out + bytes(PAGE - len(out))


def cpu_pages(events, clock, lost):
    pages = []
    for cpu in range(2):
        own = [e for e in events if e[1] == cpu]
        if lost and cpu == 0:
            pages.append(page([e for e in own if e[0] < 2600], clock, False) +
                         page([e for e in own if e[0] >= 2600], clock, True))
        else:
            pages.append(page(own, clock, False))
    return pages


def sized(data, code="<Q"):
    return struct.pack(code, len(data)) + data


def layouts():
    out = struct.pack("<I", 1) + sized(format_file(MARK))
    systems = {}
    for kind in range(MARK):
        systems.setdefault(SYSTEMS[kind], []).append(kind)
    events = struct.pack("<I", len(systems))
    for name, kinds in systems.items():
        events += name.encode() + b"\0" + struct.pack("<I", len(kinds))
        events += b"".join(sized(format_file(kind)) for kind in kinds)
    return out, events


CLOCKS = {False: b"local global counter uptime perf [mono] mono_raw boot\0", True: b"[local] global mono\0"}
MAGIC = b"\x17\x08Dtracing"


def option(ident, data):
    return struct.pack("<HI", ident, len(data)) + data


def dat6(events, clock, lost):
    ftrace, rest = layouts()
    out = MAGIC + b"6\0\0\x08" + struct.pack("<I", PAGE)
    out += b"header_page\0" + sized(b"page") + b"header_event\0" + sized(b"event") + ftrace + rest
    out += sized(b"", "<I") + sized(b"", "<I") + sized(b"90 my editor\n") + struct.pack("<I", 2)
    out += b"options  \0" + option(4, CLOCKS[clock.local]) + struct.pack("<H", 0)
    out += b"flyrecord\0"
    pages = cpu_pages(events, clock, lost)
    at = (len(out) + 32 + PAGE - 1) // PAGE * PAGE
    table, start = b"", at
    for data in pages:
        table += struct.pack("<QQ", at, len(data))
        at += len(data)
    out += table
    return out + bytes(start - len(out)) + b"".join(pages)


def section(ident, data, flags=0):
    return struct.pack("<HHIQ", ident, flags, 0, len(data)) + data


def pack(data):
    packed = subprocess.run(["zstd", "-qc"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return struct.pack("<II", len(packed), len(data)) + packed


def dat7z(events, clock, lost):
    return dat7(events, clock, lost, True)


def dat7(events, clock, lost, packed=False):
    ftrace, rest = layouts()
    out = MAGIC + b"7\0\0\x08" + struct.pack("<I", PAGE) + (b"zstd\x001.5.4\0" if packed else b"none\0\0")
    places = {}
    body = b""
    first = len(out) + 8
    for ident, data in ((17, ftrace), (18, rest)):
        places[ident] = first + len(body)
        body += section(ident, pack(data), 1) if packed else section(ident, data)
    pages = cpu_pages(events, clock, lost)
    sizes = [len(own) for own in pages]
    if packed:
        pages = [struct.pack("<I", len(own) // PAGE) + b"".join(pack(own[i:i + PAGE]) for i in range(0, len(own), PAGE))
                 for own in pages]
        sizes = [len(own) - 4 for own in pages]  # as trace-cmd counts
    buffer_at = first + len(body)
    at = (buffer_at + 16 + PAGE - 1) // PAGE * PAGE
    data = bytes(at - buffer_at - 16) + b"".join(pages)
    body += section(3, data, int(packed))
    name = b"local" if clock.local else b"mono"
    where = struct.pack("<Q", buffer_at) + b"\0" + name + b"\0" + struct.pack("<II", PAGE, 2)
    for cpu, own in enumerate(pages):
        where += struct.pack("<IQQ", cpu, at, sizes[cpu])
        at += len(own)
    options = b"".join(option(i, struct.pack("<Q", p)) for i, p in places.items()) + option(4, CLOCKS[clock.local])
    options += option(3, where) + option(0, struct.pack("<Q", 0))
    options_at = first + len(body)
    return out + struct.pack("<Q", options_at) + body + section(0, options)


# ---- perf.data ----

SAMPLE_TYPE = 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 16  # tid time id cpu period raw identifier


def perf(events, clock, lost):
    ids = {kind: 100 + kind for kind in FORMATS if kind != MARK}
    out, lists = bytes(104), {}
    for kind, ident in ids.items():
        lists[kind] = len(out)
        out += struct.pack("<Q", ident)
    attrs_at = len(out)
    for kind in ids:
        flags = 1 << 18 | (0 if clock.local else 1 << 25)
        attr = struct.pack("<IIQQQQQ", 2, 128, FORMATS[kind][0], 1, SAMPLE_TYPE, 0, flags)
        attr = attr.ljust(92, b"\0") + struct.pack("<i", 1)
        out += attr.ljust(128, b"\0") + struct.pack("<QQ", lists[kind], 8)
    attrs_size = len(out) - attrs_at
    data_at = len(out)
    for us, cpu, tid, kind, says in events:
        if kind == MARK:  # perf has none
            continue
        ident, stamp = ids[kind], clock.ns(us)
        if lost and us == 2600:
            body = struct.pack("<QQ", ident, 5) + struct.pack("<IIQQIIQ", 78, tid, stamp, ident, cpu, 0, ident)
            out += struct.pack("<IHH", 2, 0, 8 + len(body)) + body
        head, raw = payload(kind, says)
        raw = with_tid(head, tid) + raw
        raw += bytes(-(len(raw) + 4) % 8)
        pid = 77 if tid == 78 else tid
        body = struct.pack("<QIIQQIIQ", ident, pid, tid, stamp, ident, cpu, 0, 1) + sized(raw, "<I")
        out += struct.pack("<IHH", 9, 0, 8 + len(body)) + body
    data_size = len(out) - data_at
    ftrace, rest = layouts()
    tracing = MAGIC + b"0.6\0\0\x08" + struct.pack("<I", PAGE)
    tracing += b"header_page\0" + sized(b"page") + b"header_event\0" + sized(b"event") + ftrace + rest
    out += struct.pack("<QQ", len(out) + 16, len(tracing)) + tracing
    head = b"PERFILE2" + struct.pack("<QQQQQQQQQQQQ", 104, 144, attrs_at, attrs_size, data_at, data_size, 0, 0,
                                     1 << 1, 0, 0, 0)
    return head + out[104:]


def main():
    style, *how = sys.argv[1:]
    events = list(EVENTS)
    clock = Clock("local" in how)
    if clock.local:
        for us in (0, 300000):
            says = (f"tracesmith_monotonic_ns={mono(us)}",)
            events.append((us, 1, 0, MARK, says))
        events.sort(key=lambda e: e[0])
    if "disorder" in how:
        events[5], events[6] = events[6], events[5]
    makers = {"dat6": dat6, "dat7": dat7, "dat7z": dat7z, "perf": perf}
    if style in makers:
        out = makers[style](events, clock, "lost" in how)
    else:
        out = text(events, clock, "lost" in how, style)
    sys.stdout.buffer.write(out)


if __name__ == "__main__":
    main()
