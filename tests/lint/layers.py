#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every #include between folders must be allowed by the layers of ARCHITECTURE.md."""

import pathlib
import re
import sys

# folder -> folders whose headers it may include, beside its own and include/tracesmith.
ALLOWED = {
    "base": set(),
    "format": {"base"},
    "api": {"base", "format/struct_out.h", "api/api.h", "api/description.h"},
    "capture": {"base", "format", "api/api.h"},
    "interpose": {"base", "capture", "api/api.h"},
    "replay": {"base", "format", "analysis", "api/api.h"},
    "analysis": {"base", "format", "kernel/include"},
    "emu": {"base", "api/cuda/cuda_abi", "api/cuda/cuda_prototypes.h", "api/cuda/cuda_calls.inc", "api/hsa/hsa_sandbox.h",
            "api/hsa/hsa_prototypes.h", "api/hsa/hsa_calls.inc", "api/hsa/hsa_code.h",
            "api/hsa/hsa_image.h", "api/hsa/hsa_condition.h"},
    "tools": {"base", "format", "capture", "replay", "analysis", "api", "emu/emu_support.inc",
              "kernel/include", "kernel/bpf"},
    "tests": {"base", "format", "capture", "interpose", "replay", "analysis", "api", "emu", "tools",
              "kernel/include", "kernel/tests"},
    "bench": {"base", "format", "capture", "replay", "analysis", "api", "emu", "tests"},
}
# api/X/X_source*.c is the traced program's side, api/X/X_replay*.c the replayer's.
SOURCE = {"base", "format/struct_out.h", "capture", "interpose", "api"}
REPLAY = {"base", "format", "replay", "api"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def allowed_for(path: pathlib.PurePath) -> set:
    if path.parts[0] == "api":
        if re.search(r"_(source|image)", path.name):
            return SOURCE
        if "_replay" in path.name:
            return REPLAY
    return ALLOWED[path.parts[0]]


def main(root: str) -> int:
    top = pathlib.Path(root)
    bad = 0
    for file in sorted(top.rglob("*.[ch]")):
        path = file.relative_to(top)
        if path.parts[0] not in ALLOWED:
            continue
        own = "/".join(path.parts[:2]) if path.parts[0] == "api" else path.parts[0]
        for target in INCLUDE.findall(file.read_text()):
            if target.startswith("tracesmith/") or "/" not in target:
                continue  # public, or generated into the build folder
            if target.startswith(own + "/"):
                continue
            # An entry with a slash is a file, or a prefix of files; one without is a folder.
            if any(target.startswith(a if "/" in a else a + "/") for a in allowed_for(path)):
                continue
            print(f"{path}: may not include {target}")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
