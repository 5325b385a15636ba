# SPDX-License-Identifier: Apache-2.0
"""Reads an API's description: X.api (calls) and X.enums (constants).

The syntax is explained at the top of api/cuda/cuda.api and api/cuda/cuda.enums. Everything that is
wrong with a description is reported as "file:line: what", all of it, before anything is written.
"""

import re
from dataclasses import dataclass, field


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
class Param:
    ctype: str  # as in C: "const void *"
    name: str

    @property
    def declaration(self):
        return self.ctype + ('' if self.ctype.endswith('*') else ' ') + self.name


@dataclass
class Call:
    id: int
    name: str
    place: str
    params: list
    family: str = ''
    alias_of: str = ''


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
            if text.endswith(','):
                pending = (place, indented, text.strip())
                continue
            pending = None
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
    def __init__(self, path):
        self.problems = []
        self.calls = {}
        self.ids = {}
        family = ''
        for place, indented, text in read_lines(path):
            if indented:
                continue
            if text.startswith('family '):
                family = text.split()[1]
            else:
                self.call(place, text, family)

    def call(self, place, text, family):
        made = self.prototype(place, text) or self.alias(place, text)
        if not made:
            self.problems.append(f'{place}: expected "ID NAME(PARAMETERS)" or "ID NAME = NAME"')
            return
        made.family = family
        for known, what in ((self.ids.get(made.id), f'id {made.id}'),
                            (self.calls.get(made.name), made.name)):
            if known:
                self.problems.append(f'{place}: {what} is already at {known.place}')
        if not 0 < made.id < 0x10000:
            self.problems.append(f'{place}: an id is 1 to 65535')
        self.ids[made.id] = self.calls[made.name] = made

    def prototype(self, place, text):
        match = re.fullmatch(r'(\d+) (\w+)\((.*)\)', text)
        if not match:
            return None
        params = []
        for declaration in filter(None, match[3].split(', ')):
            param = re.fullmatch(r'(.*?[ *])(\w+)', declaration)
            if not param:
                self.problems.append(f'{place}: "{declaration}" is no parameter')
                continue
            params.append(Param(param[1].strip(), param[2]))
        return Call(int(match[1]), match[2], place, params)

    def alias(self, place, text):
        match = re.fullmatch(r'(\d+) (\w+) = (\w+)', text)
        if not match:
            return None
        known = self.calls.get(match[3])
        if not known:
            self.problems.append(f'{place}: no call {match[3]} above')
            return Call(int(match[1]), match[2], place, [])
        return Call(int(match[1]), match[2], place, known.params, alias_of=known.name)


@dataclass
class Api:
    enums: dict
    calls: list  # by id


def read(api_path, enums_path):
    enums, calls = EnumReader(enums_path), CallReader(api_path)
    problems = enums.problems + calls.problems
    if problems:
        raise Problems('\n'.join(problems))
    return Api(enums.enums, sorted(calls.calls.values(), key=lambda call: call.id))
