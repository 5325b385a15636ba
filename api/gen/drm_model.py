# SPDX-License-Identifier: Apache-2.0
"""Headers and description put together: structs with their members, ioctls, numbers of files."""

import fnmatch
import functools
import re
from dataclasses import dataclass, field

from description import Problems
from drm_description import Description
from drm_headers import Headers

IOCTL_FIRST = 64  # below: records of ours, api/drm/tables.h
SCALARS = {'u8': (1, 'UINT'), 'u16': (2, 'UINT'), 'u32': (4, 'UINT'), 'u64': (8, 'UINT'),
           'hex32': (4, 'HEX'), 'hex64': (8, 'HEX'), 'i32': (4, 'INT')}
KINDS = {'hex': 'HEX', 'uint': 'UINT', 'int': 'INT', 'bool': 'BOOL', 'size': 'SIZE',
         'devptr': 'DEVPTR', 'hostptr': 'HOSTPTR', 'user': 'HOSTPTR', 'flags': 'FLAGS', 'enum': 'ENUM',
         'handle': 'HANDLE', 'fd': 'FD'}

WAYS = (('in', 'out'), ('req', 'rep'))  # members of an argument that is one struct before the call, another after it


@dataclass
class Member:
    name: str
    kind: str  # DRM_KIND_*
    offset: int = 0
    size: int = 0  # of one value that is no struct
    form: str = 'ONE'  # ONE, ARRAY, LIST, POINTERS, TAIL, CHAIN
    type: object = None  # Struct, or the name of an object type or table
    count: str = 'NONE'  # NONE, FIXED, MEMBER, SUM
    number: int = 0  # FIXED: how many; MEMBER, SUM: the member's place
    scale: int = 1  # the count is to be multiplied with it ...
    per: int = 1  # ... and divided by that
    less: int = 0  # ... after this was taken off
    factor: int = -1  # place of a member that the count is multiplied with, too
    around: object = None  # Struct around this one, whose member the count is; None: its own struct
    flags: set = field(default_factory=set)  # IN, OUT, NEW, GONE, ONCE, USER, UNSIGNED


@dataclass
class Struct:
    name: str
    size: int
    union: bool = False
    borrowed: bool = False  # its members' counts are members of the struct that it is in
    members: list = field(default_factory=list)
    selector: tuple = None  # (place of the member in the struct around it, mask)
    choices: list = field(default_factory=list)  # (value, place)
    next: int = -1  # of a chain: place of the header's member with the next one's address
    otherwise: int = 0  # place, where no choice fits; -1: none
    place: int = 0
    id: int = 0


@dataclass
class Ioctl:
    name: str
    request: int
    family: int
    kind: str
    safe: bool
    display: bool
    unfollowed: bool
    returns: str = ''  # the node that its result is a descriptor of
    text: bool = False  # `into` is no struct at the argument, but the argument itself: the address of a text
    into: Struct = None  # what the kernel reads
    out: Struct = None  # what it writes
    early: bool = False
    stream: list = field(default_factory=list)  # (offset, size, mask)
    hook: str = ''
    map: tuple = ()  # (offset, size, is out) of the handle and of the offset
    gone: tuple = (0, 0)  # (offset, size) of the handle of an object that it frees
    maps: tuple = ()  # (offset, size) of the handle, of the address and of the size
    tells: tuple = (0, 0)  # (offset, size) of the member that says whether the device is done
    done: str = ''  # its value then; '': a list of points
    id: int = 0


class Model:
    def __init__(self, description, headers, ids):
        self.description, self.headers, self.problems = description, headers, []
        self.structs, self.by_name, self.tables, self.objects = [], {}, {}, []
        self.around = []  # (name of the struct, then as counted() takes it)
        self.ioctls = [self.ioctl(h) for h in sorted(headers.ioctls.values(), key=lambda i: i.name)]
        for name, member, *count in self.around:
            member.around = self.by_name[name]
            self.counted(member.around, member, *count)
        self.ioctls.sort(key=lambda i: (i.family, i.request & 0xff, i.request, i.name))
        for patterns, name, rule in description.structs:
            if not rule.used and any(p in self.by_name for p in patterns):
                self.wrong(rule.place, f'{" ".join(patterns)} has no member {name}')
        self.number(ids)
        if self.problems:
            raise Problems('\n'.join(self.problems))

    def wrong(self, place, text):
        self.problems.append(f'{place}: {text}')

    # ---- ioctls --------------------------------------------------------------------------------

    def ioctl(self, header):
        rule = self.description.ioctl_rule(header.name)
        result = Ioctl(header.name, header.request, self.description.family_of(header.name),
                       'SBT_KIND_' + {'submit': 'COMMAND', 'wait': 'SYNC'}.get(rule.kind, rule.kind.upper()),
                       rule.safe, rule.display, rule.unfollowed, rule.returns)
        if rule.text:
            result.text = result.early = True
            result.into = self.text(rule)
            return result
        if not header.argument:
            return result
        parts = {name: type for name, type, _, _ in header.argument.members}
        ways = next((way for way in WAYS if set(parts) == set(way)), None)
        if header.argument.kind == 'union' and ways:
            result.into, result.out = (self.argument(parts[name], f'{header.argument.name}.{name}') for name in ways)
        else:
            result.into = result.out = self.argument(header.argument)
        result.into = result.into if header.reads else None
        result.out = result.out if header.writes else None
        result.early = bool(result.into and self.has_inout(result.into))
        self.keys(header.name, rule, result)
        return result

    def argument(self, type, name=''):
        return self.struct(type, name) if type.kind in ('struct', 'union') else self.scalar(type)

    def keys(self, name, rule, result):
        for path, mask in rule.stream or ():
            if path.startswith('@'):
                result.hook = path[1:]
            elif path.isdigit():
                result.stream.append((0, 0, path))
            elif not path.endswith('?') or self.has(result.into, path[:-1]):
                path = path.removesuffix('?')
                offset, size = self.find(name, result.into, path)
                result.stream.append((offset, size, self.headers.constants.get(mask, mask) or '0xffffffffffffffff'))
        if rule.map:
            out = result.out or result.into
            is_out = rule.map[0].startswith('out.')
            handle = self.find(name, out if is_out else result.into, rule.map[0].removeprefix('out.'))
            result.map = (*handle, is_out, *self.find(name, out, rule.map[1]))
        for member in result.into.members if result.into else ():
            if member.kind == 'HANDLE' and member.type == 'bo' and 'GONE' in member.flags:
                result.gone = (member.offset, member.size)
        if rule.tells:
            result.tells, result.done = self.find(name, result.out, rule.tells[0]), rule.tells[1]
        if rule.maps:
            result.maps = tuple(self.find(name, result.out, path) for path in rule.maps)

    def has(self, struct, name):
        return any(member.name == name for member in struct.members)

    def find(self, name, struct, path):
        """(offset, size) of a member, "info.handle"."""
        offset = 0
        for part in path.split('.'):
            for member in struct.members if struct else ():
                if member.name == part:
                    offset, struct, size = offset + member.offset, member.type, member.size
                    break
            else:
                self.wrong(name, f'no member {path}')
                return 0, 0
        return offset, size

    def has_inout(self, struct, seen=()):
        return struct.name not in seen and any(
            {'IN', 'OUT'} <= m.flags or
            (isinstance(m.type, Struct) and self.has_inout(m.type, (*seen, struct.name)))
            for m in struct.members)

    # ---- structs -------------------------------------------------------------------------------

    def scalar(self, type):
        name = 'int' if type.signed else f'u{8 * type.size}'
        if name not in self.by_name:
            self.add(Struct(name, type.size, members=[
                Member('value', 'INT' if type.signed else 'UINT', 0, type.size)]))
        return self.by_name[name]

    def text(self, rule):
        name = f'text{rule.text}'
        if name not in self.by_name:
            self.add(Struct(name, 8, members=[Member('text', 'TEXT', 0, 1, 'LIST', count='FIXED', number=rule.text,
                                                     flags={'IN'})]))
        return self.by_name[name]

    def add(self, struct):
        self.by_name[struct.name] = struct
        struct.place = len(self.structs)
        self.structs.append(struct)
        return struct

    def struct(self, type, name=''):
        if not name or (type.name and not self.description.is_special(name)):
            name = type.name or name
        if name in self.by_name:
            return self.by_name[name]
        result = self.add(Struct(name, type.size, type.kind == 'union'))
        pending = []
        self.members(result, type, 0, pending)
        for member, rule in pending:
            self.apply(result, member, rule)
        return result

    def members(self, struct, type, base, pending):
        nameless = 0
        for name, of, bit, bits in type.members:
            if bits or (of.kind == 'array' and not of.count and not of.of.size):
                continue  # bit-fields are padding in all of these headers
            offset = base + bit // 8
            if of.kind == 'struct' and not struct.union and (not name or self.is_inline(struct, name)):
                self.members(struct, of, offset, pending)
                continue
            if not name:
                nameless += 1
                name = f'u{nameless}' if nameless > 1 else 'u'
            member = self.member(struct, name, of, offset)
            rule = self.description.member_rule(struct.name, name)
            struct.members.append(member)
            if rule:
                pending.append((member, rule))

    def is_inline(self, struct, name):
        rule = self.description.member_rule(struct.name, name)
        return rule and rule.type == 'inline'

    def member(self, struct, name, type, offset):
        result = Member(name, 'UINT', offset)
        if type.kind == 'array':
            result.form, result.count, result.number = 'ARRAY', 'FIXED', 1
            while type.kind == 'array':
                result.number *= type.count
                type = type.of
        if type.kind in ('struct', 'union'):
            result.kind, result.type = 'STRUCT', self.struct(type, f'{struct.name}.{name}')
            result.size = result.type.size
        elif type.kind == 'pointer':
            result.kind, result.size = 'HOSTPTR', 8
        else:
            result.size = type.size
            result.kind = 'INT' if type.signed and not type.char else 'UINT'
            if result.form == 'ARRAY' and type.size == 1:
                result.kind = 'TEXT' if type.char else 'BYTES'
        if result.form == 'ARRAY' and not result.number:
            result.form, result.kind, result.count = 'ONE', 'NOTHING', 'NONE'  # flexible: see count
        return result

    # ---- what the description says --------------------------------------------------------------

    def apply(self, struct, member, rule):
        if rule.type == 'choose':
            self.choose(struct, member, rule)
        elif rule.type in ('list', 'lists', 'bytes', 'text'):
            if member.kind != 'NOTHING' and (member.size != 8 or member.form != 'ONE'):
                self.wrong(rule.place, f'{struct.name}.{member.name} is no pointer')
            elif rule.selector:
                self.listed_by(struct, member, rule)
            else:
                self.listed(member, rule.type, rule.detail, rule)
                self.count(struct, member, rule)
        elif rule.type:
            self.refine(member, rule.type, rule.detail, rule)
            if rule.type == 'user':
                member.flags.add('USER')
                self.count(struct, member, rule)

    def refine(self, member, kind, detail, rule):
        if kind == 'enum' and member.kind != 'INT':
            member.flags.add('UNSIGNED')
        member.kind = KINDS[kind]
        if rule.life:
            member.flags.add(rule.life.upper())
        if kind in ('flags', 'enum'):
            member.type = self.table(rule, detail, kind)
            if not member.type:
                member.kind = 'HEX' if kind == 'flags' else 'UINT'
        elif kind in ('handle', 'fd'):
            member.type = detail or 'file'
            if member.type not in self.objects:
                self.objects.append(member.type)

    def table(self, rule, patterns, kind):
        values = [(name, value) for name, value in sorted(self.headers.constants.items())
                  if any(fnmatch.fnmatchcase(name, p) for p in patterns.split('|')) and
                  not name.endswith(('_MASK', '_SHIFT', '_FLAGS', '_ALL'))]
        if kind == 'flags':
            values = [(n, v) for n, v in values if v and not v & (v - 1)]
        values.sort(key=lambda pair: pair[1])
        if values:
            self.tables[patterns] = values
        return patterns if values else None

    def listed(self, member, type, detail, rule):
        """The member becomes what its pointer points to."""
        flexible = member.kind == 'NOTHING'
        member.form = {'lists': 'POINTERS'}.get(type, 'TAIL' if flexible else 'LIST')
        member.flags |= {'in': {'IN'}, 'out': {'OUT'}, 'inout': {'IN', 'OUT'}}[rule.direction]
        member.type = None
        if type in ('bytes', 'text'):
            member.kind, member.size = type.upper(), 1
        elif detail in SCALARS:
            member.size, member.kind = SCALARS[detail]
        elif detail.startswith('handle '):
            member.size = 4
            self.refine(member, 'handle', detail.split()[1], rule)
        elif detail in self.description.chains and self.chain(detail):
            member.kind, member.form, member.type = 'STRUCT', 'CHAIN', self.chain(detail)
            member.size = member.type.size
        elif detail in self.by_name or detail in self.headers.structs:
            member.kind = 'STRUCT'
            member.type = self.by_name.get(detail) or self.struct(self.headers.structs[detail])
            member.size = member.type.size
            if any(m.form == 'TAIL' for m in member.type.members):
                member.flags.add('ONCE')
        else:  # not in these headers
            member.kind, member.form, member.size, member.flags = 'HOSTPTR', 'ONE', 8, set()

    def count(self, struct, member, rule):
        """COUNT, as drm.api explains it."""
        if member.form == 'CHAIN' or (member.form == 'ONE' and 'USER' not in member.flags):
            return
        if rule.count.startswith('+'):
            member.count, member.number = 'SUM', self.sibling(struct, rule, rule.count[1:])
            return
        match = re.fullmatch(r'(?:(\w+)\.)?(\w+)(\?)?(?:-(\d+))?(?:\*(\w+))?(?:/(\d+))?', rule.count or '1')
        if not match:
            self.wrong(rule.place, f'[{rule.count}]?')
            return
        _, name, may_lack, less, factor, per = match.groups()
        if name.isdigit() or (may_lack and not self.has(struct, name)):
            member.count, member.number = 'FIXED', int(name) if name.isdigit() else 0
            return
        member.less, member.per = int(less or 0), int(per or 1)
        member.count = 'MEMBER'
        if factor and factor.isdigit():
            member.scale, factor = int(factor), None
        if match[1]:  # it is being made, and has not all of its members
            self.around.append((match[1], member, rule, name, factor))
        else:
            self.counted(struct, member, rule, name, factor)

    def counted(self, struct, member, rule, name, factor):
        """The members that a count is made of."""
        member.number = self.sibling(struct, rule, name)
        if factor:
            member.factor = self.sibling(struct, rule, factor)

    def sibling(self, struct, rule, name):
        for place, other in enumerate(struct.members):
            if other.name == name:
                return place
        self.wrong(rule.place, f'{struct.name} has no member {name}')
        return 0

    def chain(self, name):
        """The structs of a chain, as a union of them all: the last one is their header alone. None: these
        headers lack it."""
        chain = self.description.chains[name]
        if name in self.by_name or chain.header not in self.headers.structs:
            return self.by_name.get(name)
        header = self.by_name.get(chain.header) or self.struct(self.headers.structs[chain.header])
        result = self.add(Struct(name, header.size, union=True))
        result.next, selector = (self.sibling(header, chain, member) for member in (chain.next, chain.selector))
        result.selector = (selector, 0xffffffffffffffff)
        header.members[result.next].kind = 'NOTHING'  # the order of a chain says it
        for value, struct in chain.choices:
            number = self.value(chain, value)
            if struct not in self.headers.structs or number is None:
                continue
            of = self.by_name.get(struct) or self.struct(self.headers.structs[struct])
            result.choices.append((number, len(result.members)))
            result.members.append(Member(struct, 'STRUCT', 0, of.size, type=of))
        result.otherwise = len(result.members)
        result.members.append(Member(chain.header, 'STRUCT', 0, header.size, type=header))
        result.size = max(member.size for member in result.members)
        return result

    def value(self, rule, text):
        if '|' in text:
            parts = [self.value(rule, part) for part in text.split('|')]
            return None if None in parts else functools.reduce(int.__or__, parts)
        if text in self.headers.constants:
            return self.headers.constants[text]
        try:
            return int(text, 0)
        except ValueError:
            return None

    def mask(self, rule):
        return self.value(rule, rule.mask) if rule.mask else 0xffffffffffffffff

    def choose(self, struct, member, rule):
        union = member.type
        if not isinstance(union, Struct) or not union.union:
            self.wrong(rule.place, f'{struct.name}.{member.name} is no union')
            return
        union.selector = (self.sibling(struct, rule, rule.selector), self.mask(rule))
        places = {m.name: place for place, m in enumerate(union.members)}
        for value, name in rule.choices:
            if name not in places:
                self.wrong(rule.place, f'{union.name} has no member {name}')
            elif value == 'else':
                union.otherwise = places[name]
            elif self.value(rule, value) is not None:
                union.choices.append((self.value(rule, value), places[name]))

    def listed_by(self, struct, member, rule):
        """A pointer whose target another member tells: a union of lists, which the headers lack."""
        union = self.add(Struct(f'{struct.name}.{member.name}', 8, union=True, borrowed=True))
        union.selector = (self.sibling(struct, rule, rule.selector), self.mask(rule))
        union.otherwise = -1
        for value, name in rule.choices:
            choice = self.alternative(struct, rule, name)
            number = None if value == 'else' else self.value(rule, value)
            if not choice or (value != 'else' and number is None):
                continue
            places = [place for place, m in enumerate(union.members) if m.name == choice.name]
            if not places:
                places = [len(union.members)]
                union.members.append(choice)
            if number is None:
                union.otherwise = places[0]
            else:
                union.choices.append((number, places[0]))
        member.kind, member.type, member.form, member.size = 'STRUCT', union, 'ONE', 8

    def alternative(self, struct, rule, name):
        """One of the types that the value of a member may be, or lead to."""
        kind, _, object_kind = name.partition(':')
        result = Member(name.replace(' ', '_').replace(':', '_'), 'UINT', 0, 8)
        if kind in ('number', 'handle'):
            if object_kind:
                self.refine(result, kind, object_kind, rule)
            return result
        self.listed(result, name if name in ('bytes', 'text') else 'list', name, rule)
        if result.form == 'ONE':
            return None  # these headers lack it
        self.count(struct, result, rule)
        result.per *= result.size  # the count is of bytes
        return result

    # ---- numbers -------------------------------------------------------------------------------

    def number(self, ids):
        for what, rows in (('ioctl', self.ioctls), ('struct', self.structs)):
            taken = set(ids.known[what].values())
            for row in rows:
                row.id = ids.known[what].get(row.name) or ids.unpinned(what, row.name, taken)
                taken.add(row.id)


class Ids:
    FIRST = {'ioctl': (IOCTL_FIRST, 0x800, 0xfff), 'struct': (1, 0x8000, 0xffff)}

    def __init__(self, path):
        self.known = {'ioctl': {}, 'struct': {}}
        for line in path.read_text(encoding='utf-8').splitlines():
            if line and not line.startswith('#'):
                what, number, name = line.split()
                self.known[what][name] = int(number)

    def unpinned(self, what, name, taken):
        """A number that the name gives: FNV-1a, the next free one."""
        _, first, last = self.FIRST[what]
        number = 0xcbf29ce484222325
        for byte in name.encode():
            number = (number ^ byte) * 0x100000001b3 & 0xffffffffffffffff
        number = first + number % (last - first + 1)
        while number in taken:
            number = first + (number + 1 - first) % (last - first + 1)
        return number


def make(compiler, folder, api, ids):
    description = Description(api)
    wanted = [header for family in description.families for header in family.headers]
    headers = Headers(compiler, folder, list(dict.fromkeys(wanted)), description.defines,
                      lambda name: description.family_of(name) is not None,
                      description.named_structs())
    return Model(description, headers, Ids(ids))
