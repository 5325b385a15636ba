# SPDX-License-Identifier: Apache-2.0
"""What the lines below a call mean, what is assumed where nothing is said, and what is refused."""

import re

import description
from description import (FIELD_COUNT_MAX, KINDS, ROLES, SCALARS, SPAN_COUNT_MAX, STATUSES, TYPES,
                         WITH_LENGTH, Api, Problems, Use)

UNSIGNED = ('unsigned int', 'unsigned short', 'unsigned char', 'unsigned long long', 'size_t',
            'cuuint32_t', 'cuuint64_t', 'uint16_t', 'uint32_t', 'uint64_t')
OPTIONS = ('blocks', 'waits', 'taints', 'unrecorded')
WITH_STREAM = ('command', 'signal', 'wait', 'sync')
NEVER_REPLAYED = ('init', 'query', 'sync', 'other')
# Through a pointer to non-const, these are what the call gives.
ASSUMED_OUT = ('uint', 'int', 'hex', 'bool', 'f32', 'size', 'devptr', 'device', 'handle', 'enum',
               'flags')
C_WORDS = {'sizeof', 'unsigned', 'int', 'void', 'char', 'size_t', 'uint64_t'}


class TraitReader:
    def __init__(self, calls, enums):
        self.problems = []
        self.calls = calls.calls
        self.helpers = calls.helpers
        self.fields = calls.fields
        self.types = calls.types
        self.enums = enums.enums
        self.objects = {name: number for name, (number, _) in calls.objects.items()}
        self.others = calls.others
        self.object_of = {ctype: name for name, (_, ctypes) in calls.objects.items()
                          for ctype in ctypes}
        self.structs = {}
        for struct, lines in calls.structs.values():
            self.struct(struct, lines)
        for call in self.calls.values():
            self.call(call)
        for call in self.calls.values():
            if call.replay == 'hook':
                self.same_fields(call, self.calls.get(call.replayed_by))

    def problem(self, place, text):
        self.problems.append(f'{place}: {text}')

    # ---- lines ------------------------------------------------------------------------------

    def struct(self, struct, lines):
        for place, text in lines:
            name, _, words = text.partition(':')
            use = self.use(place, words)
            if not use.type:
                self.problem(place, f'member {name} has no type')
            struct.members.append((name, use))
        for ctype in struct.ctypes:
            self.structs[ctype] = struct

    def root(self, call, seen=()):
        """The call that has traits of its own, behind aliases and "like"."""
        if call.name in seen:
            self.problem(call.place, f'{call.name} is like itself')
        elif call.source and call.source not in self.calls:
            self.problem(call.place, f'no call {call.source}')
        elif call.source:
            return self.root(self.calls[call.source], (*seen, call.name))
        return call

    def call(self, call):
        root = self.root(call)
        lines = root.traits
        if root.source:
            return  # has been reported
        if not lines:
            self.problem(call.place, f'{call.name} has no traits')
            return
        call.replayed_by = root.name
        self.status(call, *lines[0])
        for place, text in lines[1:]:
            word, _, rest = text.partition(' ')
            if word == 'track' and len(rest.split()) == 2:
                call.track = tuple(rest.split())
            elif word == 'after' and re.fullmatch(r'\w+\(.*\)', rest):
                call.after.append(rest)
            elif word == 'then' and re.fullmatch(r'\w+\(.*\)', rest):
                call.then = rest
            elif word == 'pass' and ' = ' in rest:
                call.passed.update([rest.split(' = ', 1)])
            elif word == 'fields' and rest in self.fields:
                for line in self.fields[rest]:
                    self.extra(call, *line)
            elif word == 'untrack':
                call.untrack = rest
            elif word == 'traits':
                pass  # trait_table.py
            elif word == 'symbol' and re.fullmatch(r'\w+', rest):
                call.symbols.append(rest)
            elif text.startswith('+') and ':' in text:
                self.extra(call, place, text)
            elif ':' in text:
                self.param(call, place, text)
            else:
                self.problem(place, f'"{text}" is no trait')
        self.finish(call)

    def status(self, call, place, text):
        status, kind, *options = (text + ' ').split(' ')[:2] + text.split()[2:]
        if status not in STATUSES:
            self.problem(place, f'unknown status "{status}": one of {", ".join(STATUSES)}')
        if kind not in KINDS:
            self.problem(place, f'unknown kind "{kind}": one of {", ".join(KINDS)}')
        call.status, call.kind = status, kind
        for option in options:
            name, _, value = option.partition('=')
            if name == 'replay' and value in ('hook', 'none'):
                call.replay = value
            elif name == 'replay' and value.startswith('hook:'):
                call.replay, call.replayed_by = 'hook', value[5:]
            elif name == 'stream' and value:
                call.stream = 'NULL' if value == 'default' else value
            elif name == 'blocks' and value:
                call.options.add(name)
                call.settles = value
            elif option in OPTIONS:
                call.options.add(option)
            else:
                self.problem(place, f'unknown option "{option}"')

    def use(self, place, text):
        """Words like "out handle:event role=object" or "bytes[n * 4]"."""
        use = Use(place=place)
        words, _, use.value = (part.strip() for part in (text + ' ').partition(' = '))
        for word in re.findall(r'\w+\[[^\]]*\]|\S+', words):
            length = re.fullmatch(r'(\w+)\[(.*)\]', word)
            name, _, detail = word.partition(':')
            if word in ('in', 'out'):
                use.out = word == 'out'
            elif word in ('new', 'shared'):
                use.made = word
            elif word.startswith('role='):
                use.role = word[5:]
            elif word.startswith('of='):
                use.detail = word[3:]
            elif length and length[1] in WITH_LENGTH:
                use.type, use.length = length.groups()
            elif name in TYPES:
                use.type, use.detail = name, detail.replace('new:', 'new ')
            else:
                self.problem(place, f'unknown trait "{word}"')
        self.check_use(place, use)
        return use

    def check_use(self, place, use):
        if use.role and use.role not in ROLES:
            self.problem(place, f'unknown role "{use.role}"')
        if use.type == 'handle' and use.detail and use.detail not in self.objects and \
                use.detail not in self.others:
            self.problem(place, f'unknown object "{use.detail}"')
        if use.type in ('bytes', 'blob') and use.detail and not re.fullmatch(r'\w+/\d+', use.detail):
            self.problem(place, f'a list is "of=TYPE/BYTES", not "of={use.detail}"')
        if use.type == 'int' and use.detail not in ('', 'fd'):
            self.problem(place, f'an int is a number or "int:fd", not "int:{use.detail}"')
        if use.type in ('enum', 'flags') and use.detail and use.detail not in self.enums:
            self.problem(place, f'unknown enum "{use.detail}"')

    def param(self, call, place, text):
        name, _, words = text.partition(':')
        param = call.param(name)
        if not param:
            self.problem(place, f'{call.name} has no parameter {name}')
            return
        param.use = self.use(place, words)

    def extra(self, call, place, text):
        name, _, words = text[1:].partition(':')
        use = self.use(place, words)
        if not use.type:
            self.problem(place, f'field {name} has no type')
        call.extra.append((name, use))

    # ---- what is assumed ---------------------------------------------------------------------

    def finish(self, call):
        for param in call.params:
            said = param.use or Use(place=call.place)
            if call.status == 'unmodelled':
                param.use = self.raw(call, param)
                param.use.place = said.place
            elif not said.type:
                assumed = self.assumed(call, param)
                assumed.role, assumed.made, assumed.place = said.role, said.made, said.place
                assumed.out = assumed.out or said.out
                param.use = assumed
            elif (said.type in ASSUMED_OUT and param.pointee not in ('', 'void')
                  and 'const ' not in param.ctype):
                said.out = True
            self.complete(call, param)
        self.stream(call)
        self.object(call)
        if not call.replay:
            skipped = call.kind in NEVER_REPLAYED or call.status == 'unmodelled'
            call.replay = 'none' if skipped else 'generated'
        self.check(call)

    def assumed(self, call, param):
        """The meaning of a parameter by its C type alone."""
        out = param.pointee != '' and not param.ctype.startswith('const ')
        ctype = param.pointee if out else param.ctype
        if param.ctype == 'const char *' or param.ctype == 'const char **':
            return Use('string', out=param.ctype.endswith('**'))
        if ctype in self.object_of:
            return Use('handle', self.object_of[ctype], out=out)
        if ctype in self.enums:
            return Use('enum', ctype, out=out)
        if ctype.startswith('CUdeviceptr'):
            return Use('devptr', out=out)
        if ctype == 'CUdevice':
            return Use('device', out=out)
        if ctype in ('int', 'float'):
            return Use('int' if ctype == 'int' else 'f32', out=out)
        if ctype in UNSIGNED:
            return Use('hex' if 'flags' in param.name.lower() else 'uint', out=out)
        if param.pointee:
            return Use('hostptr')
        if ctype not in self.types:
            self.problem(call.place, f'unknown C type "{ctype}": one of the type lines must name it')
        meaning, _, detail = self.types.get(ctype, 'omit').partition(':')
        return Use(meaning, detail)

    def raw(self, call, param):
        """The same for a call that is not modelled: the bits that were passed, nothing behind
        them."""
        if param.pointee:
            return Use('hostptr')
        if param.ctype == 'CUstream':
            return Use('stream')
        use = self.assumed(call, param)
        return Use('hex', param.ctype) if use.type == 'handle' else use

    def complete(self, call, param):
        """Details that the C type gives."""
        use, ctype = param.use, param.pointee or param.ctype
        use.indirect = use.type == 'string' and param.ctype.endswith('**')
        if use.type == 'handle' and not use.detail:
            use.detail = self.object_of.get(ctype, '')
        if use.type == 'enum' and not use.detail:
            use.detail = ctype
        if use.type == 'hex' and self.types.get(ctype) == 'hex':
            use.detail = f'new {ctype}' if use.out else ctype
        if use.type == 'handle' and use.out and not use.made and call.kind == 'create':
            use.made = 'new'
        if use.type == 'handle' and use.detail == 'stream' and not use.out:
            if call.kind != 'destroy':
                use.type, use.detail = 'stream', ''

    def stream(self, call):
        """A command is a command of its parameter hStream, where nothing else is said."""
        if not call.stream and call.kind in WITH_STREAM:
            param = call.param('hStream')
            if param and param.ctype == 'CUstream':
                call.stream = 'hStream'
        param = call.param(call.stream)
        if param:
            param.use = Use('omit', place=param.use.place)

    def object(self, call):
        """The role object, where it is obvious and not given."""
        uses = [param.use for param in call.params]
        if any(use.role == 'object' for use in uses) or call.status == 'unmodelled':
            return
        for use in uses:
            makes = call.kind == 'create' and use.out
            takes = call.kind in ('destroy', 'signal', 'wait', 'sync') and not use.out
            if use.type == 'handle' and not use.role and (makes or takes):
                use.role = 'object'
                return

    # ---- what is refused ---------------------------------------------------------------------

    def check(self, call):
        fields = fields_of(call, self.structs)
        roles = [field.role for field in fields if field.role]
        for role in {role for role in roles if roles.count(role) > 1}:
            self.problem(call.place, f'{call.name} has several fields of role {role}')
        if len(fields) > FIELD_COUNT_MAX:
            self.problem(call.place, f'{call.name} has more than {FIELD_COUNT_MAX} fields')
        if sum(field.type in ('BYTES', 'BLOB') for field in fields) > SPAN_COUNT_MAX:
            self.problem(call.place, f'{call.name} has more than {SPAN_COUNT_MAX} variable fields')
        self.check_expressions(call)
        self.check_pointers(call)
        if 'taints' in call.options and call.status != 'unmodelled':
            self.problem(call.place, 'only an unmodelled call taints')
        by_hand = any(not use.value for _, use in call.extra)
        if by_hand and not call.after and call.status not in ('hook', 'made'):
            self.problem(call.place, 'a field without "= EXPRESSION" needs a line "after"')

    def same_fields(self, call, other):
        """A function that replays several calls finds the same thing in each slot."""
        names = [[(field.name, field.type) for field in fields_of(one, self.structs)]
                 for one in (call, other or call)]
        if not other or other.replay != 'hook' or names[0] != names[1]:
            self.problem(call.place, f'{call.name} cannot be replayed like {call.replayed_by}')

    def check_expressions(self, call):
        names = {param.name for param in call.params}
        for param in call.params:
            self.expression(param.use.place, param.use.length, names)
            self.expression(param.use.place, param.use.value, names)
        for _, use in call.extra:
            self.expression(use.place, use.value, names | {'returned'})  # the call's result
        if call.kind == 'destroy':
            names |= {f'{name}_id' for name in names}
        for text in (call.stream, *call.after, call.then, *call.passed.values(), *call.track,
                     call.untrack):
            self.expression(call.place, text, names | {'NULL', 'true', 'false'})

    def expression(self, place, text, names):
        """Every word of a C expression must be something that is there."""
        members = set(re.findall(r'(?:->|\.)\s*(\w+)', text))
        for word in re.findall(r'\b[A-Za-z_]\w*', text):
            known = (word in names or word in members or word in C_WORDS or word in self.helpers
                     or word in self.object_of or word.startswith('CU'))
            if not known:
                self.problem(place, f'"{text}" names {word}, which is no parameter')

    def check_pointers(self, call):
        for param in call.params:
            use = param.use
            place = use.place
            if use.out and not param.pointee:
                self.problem(place, f'{param.name} is no pointer: it cannot be out')
            if use.type == 'struct' and param.pointee not in self.structs:
                self.problem(place, f'no struct {param.pointee} is described')
            if use.type == 'handle' and not use.detail:
                self.problem(place, f'{param.ctype} is no object')
            if use.made and not (use.type == 'handle' and use.out):
                self.problem(place, f'only an out handle can be {use.made}')
            if call.replay == 'generated':
                self.check_replay(call, param)

    def check_replay(self, call, param):
        use = param.use
        if use.type == 'hostptr' and not use.out:
            self.problem(use.place, f'{param.name} is an address of the program: {call.name} cannot '
                         'be replayed from its description (replay=hook or replay=none)')
        if use.type == 'omit' and param.name != call.stream:
            self.problem(use.place, f'{param.name} is not recorded: {call.name} cannot be replayed '
                         'from its description (replay=hook or replay=none)')


# ---- fields ---------------------------------------------------------------------------------


class Field:
    """One field of a record's schema. `use` and `value` say where it comes from: the C expression
    is the parameter, or the member of the struct that it points to."""

    def __init__(self, name, type_name, use, value, role='', detail=''):
        self.name, self.type, self.use, self.value = name, type_name, use, value
        self.role, self.detail = role, detail


def field_of(name, use, value):
    if use.type == 'device':
        return Field(name, 'INT', use, value, use.role)
    if use.type == 'stream':
        return Field(name, 'UINT', use, value, use.role, 'stream')
    detail = use.detail if use.type in ('handle', 'enum', 'flags', 'int', 'hex', 'bytes', 'blob') else ''
    return Field(name, use.type.upper(), use, value, use.role, detail)


def struct_fields(param, struct):
    """A struct by pointer: one field a member, named with a dot."""
    fields = []
    for name, use in struct.members:
        if use.type == 'omit':
            continue
        use = Use(**vars(use))
        use.length = re.sub(r'(?<![\w)])\.(?=\w)', f'{param.name}->', use.length)
        fields.append(field_of(f'{param.name}.{name}', use, f'{param.name}->{name}'))
    return fields


def param_fields(param, structs):
    use = param.use
    if use.type == 'omit':
        return []
    if use.type == 'struct':
        return struct_fields(param, structs[param.pointee]) if param.pointee in structs else []
    if use.type == 'payload':
        return [Field(param.name, 'HOSTPTR', use, param.name, 'host_src'),
                Field(param.name + '.bytes', 'BLOB', use, param.name, 'payload')]
    if use.type == 'readback':
        return [Field(param.name, 'HOSTPTR', use, param.name, 'host_dst')]
    return [field_of(param.name, use, use.value or param.name)]


def fields_of(call, structs):
    fields = [field for param in call.params for field in param_fields(param, structs)]
    return fields + [field_of(name, use, use.value) for name, use in call.extra]


def read(api_path, enums_path):
    enums = description.EnumReader(enums_path)
    calls = description.CallReader(api_path)
    problems = enums.problems + calls.problems
    if not problems:
        traits = TraitReader(calls, enums)
        problems = traits.problems
    if problems:
        raise Problems('\n'.join(dict.fromkeys(problems)))
    return Api(calls.name, calls.result, calls.boxed, enums.enums, traits.objects, traits.structs, calls.helpers,
               sorted(calls.calls.values(), key=lambda call: call.id))
