#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MD5 of the pictures that a replay brings back: frame_md5.py TRACE

Each submit that copies images into buffers is replayed up to, its buffers are written out
(tsreplay --dump-resources), and what the copies put there is read, row by row, plane after plane: the
bytes that ffmpeg's hwdownload gets. A line for each such submit, and one for all their bytes together,
as ffmpeg's framemd5 and md5 have them.
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile


def submits_that_copy(trace):
    """Numbers of submits that come right after copies into buffers were recorded."""
    lines = subprocess.run(["tsview", "--json", trace], check=True, capture_output=True).stdout
    copied = False
    for line in lines.decode().splitlines()[1:]:
        record = json.loads(line)
        copied = copied or record["call"] == "vkCmdCopyImageToBuffer"
        if record["call"] == "vkQueueSubmit":
            if copied:
                yield record["seq"]
            copied = False


def plane(folder, resources, copy):
    """Formats of one byte a texel, a layer of a level."""
    buffer = next(b for b in resources["buffers"] if b["id"] == copy["dstBuffer"])
    with open(os.path.join(folder, buffer["file"]), "rb") as file:
        data = file.read()
    for region in copy["pRegions"]["items"]:
        extent, row = region["imageExtent"], region["bufferRowLength"] or region["imageExtent"]["width"]
        for y in range(extent["height"]):
            at = region["bufferOffset"] + y * row
            yield data[at:at + extent["width"]]


def picture(trace, seq):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tsreplay", f"--dump-resources={seq}:{folder}/dump", trace], check=True,
                       capture_output=True)
        with open(f"{folder}/dump/resources.json", encoding="utf-8") as file:
            resources = json.load(file)
        copies = [command["record"]["args"] for buffer in resources["command_buffers"]
                  for command in buffer["commands"]
                  if command["record"]["call"] == "vkCmdCopyImageToBuffer"]
        return b"".join(row for copy in copies for row in plane(f"{folder}/dump", resources, copy))


def main():
    pictures = [picture(sys.argv[1], seq) for seq in submits_that_copy(sys.argv[1])]
    for data in pictures:
        print(hashlib.md5(data).hexdigest())
    print("MD5=" + hashlib.md5(b"".join(pictures)).hexdigest())


if __name__ == "__main__":
    main()
