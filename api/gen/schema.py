# SPDX-License-Identifier: Apache-2.0
"""What a trace says of its records: schemas, names of values; and the coverage table."""

from text import HEAD, guarded, wrap
from traits import fields_of

STATUS = {'generated': 'TSM_CALL_GENERATED', 'hook': 'TSM_CALL_HOOKED',
          'unmodelled': 'TSM_CALL_UNMODELLED', 'made': 'TSM_CALL_HOOKED'}

CALLS_H = '''\
#include "api/api.h"

/* Record types of the API. */
enum {api}_type {{
{types}}};

{objects}/* Calls in the order of their ids, and the value tables that their fields name. */
extern const struct tsm_api_description {api}_description;
'''

OBJECTS_H = '''\
/* Object types: the second argument of tsm_handle_find() and its kin. */
enum {api}_object {{
{objects}}};

'''

SCHEMA_C = HEAD + '''\
#include "api/{api}/{api}_calls.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- names of values ------------------------------------------------------------------------ */

{values}
static const struct sbt_enum enums[] = {{
{enums}}};

/* ---- fields --------------------------------------------------------------------------------- */

{fields}
/* ---- record types --------------------------------------------------------------------------- */

static const struct sbt_schema schemas[] = {{
{schemas}}};

static const struct tsm_call_description calls[] = {{
{calls}}};

const struct tsm_api_description {api}_description = {{
    .api = SBT_API_{API}, .name = "{api}", .calls = calls, .call_count = COUNT(calls),
    .enums = enums, .enum_count = COUNT(enums),
}};
'''


def status_of(call):
    """A call is hooked as soon as a function by hand takes part in recording or replaying it."""
    by_hand = call.status == 'generated' and (call.after or call.then or call.replay == 'hook')
    return 'hook' if by_hand else call.status


def calls_h(api):
    upper = api.name.upper()
    types = ''.join(f'    TYPE_{call.name} = SBT_API_{upper} << 16 | {call.id},\n'
                    for call in api.calls)
    objects = ''.join(f'    {upper}_OBJECT_{name.upper()} = {number},\n'
                      for name, number in api.objects.items())
    return guarded(f'API_{upper}_{upper}_CALLS_H', CALLS_H.format(
        api=api.name, types=types,
        objects=OBJECTS_H.format(api=api.name, objects=objects) if objects else ''))


def used_enums(api):
    used = {field.detail for call in api.calls for field in fields_of(call, api.structs)
            if field.type in ('ENUM', 'FLAGS')} | {api.result}
    return [enum for name, enum in api.enums.items() if name in used]


def values_of(enum):
    """A view takes the first name of a value; the others stay out."""
    rows, seen = '', set()
    for name, value in enum.values:
        if value not in seen:
            rows += f'    {{"{name}", {value}}},\n'
        seen.add(value)
    return f'static const struct sbt_enum_value values_{enum.name}[] = {{\n{rows}}};\n'


def field_row(field):
    role = field.role.upper() or 'NONE'
    return f'    {{"{field.name}", SBT_FIELD_{field.type}, SBT_ROLE_{role}, "{field.detail}"}},\n'


def fields_rows(call, structs):
    fields = fields_of(call, structs)
    if call.alias_of or not fields:
        return ''
    rows = ''.join(map(field_row, fields))
    return f'static const struct sbt_field fields_{call.name}[] = {{\n{rows}}};\n'


def schema_row(call, api):
    table = '' if call.returns or call.status == 'made' else api.result
    flags = ['SBT_SCHEMA_RESULT_ENUM'] if table else []
    flags += ['SBT_SCHEMA_TAINTS'] if 'taints' in call.options else []
    flags += ['SBT_SCHEMA_BLOCKS'] if 'waits' in call.options else []
    array = f'fields_{call.alias_of or call.name}'
    fields = f'COUNT({array}), {array}' if fields_of(call, api.structs) else '0, NULL'
    return wrap(f'    {{TYPE_{call.name}, "{call.name}", SBT_KIND_{call.kind.upper()}, '
                f'{" | ".join(flags) or 0}, "{table}", {fields}}},', 5) + '\n'


def schema_c(api):
    enums = used_enums(api)
    return SCHEMA_C.format(
        api=api.name, API=api.name.upper(),
        values='\n'.join(map(values_of, enums)),
        enums=''.join(f'    {{"{enum.name}", COUNT(values_{enum.name}), values_{enum.name}}},\n'
                      for enum in enums),
        fields='\n'.join(filter(None, (fields_rows(call, api.structs) for call in api.calls))),
        schemas=''.join(schema_row(call, api) for call in api.calls),
        calls=''.join(f'    {{&schemas[{index}], {STATUS[status_of(call)]}, "{call.family}"}},\n'
                      for index, call in enumerate(api.calls)))


def by_hand(call):
    parts = []
    if call.status == 'hook':
        parts.append(f'hook_{call.name}')
    if call.then:
        parts.append(call.then.partition('(')[0])
    parts += [helper.partition('(')[0] for helper in call.after]
    if call.replay == 'hook':
        parts.append(f'replay_{call.replayed_by}')
    return ' '.join(parts)


def coverage_inc(api):
    text = HEAD + '''\
/* TSM_{API}_COVERAGE(id, name, family, status, kind, replay, taints, functions by hand): each call.
 * status and replay are strings of api/{api}/{api}.api; taints is 0 or 1. */
'''.format(api=api.name, API=api.name.upper())
    for call in api.calls:
        text += wrap(f'TSM_{api.name.upper()}_COVERAGE({call.id}, "{call.name}", "{call.family}", '
                     f'"{status_of(call)}", "{call.kind}", "{call.replay}", '
                     f'{int("taints" in call.options)}, "{by_hand(call)}")') + '\n'
    return text
