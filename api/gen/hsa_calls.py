# SPDX-License-Identifier: Apache-2.0
"""HSA: prototypes, wrappers in the traced program, and the table of replay functions. Unlike CUDA's
calls these have several result types, objects are structs of one number (`boxed` in the
description), and every call that replay carries out is carried out by hand."""

import re

import doors
from declarations import params_of
from library import Library, args_of, helpers, slots, statements, text_of
from text import HEAD, guarded, wrap
from traits import fields_of

HSA = Library('hsa', 'hsa_runtime', {'hsa_status_t': 'HSA_STATUS_ERROR', 'void': ''})

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
{resolvers}{wrappers}
/* ---- exports -------------------------------------------------------------------------------- */

{doors}
{exports}'''

REPLAY = HEAD + '''\
#include "api/hsa/hsa_replay_calls.h"

{find}
{load}'''

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
        return f'tsm_call_string(&call, {text_of(field)});'
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


def wrapper(call, api):
    head = HSA.signature(call, doors.recorder(call.name))
    if call.status == 'hook' or 'unrecorded' in call.options:
        function = f'hook_{call.name}' if call.status == 'hook' else f'hsa_runtime.{call.name}'
        return FORWARD.format(signature=head, give=HSA.give(call), function=function,
                              args=args_of(call))
    then = ['if (ok)', f'    {call.then};'] if call.then else []
    text = WRAPPER.format(name=call.name, args=args_of(call), signature=head,
                          before=statements(before(api, call)), after=statements(after(api, call)),
                          then=statements(then))
    return re.sub(r'\n\n(?=    (returned|tsm_call_commit|return returned))', '\n', text)


def asserts(api):
    return ''.join(wrap(f'_Static_assert((int64_t){name} == {value}, "{name}");') + '\n'
                   for enum in api.enums.values() if enum.kind == 'enum'
                   for name, value in enum.values)


def wrappers_c(api):
    calls = sorted(functions(api), key=lambda call: call.name)
    names = [call.name for call in calls]
    return SOURCE.format(
        asserts=asserts(api), resolvers=HSA.resolvers(calls, lambda call: 'hsa_bind'),
        wrappers='\n'.join(wrapper(call, api) for call in calls), doors=doors.doors('hsa', names),
        exports=HSA.exports(list(zip(names, calls)), has_doors=True))


# ---- headers --------------------------------------------------------------------------------------


def prototypes_h(api):
    """Where the API's headers declare a function, the compiler compares."""
    body = '#include "api/hsa/types.h"\n\n'
    body += ''.join(HSA.signature(call, call.name, '') + ';' + '\n'
                    for call in functions(api))
    return guarded('API_HSA_HSA_PROTOTYPES_H', body)


def calls_inc(api):
    text = HEAD + '''\
/* TSM_HSA_CALL(id, name, result type, (parameters with types), value when there is none): each
 * function of the library. */
'''
    for call in functions(api):
        text += wrap(f'TSM_HSA_CALL({call.id}, {call.name}, {HSA.result_of(call)}, '
                     f'({params_of(call)}),{HSA.missing_value(call)})') + '\n'
    return text


def real_h(api):
    body = ('#include "api/hsa/hsa_prototypes.h"\n\n'
            '/* The functions of an HSA runtime, in the order of ids. */\n'
            f'struct hsa_real {{\n{HSA.members(functions(api))}}};\n')
    return guarded('API_HSA_HSA_REAL_H', body)


def wrappers_h(api):
    body = ('#include "api/hsa/hsa_real.h"\n#include "api/hsa/source/source.h"\n\n'
            '/* The runtime\'s own functions. Each is at first a resolver. */\n'
            'extern struct hsa_real hsa_runtime;\n\n'
            '/* Name, wrapper and &hsa_runtime.NAME of each function, sorted by name. */\n'
            'extern const struct tsm_exports hsa_exports;\n')
    return guarded('API_HSA_HSA_WRAPPERS_H', body)


def hooks_h(api):
    return guarded('API_HSA_HSA_HOOKS_H', f'#include "api/hsa/source/source.h"\n\n{helpers(api)}\n'
                   f'{HSA.hooks(functions(api))}')


# ---- replay ---------------------------------------------------------------------------------------


def replay_calls_c(api):
    by_hand = [call for call in api.calls if call.replay == 'hook']
    return REPLAY.format(find=HSA.find(by_hand), load=HSA.load(functions(api)))


def replay_calls_h(api):
    hooked = HSA.hooked(api.calls)
    shown = hooked + [call for call in api.calls if call.status == 'made' and call not in hooked]
    return guarded('API_HSA_HSA_REPLAY_CALLS_H', REPLAY_H.format(
        prototypes=HSA.replay_prototypes(api.calls),
        slots=slots(shown, lambda call: fields_of(call, api.structs))))
