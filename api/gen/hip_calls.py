# SPDX-License-Identifier: Apache-2.0
"""HIP: wrappers in the traced program. They record the call when it has returned, and what it made
through HSA before that is recorded by that source."""

import re

import doors
from declarations import params_of
from text import HEAD, guarded, wrap
from traits import fields_of
from wrappers import args_of, statements

RESOLVER = '''\
{signature}
{{
    if (!{bind}() || hip_runtime.{name} == resolve_{name})
        return{missing};
    {give}hip_runtime.{name}({args});
}}
'''

WRAPPER = '''\
{signature}
{{
    const uint64_t began = tsm_ticks();
    {result}hip_runtime.{name}({args});
    struct tsm_call call;
{ok}
    if (!tsm_call_begin(&call, TYPE_{name}))
        return{returned};
    tsm_call_since(&call, began);
    tsm_call_returned(&call, {code}, {failed});
{fields}
    tsm_call_commit(&call);
{end}
}}
'''

SOURCE = HEAD + '''\
#include "api/hip/hip_wrappers.h"

#include "api/hip/hip_calls.h"
#include "base/clock.h"

/* ---- until the first call: resolvers -------------------------------------------------------- */

{resolvers}
struct hip_real hip_runtime = {{
{initial}}};

/* ---- wrappers ------------------------------------------------------------------------------- */

{wrappers}
/* ---- exports -------------------------------------------------------------------------------- */

{doors}
/* ---- what interposition looks up, sorted by name -------------------------------------------- */

static const struct tsm_export rows[] = {{
{rows}}};

const struct tsm_exports hip_exports = {{rows, sizeof(rows) / sizeof(rows[0])}};
const struct tsm_exports hiprtc_exports = {{rows + {rtc_first}, {rtc_count}}};
'''

# Result types: what is returned without a library, the result as a hipError_t, whether that failed.
# 303: hipErrorSharedObjectInitFailed; 999: hipErrorUnknown.
RESULTS = {
    'hipError_t': (' 303', '(int64_t)returned', 'returned != 0'),
    'hiprtcResult': (' 11', 'returned ? 999 : 0', 'returned != 0'),  # an internal error
    'hip_modules_t': (' NULL', '0', 'false'),
    'void': ('', '0', 'false'),
}


def returns(call):
    return call.returns or 'hipError_t'


def give(call):
    return '' if call.returns == 'void' else 'return '


def signature(call, name, prefix='static '):
    return wrap(f'{prefix}{returns(call)} {name}({params_of(call)})', 8)


def names_of(calls):
    """[(symbol, call)], sorted: some functions have a name as C++ makes them."""
    return sorted((symbol, call) for call in calls for symbol in [call.name, *call.symbols])


def scalar(field, expression):
    if field.use.type == 'f32':
        return f'hip_float_bits({expression})'
    if field.use.type == 'int':
        return f'(uint64_t)(int64_t){expression}'
    return f'(uint64_t)(uintptr_t)({expression})'


def append(field):
    pointer = field.value
    if field.type == 'STRING':
        text = f'ok && {pointer} ? *{pointer} : NULL' if field.use.indirect else \
            f'ok ? {pointer} : NULL'
        return f'tsm_call_string(&call, {text});'
    if field.type == 'BLOB':
        return f'tsm_call_blob(&call, ok ? {pointer} : NULL, ok ? {field.use.length} : 0);'
    if field.use.out:
        return f'tsm_call_slot(&call, ok && {pointer} ? {scalar(field, "*" + pointer)} : 0);'
    return f'tsm_call_slot(&call, {scalar(field, pointer)});'


def wrapper(call, api):
    fields = [append(field) for field in fields_of(call, api.structs) if field.value]
    uses_ok = any(re.search(r'\bok\b', line) for line in fields)
    _, code, failed = RESULTS[returns(call)]
    is_void = call.returns == 'void'
    ok = 'true' if failed == 'false' else 'returned == 0'
    text = WRAPPER.format(
        name=call.name, args=args_of(call), signature=signature(call, doors.recorder(call.name)),
        result='' if is_void else f'{returns(call)} const returned = ',
        returned='' if is_void else ' returned', end='' if is_void else '    return returned;',
        code=code, failed=failed, ok=f'    const bool ok = {ok};\n' if uses_ok else '',
        fields=statements(fields))
    return re.sub(r'\n\n(?=    tsm_call_commit|})', '\n', text)


def resolver(call):
    bind = 'hip_bind_rtc' if call.name.startswith('hiprtc') else 'hip_bind'
    return RESOLVER.format(name=call.name, args=args_of(call), bind=bind, give=give(call),
                           missing=RESULTS[returns(call)][0],
                           signature=signature(call, f'resolve_{call.name}'))


def wrappers_c(api):
    calls = sorted(api.calls, key=lambda call: call.name)
    names = names_of(calls)
    rtc = [index for index, (symbol, _) in enumerate(names) if symbol.startswith('hiprtc')]
    return SOURCE.format(
        rtc_first=rtc[0], rtc_count=rtc[-1] - rtc[0] + 1,
        resolvers='\n'.join(map(resolver, calls)),
        initial=''.join(f'    .{call.name} = resolve_{call.name},\n' for call in calls),
        wrappers='\n'.join(wrapper(call, api) for call in calls),
        doors=doors.doors('hip', [(symbol, call.name) for symbol, call in names]),
        rows=''.join(f'    {{"{symbol}", (void *){symbol}, (void **)&hip_runtime.{call.name}, '
                     f'&hip_doors[{index}]}},\n' for index, (symbol, call) in enumerate(names)))


def prototypes_h(api):
    return guarded('API_HIP_HIP_PROTOTYPES_H', '#include "api/hip/types.h"\n\n' + ''.join(
        signature(call, symbol, '') + ';\n' for symbol, call in names_of(api.calls)))


def wrappers_h(api):
    members = ''.join(wrap(f'    {returns(call)} (*{call.name})({params_of(call)});', 8) + '\n'
                      for call in api.calls)
    body = ('#include "api/hip/hip_prototypes.h"\n#include "api/hip/source/source.h"\n\n'
            '/* The library\'s own functions. Each is at first a resolver. */\n'
            f'struct hip_real {{\n{members}}};\nextern struct hip_real hip_runtime;\n\n'
            '/* Sorted by name; the runtime compiler\'s are a part of all. */\n'
            'extern const struct tsm_exports hip_exports, hiprtc_exports;\n')
    return guarded('API_HIP_HIP_WRAPPERS_H', body)
