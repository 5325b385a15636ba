# SPDX-License-Identifier: Apache-2.0
"""The files that the programs of the tables read."""

import math
import struct

TEXTS = {
    "input": "one two\nthree\tfour\n\nThe quick brown fox jumps over the lazy dog.\n",
    "words": "apple\nbanana\ncherry\ndate\nelder berry\nfig\ngrape\nhop\n",
    "numbers": "1024\n77\n5000000\n",
    "data.json": '{"list": [1, 2, 3], "a": {"b": null}}\n',
    "data.csv": "name,n\nx,3\ny,12\nz,7\n",
    "data.xml": '<?xml version="1.0"?>\n<r><a b="1">text</a><a/></r>\n',
    "page.html": "<!DOCTYPE html><html><head><title>t</title></head><body><h1>Head</h1><p>Some <b>bold</b> text.</p>"
                 "<script>document.body.append(6 * 7)</script></body></html>\n",
    "prog.c": '#include <stdio.h>\n\nint main(void)\n{\n    int sum = 0;\n    for (int i = 0; i < 10; i++)\n'
              '        sum += i;\n    printf("sum %d\\n", sum);\n    return 0;\n}\n',
}


def tone():
    """A tenth of a second, 16 bits."""
    samples = b"".join(struct.pack("<h", int(9000 * math.sin(i / 8))) for i in range(4410))
    return (b"RIFF" + struct.pack("<I", 36 + len(samples)) + b"WAVEfmt " +
            struct.pack("<IHHIIHH", 16, 1, 1, 44100, 88200, 2, 16) + b"data" + struct.pack("<I", len(samples)) + samples)


def picture():
    return b"P6\n64 48\n255\n" + bytes((x * 4 ^ y * i) & 255 for y in range(48) for x in range(64) for i in (1, 2, 5))


def make(folder):
    folder.mkdir()
    (folder / "home").mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    (folder / "tone.wav").write_bytes(tone())
    (folder / "pic.ppm").write_bytes(picture())
