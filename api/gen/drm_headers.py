# SPDX-License-Identifier: Apache-2.0
"""What the kernel's headers say of ioctls, structs and constants. The compiler reads them: it expands
the macros, and lays out the structs in its debug information (BTF). Nothing here parses C."""

import pathlib
import re
import struct
import subprocess
import tempfile
from dataclasses import dataclass, field

from description import Problems

IOCTL_MACROS = ('_IO', '_IOR', '_IOW', '_IOWR')
# Macros of headers that are no whole expressions, or are ours, are none of our constants.
NAME = re.compile(r'[A-Z][A-Za-z0-9_]*')


@dataclass
class Ioctl:
    name: str
    request: int
    type: str  # of the argument, as C: "struct drm_version"; "" for none
    argument: object = None  # its Type

    @property
    def size(self):
        return self.request >> 16 & 0x3fff

    @property
    def letter(self):
        return self.request >> 8 & 0xff

    @property
    def number(self):
        return self.request & 0xff

    @property
    def reads(self):  # the kernel reads the argument
        return bool(self.request >> 30 & 1)

    @property
    def writes(self):
        return bool(self.request >> 31 & 1)


@dataclass
class Type:
    """kind: int, pointer, array, struct, union, enum, void."""
    kind: str
    name: str = ''
    size: int = 0
    signed: bool = False
    char: bool = False
    of: object = None  # of a pointer or array
    count: int = 0
    members: list = field(default_factory=list)  # (name, Type, offset in bits, bits or 0)


class Btf:
    """The types in an object file's .BTF section."""

    def __init__(self, data):
        magic, version, _, header, at, size, text_at, text_size = struct.unpack_from('<HBBIIIII', data)
        if magic != 0xeb9f or version != 1:
            raise Problems('the compiler made no BTF')
        self.texts = data[header + text_at:header + text_at + text_size]
        self.raw = [None]
        self.types = {0: Type('void')}
        self.variables = {}
        end = header + at + size
        at += header
        while at < end:
            at = self.read(data, at)

    def text(self, at):
        return self.texts[at:self.texts.index(b'\0', at)].decode()

    def read(self, data, at):
        name, info, size = struct.unpack_from('<III', data, at)
        kind, count = info >> 24 & 0x1f, info & 0xffff
        extra = {1: 4, 3: 12, 4: 12 * count, 5: 12 * count, 6: 8 * count, 13: 8 * count, 14: 4,
                 15: 12 * count, 17: 4, 19: 12 * count}.get(kind, 0)
        self.raw.append((kind, self.text(name), info >> 31, size, data[at + 12:at + 12 + extra]))
        if kind == 14:
            self.variables[self.text(name)] = size
        return at + 12 + extra

    def type(self, index, name=''):
        """`name`: of a typedef to a struct without one."""
        if index not in self.types:
            kind, own, flag, size, extra = self.raw[index]
            if kind in (8, 9, 10, 11):  # typedef, volatile, const, restrict
                self.types[index] = self.type(size, own or name)
            else:
                self.types[index] = result = Type('void', own or name, size)
                self.fill(result, kind, flag, size, extra)
        return self.types[index]

    def fill(self, result, kind, flag, size, extra):
        if kind == 1:
            encoding, = struct.unpack('<I', extra)
            result.kind, result.signed = 'int', bool(encoding >> 24 & 1)
            result.char = result.name == 'char'
        elif kind == 2:
            result.kind, result.size, result.of = 'pointer', 8, self.type(size)
        elif kind == 3:
            of, _, count = struct.unpack('<III', extra)
            result.kind, result.of, result.count = 'array', self.type(of), count
            result.size = count * result.of.size
        elif kind in (4, 5):
            result.kind = 'struct' if kind == 4 else 'union'
            for i in range(len(extra) // 12):
                name, of, offset = struct.unpack_from('<III', extra, 12 * i)
                bits = offset >> 24 if flag else 0
                result.members.append((self.text(name), self.type(of),
                                       offset & 0xffffff if flag else offset, bits))
        elif kind in (6, 19):
            result.kind = 'int'


def section(data, name):
    """Content of a section of a 64-bit ELF file."""
    table, = struct.unpack_from('<Q', data, 40)
    size, count, names = struct.unpack_from('<HHH', data, 58)
    rows = [struct.unpack_from('<IIQQQQ', data, table + size * i) for i in range(count)]
    for row in rows:
        start = rows[names][4] + row[0]
        if data[start:data.index(b'\0', start)].decode() == name:
            return data[row[4]:row[4] + row[5]]
    return b''


class Headers:
    """`folder`: where drm.h lies. `wanted`: header files, of those that are there; `defines`: macros, if
    the headers lack them; `matches(name)`: is this macro an ioctl that counts? `structs`: names of
    further structs."""

    def __init__(self, compiler, folder, wanted, defines, matches, structs):
        self.compiler, self.folder = compiler, pathlib.Path(folder)
        self.matches, self.structs = matches, structs
        self.text = ''
        wanted = [name for name in wanted if self.is_there(name)]
        for name, text in defines.items():
            number = re.search(r'DRM_COMMAND_BASE \+ (\w+)', text)
            self.text += f'#if !defined {name}{f" && defined {number[1]}" if number else ""}\n#define {name} {text}\n#endif\n'
        with tempfile.TemporaryDirectory(prefix='ts-drm.') as place:
            self.place = pathlib.Path(place)
            (self.place / 'drm').symlink_to(self.folder.resolve())
            self.text = '#include <stdint.h>\n' + ''.join(f'#include <{name}>\n' for name in wanted if self.is_whole(name)) + self.text
            self.read()

    def is_there(self, name):
        first, _, rest = name.partition('/')
        return (self.folder / rest if first == 'drm' else pathlib.Path('/usr/include') / name).exists()

    def is_whole(self, name):
        """Some of libdrm's include others that nobody has."""
        try:
            self.run('-fsyntax-only', text=f'#include <stdint.h>\n#include <drm/drm.h>\n#include <{name}>\n')
        except Problems:
            if name == 'drm/drm.h':
                raise
            return False
        return True

    def run(self, *arguments, text):
        done = subprocess.run([self.compiler, f'-I{self.place}', '-D__user=',
                               '-D__packed=__attribute__((packed))', '-x', 'c', *arguments, '-'], input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Problems(f'{self.compiler} cannot read the headers in {self.folder}:\n{done.stderr}')
        return done.stdout

    def read(self):
        macros = re.findall(r'^#define (\w+) (.+)$', self.run('-E', '-dM', text=self.text), re.M)
        names = [name for name in sorted(dict(macros)) if NAME.fullmatch(name)]
        types = self.ioctl_types([name for name in names if self.matches(name)])
        constants = self.integer_names([name for name in names if name not in types])
        self.layout(types, constants)

    def ioctl_types(self, names):
        """{macro: type of its argument}: the expansion of all macros but the ones that make a number
        of a type."""
        text = self.text + ''.join(f'#undef {name}\n' for name in IOCTL_MACROS)
        text += ''.join(f'"@{name}@" {name}\n' for name in names)
        found = re.findall(r'^"@(\w+)@" (_IO[RW]*) ?\((.*)\)\s*$', self.run('-E', '-P', text=text), re.M)
        return {name: '' if macro == '_IO' else inside.rpartition(',')[2].strip()
                for name, macro, inside in found}

    def integer_names(self, names):
        """Those that expand to numbers and operators only."""
        text = self.text + ''.join(f'"@{name}@" {name}\n' for name in names)
        found = re.findall(r'^"@(\w+)@" ([-+~|&<>*() 0-9a-fA-FxXuUlL]+)$',
                           self.run('-E', '-P', text=text), re.M)
        return [name for name, body in found if re.search(r'\d', body)]

    def layout(self, types, constants):
        names = sorted(types)
        typed = [name for name in names if types[name]]
        text = self.text + ''.join(f'__typeof__({types[name]}) *ts_type_{name};\n' for name in typed)
        text += ''.join(f'struct {name} *ts_struct_{name};\n' for name in self.structs)
        for what, values in (('request', [f'(unsigned)({name})' for name in names]),
                             ('size', [f'sizeof({types[name]})' for name in typed]),
                             ('value', [f'(unsigned long long)({name})' for name in constants])):
            text += (f'const unsigned long long ts_all_{what}[] __attribute__((section("ts_{what}"))) = '
                     '{' + ', '.join(values) + '};\n')
        path = self.place / 'layout.o'
        self.run('-gbtf', '-c', '-o', str(path), text=text)
        data = path.read_bytes()
        numbers = {what: [n for n, in struct.iter_unpack('<Q', section(data, f'ts_{what}'))]
                   for what in ('request', 'size', 'value')}
        self.btf = Btf(section(data, '.BTF'))
        self.constants = dict(zip(constants, numbers['value']))
        self.ioctls = {name: Ioctl(name, request, types[name])
                       for name, request in zip(names, numbers['request'])}
        for name, size in zip(typed, numbers['size']):
            self.check(self.ioctls[name], size)
        found = {name: self.btf.type(self.btf.variables[f'ts_struct_{name}']).of for name in self.structs}
        self.structs = {name: type for name, type in found.items() if type.kind == 'struct'}

    def check(self, ioctl, size):
        """Debug information, sizeof and the number itself must agree."""
        ioctl.argument = self.btf.type(self.btf.variables[f'ts_type_{ioctl.name}']).of
        if not ioctl.argument.size == size == ioctl.size:
            raise Problems(f'{ioctl.name}: {ioctl.type} has {ioctl.argument.size} bytes in BTF, {size} in C, '
                           f'{ioctl.size} in its number')
        if not ioctl.argument.name:
            ioctl.argument.name = ioctl.type
