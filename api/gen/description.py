# SPDX-License-Identifier: Apache-2.0
"""Reads an API's description: X.api (calls) and X.enums (constants).

The syntax is explained at the top of api/cuda/cuda.api and api/cuda/cuda.enums. Everything that is
wrong with a description is reported as "file:line: what", all of it, before anything is written.
"""

import re
from dataclasses import dataclass, field

STATUSES = ('generated', 'hook', 'unmodelled', 'made')
KINDS = ('other', 'init', 'query', 'create', 'destroy', 'command', 'sync', 'state', 'signal',
         'wait')
ROLES = ('object', 'dst', 'src', 'size', 'payload', 'host_dst', 'host_src', 'function',
         'function_name', 'grid_x', 'grid_y', 'grid_z', 'block_x', 'block_y', 'block_z',
         'shared_size', 'arguments', 'parent', 'name', 'address', 'code', 'stream_made')
SCALARS = ('uint', 'int', 'hex', 'bool', 'f32', 'size', 'devptr', 'hostptr', 'device', 'stream')
TYPES = SCALARS + ('string', 'struct', 'omit', 'handle', 'enum', 'flags', 'bytes', 'blob',
                   'payload', 'readback')
# At the begin of a line: traits.h, understood by trait_table.py alone.
TRAIT_LINES = ('objects', 'own-traits', 'api-traits', 'object-stems', 'failures')
WITH_LENGTH = ('bytes', 'blob', 'payload', 'readback')
FIELD_COUNT_MAX = 64  # SBT_FIELD_COUNT_MAX
SPAN_COUNT_MAX = 8  # variable fields of a record, see struct tsm_call


class Problems(Exception):
    """What is wrong with a description: one line each."""


@dataclass
class Enum:
    kind: str  # enum, flags, defines
    name: str
    tag: str  # "" for an enum without one
    place: str
    values: list = field(default_factory=list)  # (name, value), in order


@dataclass
class Use:
    """What a parameter, a member of a struct or an additional field means."""
    type: str = ''  # one of TYPES
    detail: str = ''  # of handle, enum, flags; of bytes and blobs that are lists: object and size of an element
    length: str = ''  # C expression, of those in WITH_LENGTH
    role: str = ''
    out: bool = False
    made: str = ''  # of an out handle: new, shared
    indirect: bool = False  # of an out string: the address of its address is passed
    value: str = ''  # C expression, of an additional field; "" when a function by hand appends it
    place: str = ''


@dataclass
class Param:
    ctype: str  # as in C: "const void *"
    name: str
    use: Use = None

    @property
    def declaration(self):
        return self.ctype + ('' if self.ctype.endswith('*') else ' ') + self.name

    @property
    def pointee(self):
        """The type that a pointer points to, without const; "" when it is no pointer."""
        if not self.ctype.endswith('*'):
            return ''
        return re.sub(r'^const ', '', self.ctype[:-1]).strip()


@dataclass
class Struct:
    name: str
    ctypes: list
    place: str
    members: list = field(default_factory=list)  # (name, Use)


@dataclass
class Call:
    id: int
    name: str
    place: str
    params: list
    family: str
    alias_of: str = ''
    traits: list = field(default_factory=list)  # (place, text): lines not yet understood
    status: str = ''
    kind: str = ''
    options: set = field(default_factory=set)  # blocks, waits, taints
    replay: str = ''  # generated, hook, none
    replayed_by: str = ''  # of replay hook: the call whose function it is
    settles: str = ''  # C expression: does it wait for what its stream was given before?
    stream: str = ''  # C expression; NULL for the default stream, "" for none
    returns: str = ''  # C type; "" for the API's result
    after: list = field(default_factory=list)  # C calls of helpers
    then: str = ''  # the same, when the record is written
    passed: dict = field(default_factory=dict)  # parameter -> what the driver gets in its place
    track: tuple = ()  # C expressions: address, size of host memory that the device can read now
    untrack: str = ''
    symbols: list = field(default_factory=list)  # of the library, besides the name
    extra: list = field(default_factory=list)  # (name, Use): additional fields, behind the others

    @property
    def per_thread(self):
        """NULL means the calling thread's stream, not the legacy one."""
        return self.name.endswith(('_ptds', '_ptsz'))

    @property
    def source(self):
        """The call whose traits this one has; "" when it has its own."""
        if self.alias_of or len(self.traits) != 1 or not self.traits[0][1].startswith('like '):
            return self.alias_of
        return self.traits[0][1].split()[1]

    def param(self, name):
        return next((param for param in self.params if param.name == name), None)


@dataclass
class Api:
    name: str  # as in enum sbt_api, lower case
    result: str  # C type that says whether a call has succeeded: 0
    boxed: set  # C types that are a struct of one number, `handle`
    enums: dict
    objects: dict  # object type -> number
    structs: dict
    helpers: dict  # function name -> C declaration
    calls: list  # by id
    tables: list = field(default_factory=list)  # of doors.read_tables()


def read_lines(path):
    """(place, indented, text) of each line that says something; a line that ends in a comma goes on
    in the next one."""
    pending = None
    with open(path, encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            text = line.split('#', 1)[0].rstrip()
            if not text.strip():
                continue
            if pending:
                place, indented, head = pending
                text = head + ' ' + text.strip()
            else:
                place, indented = f'{path}:{number}', text[0] == ' '
            pending = (place, indented, text.strip()) if text.endswith(',') else None
            if not pending:
                yield place, indented, text.strip()


class EnumReader:
    def __init__(self, path):
        self.problems = []
        self.enums = {}
        self.names = {}
        enum = None
        for place, indented, text in read_lines(path):
            words = text.split()
            if not indented:
                enum = self.begin(place, words)
            elif enum:
                self.value(enum, place, words)

    def begin(self, place, words):
        match = re.fullmatch(r'(enum|flags|defines) (\w+)(?: tag=(\w+|-))?', ' '.join(words))
        if not match:
            self.problems.append(f'{place}: expected "enum|flags|defines NAME [tag=TAG]"')
            return None
        kind, name, tag = match.groups()
        if name in self.enums:
            self.problems.append(f'{place}: {name} is already at {self.enums[name].place}')
        tag = '' if tag == '-' else tag or name + '_enum'
        self.enums[name] = Enum(kind, name, tag, place)
        return self.enums[name]

    def value(self, enum, place, words):
        if len(words) != 2 or not re.fullmatch(r'-?(0x[0-9a-f]+|\d+)', words[1]):
            self.problems.append(f'{place}: expected "CONSTANT VALUE"')
        elif words[0] in self.names:
            self.problems.append(f'{place}: {words[0]} is already at {self.names[words[0]]}')
        else:
            self.names[words[0]] = place
            enum.values.append((words[0], int(words[1], 0)))


class CallReader:
    """First pass: what is there. Traits are only collected; traits.py understands them."""

    def __init__(self, path):
        self.problems = []
        self.calls = {}
        self.ids = {}
        self.structs = {}
        self.objects = {}  # object type -> (number, C types)
        self.others = set()  # object types of other APIs
        self.types = {}  # C type -> how a value of it is recorded
        self.helpers = {}
        self.name, self.result = '', ''
        self.boxed = set()
        self.fields = {}  # name -> lines that describe additional fields
        self.family = ''
        self.current = None
        for place, indented, text in read_lines(path):
            if indented and self.current is None:
                self.problems.append(f'{place}: belongs to no call and no struct')
            elif indented:
                self.current.append((place, text))
            else:
                self.current = None
                self.top(place, text)

    def top(self, place, text):
        word, _, rest = text.partition(' ')
        if word in TRAIT_LINES:
            self.current = []
        elif word == 'family':
            self.family = rest
        elif word == 'api' and len(rest.split()) == 2:
            self.name, self.result = rest.split()
        elif word == 'boxed':
            self.boxed.update(rest.split())
        elif word == 'object':
            name, *ctypes = rest.split()
            self.objects[name] = (len(self.objects) + 1, ctypes)
        elif word == 'others':
            self.others.update(rest.split())
        elif word == 'type' and len(rest.split()) > 1:
            meaning, *ctypes = rest.split()
            self.types.update(dict.fromkeys(ctypes, meaning))
        elif word == 'helper' and re.search(r'(\w+)\(', rest):
            self.helpers[re.search(r'(\w+)\(', rest)[1]] = rest
        elif word == 'fields' and rest:
            self.current = self.fields[rest] = []
        elif word == 'struct':
            name, *ctypes = rest.split()
            self.current = []
            self.structs[name] = (Struct(name, [name, *ctypes], place), self.current)
        else:
            self.call(place, text)

    def call(self, place, text):
        made = self.prototype(place, text) or self.alias(place, text)
        if not made:
            self.problems.append(f'{place}: expected "ID NAME(PARAMETERS)", "ID NAME = NAME" or '
                                 'one of api, boxed, family, object, others, struct, type, helper')
            return
        for known, what in ((self.ids.get(made.id), f'id {made.id}'),
                            (self.calls.get(made.name), made.name)):
            if known:
                self.problems.append(f'{place}: {what} is already at {known.place}')
        if not 0 < made.id < 0x10000:
            self.problems.append(f'{place}: an id is 1 to 65535')
        self.ids[made.id] = self.calls[made.name] = made
        self.current = made.traits

    def prototype(self, place, text):
        match = re.fullmatch(r'(\d+) (?:(\w+) )?(\w+)\((.*)\)', text)
        if not match:
            return None
        params = []
        for declaration in filter(None, match[4].split(', ')):
            param = re.fullmatch(r'(.*?[ *])(\w+)', declaration)
            if not param:
                self.problems.append(f'{place}: "{declaration}" is no parameter')
                continue
            params.append(Param(param[1].strip(), param[2]))
        return Call(int(match[1]), match[3], place, params, self.family, returns=match[2] or '')

    def alias(self, place, text):
        match = re.fullmatch(r'(\d+) (\w+) = (\w+)', text)
        if not match:
            return None
        known = self.calls.get(match[3])
        if not known:
            self.problems.append(f'{place}: no call {match[3]} above')
        params = [Param(param.ctype, param.name) for param in known.params] if known else []
        return Call(int(match[1]), match[2], place, params, self.family, alias_of=match[3],
                    returns=known.returns if known else '')
