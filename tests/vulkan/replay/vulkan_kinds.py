#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that write memory in every kind of way and learn in every way that it is done (vk_kinds.c).

usage: vulkan_kinds.py [KIND [WAY [MEMORY]]]

Recording changes no output. A replay on the same device is "same"; on a device that ends late and leaves something
else it never is. Late alone is no difference. Of all programs some are taken, so that each two of kind, way and
memory meet; TS_TEST_ALL: all of them, each with several settings.
"""

import concurrent.futures
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile

BIN = pathlib.Path(os.environ["TEST_BIN"])
CAPTURE = os.environ["TEST_CAPTURE"]
PROGRAM = pathlib.Path(os.environ["TEST_BUILD"]) / "vk_kinds"
DRIVER = pathlib.Path(os.environ["TEST_VULKAN"]) / "vk_driver.json"
LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
ALL = bool(os.environ.get("TS_TEST_ALL"))

KINDS = ["storage", "dynamic", "template", "push", "push-template", "copied", "texel", "reads", "image", "inline",
         "after", "address"]
WAYS = ["fence", "status", "queue", "device", "timeline", "counter", "event", "query", "none"]
MEMORIES = ["mapped", "again", "unread", "kept", "imported", "exportable", "dedicated"]
# "driver": what the device is like: with memory that the host cannot map.
LOCAL = "discrete,local"
SETTINGS = [{}, {"TS_CHECKSUM": "sync"}, {"TS_CHECKSUM": "submit"}, {"TS_VK_MEMORY": "shadow"},
            {"TS_VK_MEMORY": "pages"}, {"driver": LOCAL, "TS_CHECKSUM": "submit"}]
SAME, DIFFERENT, CANNOT_TELL, NOTHING = range(4)


def run(folder, words, settings):
    environment = {**os.environ, "VK_ICD_FILENAMES": str(DRIVER), **settings}
    return subprocess.run([str(word) for word in words], cwd=folder, env=environment, timeout=120, check=False,
                          capture_output=True, text=True)


def in_place(memory, settings):
    """The program and the device write the same memory: no difference is theirs for sure."""
    return memory == "imported" or settings.get("TS_VK_MEMORY") == "pages"


def may_have_nothing(way, memory, settings):
    """No results that are known to be the device's, or nobody waited for them."""
    is_hashed = memory != "exportable" or "TS_CHECKSUM" in settings
    return way == "none" or in_place(memory, settings) or not is_hashed or \
        (memory == "kept" and way in ("event", "query"))


def one(top, point):
    (kind, way, memory), settings = point
    settings = dict(settings)
    like = settings.pop("driver", "")
    if like and memory == "imported":
        return None, "left out"  # the driver imports memory of the other type only
    with tempfile.TemporaryDirectory(dir=top) as name:
        folder = pathlib.Path(name)
        words = [PROGRAM, kind, way, memory]
        what = f"{kind} {way} {memory} {settings} {like}"
        plain = run(folder, words, {"TS_TEST_DRIVER": like})
        recorded = run(folder, words, {"LD_PRELOAD": CAPTURE, "TS_OUTPUT": "t.sbt", "TS_TEST_DRIVER": f"{like},late",
                                       **settings})
        if (plain.returncode, plain.stdout) != (recorded.returncode, recorded.stdout) or recorded.returncode:
            return f"{what}: recording changed: {plain} {recorded}", None
        verdicts = []
        for driver in ("", "late", "wrong", "late,wrong"):
            replayed = run(folder, [BIN / "tsreplay", "--timeout", "60", "t.sbt"],
                           {"TS_TEST_DRIVER": f"{like},{driver}"})
            verdict, said = replayed.returncode, replayed.stdout + replayed.stderr
            verdicts.append(verdict)
            good = {DIFFERENT, CANNOT_TELL, NOTHING} if "wrong" in driver else {SAME}
            if may_have_nothing(way, memory, settings):
                good.add(NOTHING)
            if kind == "address" and (memory == "imported" or like):
                good.add(CANNOT_TELL)  # where its address cannot be had
            if verdict not in good:
                return f"{what} on '{driver}': exit status {verdict}: {said}", None
        if SAME in verdicts[:2] and DIFFERENT not in verdicts[2:] and not in_place(memory, settings):
            return f"{what}: a wrong device is not noticed: {verdicts}", None
        return None, verdicts[0]


def points():
    wanted = sys.argv[1:] + [None] * 3
    for k, w, m in itertools.product(range(len(KINDS)), range(len(WAYS)), range(len(MEMORIES))):
        names = KINDS[k], WAYS[w], MEMORIES[m]
        if any(name not in (None, names[i]) for i, name in enumerate(wanted[:3])):
            continue
        if ALL or len(sys.argv) > 1:
            for settings in SETTINGS:
                yield names, settings
        elif (k + w) % len(MEMORIES) == m and (k + 2 * w) % 10 == 0:
            yield names, SETTINGS[(k + 2 * w) % len(SETTINGS)]


def main():
    if not pathlib.Path(LAVAPIPE).exists():
        return 77
    outcomes, wrong = {}, 0
    with tempfile.TemporaryDirectory(prefix="ts-kinds.") as top, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for message, outcome in pool.map(lambda point: one(top, point), points()):
            if message:
                wrong += 1
                print(message, flush=True)
            else:
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
    print(f"{sum(outcomes.values())} programs: {outcomes}; {wrong} wrong")
    return 1 if wrong or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
