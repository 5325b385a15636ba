# SPDX-License-Identifier: Apache-2.0
"""The wrappers that the traced program calls. Each template looks like the C that it makes."""

import itertools
import re

from declarations import params_of
from library import Library, args_of, helpers, statements, text_of
from text import HEAD, guarded, wrap
from traits import fields_of

CUDA = Library('cuda', 'real', {'CUresult': 'CUDA_ERROR_NOT_FOUND'})

HOOKED = '''\
{signature}
{{
    return hook_{name}({args});
}}
'''

WRAPPER = '''\
{signature}
{{
    struct tsm_call call;
    CUresult returned;
    uint64_t *slots;
    bool ok;

    if (!tsm_call_begin(&call, TYPE_{name}))
        return real.{name}({args});
{before}
{timed}
    returned = real.{name}({passed});
    ok = returned == CUDA_SUCCESS;
{timed_end}
{settled}
    tsm_call_returned(&call, returned, !ok);
{after}
    tsm_call_commit(&call);
{synchronised}
    return returned;
}}
'''

SOURCE = HEAD + '''\
#include "api/cuda/cuda_wrappers.h"

#include "api/cuda/source/encode.h"
#include "api/cuda/cuda_hooks.h"

#define TSM_EXPORT __attribute__((visibility("default")))

{resolvers}{wrappers}
{exports}'''


def passed_of(call):
    return ', '.join(call.passed.get(param.name, param.name) for param in call.params)


def guarded_stream(expression):
    pointer = re.match(r'(\w+)->', expression)
    # The program's pointer has not been checked by the driver yet.
    return f'{pointer[1]} ? {expression} : NULL' if pointer else expression


def stream_of(call, expression):
    """The capture's stream of a C expression of type CUstream."""
    return f'cuda_stream{"_ptsz" if call.per_thread else ""}({guarded_stream(expression)})'


def on_stream(call):
    """The call takes its place, unless it becomes part of a graph."""
    blocks = call.options & {'blocks', 'waits'} or call.status == 'unmodelled'
    use = 'TSM_ENQUEUES' if not blocks else 'TSM_BLOCKS' if call.kind == 'sync' else \
        'TSM_SENDS_AND_BLOCKS'
    if call.stream == 'NULL' or call.kind == 'sync':
        return f'tsm_call_on_stream(&call, {stream_of(call, call.stream)}, {use});'
    event = object_param(call, ('wait',))
    return (f'cuda_on_stream(&call, {guarded_stream(call.stream)}, '
            f'{"true" if call.per_thread else "false"}, {event.name if event else "NULL"}, {use});')


def object_param(call, kinds):
    """The parameter of role object that a call of one of these kinds takes."""
    if call.kind not in kinds or call.status == 'unmodelled':
        return None
    return next((param for param in call.params
                 if param.use.role == 'object' and param.use.type == 'handle'
                 and not param.use.out), None)


# ---- before the real call -----------------------------------------------------------------------


def prepared(call, by_hand):
    """Before the call: cuda_before_X of each cuda_after_X that has one."""
    lines = []
    for helper in call.after:
        name, _, args = helper.partition('(')
        name = name.replace('_after_', '_before_')
        if name in by_hand:
            lines.append(f'{name}(&call, {re.sub(", (true|false)[)]$", ")", args)};')
    return lines


def foretold(call, by_hand, tracked):
    """Before the call: what the device is going to write to memory that the host reaches, too."""
    lines = ['    ' + line for line in prepared(call, by_hand)]
    for param in call.params:
        if param.use.type == 'readback':
            lines.append(f'    cuda_before_device_bytes(&call, CUDA_SLOT({param.name}), '
                         f'{param.use.length});')
    return [f'if ({tracked}) {{', *lines, '    tsm_device_foretold(&call);', '}'] if lines else []


def settled_first(call):
    """The call waits for what its stream was given before, in any case or where it says so."""
    settled = (f'cuda_on_synchronized_stream(&call, {guarded_stream(call.stream)}, '
               f'{"true" if call.per_thread else "false"});')
    if 'waits' in call.options:
        return [settled]
    return [f'if ({call.settles}) {{', '    ' + settled, '} else {', '    cuda_publish();',
            '    ' + on_stream(call), '}']


def before(call, by_hand):
    lines = []
    if call.kind == 'command' and (call.settles or 'waits' in call.options):
        return settled_first(call) + foretold(call, by_hand, 'tsm_hostmem_any()')
    told = foretold(call, by_hand, 'is_shared') if call.kind == 'command' else []
    if call.kind in ('command', 'signal', 'wait'):
        lines.append(('const bool is_shared = ' if told else '') + 'cuda_publish();')
    if call.kind == 'sync' and call.status == 'generated':
        lines.append('tsm_values_publish();')
    event = object_param(call, ('sync', 'wait'))
    if event and event.use.detail == 'event':
        lines.append(f'const struct tsm_handle {event.name}_now = cuda_event_now({event.name});')
    gone = object_param(call, ('destroy',))
    if gone and gone.use.detail == 'stream':
        lines.append(f'const uint64_t {gone.name}_id = cuda_stream_leaves({gone.name});')
    elif gone:
        lines.append(f'const uint64_t {gone.name}_id = cuda_id_leaves('
                     f'CUDA_OBJECT_{gone.use.detail.upper()}, CUDA_SLOT({gone.name}));')
    if call.untrack:
        lines.append(f'tsm_memory_leaves(CUDA_SLOT({call.untrack}));')
    if call.stream:
        lines.append(on_stream(call))
    return lines + (told if call.kind == 'command' else prepared(call, by_hand))


def timed(call):
    """The statements before and after the real call that time a command on the device, or ask what one that only orders others waited for."""
    if call.kind not in ('command', 'wait', 'signal') or call.status != 'generated' or not call.stream:
        return [], []
    wait = ('CUDA_HOST_WAITS' if 'waits' in call.options else
            'CUDA_HOST_MAY_WAIT' if 'blocks' in call.options or call.settles else 'CUDA_HOST_GOES_ON')
    begin = 'cuda_gpu_time_begin' if call.kind == 'command' else 'cuda_gpu_time_begin_order'
    return ([f'struct cuda_timed *timed = {begin}(&call, {guarded_stream(call.stream)}, '
             f'{"true" if call.per_thread else "false"});'],
            ['if (timed)', f'    cuda_gpu_time_end(timed, ok, {wait});'])


# ---- after it -----------------------------------------------------------------------------------


def handle_in(call, field):
    gone = object_param(call, ('destroy',))
    if gone and field.use is gone.use:
        return f'{gone.name}_id'
    return f'cuda_id(CUDA_OBJECT_{field.detail.upper()}, CUDA_SLOT({field.value}))'


def handle_out(call, field):
    raw = f'CUDA_OBJECT_{field.detail.upper()}, CUDA_SLOT(*{field.value})'
    name = next((param.name for param in call.params if param.use.role == 'name'), 'NULL')
    if field.use.made == 'new':
        return f'cuda_id_new({raw}, {name})'
    if field.use.made == 'shared':
        return f'cuda_id_shared({raw}, {owner_of(call, name)}, {name})'
    return f'cuda_id_if_known({raw})'


def owner_of(call, name):
    """The id of what an object with a name belongs to: a function's module. '0' where an object is also given
    by calls that do not tell."""
    owner = next((param for param in call.params if param.use.type == 'handle' and not param.use.out), None)
    if name == 'NULL' or not owner:
        return '0'
    return f'cuda_id(CUDA_OBJECT_{owner.use.detail.upper()}, CUDA_SLOT({owner.name}))'


def scalar(call, field, expression):
    """A C expression as the value of a slot."""
    if field.use.type == 'f32':
        return f'cuda_slot_f32({expression})'
    if field.use.type == 'stream':
        return f'cuda_stream_slot({stream_of(call, expression)})'
    if field.use.type in ('int', 'device', 'enum'):
        return f'(uint64_t)(int64_t)({expression})' if '*' in expression else \
            f'(uint64_t)(int64_t){expression}'
    return f'CUDA_SLOT({expression})'


def append_variable(call, field):
    pointer = field.value
    if field.type == 'STRING':
        return f'tsm_call_string(&call, {text_of(field)});'
    function = 'tsm_call_blob' if field.type == 'BLOB' else 'tsm_call_bytes'
    taken = ''
    if field.role == 'payload':
        function = 'cuda_payload'
        taken = ', true' if 'waits' in call.options else ', false'
    return (f'{function}(&call, ok ? {pointer} : NULL, ok && {pointer} ? {field.use.length} : 0'
            f'{taken});')


def append(call, field):
    """The C statement that appends a field. What a pointer points to is read only when the driver
    has accepted it."""
    if field.type in ('STRING', 'BYTES', 'BLOB'):
        return append_variable(call, field)
    if field.use.type in ('payload', 'readback'):
        return f'tsm_call_slot(&call, CUDA_SLOT({field.value}));'
    if field.use.out:
        value = handle_out(call, field) if field.type == 'HANDLE' else \
            scalar(call, field, f'*{field.value}')
        return f'tsm_call_slot(&call, ok && {field.value} ? {value} : 0);'
    value = handle_in(call, field) if field.type == 'HANDLE' else scalar(call, field, field.value)
    if '->' in field.value or field.use.value:
        value = f'ok ? {value} : 0'
    return f'tsm_call_slot(&call, {value});'


PLAIN = re.compile(r'tsm_call_slot\(&call, ((?!.*cuda_).*)\);')


def grouped(lines):
    """Fields in a row that need no function of ours, all at once: one count instead of many."""
    found = []
    for plain, run in itertools.groupby(lines, lambda line: bool(PLAIN.fullmatch(line))):
        run = list(run)
        if plain and len(run) > 1:
            found.append(f'slots = tsm_call_slots(&call, {len(run)});')
            run = [f'slots[{i}] = {PLAIN.fullmatch(line)[1]};' for i, line in enumerate(run)]
        found += run
    return found


def left(call):
    """What the call gave up is forgotten, unless it failed."""
    lines = []
    gone = object_param(call, ('destroy',))
    if gone:
        lines.append(f'cuda_id_left(CUDA_OBJECT_{gone.use.detail.upper()}, CUDA_SLOT({gone.name}), '
                     f'{gone.name}_id, ok);')
    if call.untrack:
        lines.append(f'tsm_memory_left(CUDA_SLOT({call.untrack}), ok);')
    return lines


def after(call, fields):
    lines = grouped([append(call, field) for field in fields if field.value])
    for helper in call.after:
        name, _, args = helper.partition('(')
        lines.append(f'{name}(&call, ok, {args};')
    effects = []
    for param in call.params:
        if param.use.type == 'readback':
            complete = 'true' if 'waits' in call.options else f'cuda_is_pageable({param.name})'
            effects.append(f'cuda_readback(&call, {param.name}, {param.use.length}, {complete});')
    if object_param(call, ('signal',)):
        effects.append(f'cuda_signalled(&call, {object_param(call, ("signal",)).name});')
    if object_param(call, ('wait',)):
        effects.append(f'cuda_waits(&call, &{object_param(call, ("wait",)).name}_now);')
    if call.track:
        address, size = call.track
        effects.append(f'tsm_hostmem_track(CUDA_SLOT({address}), {size});')
    if 'taints' in call.options:
        effects.append('tsm_call_flag(&call, SBT_RECORD_TAINTS);')
    return lines + left(call) + [line for effect in effects for line in ('if (ok)', '    ' + effect)]


def settled(call):
    """Before the call's own record has its place: what the program must have written, so that this
    wait could end."""
    if call.status == 'unmodelled' or not (call.kind == 'sync' or 'waits' in call.options):
        return []
    of = object_param(call, ('sync',))
    if call.stream:
        return ['if (ok)', f'    tsm_values_publish_completed({stream_of(call, call.stream)}, UINT64_MAX);']
    if of and of.use.detail == 'event':
        return ['if (ok)', f'    cuda_event_settled(&{of.name}_now);']
    return ['if (ok)', '    tsm_values_publish_completed(NULL, UINT64_MAX);']


def synchronised(call):
    """When the call's own record is written: what is seen, and what is complete then."""
    if call.then:
        return ['if (ok)', f'    {call.then};']
    if call.status == 'generated' and call.kind == 'command' and 'waits' not in call.options:
        lines = ['if (ok)', '    cuda_commanded(&call);']
        return lines + (['if (timed)', '    cuda_gpu_time_collect_some();'] if call.stream else [])
    if call.status == 'unmodelled' or not (call.kind == 'sync' or 'waits' in call.options):
        return []
    of = object_param(call, ('sync',))
    if call.stream:
        effect = f'cuda_stream_synchronised({stream_of(call, call.stream)});'
    elif of and of.use.detail == 'event':
        effect = f'cuda_event_synchronised(&{of.name}_now);'
    else:
        effect = f'cuda_context_synchronised({of.name if of else "NULL"});'
    return ['if (ok)', '    ' + effect, 'if (cuda_gpu_time_wanted)', '    cuda_gpu_time_collect();']


def wrapper(call, structs, by_hand):
    names = {'name': call.name, 'args': args_of(call), 'passed': passed_of(call),
             'signature': CUDA.signature(call, call.name, 'TSM_EXPORT ')}
    if call.status == 'hook':
        return HOOKED.format(**names)
    lines = after(call, fields_of(call, structs))
    text = WRAPPER.format(**names, before=statements(before(call, by_hand)), after=statements(lines),
                          settled=statements(settled(call)), timed=statements(timed(call)[0]),
                          timed_end=statements(timed(call)[1]),
                          synchronised=statements(synchronised(call)))
    if not timed(call)[0] and \
            not re.search(r'\bok\b', text.split('ok = ')[1].split('tsm_call_returned')[1][8:]):
        text = text.replace('    bool ok;\n', '').replace(
            '    ok = returned == CUDA_SUCCESS;\n', '').replace('!ok', 'returned != CUDA_SUCCESS')
    if 'slots[' not in text:
        text = text.replace('    uint64_t *slots;\n', '')
    return re.sub(r'\n\n(?=    (returned|tsm_call_returned|tsm_call_commit|return returned))', '\n', text)


def wrappers_c(api):
    names = sorted((call.name, call) for call in api.calls)
    return SOURCE.format(
        resolvers=CUDA.resolvers(api.calls, lambda call: 'cuda_bind'),
        wrappers='\n'.join(wrapper(call, api.structs, api.helpers) for call in api.calls),
        exports=CUDA.exports(names, has_doors=False))


# ---- headers ------------------------------------------------------------------------------------

REAL = '''\
#include "api/cuda/cuda_prototypes.h"

/* The functions of a CUDA driver, one pointer each, in the order of ids. */
struct cuda_real {{
{members}}};
'''

WRAPPERS = '''\
#include "api/cuda/cuda_real.h"
#include "api/cuda/source/source.h"

/* The driver's own functions. Each is at first a resolver: see api/cuda/source/source.h. */
extern struct cuda_real real;

/* Name, wrapper and &real.NAME of each function, sorted by name. */
extern const struct tsm_exports cuda_exports;
'''

HOOKS = '''\
/* What is written by hand for the CUDA source: functions that the description calls. They run inside
 * the traced program, by the rules of capture/capture.h. */

#include "api/cuda/source/source.h"

/* Everything that was submitted to `context` (NULL: the calling thread's) is complete: tell
 * tsm_synchronised() for each of its streams. */
void cuda_context_synchronised(CUcontext context);

/* ---- helpers -------------------------------------------------------------------------------- */

{helpers}
/* ---- whole wrappers ------------------------------------------------------------------------- */

{hooks}'''


def real_h(api):
    return guarded('API_CUDA_CUDA_REAL_H', REAL.format(members=CUDA.members(api.calls)))


def wrappers_h(api):
    return guarded('API_CUDA_CUDA_WRAPPERS_H', WRAPPERS)


def hooks_h(api):
    return guarded('API_CUDA_CUDA_HOOKS_H', HOOKS.format(helpers=helpers(api), hooks=CUDA.hooks(api.calls)))
