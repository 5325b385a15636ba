# SPDX-License-Identifier: Apache-2.0
"""HIP: wrappers in the traced program. They record the call when it has returned, and what it made
through HSA before that is recorded by that source."""

import re

import doors
from library import Library, args_of, statements, text_of
from text import HEAD, guarded
from traits import fields_of

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

{resolvers}{wrappers}
/* ---- exports -------------------------------------------------------------------------------- */

{doors}
{exports}const struct tsm_exports hiprtc_exports = {{rows + {rtc_first}, {rtc_count}}};
'''

# 303: hipErrorSharedObjectInitFailed; 11: an internal error.
HIP = Library('hip', 'hip_runtime',
              {'hipError_t': '303', 'hiprtcResult': '11', 'hip_modules_t': 'NULL', 'void': ''})

# By result type: the result as a hipError_t, and whether that failed. 999: hipErrorUnknown.
RESULTS = {
    'hipError_t': ('(int64_t)returned', 'returned != 0'),
    'hiprtcResult': ('returned ? 999 : 0', 'returned != 0'),
    'hip_modules_t': ('0', 'false'),
    'void': ('0', 'false'),
}


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
        return f'tsm_call_string(&call, {text_of(field)});'
    if field.type == 'BLOB':
        return f'tsm_call_blob(&call, ok ? {pointer} : NULL, ok ? {field.use.length} : 0);'
    if field.use.out:
        return f'tsm_call_slot(&call, ok && {pointer} ? {scalar(field, "*" + pointer)} : 0);'
    return f'tsm_call_slot(&call, {scalar(field, pointer)});'


def wrapper(call, api):
    fields = [append(field) for field in fields_of(call, api.structs) if field.value]
    uses_ok = any(re.search(r'\bok\b', line) for line in fields)
    code, failed = RESULTS[HIP.result_of(call)]
    is_void = call.returns == 'void'
    ok = 'true' if failed == 'false' else 'returned == 0'
    text = WRAPPER.format(
        name=call.name, args=args_of(call), signature=HIP.signature(call, doors.recorder(call.name)),
        result='' if is_void else f'{HIP.result_of(call)} const returned = ',
        returned='' if is_void else ' returned', end='' if is_void else '    return returned;',
        code=code, failed=failed, ok=f'    const bool ok = {ok};\n' if uses_ok else '',
        fields=statements(fields))
    return re.sub(r'\n\n(?=    tsm_call_commit|})', '\n', text)


def bind_of(call):
    return 'hip_bind_rtc' if call.name.startswith('hiprtc') else 'hip_bind'


def wrappers_c(api):
    calls = sorted(api.calls, key=lambda call: call.name)
    names = names_of(calls)
    rtc = [index for index, (symbol, _) in enumerate(names) if symbol.startswith('hiprtc')]
    return SOURCE.format(
        rtc_first=rtc[0], rtc_count=rtc[-1] - rtc[0] + 1, resolvers=HIP.resolvers(calls, bind_of),
        wrappers='\n'.join(wrapper(call, api) for call in calls),
        doors=doors.doors('hip', [(symbol, call.name) for symbol, call in names]),
        exports=HIP.exports(names, has_doors=True))


def prototypes_h(api):
    return guarded('API_HIP_HIP_PROTOTYPES_H', '#include "api/hip/types.h"\n\n' + ''.join(
        HIP.signature(call, symbol, '') + ';\n' for symbol, call in names_of(api.calls)))


def wrappers_h(api):
    body = ('#include "api/hip/hip_prototypes.h"\n#include "api/hip/source/source.h"\n\n'
            '/* The library\'s own functions. Each is at first a resolver. */\n'
            f'struct hip_real {{\n{HIP.members(api.calls)}}};\nextern struct hip_real hip_runtime;\n\n'
            '/* Sorted by name; the runtime compiler\'s are a part of all. */\n'
            'extern const struct tsm_exports hip_exports, hiprtc_exports;\n')
    return guarded('API_HIP_HIP_WRAPPERS_H', body)
