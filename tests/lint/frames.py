#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What libts_capture.so puts on the program's stack: no function's frame is over 2 KiB, but for those that run on
stacks of ours (base/own_stack.h), on our threads, or where the program itself needs far more.

usage: frames.py LIBRARY
"""

import re
import subprocess
import sys

FRAME_MAX = 2048
# The drain thread's, and what compresses there; functions on stacks of ours.
OURS = re.compile(
    r"process_metadata|open_trace|choose_names|keep_types|open_folder|open_both|make_absolute|types_path|new_path"
    r"|tsm_output_|tsm_drain_|begin_trace|thread_main|declare|write_end|finish|prepare_thread"
    r"|ZSTD|HUF|FSE|HIST_|LZ4|sbt_|run$"
    # format/, which only the drain thread calls
    r"|add_positions|check_alone|check_twin|compare_twins|position_differences|put_dict|put_value|read_header|read_one"
    r"|read_part|walk_through"
    r"|hash_piece|hash_on_own_stack|hash_box|alone_in|look|tsm_pagemap_is_there"
    r"|announce|record_symbol"
)
# Opening a library, exec, creating a device: the system's own part of it needs as much.
LARGE_ANYWAY = re.compile(
    r"exec|check_linker|remember_directory|open_as_linker|try_directory|try_cache|tsm_real_library_loaded|is_real"
    r"|tsm_shim_open|hook_vkCreateDevice|vk_describe_device|^append|^begin$|dlopen|real_|hook_linker|allocate_at"
    r"|hook_environment|setenv|search|tsm_own_file"
)


def main(library: str) -> int:
    text = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", library], check=True, capture_output=True, text=True
    ).stdout
    name, bad = "", {}
    for line in text.split("\n"):
        start = re.match(r"[0-9a-f]+ <([^>]+)>:", line)
        if start:
            name = start.group(1)
        frame = re.search(r"\bsub\s+\$0x([0-9a-f]+),%rsp", line)
        if frame and FRAME_MAX < int(frame.group(1), 16) < 1 << 30:
            bare = re.sub(r"\.(isra|constprop|part|cold)\b.*", "", name)
            if not OURS.search(bare) and not LARGE_ANYWAY.search(bare):
                bad[name] = int(frame.group(1), 16)
    for name, size in sorted(bad.items()):
        print(f"{name}: {size} bytes on the program's stack; see base/own_stack.h")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
