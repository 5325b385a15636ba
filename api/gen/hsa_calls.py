# SPDX-License-Identifier: Apache-2.0
"""HSA: prototypes, wrappers in the traced program, and the table of replay functions. Unlike CUDA's
calls these have several result types, objects are structs of one number (`boxed` in the
description), and every call that replay carries out is carried out by hand."""

import re

import doors
from declarations import params_of
from text import HEAD, guarded, wrap
from traits import fields_of
from wrappers import args_of, statements

RESOLVER = '''\
{signature}
{{
    if (!hsa_bind() || hsa_runtime.{name} == resolve_{name})
        return{missing};
    {give}hsa_runtime.{name}({args});
}}
'''

# Its callback makes calls of its own, or there is nothing to say about it.
FORWARD = '''\
{signature}
{{
    {give}{function}({args});
}}
'''

WRAPPER = '''\
{signature}
{{
    struct tsm_call call;
    hsa_status_t returned;
    bool ok;

    if (!tsm_call_begin(&call, TYPE_{name}))
        return hsa_runtime.{name}({args});
{before}
    returned = hsa_runtime.{name}({args});
    ok = returned == HSA_STATUS_SUCCESS;
    tsm_call_returned(&call, (int64_t)returned, !ok);
{after}
    tsm_call_commit(&call);
{then}
    return returned;
}}
'''

SOURCE = HEAD + '''\
#include "api/hsa/hsa_wrappers.h"

#include "api/hsa/source/encode.h"
#include "api/hsa/hsa_hooks.h"

/* ---- the description's numbers are the header's --------------------------------------------- */

{asserts}
/* ---- until the first call: resolvers -------------------------------------------------------- */

{resolvers}
struct hsa_real hsa_runtime = {{
{initial}}};

/* ---- wrappers ------------------------------------------------------------------------------- */

{wrappers}
/* ---- exports -------------------------------------------------------------------------------- */

{doors}
/* ---- what interposition looks up, sorted by name -------------------------------------------- */

static const struct tsm_export rows[] = {{
{rows}}};

const struct tsm_exports hsa_exports = {{rows, sizeof(rows) / sizeof(rows[0])}};
'''

REPLAY = HEAD + '''\
#include "api/hsa/hsa_replay_calls.h"

static const hsa_replay_function replays[] = {{
{table}}};

hsa_replay_function hsa_replay_find(uint32_t type)
{{
    uint32_t id = SBT_TYPE_CALL(type);

    if (SBT_TYPE_API(type) != SBT_API_HSA || id >= sizeof(replays) / sizeof(replays[0]))
        return NULL;
    return replays[id];
}}

static void *or_missing(void *found, void *missing)
{{
    return found ? found : missing;
}}

{missing}
void hsa_real_load(struct hsa_real *out, void *(*symbol)(void *library, const char *name),
                   void *library)
{{
{load}}}
'''

REPLAY_H = '''\
/* What is written by hand for the HSA backend. SLOT_NAME_FIELD is the slot of a field. */

#include "api/hsa/replay/replay.h"

{prototypes}
enum hsa_replay_slot {{
{slots}}};
'''


def functions(api):
    """Calls that are functions of the library."""
    return [call for call in api.calls if call.status != 'made']


def returns(call, api):
    return call.returns or api.result


def give(call):
    return '' if call.returns == 'void' else 'return '


def missing_value(call):
    return {'': ' HSA_STATUS_ERROR', 'void': ''}.get(call.returns, ' 0')


# ---- fields ---------------------------------------------------------------------------------------


def raw(api, ctype, expression):
    """The number that stands for a value of an object type."""
    if ctype in api.boxed:
        return f'({expression}).handle'
    return f'(uint64_t)(uintptr_t)({expression})'


def scalar(api, use, ctype, expression):
    if use.type in ('int', 'enum'):
        return f'(uint64_t)(int64_t){expression}'
    return raw(api, ctype, expression)


def append_variable(call, field):
    pointer = field.value
    if field.type == 'STRING':
        text = f'ok && {pointer} ? *{pointer} : NULL' if field.use.indirect else \
            f'ok ? {pointer} : NULL'
        return f'tsm_call_string(&call, {text});'
    function = 'tsm_call_blob' if field.type == 'BLOB' else 'tsm_call_bytes'
    return f'{function}(&call, ok ? {pointer} : NULL, ok && {pointer} ? {field.use.length} : 0);'


def append(api, call, field):
    """The C statement that appends a field of a parameter."""
    if field.type in ('STRING', 'BYTES', 'BLOB'):
        return append_variable(call, field)
    param = call.param(field.name)
    ctype = param.pointee if field.use.out else param.ctype
    value = scalar(api, field.use, ctype, f'*{field.value}' if field.use.out else field.value)
    if field.type == 'HANDLE':
        function = 'hsa_id_new' if field.use.made else 'hsa_id'
        if call.kind == 'destroy' and field.use.role == 'object':
            return f'tsm_call_slot(&call, {field.name}_id);'
        value = f'{function}(HSA_OBJECT_{field.detail.upper()}, {value})'
    if field.use.out:
        value = f'ok && {field.value} ? {value} : 0'
    return f'tsm_call_slot(&call, {value});'


def before(api, call):
    lines = []
    for param in call.params:
        if call.kind == 'destroy' and param.use.type == 'handle' and param.use.role == 'object':
            lines.append(f'const uint64_t {param.name}_id = hsa_id_destroyed(HSA_OBJECT_'
                         f'{param.use.detail.upper()}, {raw(api, param.ctype, param.name)});')
    if call.untrack:
        lines.append(f'hsa_memory_destroyed((uint64_t)(uintptr_t){call.untrack});')
    return lines


def helper_call(text):
    name, _, args = text.partition('(')
    return f'{name}(&call, ok{"" if args == ")" else ", "}{args};'


def after(api, call):
    lines = [append(api, call, field) for field in fields_of(call, api.structs) if field.value]
    lines += map(helper_call, call.after)
    if 'taints' in call.options:
        lines += ['if (ok)', '    tsm_call_flag(&call, SBT_RECORD_TAINTS);']
    return lines


# ---- wrappers -------------------------------------------------------------------------------------


def signature(call, api, prefix, name):
    return wrap(f'{prefix} {returns(call, api)} {name}({params_of(call)})', 8)


def wrapper(call, api):
    head = signature(call, api, 'static', doors.recorder(call.name))
    if call.status == 'hook' or 'unrecorded' in call.options:
        function = f'hook_{call.name}' if call.status == 'hook' else f'hsa_runtime.{call.name}'
        return FORWARD.format(signature=head, give=give(call), function=function,
                              args=args_of(call))
    then = ['if (ok)', f'    {call.then};'] if call.then else []
    text = WRAPPER.format(name=call.name, args=args_of(call), signature=head,
                          before=statements(before(api, call)), after=statements(after(api, call)),
                          then=statements(then))
    return re.sub(r'\n\n(?=    (returned|tsm_call_commit|return returned))', '\n', text)


def resolver(call, api):
    return RESOLVER.format(name=call.name, give=give(call), args=args_of(call),
                           missing=missing_value(call),
                           signature=signature(call, api, 'static', f'resolve_{call.name}'))


def asserts(api):
    return ''.join(wrap(f'_Static_assert((int64_t){name} == {value}, "{name}");') + '\n'
                   for enum in api.enums.values() if enum.kind == 'enum'
                   for name, value in enum.values)


def wrappers_c(api):
    calls = sorted(functions(api), key=lambda call: call.name)
    return SOURCE.format(
        asserts=asserts(api),
        resolvers='\n'.join(resolver(call, api) for call in calls),
        initial=''.join(f'    .{call.name} = resolve_{call.name},\n' for call in calls),
        wrappers='\n'.join(wrapper(call, api) for call in calls),
        doors=doors.doors('hsa', [call.name for call in calls]),
        rows=''.join(f'    {{"{call.name}", (void *){call.name}, (void **)&hsa_runtime.{call.name}, '
                     f'&hsa_doors[{index}]}},\n' for index, call in enumerate(calls)))


# ---- headers --------------------------------------------------------------------------------------


def prototypes_h(api):
    """Where the API's headers declare a function, the compiler compares."""
    body = '#include "api/hsa/types.h"\n\n'
    body += ''.join(wrap(f'{returns(call, api)} {call.name}({params_of(call)});') + '\n'
                    for call in functions(api))
    return guarded('API_HSA_HSA_PROTOTYPES_H', body)


def calls_inc(api):
    text = HEAD + '''\
/* TSM_HSA_CALL(id, name, result type, (parameters with types), value when there is none): each
 * function of the library. */
'''
    for call in functions(api):
        text += wrap(f'TSM_HSA_CALL({call.id}, {call.name}, {returns(call, api)}, '
                     f'({params_of(call)}),{missing_value(call)})') + '\n'
    return text


def real_h(api):
    members = ''.join(wrap(f'    {returns(call, api)} (*{call.name})({params_of(call)});', 8) + '\n'
                      for call in functions(api))
    body = ('#include "api/hsa/hsa_prototypes.h"\n\n'
            '/* The functions of an HSA runtime, in the order of ids. */\n'
            f'struct hsa_real {{\n{members}}};\n')
    return guarded('API_HSA_HSA_REAL_H', body)


def wrappers_h(api):
    body = ('#include "api/hsa/hsa_real.h"\n#include "api/hsa/source/source.h"\n\n'
            '/* The runtime\'s own functions. Each is at first a resolver. */\n'
            'extern struct hsa_real hsa_runtime;\n\n'
            '/* Name, wrapper and &hsa_runtime.NAME of each function, sorted by name. */\n'
            'extern const struct tsm_exports hsa_exports;\n')
    return guarded('API_HSA_HSA_WRAPPERS_H', body)


def hooks_h(api):
    helpers = ''.join(wrap(declaration + ';') + '\n' for declaration in api.helpers.values())
    hooks = ''.join(signature(call, api, '', f'hook_{call.name}').lstrip() + ';\n'
                    for call in functions(api) if call.status == 'hook')
    return guarded('API_HSA_HSA_HOOKS_H',
                   f'#include "api/hsa/source/source.h"\n\n{helpers}\n{hooks}')


# ---- replay ---------------------------------------------------------------------------------------


def table_row(call):
    return f'    [{call.id}] = replay_{call.replayed_by},\n' if call.replay == 'hook' else ''


def missing(call, api):
    return (signature(call, api, 'static', f'missing_{call.name}')
            + f'\n{{\n    return{missing_value(call)};\n}}\n')


def replay_calls_c(api):
    return REPLAY.format(
        table=''.join(map(table_row, api.calls)),
        missing='\n'.join(missing(call, api) for call in functions(api)),
        load=''.join(wrap(f'    *(void **)&out->{call.name} = or_missing(symbol(library, '
                          f'"{call.name}"), (void *)missing_{call.name});', 8) + '\n'
                     for call in functions(api)))


def replay_calls_h(api):
    hooked = [call for call in api.calls if call.replay == 'hook' and call.replayed_by == call.name]
    shown = hooked + [call for call in api.calls if call.status == 'made' and call not in hooked]
    prototypes = ''.join(wrap(f'int replay_{call.name}(struct hsa_replay *replay, '
                              'const struct sbt_record *record);') + '\n' for call in hooked)
    slots = ''.join(f'    SLOT_{call.name}_{field.name} = {index},\n' for call in shown
                    for index, field in enumerate(fields_of(call, api.structs)))
    return guarded('API_HSA_HSA_REPLAY_CALLS_H',
                   REPLAY_H.format(prototypes=prototypes, slots=slots))
