# SPDX-License-Identifier: Apache-2.0
"""What is the same for all APIs whose functions a shared library exports (CUDA, HSA, HIP): the pointers to
the library's own functions, what they are until it is opened, the table that interposition looks up,
and the table of replay functions. Each template looks like the C that it makes."""

from declarations import params_of
from text import wrap

RESOLVER = '''\
{signature}
{{
    if (!{bind}() || {pointers}.{name} == resolve_{name})
        return{missing};
    {give}{pointers}.{name}({args});
}}
'''

RESOLVERS = '''\
/* ---- until the first call: resolvers -------------------------------------------------------- */

{resolvers}
struct {api}_real {pointers} = {{
{initial}}};

/* ---- wrappers ------------------------------------------------------------------------------- */

'''

EXPORTS = '''\
/* ---- what interposition looks up, sorted by name -------------------------------------------- */

static const struct tsm_export rows[] = {{
{rows}}};

const struct tsm_exports {api}_exports = {{rows, sizeof(rows) / sizeof(rows[0])}};
'''

FIND = '''\
static const {api}_replay_function replays[] = {{
{table}}};

{api}_replay_function {api}_replay_find(uint32_t type)
{{
    uint32_t id = SBT_TYPE_CALL(type);

    if (SBT_TYPE_API(type) != SBT_API_{API} || id >= sizeof(replays) / sizeof(replays[0]))
        return NULL;
    return replays[id];
}}
'''

MISSING = '''\
{signature}
{{
    return{missing};
}}
'''

LOAD = '''\
{missing}
static void *or_missing(void *found, void *missing)
{{
    return found ? found : missing;
}}

void {api}_real_load(struct {api}_real *out, void *(*symbol)(void *library, const char *name),
                   void *library)
{{
{load}}}
'''


def args_of(call):
    return ', '.join(param.name for param in call.params)


def statements(lines):
    return '\n'.join(wrap('    ' + line, 8) for line in lines)


def text_of(field):
    """The argument of tsm_call_string() for a parameter."""
    pointer = field.value
    return f'ok && {pointer} ? *{pointer} : NULL' if field.use.indirect else f'ok ? {pointer} : NULL'


class Library:
    """`api`: the prefix of our names; `pointers`: the C variable that holds the library's functions;
    `results`: what a call returns without the library, by result type, '0' for others; the first is the type of
    calls that name none."""

    def __init__(self, api, pointers, results):
        self.api, self.pointers, self.results = api, pointers, results
        self.result = next(iter(results))

    def result_of(self, call):
        return call.returns or self.result

    def missing_value(self, call):
        value = self.results.get(self.result_of(call), '0')
        return f' {value}' if value else ''

    def give(self, call):
        return '' if call.returns == 'void' else 'return '

    def signature(self, call, name, prefix='static '):
        return wrap(f'{prefix}{self.result_of(call)} {name}({params_of(call)})', 8)

    # ---- the traced program's side

    def resolver(self, call, bind):
        return RESOLVER.format(name=call.name, args=args_of(call), bind=bind, pointers=self.pointers,
                               give=self.give(call), missing=self.missing_value(call),
                               signature=self.signature(call, f'resolve_{call.name}'))

    def resolvers(self, calls, bind_of):
        """The variable, and how its members begin. `bind_of`: call -> the function that opens the library."""
        return RESOLVERS.format(
            api=self.api, pointers=self.pointers,
            resolvers='\n'.join(self.resolver(call, bind_of(call)) for call in calls),
            initial=''.join(f'    .{call.name} = resolve_{call.name},\n' for call in calls))

    def exports(self, names, has_doors):
        """`names`: (symbol, call), sorted. `has_doors`: made by doors.py, in the same order."""
        return EXPORTS.format(api=self.api, rows=''.join(
            f'    {{"{symbol}", (void *){symbol}, (void **)&{self.pointers}.{call.name}, '
            f'{f"&{self.api}_doors[{index}]" if has_doors else "NULL"}}},\n'
            for index, (symbol, call) in enumerate(names)))

    def members(self, calls):
        """Members of struct {api}_real."""
        return ''.join(wrap(f'    {self.result_of(call)} (*{call.name})({params_of(call)});', 8) + '\n'
                       for call in calls)

    def hooks(self, calls):
        """Prototypes of wrappers that are written by hand."""
        return ''.join(self.signature(call, f'hook_{call.name}', '') + ';\n'
                       for call in calls if call.status == 'hook')

    # ---- the replayer's side

    def find(self, calls):
        """The table of replay functions. A call that replay leaves out has no row."""
        rows = ''.join(f'    [{call.id}] = replay_{call.replayed_by if call.replay == "hook" else call.name},\n'
                       for call in calls if call.replay != 'none')
        return FIND.format(api=self.api, API=self.api.upper(), table=rows)

    def load(self, calls):
        """Looks all functions up. Those that are not there return an error."""
        return LOAD.format(
            api=self.api,
            missing='\n'.join(MISSING.format(missing=self.missing_value(call), signature=self.signature(
                call, f'missing_{call.name}')) for call in calls),
            load=''.join(wrap(f'    *(void **)&out->{call.name} = or_missing(symbol(library, '
                              f'"{call.name}"), (void *)missing_{call.name});', 8) + '\n'
                         for call in calls))

    def hooked(self, calls):
        """Calls whose replay is written by hand, and not another call's."""
        return [call for call in calls if call.replay == 'hook' and call.replayed_by == call.name]

    def replay_prototypes(self, calls):
        return ''.join(wrap(f'int replay_{call.name}(struct {self.api}_replay *replay, '
                            'const struct sbt_record *record);') + '\n' for call in self.hooked(calls))


def slots(calls, fields_of):
    """enum members: the slot of each field."""
    return ''.join(f'    SLOT_{call.name}_{field.name.replace(".", "_")} = {index},\n'
                   for call in calls for index, field in enumerate(fields_of(call)))


def helpers(api):
    """Prototypes of the functions by hand that the description names."""
    return ''.join(wrap(declaration + ';') + '\n' for declaration in api.helpers.values())
