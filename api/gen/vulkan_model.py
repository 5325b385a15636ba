# SPDX-License-Identifier: Apache-2.0
"""The registry and api/vulkan/vulkan.api together: for each member of a struct and each argument of
a command where it lies, what it is, how many there are and when it is valid."""

import fnmatch
import re
from dataclasses import dataclass, field

from description import FIELD_COUNT_MAX, KINDS, ROLES, STATUSES, TRAIT_LINES, Problems, read_lines

OPTIONS = ('blocks', 'taints', 'poll', 'shared', 'partial')
WORKS = {'runs', 'copies', 'fills'}  # traits of what is work of its own
OBJECT_MAX = 63  # capture/call/handle.c
# Kinds of values in memory: enum vk_kind. C type -> (kind, size).
SCALARS = {
    'uint8_t': ('U8', 1), 'uint16_t': ('U16', 2), 'uint32_t': ('U32', 4), 'uint64_t': ('U64', 8),
    'int8_t': ('I8', 1), 'int16_t': ('I16', 2), 'int32_t': ('I32', 4), 'int64_t': ('I64', 8),
    'int': ('I32', 4), 'float': ('F32', 4), 'double': ('F64', 8), 'size_t': ('SIZE', 8),
    'VkBool32': ('BOOL', 4), 'VkDeviceSize': ('SIZE', 8), 'VkDeviceAddress': ('ADDRESS', 8),
    'VkSampleMask': ('HEX32', 4), 'VkFlags': ('HEX32', 4), 'VkFlags64': ('HEX64', 8),
    'xcb_window_t': ('U32', 4), 'xcb_visualid_t': ('U32', 4), 'Window': ('U64', 8),
    'VisualID': ('U64', 8), 'RROutput': ('U64', 8), 'char': ('CHAR', 1), 'void': ('BYTE', 1)}
# What a member may be called in vulkan.api, where its C type says too little.
CALLED = {'hex': ('HEX32', 'HEX64'), 'size': ('SIZE', 'SIZE'), 'devptr': ('ADDRESS', 'ADDRESS')}


@dataclass
class Row:
    """One struct vk_member."""
    name: str
    owner: str  # C name of the struct that it lies in
    kind: str
    type: object = 0  # Struct or List, name of an enum, or of an object; what .type says by kind
    form: str = 'ONE'  # ONE, ARRAY, POINTER, POINTERS, ROWS
    count_kind: str = 'ONE'  # ONE, FIXED, MEMBER, FUNCTION, STRING
    count: object = 0  # number, index of a member, or Function
    rule: str = ''
    rows: str = ''  # of ROWS: C expression, how many values are in row `row`
    stride: int = 0  # 1 + place of the argument with the distance of values; ARRAY: of the member with their count
    list: str = ''  # of an argument: name of the list that its field holds
    offset: str = ''  # C expression, when offsetof() cannot say it
    role: str = ''
    out: bool = False
    omit: bool = False
    optional: bool = False
    fd: bool = False  # a descriptor's number
    member: object = None  # the registry's


@dataclass
class Function:
    """A count that is an expression of members."""
    owner: str
    text: str  # C, in terms of s->


@dataclass
class Table:
    """A struct, or the arguments of a command."""
    name: str
    c_name: str
    rows: list
    id: int = 0
    union: bool = False
    stype: int = None
    returned: bool = False
    choices: list = field(default_factory=list)  # of a union: (value of the selector, place)
    choose: int = 0  # of a union without selector: place of its member + 1
    # of a command
    command: object = None
    status: str = ''
    kind: str = ''
    options: set = field(default_factory=set)
    replay: str = ''
    stream: str = ''
    first: list = field(default_factory=list)  # functions by hand
    before: list = field(default_factory=list)
    after: list = field(default_factory=list)
    done: list = field(default_factory=list)
    works: bool = False  # work of its own when its command buffer is carried out

    @property
    def is_timed(self):
        """Has timestamps of ours around it where commands in command buffers are timed."""
        return self.works and self.status == 'generated' and self.kind == 'state' and self.command.result == 'void'


@dataclass
class Model:
    registry: object
    structs: list  # Table, by name
    commands: list  # Table, by id
    lists: list  # Row by name: what a field holds that is no struct
    objects: dict  # name -> number
    enums: list  # Enum, those that rows name
    list_ids: dict


class Ids:
    """api/vulkan/vulkan.ids: numbers that are in traces."""

    def __init__(self, path):
        self.problems, self.known = [], {'command': {}, 'struct': {}, 'object': {}}
        for place, _, text in read_lines(path):
            match = re.fullmatch(r'(command|struct|object) (\d+) (\S+)', text)
            if not match:
                self.problems.append(f'{place}: expected "command|struct|object NUMBER NAME"')
            elif match[3] in self.known[match[1]] or int(match[2]) in self.known[match[1]].values():
                self.problems.append(f'{place}: {text} is there twice')
            else:
                self.known[match[1]][match[3]] = int(match[2])

    def of(self, what, names):
        """Name -> number. What the file lacks gets, in order of names, a number that its name
        gives (FNV-1a, next free one): of commands from 0x800 on (capture knows 4096), of structs
        from 0x8000 on; objects the next free one from 1 on."""
        numbers = {name: self.known[what][name] for name in names if name in self.known[what]}
        taken = set(self.known[what].values())
        for name in sorted(set(names) - set(numbers)):
            first = {'object': 1, 'command': 0x800, 'struct': 0x8000}[what]
            number = first if what == 'object' else first | fnv1a(name) & first - 1
            while number in taken:
                number = number + 1 if what == 'object' else first | number + 1 & first - 1
            taken.add(number)
            numbers[name] = number
        return numbers


def fnv1a(text):
    value = 0x811c9dc5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & 0xffffffff
    return value


class Says:
    """What vulkan.api says of a struct or command: traits of members, and lines for the whole."""

    def __init__(self, path):
        self.problems, self.entries, self.works = [], [], []
        for place, indented, text in read_lines(path):
            if not indented and text.split()[0] in TRAIT_LINES or indented and text.startswith('traits '):
                if set(text.split()[1:]) & WORKS and self.entries:
                    self.works += self.entries[-1][1]
                continue  # trait_table.py
            if not indented:
                self.entries.append((place, text.split(), []))
            elif self.entries:
                self.entries[-1][2].append((place, text))

    def of(self, name):
        """Lines for `name`, those of patterns that come later last."""
        return [line for _, patterns, lines in self.entries
                if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
                for line in lines]

    def check(self, names):
        for place, patterns, _ in self.entries:
            for pattern in patterns:
                if not fnmatch.filter(names, pattern):
                    self.problems.append(f'{place}: nothing is called {pattern}')


class Maker:
    def __init__(self, registry, says, ids):
        self.registry, self.says, self.ids = registry, says, ids
        # What is not in this registry may be in another one.
        says.check([*registry.structs, *registry.commands, *ids.known['struct'],
                    *ids.known['command']])
        self.problems = says.problems + ids.problems
        self.objects = ids.of('object', registry.handles)
        self.stypes = dict(registry.enums['VkStructureType'].values)
        self.lists = {}
        self.used_enums = {'VkResult'}

    def problem(self, place, text):
        self.problems.append(f'{place}: {text}')

    # ---- rows -----------------------------------------------------------------------------------

    def value(self, name):
        """(kind, type) of a value of C type `name`."""
        made = self.registry
        if name in made.flags:
            bits, wide = made.flags[name]
            named = bits in made.enums and made.enums[bits].values
            if not named:
                return ('HEX64' if wide else 'HEX32'), 0
            self.used_enums.add(bits)
            return ('FLAGS64' if wide else 'FLAGS32'), bits
        if name in made.enums:
            if not made.enums[name].values:
                return ('HEX32' if made.enums[name].flags else 'I32'), 0
            self.used_enums.add(name)
            if made.enums[name].flags:
                return ('FLAGS64' if made.enums[name].wide else 'FLAGS32'), name
            return 'ENUM', name
        if name in made.handles:
            return 'HANDLE', name
        if name in made.functions:
            return 'FUNCTION', 0
        if name in made.structs:
            return 'STRUCT', name
        if name in SCALARS:
            return SCALARS[name][0], 0
        if name in made.base and '*' not in made.base[name] and made.base[name] in SCALARS:
            return SCALARS[made.base[name]][0], 0
        if name.startswith('StdVideo') and name.endswith('Idc'):
            return 'I32', 0  # an enum of the video headers, by value
        return 'POINTER', 0  # somebody else's

    def dim(self, text):
        return int(self.registry.constants.get(text, text))

    def row(self, owner, member, members):
        kind, type_ = self.value(member.type)
        row = Row(member.name, owner, kind, type_, member=member,
                  optional='true' in member.optional[:1])
        if member.name == 'pNext' and member.type == 'void':
            row.kind, row.form = 'CHAIN', 'POINTER'
        elif member.type == 'VkBaseOutStructure':
            row.kind, row.form = 'CHAIN', 'POINTER'
        elif member.type == 'VkAllocationCallbacks' and member.pointers:
            row.kind, row.omit = 'POINTER', True
        elif member.dims:
            row.form, row.count_kind, row.count = 'ARRAY', 'FIXED', 1
            for dim in member.dims:
                row.count *= self.dim(dim)
            if kind == 'U8':
                row.kind = 'BYTE'
            row.stride = self.array_count(member, members)
        elif member.objecttype:
            row.kind = 'OBJECT'
            row.count_kind = 'MEMBER'
            row.count = members.index(member.objecttype)
        elif member.bits:
            row.kind = 'BITS'
        elif member.pointers:
            self.pointer(row, member, members, kind)
        elif kind in ('BYTE', 'CHAR'):
            row.kind = 'I8'
        if row.kind == 'STRUCT' and member.selector:
            row.count_kind, row.count = 'SELECTOR', members.index(member.selector)
        return row

    @staticmethod
    def array_count(member, members):
        """1 + place of the member that says how many elements of an array count, 0: all of them.
        Older registries do not say it: memoryTypes has memoryTypeCount, identifier identifierSize."""
        one = re.sub(r's$', '', re.sub(r'ies$', 'y', member.name))
        for name in member.len[:1] + [f'{one}Count', f'{one}Size']:
            if name in members:
                return 1 + members.index(name)
        return 0

    def pointer(self, row, member, members, kind):
        row.form = 'POINTER' if member.pointers == 1 else 'POINTERS'
        length = member.len[0] if member.len else member.altlen
        unknown = kind == 'POINTER' or (kind == 'BYTE' and (not length or member.pointers > 1))
        if unknown:  # an address, as such
            row.kind, row.form, row.type = 'POINTER', 'ONE', 0
            if member.pointers == 2 and not member.const:
                row.form = 'POINTER'  # void **: where an address is given
            return
        if kind == 'U8' and length:
            row.kind = 'BYTE'
        if length == 'null-terminated':
            row.count_kind = 'STRING'
        elif length in members:
            row.count_kind, row.count = 'MEMBER', members.index(length)
        elif member.altlen or length:
            self.computed(row, member.altlen or length, members)

    def computed(self, row, text, members):
        """A count that is an expression, perhaps of constants only."""
        known = re.sub(r'[A-Z]\w+', lambda m: str(self.registry.constants.get(m[0], m[0])), text)
        if re.fullmatch(r'[\d *+()]+', known):
            row.count_kind, row.count = 'FIXED', eval(known)
        else:
            row.count_kind = 'FUNCTION'
            row.count = Function(row.owner, self.expression(text, members))

    @staticmethod
    def expression(text, members):
        """C of a length: its members are those of s."""
        return re.sub(r'(?<![\w>.])([A-Za-z_]\w*)',
                      lambda m: f's->{m[1]}' if m[1] in members else m[1], text)

    def bits(self, rows):
        """Where bit fields lie: offsetof() does not know."""
        before, used = None, 0
        for row in rows:
            if row.kind == 'BITS':
                unit, shift = divmod(used, 32)
                start = f'offsetof({row.owner}, {before}) + sizeof((({row.owner} *)0)->{before})'
                row.offset = f'{start} + {4 * unit}' if before else str(4 * unit)
                row.count = shift | row.member.bits << 8
                used += row.member.bits
            else:
                before, used = row.name, 0

    def traits(self, table, lines):
        for place, text in lines:
            name, _, words = text.partition(':')
            row = next((row for row in table.rows if row.name == name), None)
            match = re.fullmatch(r'choose (\w+)', text)
            if match and table.union:
                names = [row.name for row in table.rows]
                table.choose = names.index(match[1]) + 1
            elif re.fullmatch(r'(first|before|after|done) \w+', text) and table.command:
                getattr(table, text.split()[0]).append(text.split()[1])
            elif not words and table.command:
                self.status(table, place, text.split())
            elif not row:
                if table.name in text:
                    self.problem(place, f'{table.name} has no member {name}')
            else:
                for word in re.findall(r'\w+\[.*\]|if \w+|\S+', words):
                    self.trait(table, row, place, word)

    def trait(self, table, row, place, word):
        names = [row.name for row in table.rows]
        match = re.fullmatch(r'(bytes|count|rows)\[(.*)\]', word)
        if word.startswith('if '):
            row.rule = word[3:]
        elif word == 'omit':
            row.omit = True
        elif word == 'hostptr':
            row.kind, row.form, row.count_kind, row.count, row.type = 'POINTER', 'ONE', 'ONE', 0, 0
        elif word == 'fd':
            row.fd = True
        elif word in CALLED:
            row.kind = CALLED[word][row.kind in ('U64', 'HEX64', 'SIZE')]
        elif word.startswith('role=') and word[5:] in ROLES:
            row.role = word[5:]
        elif match and match[1] == 'rows':
            row.form, row.rows = 'ROWS', self.expression(match[2], names)
        elif match:
            row.kind, row.type = ('BYTE', 0) if match[1] == 'bytes' else (row.kind, row.type)
            row.form = 'POINTER'
            if match[2] in names:
                row.count_kind, row.count = 'MEMBER', names.index(match[2])
            else:
                row.count_kind = 'FUNCTION'
                row.count = Function(row.owner, self.expression(match[2], names))
        else:
            self.problem(place, f'unknown trait "{word}"')

    # ---- structs --------------------------------------------------------------------------------

    @staticmethod
    def counts_first(members):
        """In a trace a count stands before the values: a reader checks them against it."""
        ordered = list(members)
        for member in members:
            for name in member.len[:1]:
                count = next((other for other in ordered if other.name == name), None)
                if count and ordered.index(count) > ordered.index(member):
                    ordered.remove(count)
                    ordered.insert(ordered.index(member), count)
        return ordered

    def struct(self, struct):
        members = self.counts_first(struct.members)
        names = [member.name for member in members]
        rows = [self.row(struct.name, member, names) for member in members]
        table = Table(struct.name, struct.name, rows, union=struct.union, returned=struct.returned,
                      stype=self.stypes.get(struct.stype))
        self.bits(rows)
        if rows[0].name == 'sType':
            rows[0].omit, rows[0].kind, rows[0].type = True, 'I32', 0
        if struct.union:
            for place, member in enumerate(struct.members):
                for name in member.selection:
                    value = next((value for enum in self.registry.enums.values()
                                  for known, value in enum.values if known == name), None)
                    if value is not None:
                        table.choices.append((value, place))
        self.traits(table, self.says.of(struct.name))
        if struct.union and not table.choices and not table.choose:  # of a newer registry
            table.choose = 1
        return table

    # ---- commands -------------------------------------------------------------------------------

    def status(self, table, place, words):
        status, kind, *options = words + [''] * (2 - len(words))
        if status not in STATUSES or kind not in KINDS:
            self.problem(place, f'expected "{"|".join(STATUSES)} KIND [OPTIONS]"')
        table.status, table.kind, table.options, table.replay, table.stream = status, kind, set(), \
            '', ''
        for option in filter(None, options):
            name, _, value = option.partition('=')
            if name == 'replay' and value in ('hook', 'none'):
                table.replay = value
            elif name == 'stream':
                table.stream = value
            elif option in OPTIONS:
                table.options.add(option)
            else:
                self.problem(place, f'unknown option "{option}"')

    def argument(self, owner, param, names):
        row = self.row(owner, param, names)
        row.out = bool(param.pointers) and not param.const and row.form != 'ONE'
        if param.stride:
            row.stride = 1 + names.index(param.stride)
        if param.dims:  # an array as a parameter is a pointer
            row.form = 'POINTER'
        return row

    def command(self, command):
        owner = f'struct vk_args_{command.name}'
        names = [param.name for param in command.params]
        rows = [self.argument(owner, param, names) for param in command.params]
        table = Table(command.name, owner, rows, command=command)
        self.traits(table, self.says.of(command.name))
        table.works = any(fnmatch.fnmatchcase(command.name, one) for one in self.says.works)
        if not table.status:  # of a newer registry
            table.status, table.kind, table.options = 'unmodelled', 'state', {'taints'}
        if not table.replay:
            table.replay = 'none' if table.kind in ('init', 'query', 'sync', 'other') or \
                table.status == 'unmodelled' else 'generated'
        self.roles(table)
        for row in rows:
            row.list = self.list_of(row)
        if sum(not row.omit for row in rows) > FIELD_COUNT_MAX:
            self.problem(command.name, 'too many fields')
        return table

    @staticmethod
    def roles(table):
        """The object that a call makes or destroys, when it is plain which."""
        if any(row.role == 'object' for row in table.rows):
            return
        if table.kind == 'create':
            made = [row for row in table.rows if row.kind == 'HANDLE' and row.out]
            if len(made) == 1 and made[0].count_kind == 'ONE':
                made[0].role = 'object'
        if table.kind == 'destroy':
            handles = [row for row in table.rows if row.kind == 'HANDLE']
            gone = [row for row in handles if row.form == 'ONE']
            if gone and len(gone) == len(handles):  # else those in the list go, not their pool
                gone[-1].role = 'object'

    def list_of(self, row):
        """What a field holds that is no slot and no struct: a list has a name of its own."""
        if row.omit or row.form == 'ONE' or row.kind == 'CHAIN' or row.kind in ('CHAR', 'BYTE') \
                and row.form == 'POINTER':
            return ''
        if row.form == 'POINTER' and row.count_kind == 'ONE':
            return ''
        name = row.member.type + '[]'
        self.lists.setdefault(name, row)
        if row.form == 'ROWS':
            name += '[]'
            self.lists.setdefault(name, row)
        return name

    # ---- all ------------------------------------------------------------------------------------

    def make(self):
        structs = [self.struct(self.registry.structs[name])
                   for name in sorted(self.registry.structs)]
        self.used_enums.discard('VkStructureType')  # of sType, which is not in traces
        commands = [self.command(self.registry.commands[name])
                    for name in sorted(self.registry.commands)]
        struct_ids = self.ids.of('struct', [table.name for table in structs] + list(self.lists))
        command_ids = self.ids.of('command', [table.name for table in commands])
        for table in structs:
            table.id = struct_ids[table.name]
        for table in commands:
            table.id = command_ids[table.name]
        if max(self.objects.values()) > OBJECT_MAX:
            self.problem('vulkan.ids', f'more than {OBJECT_MAX} types of objects')
        if self.problems:
            raise Problems('\n'.join(dict.fromkeys(self.problems)))
        lists = [(name, self.lists[name]) for name in sorted(self.lists)]
        enums = [self.registry.enums[name] for name in sorted(self.used_enums)]
        return Model(self.registry, structs, sorted(commands, key=lambda table: table.id), lists,
                     self.objects, enums, {name: struct_ids[name] for name, _ in lists})


def make(registry, api_path, ids_path):
    return Maker(registry, Says(api_path), Ids(ids_path)).make()
