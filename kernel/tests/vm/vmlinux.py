#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""vmlinux.py BZIMAGE VMLINUX: the ELF file inside, which an emulator starts in a third of the time."""
import lzma
import struct
import subprocess
import sys
import zlib


def main(source, target):
    with open(source, "rb") as file:
        image = file.read()
    setup = ((image[0x1F1] or 4) + 1) * 512  # Documentation/x86/boot: setup_sects
    offset, length = struct.unpack_from("<II", image, 0x248)  # payload_offset, payload_length
    packed = image[setup + offset:setup + offset + length]
    if packed[:6] == b"\xfd7zXZ\0":
        elf = lzma.LZMADecompressor().decompress(packed)
    elif packed[:4] == b"\x28\xb5\x2f\xfd":  # the last 4 bytes are the size
        elf = subprocess.run(["zstd", "-dcq"], input=packed[:-4], stdout=subprocess.PIPE).stdout
    elif packed[:2] == b"\x1f\x8b":
        elf = zlib.decompressobj(31).decompress(packed)
    else:
        sys.exit("%s: packed in an unknown way: %s" % (source, packed[:6].hex()))
    if elf[:4] != b"\x7fELF":
        sys.exit("%s: does not hold an ELF file" % source)
    with open(target, "wb") as file:
        file.write(elf)


if __name__ == "__main__":
    main(*sys.argv[1:])
