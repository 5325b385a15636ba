# SPDX-License-Identifier: Apache-2.0
"""Calls of Vulkan's commands: tables of the next functions, wrappers in the traced program, thunks
for replay. Each template looks like the C that it makes."""

import re

from text import HEAD, guarded, wrap

DISPATCH_H = '''\
/* The functions below us, one pointer for each command: what lies first in struct vk_instance_dispatch
 * and struct vk_device_dispatch (api/vulkan/tables/dispatch.h). */

#include "api/vulkan/tables/headers.h"

struct vk_instance_functions {{
{instance}}};

struct vk_device_functions {{
{device}}};

/* Their names, in the same order: places in vk_names. */
extern const uint32_t vk_instance_names[{instance_count}];
extern const uint32_t vk_device_names[{device_count}];
'''

DISPATCH_C = HEAD + '''\
#include "api/vulkan/vulkan_functions.h"

const uint32_t vk_instance_names[] = {{
{instance}}};

const uint32_t vk_device_names[] = {{
{device}}};
'''

THUNK = '''\
static int64_t call_{name}(const struct vk_instance_dispatch *instance,
                           const struct vk_device_dispatch *device, void *memory)
{{
    const struct vk_args_{name} *a = memory;

    if (!{table}->f.{name})
        return VK_ERROR_EXTENSION_NOT_PRESENT;
    {call};{done}
}}
'''

THUNKS_C = HEAD + '''\
#include "api/vulkan/tables/dispatch.h"

#include "api/vulkan/vulkan_args.h"

{thunks}
/* In the order of vk_commands. */
static int64_t (*const thunks[])(const struct vk_instance_dispatch *,
                                 const struct vk_device_dispatch *, void *) = {{
{rows}}};

int64_t vk_call(const struct vk_instance_dispatch *instance,
                const struct vk_device_dispatch *device, uint32_t command, void *args)
{{
    if (command >= sizeof(thunks) / sizeof(thunks[0]) || !thunks[command])
        return VK_ERROR_EXTENSION_NOT_PRESENT;
    return thunks[command](instance, device, args);
}}
'''

# A few scalars and handles: straight into the record.
FLAT = '''\
static VKAPI_ATTR {result} VKAPI_CALL wrap_{name}({params})
{{
    const struct vk_{level}_dispatch *next = vk_{level}_of({first});
    struct tsm_call call;
    {returns}uint64_t *slots, ids[{count}];

    if (!tsm_call_begin(&call, TYPE_{name})) {{
        {pass_on}
    }}
    {assign}next->f.{name}({args});
    tsm_call_returned(&call, {outcome});
{ids}
    slots = tsm_call_slots(&call, {count});
{slots}
    tsm_call_commit(&call);{give}
}}
'''

# Anything: by the tables.
WRAPPER = '''\
static VKAPI_ATTR {result} VKAPI_CALL wrap_{name}({params})
{{
    const struct vk_{level}_dispatch *next = vk_{level}_of({first});
    const struct vk_args_{name} a = {{{args}}};
    struct tsm_call call;
{returns}
{earlier}
    if (!tsm_call_begin(&call, TYPE_{name})) {{
        {pass_on}
    }}
{before}
    {assign}next->f.{name}({args});
{poll}
    tsm_call_returned(&call, {outcome});
{after}
{done}
}}
'''

WRAPPERS_C = HEAD + '''\
#include "api/vulkan/source/source.h"

#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"
#include "api/vulkan/vulkan_ids.h"

{wrappers}
/* ---- by name -------------------------------------------------------------------------------------- */

/* Places in vk_commands, in the order of names. */
static const uint16_t by_name[] = {{
{by_name}}};

/* No table of pointers: it would cost each process its relocation. */
static PFN_vkVoidFunction wrapper_at(uint32_t place)
{{
    switch (place) {{
{cases}    default:
        return NULL;
    }}
}}

PFN_vkVoidFunction vk_wrapper(const char *name)
{{
    uint32_t low = 0, high = sizeof(by_name) / sizeof(by_name[0]);

    while (low < high) {{
        uint32_t middle = (low + high) / 2;
        int order = strcmp(vk_name(vk_commands[by_name[middle]].name), name);
        if (order == 0)
            return wrapper_at(by_name[middle]);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }}
    return NULL;
}}
'''

# What takes the place of a command that is timed (TS_GPU_TIME=commands).
TIMED = '''\
static VKAPI_ATTR void VKAPI_CALL timed_{name}({params})
{{
    struct vk_timed_command timed;

    vk_command_begins(&timed, {first}, TYPE_{name}, {bind_point});
    vk_state_of({first})->untimed.{name}({args});
    vk_command_ends(&timed);
}}
'''

TIMED_C = HEAD + '''\
#include "api/vulkan/source/gpu_time/command_time.h"

#include "api/vulkan/vulkan_ids.h"

{functions}
void vk_timed_patch(struct vk_device_functions *f)
{{
{rows}}}
'''

HOOKS_H = '''\
/* What is written by hand for the Vulkan source: functions that vulkan.api names. They run inside the
 * traced program, by the rules of capture/capture.h. */

#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/source/source.h"

/* ---- whole wrappers ------------------------------------------------------------------------------- */

{hooks}
/* ---- before the next function is called, after it returned, when the record is committed ----------- */

{helpers}'''


def level_of(command):
    """Whose table has its next function. vkGetDeviceProcAddr is asked for a device of its instance."""
    return 'instance' if command.name == 'vkGetDeviceProcAddr' else command.level


def params_of(table):
    return ', '.join(param.declaration for param in table.command.params) or 'void'


def args_of(table, prefix=''):
    return ', '.join(prefix + param.name for param in table.command.params)


# ---- tables of functions ---------------------------------------------------------------------------


def functions(model, level):
    return [table for table in model.commands if level_of(table.command) == level and
            table.name not in ('vkGetInstanceProcAddr',)]


def dispatch_h(model):
    parts = {level: ''.join(f'    PFN_{table.name} {table.name};\n'
                            for table in functions(model, level))
             for level in ('instance', 'device')}
    return guarded('API_VULKAN_VULKAN_FUNCTIONS_H', DISPATCH_H.format(
        **parts, instance_count=len(functions(model, 'instance')),
        device_count=len(functions(model, 'device'))))


def dispatch_c(model, names):
    rows = {level: ''.join(f'    {names.place(table.name)},\n' for table in functions(model, level))
            for level in ('instance', 'device')}
    return DISPATCH_C.format(**rows)


# ---- thunks ----------------------------------------------------------------------------------------


def thunk(table):
    level = level_of(table.command)
    call = f'{level}->f.{table.name}({args_of(table, "a->")})'
    void = table.command.result == 'void'
    text = THUNK.format(name=table.name, table=level, done='\n    return 0;' if void else '',
                        call=call if void else f'return (int64_t){call}')
    if table.command.result.startswith('PFN_'):
        text = text.replace('return (int64_t)', 'return (int64_t)(intptr_t)')
    return re.sub(r'.{101,}', lambda m: wrap(m[0], 8), text)


def has_thunk(table):
    return level_of(table.command) and table.name != 'vkGetInstanceProcAddr'


def thunks_c(model):
    made = [table for table in model.commands if has_thunk(table)]
    rows = ''.join(f'    call_{table.name},\n' if has_thunk(table) else '    NULL,\n'
                   for table in model.commands)
    return THUNKS_C.format(thunks='\n'.join(map(thunk, made)), rows=rows)


# ---- wrappers --------------------------------------------------------------------------------------

FLAT_KINDS = {'F32': 'vk_slot_f32', 'F64': 'vk_slot_f64'}
SIGNED = ('I8', 'I16', 'I32', 'I64', 'ENUM')


def slot(row):
    if row.kind == 'HANDLE' and row.type == 'VkCommandBuffer':
        return f'vk_buffer_id(&call, {row.name})'
    if row.kind == 'HANDLE':
        return f'vk_id(VK_OBJECT_{row.type}, VK_RAW({row.name}))'
    if row.kind in FLAT_KINDS:
        return f'{FLAT_KINDS[row.kind]}({row.name})'
    if row.kind in SIGNED:
        return f'(uint64_t)(int64_t){row.name}'
    return f'VK_RAW({row.name})' if row.kind in ('POINTER', 'FUNCTION') else row.name


def is_flat(table):
    """All arguments are slots but for bytes at the end, and nothing else is to be done."""
    rows = [row for row in table.rows if not row.omit]
    if rows and is_data(rows[-1]):
        rows.pop()
    return table.kind in ('state', 'other', 'query') and not table.options & {'poll', 'blocks'} and \
        not (table.stream or table.first or table.before or table.after or table.done) and \
        all(row.form == 'ONE' and row.kind not in ('STRUCT', 'OBJECT') and not row.rule
            for row in rows)


def is_data(row):
    """Bytes of the program, as many as another argument says."""
    return row.kind == 'BYTE' and row.form == 'POINTER' and not row.out and not row.rule and \
        row.count_kind == 'MEMBER'


def common(table):
    command = table.command
    void = command.result == 'void'
    result = command.result == 'VkResult'
    call = f'next->f.{table.name}({args_of(table)})'
    return dict(
        name=table.name, result=command.result, params=params_of(table), args=args_of(table),
        level=level_of(command), first=command.params[0].name,
        pass_on=f'{call};\n        return;' if void else f'return {call};',
        assign='' if void else 'result = ',
        outcome='result, result < 0' if result else '0, false' if void else 'VK_NUMBER(result), false')


def flat(table):
    parts = common(table)
    rows = [row for row in table.rows if not row.omit]
    void = table.command.result == 'void'
    ids, slots, data = [], [], ''
    if rows and is_data(rows[-1]):
        size = table.rows[rows[-1].count].name
        data = f'\n    tsm_call_bytes(&call, {rows[-1].name}, {rows[-1].name} ? {size} : 0);'
        rows.pop()
    for place, row in enumerate(rows):
        made = row.kind == 'HANDLE'  # looking it up may write to the lane: before there are slots
        if made:
            ids.append(f'    ids[{len(ids)}] = {slot(row)};')
        slots.append(f'    slots[{place}] = {f"ids[{len(ids) - 1}]" if made else slot(row)};')
    text = FLAT.format(**parts, count=len(rows), ids='\n'.join(ids), slots='\n'.join(slots) + data,
                       returns='' if void else f'{parts["result"]} result;\n    ',
                       give='' if void else '\n    return result;')
    return text.replace(f'ids[{len(rows)}];', f'ids[{len(ids)}];') if ids else \
        text.replace(f', ids[{len(rows)}];', ';')


def ok_of(table):
    return 'result >= 0' if table.command.result == 'VkResult' else 'true'


def wrapper(table):
    parts = common(table)
    place, void = f'VK_COMMAND_{table.name}', table.command.result == 'void'
    before, after, done = [], [], []
    gone = table.kind == 'destroy'
    if table.kind == 'command':
        before.append('vk_publish();')
    before += [f'{name}(&call, &a, 0);' for name in table.before]
    if gone:
        before.append(f'vk_record(&call, {place}, &a, true);')
    if table.stream:
        use = 'TSM_BLOCKS' if 'blocks' in table.options else 'TSM_ENQUEUES'
        before.append(f'tsm_call_on_stream(&call, vk_stream({table.stream}), {use});')
    if 'partial' in table.options:  # what was made is made: the call had an effect
        made = next(row for row in table.rows if row.kind == 'HANDLE' and row.out)
        count = table.rows[made.count].name
        parts['outcome'] = f'result, result < 0 && !vk_any_created({made.name}, {count})'
    outcome = '0' if void else 'VK_NUMBER(result)'
    after += [f'{name}(&call, &a, {outcome});' for name in table.after]
    if not gone:
        after.append(f'vk_record(&call, {place}, &a, {ok_of(table)});')
    after.append('tsm_call_commit(&call);')
    if table.kind == 'sync' and table.command.result == 'VkResult':
        of = f'vk_stream({table.stream})' if table.stream else 'NULL'
        done += ['if (result == VK_SUCCESS)', f'    vk_synchronised({of});'] \
            if table.stream or table.name == 'vkDeviceWaitIdle' else []
    done += [f'{name}(&call, &a, {outcome});' for name in table.done]
    done.append('' if void else 'return result;')
    poll = []
    if 'poll' in table.options:
        poll = [f'if (vk_polled_again({place}, &a, result)) {{', '    tsm_call_drop(&call);',
                '    return result;', '}']
    earlier = lines(f'{name}(NULL, &a, 0);' for name in table.first)
    text = WRAPPER.format(**parts, earlier=earlier, before=lines(before), after=lines(after), done=lines(done),
                          poll=lines(poll),
                          returns='' if void else f'    {parts["result"]} result;\n')
    return text


def lines(statements):
    return '\n'.join('    ' + statement for statement in statements if statement)


def tidy(text):
    text = re.sub(r'\n\n(?=    (?!if \(!tsm_call_begin)(\w|\*))', '\n', text.replace('\n\n\n', '\n\n'))
    text = re.sub(r'\n\n}', '\n}', text)
    text = re.sub(r'(\n    (struct tsm_call call;|[\w ]+ result;|uint64_t \*slots;))\n(?=    (if|\w+ ?=|\w+\())',
                  r'\1\n\n', text)
    return '\n'.join(wrap(line, 8 + len(line) - len(line.lstrip())) if len(line) > 100 else line
                     for line in text.split('\n'))


def wrappers_c(model):
    made = [table for table in model.commands if table.status != 'hook']
    text = '\n'.join(tidy(flat(table) if is_flat(table) else wrapper(table)) for table in made)
    by_name = sorted(range(len(model.commands)), key=lambda place: model.commands[place].name)
    cases = ''.join(
        f'    case VK_COMMAND_{table.name}:\n        return (PFN_vkVoidFunction)'
        f'{"hook_" if table.status == "hook" else "wrap_"}{table.name};\n'
        for table in model.commands)
    return WRAPPERS_C.format(wrappers=text, cases=cases,
                             by_name=wrap('    ' + ', '.join(map(str, by_name)) + ',') + '\n')


BIND_POINTS = (('vkCmdDispatch', 'VK_TIMED_COMPUTE'), ('vkCmdDraw', 'VK_TIMED_GRAPHICS'),
               ('vkCmdTraceRays', 'VK_TIMED_RAYS'))


def timed(table):
    parts = common(table)
    point = next((point for name, point in BIND_POINTS if table.name.startswith(name)), 'VK_TIMED_NONE')
    return tidy(TIMED.format(name=table.name, params=parts['params'], args=parts['args'],
                             first=parts['first'], bind_point=point))


def timed_c(model):
    made = [table for table in model.commands if table.is_timed]
    rows = ''.join(f'    if (f->{table.name})\n        f->{table.name} = timed_{table.name};\n'
                   for table in made)
    return TIMED_C.format(functions='\n'.join(map(timed, made)), rows=rows)


def hooks_h(model):
    hooks = ''.join(wrap(f'VKAPI_ATTR {table.command.result} VKAPI_CALL hook_{table.name}'
                         f'({params_of(table)});') + '\n'
                    for table in model.commands if table.status == 'hook')
    names = sorted({name for table in model.commands
                    for name in table.first + table.before + table.after + table.done})
    helpers = ''.join(f'void {name}(struct tsm_call *call, const void *args, int64_t result);\n'
                      for name in names)
    return guarded('API_VULKAN_VULKAN_HOOKS_H', HOOKS_H.format(hooks=hooks, helpers=helpers))


def make(model, names):
    """File name -> text. `names` places names in vk_names."""
    return {'vulkan_functions.h': dispatch_h(model), 'vulkan_functions.c': dispatch_c(model, names),
            'vulkan_thunks.c': thunks_c(model), 'vulkan_wrappers.c': wrappers_c(model),
            'vulkan_hooks.h': hooks_h(model), 'vulkan_timed.c': timed_c(model)}
