#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One word for one thing (docs/GLOSSARY.md), and comments that begin with a verb or a noun.

usage: glossary.py SOURCE_ROOT [--write [--force]]

Counts C identifiers that use a word the glossary replaced, and comments with a banned opener, by folder.
glossary_allowed.txt holds the number that each folder may have: a higher one fails here, and one in a folder that
is not listed. --write lowers the numbers to today's counts; --force also raises them.
"""

import collections
import pathlib
import re
import subprocess
import sys

ALLOWED = pathlib.Path(__file__).with_name("glossary_allowed.txt")
# Identifiers with these beginnings, alone or followed by "_": the beginning to use instead.
PREFIXES = {
    "tsm_keep": "tsm_trim_slice", "TSM_KEEP": "TSM_TRIM_KEEP", "tsm_connected": "tsm_reachability",
    "tsm_nest": "tsm_call_nesting", "tsm_page": "tsm_help_page", "tsm_line": "tsm_text_line", "tsm_still": "tsm_aslr",
    "tsm_bpf_tell": "tsm_bpf_metadata", "tsm_call_beside_other": "tsm_call_other_api_in_use",
    "TSM_LOOK": "TSM_INSPECT", "emu_cell": "emu_shared_event", "emu_finding": "emu_report",
    "emu_freed": "emu_quarantine", "emu_place": "emu_va_allocator", "ptx_mod": "ptx_modifier",
    "ptx_team": "ptx_parallel_launch", "ptx_race": "ptx_shared_race", "vk_slot_take": "vk_timestamp_pool_take",
    "VK_SLOT": "VK_TIMESTAMP_SLOT", "vk_order": "vk_completion", "hsa_hidden": "hsa_hidden_args",
    "vkr_stale": "vkr_liveness", "vkr_touch": "vkr_image_access", "vkr_touched": "vkr_image_access_table",
    "vkr_touches": "vkr_image_accesses", "vkr_track": "vkr_state_tracker", "vkr_effect": "vkr_state_delta",
    "vkr_hold": "vkr_loop_snapshot_take", "vkr_held": "vkr_loop_snapshot", "vkr_back": "vkr_loop_snapshot_restore",
    "vkr_need": "vkr_requirements, vkr_required", "vkr_needs": "vkr_requirements",
    "vkr_opaque": "vkr_capture_replay_address", "vkr_place": "vkr_fixed_address", "vkr_places": "vkr_fixed_addresses",
    "vkr_reached": "vkr_completed", "cuda_reached": "cuda_completed", "vkr_look": "vkr_inspect",
    "vkr_show": "vkr_present_window", "vkr_cut": "vkr_partial_submit", "vkr_bound": "vkr_bound_state",
    "tsm_need": "tsm_dependency_slice", "tsm_look": "tsm_inspect", "backend_hollow": "backend_submit_sync_only", "backend_early": "backend_fast_forward",
    "backend_let_go": "backend_unblock_waiters", "backend_looked": "backend_inspection_files",
}
# The new word begins with the old one.
LONGER = ("hsa_hidden_args", "vkr_bound_state", "tsm_page_run", "tsm_page_hash")
SUFFIXES = {"_made": "_created", "_gone": "_destroyed", "_told": "_queried"}
PROJECT = ("tsm_", "cuda_", "vk_", "vkr_", "hsa_", "drm_", "emu_", "ptx_", "fds_")
HSA_TEST_PROGRAM = "hsa_hidden_test"
OPENER = re.compile(r"(?:Of|What|Where|Those|As) |True: |False: ")
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|/\*(.*?)\*/|//([^\n]*)', re.S)
TOKEN = re.compile(r"[A-Za-z_]\w*")


def tracked(top: pathlib.Path) -> list:
    git = subprocess.run(["git", "-C", str(top), "ls-files", "-z"], capture_output=True, text=True)
    if git.returncode == 0 and git.stdout:
        return [top / name for name in git.stdout.split("\0") if name.endswith((".c", ".h"))]
    return [p for p in sorted(top.rglob("*.[ch]")) if not p.relative_to(top).parts[0].startswith(("build", "."))]


def better(word: str) -> str:
    """Returns the word to use instead of an identifier, "" where it may stay."""
    if word.startswith(LONGER) or word == HSA_TEST_PROGRAM:
        return ""
    parts = word.split("_")
    for count in range(len(parts), 0, -1):
        start = "_".join(parts[:count])
        if start in PREFIXES:
            return PREFIXES[start] + word[len(start):]
    for old, new in SUFFIXES.items():
        if word.endswith(old) and word.startswith(PROJECT):
            return word[:-len(old)] + new
    return ""


def first_words(comment: str) -> str:
    """Returns the beginning of a comment, after the licence line of a file's head."""
    text = re.sub(r"^[ \t*]+", "", comment.strip("* \n\t"), flags=re.M)
    text = re.sub(r"^SPDX-License-Identifier:[^\n]*\n?", "", text).lstrip()
    return text.split("\n")[0]


def findings(text: str) -> list:
    """Returns (kind, line, message) of each banned word and opener."""
    found = []
    for part in COMMENT.finditer(text):
        comment = part.group(1) or part.group(2)
        if comment and OPENER.match(first_words(comment)):
            found.append(("opener", text.count("\n", 0, part.start()) + 1,
                          f'"{first_words(comment)[:40]}": begin with a verb or a noun'))
    code = COMMENT.sub(lambda part: "\n" * part.group().count("\n"), text)
    for word in TOKEN.finditer(code):
        new = better(word.group())
        if new:
            found.append(("word", code.count("\n", 0, word.start()) + 1, f"{word.group()}: use {new}"))
    return found


def read_allowed() -> dict:
    allowed = {}
    if ALLOWED.is_file():
        for line in ALLOWED.read_text().splitlines():
            if line and not line.startswith("#"):
                kind, folder, count = line.split()
                allowed[kind, folder] = int(count)
    return allowed


def main(arguments: list) -> int:
    top = pathlib.Path(arguments[0])
    places = collections.defaultdict(list)
    for file in tracked(top):
        if not file.is_file():
            continue
        name = file.relative_to(top)
        folder = "/".join(name.parts[:-1][:2]) or "."
        for kind, line, message in findings(file.read_text(errors="replace")):
            places[kind, folder].append(f"{name}:{line}: {message}")
    allowed = read_allowed()
    if "--write" in arguments:
        counts = {key: len(found) for key, found in places.items()}
        if "--force" not in arguments:
            counts = {key: min(count, allowed.get(key, 0)) for key, count in counts.items()}
        lines = [f"{kind} {folder} {count}" for (kind, folder), count in sorted(counts.items()) if count]
        ALLOWED.write_text("# Offenders of glossary.py by folder: a number may only go down. Lower them with --write.\n"
                           + "".join(line + "\n" for line in lines))
        return 0
    bad = False
    for key, found in sorted(places.items()):
        limit = allowed.get(key, 0)
        if len(found) > limit:
            bad = True
            print(f"{key[1]}: {len(found)} {key[0]}s that docs/GLOSSARY.md bans, {limit} are allowed:")
            print("\n".join(f"  {line}" for line in found))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
