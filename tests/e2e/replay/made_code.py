# SPDX-License-Identifier: Apache-2.0
"""Code objects for NVIDIA's GPUs, as far as TraceSmith reads them: api/cuda/image.h, api/cuda/view/elf_facts.c."""

import struct


def fatbin(*members):
    """A fat binary of (architecture, code): text is PTX, bytes are machine code."""
    body = b''
    for architecture, code in members:
        kind = 1 if isinstance(code, str) else 2
        code = code.encode() + b'\0' if kind == 1 else code
        code += bytes(-len(code) % 8)
        body += struct.pack('<HHIQIIIIQQQQ', kind, 0x101, 64, len(code), 0, 0, 0, architecture, 0, 0, 0, 0) + code
    return struct.pack('<IHHQ', 0xba55ed50, 1, 16, len(body)) + body


def attribute(number, *words):
    return struct.pack('<BBH', 4, number, 4 * len(words)) + struct.pack(f'<{len(words)}I', *words)


def cubin(architecture, kernels, reserved=0):
    """A cubin; with `reserved` shared memory of the system in each kernel's section. A kernel is a dictionary: name, params [(offset, size)], registers, shared, local, constant, max_threads, block."""
    sections = [('', 0, b'', 0, 0)]
    symbols, names = bytes(24), b'\0'
    frames = b''
    for index, k in enumerate(kernels, 1):
        symbols += struct.pack('<IBBHQQ', len(names), 0x12, 0, 0, 0, 0)
        names += k['name'].encode() + b'\0'
        frames += attribute(0x11, index, k['local']) + attribute(0x2f, index, k['registers'])
        info = b''.join(attribute(0x17, 0, offset << 16 | i, size << 18) for i, (offset, size) in enumerate(k['params']))
        info += attribute(5, k['max_threads'], 1, 1) if k.get('max_threads') else b''
        info += attribute(16, *k['block']) if k.get('block') else b''
        sections += [(f'.nv.info.{k["name"]}', 0x70000000, info, 2, 0), (f'.text.{k["name"]}', 1, bytes(16), 2, 0),
                     (f'.nv.shared.{k["name"]}', 8, k['shared'] + reserved, 0, 0), (f'.nv.constant0.{k["name"]}', 1, bytes(k['constant']), 0, 0)]
    sections += [('.nv.shared.reserved.0', 8, 0, 0, 0)] if reserved else []
    sections[1:1] = [('.strtab', 3, names, 0, 0), ('.symtab', 2, symbols, 1, 0), ('.nv.info', 0x70000000, frames, 2, 0)]
    labels, data, headers = b'', bytes(64), b''
    for name, kind, content, link, info in sections + [('.shstrtab', 3, None, 0, 0)]:
        label = len(labels)
        labels += name.encode() + b'\0'
        content = labels if content is None else content
        size = content if isinstance(content, int) else len(content)
        headers += struct.pack('<IIQQQQIIQQ', label, kind, 0, 0, len(data), size, link, info, 8, 0)
        data += b'' if isinstance(content, int) else content + bytes(-len(content) % 8)
    count = len(sections) + 1
    head = b'\x7fELF\x02\x01\x01\x33\x07' + bytes(7) + struct.pack('<HHIQQQIHHHHHH', 2, 190, 1, 0, 0, len(data), architecture, 64, 0, 0, 64,
                                                                count, count - 1)
    return head + data[64:] + headers
