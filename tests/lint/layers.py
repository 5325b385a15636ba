#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every #include between folders must be allowed by the layers of ARCHITECTURE.md.

usage: layers.py ROOT"""

import pathlib
import re
import sys

# folder -> folders whose headers it may include, beside its own and include/tracesmith. An entry with a slash is a file,
# or a prefix of files.
ALLOWED = {
    "base": set(),
    "format": {"base"},
    "api": {"base", "format/values/struct_out.h", "api/api.h", "api/description.h", "api/traits.h", "api/trait_table.inc",
            "api/values.h", "api/waits", "api/barriers"},
    "capture": {"base", "format", "api/api.h"},
    "interpose": {"base", "capture", "api/api.h"},
    "replay": {"base", "format", "analysis", "api/api.h", "api/traits.h"},
    "analysis": {"base", "format", "kernel/include", "api/barriers.h", "api/traits.h", "api/values.h", "api/waits.h"},
    "export": {"base", "format", "analysis"},
    "library": {"base", "format", "analysis", "tools/text"},
    "emu": {"base", "api/cuda/abi", "api/cuda/cuda_prototypes.h", "api/cuda/cuda_calls.inc", "api/hsa/sandbox.h",
            "api/hsa/hsa_prototypes.h", "api/hsa/hsa_calls.inc", "api/hsa/code.h", "api/hsa/image.h",
            "api/hsa/condition.h"},
    "tools": {"base", "format", "capture", "replay", "analysis", "export", "api", "emu/emu_support.inc",
              "kernel/include", "kernel/bpf"},
    "tests": {"base", "format", "capture", "interpose", "replay", "analysis", "export", "api", "emu", "tools",
              "kernel/include", "kernel/tests"},
    "bench": {"base", "format", "capture", "replay", "analysis", "api", "emu", "tests"},
}
# The same for rooms of api/X/: source/ is the traced program's side, replay/ the replayer's, view/ what tools show.
ROOMS = {
    "tables": ALLOWED["api"],
    "source": {"base", "format/values/struct_out.h", "capture", "interpose", "api"},
    "replay": {"base", "format", "replay", "api/api.h", "api/description.h"},
    "view": {"base", "format", "analysis", "api/api.h", "api/description.h", "api/traits.h", "tools/text", "tools/terminal.h",
             "tools/doctor/doctor.h", "tools/edit/trace_extend.h", "tools/recorded.h"},
}
# Rooms of the APIs that each side sees. What lies beside the rooms is for all of its API, and so is tables/.
SEEN_BY_ROOM = {"": set(), "tables": set(), "source": {"source"}, "replay": {"replay"}, "view": {"view"}}
SEEN_BY_FOLDER = {"tools": {"replay", "view"}, "tests": {"source", "replay", "view"}, "bench": {"source", "replay"}}
# What all rooms of the PTX engine see: its data.
ENGINE = {"emu/ptx/insn.h", "emu/ptx/modifier.h", "emu/ptx/ptx.h", "emu/ptx/real.h", "emu/ptx/tensor_map.h",
          "emu/ptx/parse/module.h"}
# Rooms that include only what is said here, and what lies beside them.
CLOSED = {
    "emu/ptx": {"emu/ptx"},  # the engine knows no driver; its rooms from the bottom up: emu/README.md
    "emu/ptx/exec": ENGINE | {"emu/ptx/exec"},
    "emu/ptx/handlers": ENGINE | {"emu/ptx/exec", "emu/ptx/handlers"},
    "emu/ptx/check": ENGINE | {"emu/ptx/exec", "emu/ptx/handlers", "emu/ptx/check"},
    "emu/ptx/texture": ENGINE | {"emu/ptx/exec", "emu/ptx/handlers", "emu/ptx/texture"},
    "emu/ptx/parse": ENGINE | {"emu/ptx/exec", "emu/ptx/handlers", "emu/ptx/parse"},
    "emu/hsa": {"emu/hsa", "emu/ptx/real.h"},
    "emu/cuda": {"emu/cuda", "emu/ptx"},
    "emu/cudart": {"emu/cudart"},
    "emu/cuda/core": {"emu/cuda/core", "emu/cuda/memory/page.h", "emu/cuda/memory/va_allocator.h", "emu/ptx/ptx.h"},
    "analysis/cpu": {"analysis/cpu", "analysis/ring/jobs.h"},
    "analysis/ring": {"analysis/ring"},
    "tools/text": {"tools/text"},
    "format/chunk": {"format/chunk"},
    "format/events": {"format/events", "format/chunk"},
    "format/values": {"format/values", "format/chunk", "format/read"},
    "format/read": {"format/read", "format/chunk", "format/events", "format/values"},
    "format/write": {"format/write", "format/chunk", "format/events", "format/values", "format/read"},
    "tools/kernel": {"tools/kernel", "tools/text", "tools/edit/trace_extend.h"},
}
PRIVATE = {"tools/cmd"}  # included by tests alone

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def room(path: str) -> str:
    """source, replay, view or tables; empty for what lies beside them."""
    parts = path.split("/")
    return parts[2] if parts[0] == "api" and len(parts) > 3 and parts[2] in ROOMS else ""


def within(target: str, entries: set) -> bool:
    return any(target.startswith(entry if "/" in entry else entry + "/") for entry in entries)


def rooms_allow(path: str, target: str) -> bool:
    folder = path.split("/")[0]
    if target.startswith("api/") and room(target) not in ("", "tables"):
        seen = SEEN_BY_ROOM[room(path)] if folder == "api" else SEEN_BY_FOLDER.get(folder, set())
        if room(target) not in seen:
            return False
    for inner, others in CLOSED.items():
        beside = "/".join(target.split("/")[:-1]) == folder
        if path.startswith(inner + "/") and target.startswith(folder + "/") and not beside:
            if not within(target, {other if "." in other else other + "/" for other in others}):
                return False
    return folder == "tests" or not any(target.startswith(inner + "/") and not path.startswith(inner + "/") for inner in PRIVATE)


def layers_allow(path: str, target: str) -> bool:
    parts = path.split("/")
    own = "/".join(parts[:2]) if parts[0] == "api" else parts[0]
    if target.startswith(own + "/"):
        return True
    return within(target, ROOMS[room(path)] if room(path) else ALLOWED[parts[0]])


def allowed(path: str, target: str) -> bool:
    if target.startswith("tracesmith/") or "/" not in target:
        return True  # public, or generated into the build folder
    return layers_allow(path, target) and rooms_allow(path, target)


def main(root: str) -> int:
    top = pathlib.Path(root)
    bad = 0
    for file in sorted(top.rglob("*.[ch]")):
        path = str(file.relative_to(top))
        if path.split("/")[0] not in ALLOWED:
            continue
        for target in INCLUDE.findall(file.read_text()):
            if not allowed(path, target):
                print(f"{path}: may not include {target}")
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
