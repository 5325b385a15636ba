#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes seeds of tests/fuzz/vulkan_corpus (see fuzz_vulkan.c for their form): make_vulkan.py FOLDER

Of every 8th command: numbers that are small, none, and absurd, in slots and at the places of counts."""

import os
import struct
import sys

COMMANDS = 640  # more than there are: the fuzzer takes the remainder


def field(data):
    return bytes([len(data)]) + data


def seeds():
    for command in range(0, COMMANDS, 8):
        head = struct.pack("<H", command)
        small = b"".join(field(struct.pack("<Q", i + 1)) for i in range(8))
        yield head + small
        absurd = b"".join(field(b"\xff" * 8) for _ in range(8))
        yield head + absurd
        # Structs: a count of members as a varint, then members; a list that says it has 2^35 values.
        nested = b"".join(field(bytes([6, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 2, 1, 0, 0, 3, 1, 0, 0])) for _ in range(8))
        yield head + nested
    header = struct.pack("<5I", 0x07230203, 0x10300, 0, 8, 0)
    yield b"\xff\xff" + header
    yield b"\xff\xff" + header + struct.pack("<2I", 0xFFFF0011, 1)  # an instruction that ends behind the module
    yield b"\xff\xff" + header + struct.pack("<2I", 0x00000011, 1)  # ... of no words
    entry = struct.pack("<5I", 0x0005000F, 5, 1, 0x6E69616D, 0)  # OpEntryPoint GLCompute %1 "main"
    yield b"\xff\xff" + header + entry + struct.pack("<6I", 0x00060010, 1, 17, 64, 1, 1)
    yield b"\xff\xff" + header + struct.pack("<4I", 0x0004002B, 1, 2, 0xFFFFFFFF) + struct.pack("<4I", 0x0004001C, 3, 3, 2)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for i, data in enumerate(seeds()):
        with open(os.path.join(folder, "seed-%03d" % i), "wb") as out:
            out.write(data)


main()
