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
#include "api/description.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- names of values ------------------------------------------------------------------------ */

{values}
static const struct sbt_enum enums[] = {{
{enums}}};

/* ---- calls and their fields ----------------------------------------------------------------- */

static const char text[] =
{text};

static const struct tsm_packed_field packed_fields[] = {{
{fields}}};

static const struct tsm_packed_call packed_calls[] = {{
{calls}}};

static struct sbt_field fields[COUNT(packed_fields)];
static struct sbt_schema schemas[COUNT(packed_calls)];
static struct tsm_call_description calls[COUNT(packed_calls)];

static void fill(void)
{{
    static const struct tsm_packed_description packed = {{
        .text = text, .packed_fields = packed_fields, .packed_calls = packed_calls,
        .field_count = COUNT(fields), .call_count = COUNT(calls),
        .fields = fields, .schemas = schemas, .calls = calls,
    }};

    tsm_description_unpack(&packed);
}}

const struct tsm_api_description {api}_description = {{
    .api = SBT_API_{API}, .name = "{api}", .calls = calls, .call_count = COUNT(calls),
    .enums = enums, .enum_count = COUNT(enums), .fill = fill,
}};
'''


class Text:
    """Names one behind the other, each once."""

    def __init__(self):
        self.rows = []
        self.places = {}
        self.size = 0
        self.place('')

    def place(self, name):
        if name not in self.places:
            self.places[name] = self.size
            self.rows.append(f'    "{name}\\0"')
            self.size += len(name) + 1
        return self.places[name]


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


def field_row(field, text):
    role = field.role.upper() or 'NONE'
    return (f'    {{{text.place(field.name)}, {text.place(field.detail)}, SBT_FIELD_{field.type}, '
            f'SBT_ROLE_{role}}}, /* {field.name} */\n')


def fields_rows(api, text):
    """The rows, and where those of a call begin; an alias has those of the other call."""
    rows, first = [], {}
    for call in api.calls:
        if not call.alias_of:
            first[call.name] = len(rows)
            rows += [field_row(field, text) for field in fields_of(call, api.structs)]
    return rows, first


def call_row(call, api, first, text):
    table = '' if call.returns or call.status == 'made' else api.result
    flags = ['SBT_SCHEMA_RESULT_ENUM'] if table else []
    flags += ['SBT_SCHEMA_TAINTS'] if 'taints' in call.options else []
    flags += ['SBT_SCHEMA_BLOCKS'] if 'waits' in call.options else []
    return wrap(f'    {{TYPE_{call.name}, {text.place(call.name)}, {text.place(table)}, '
                f'{text.place(call.family)}, {" | ".join(flags) or 0}, '
                f'{first[call.alias_of or call.name]}, {len(fields_of(call, api.structs))}, '
                f'SBT_KIND_{call.kind.upper()}, {STATUS[status_of(call)]}}},', 5) + '\n'


def schema_c(api):
    enums = used_enums(api)
    text = Text()
    fields, first = fields_rows(api, text)
    calls = [call_row(call, api, first, text) for call in api.calls]
    return SCHEMA_C.format(
        api=api.name, API=api.name.upper(),
        values='\n'.join(map(values_of, enums)),
        enums=''.join(f'    {{"{enum.name}", COUNT(values_{enum.name}), values_{enum.name}}},\n'
                      for enum in enums),
        fields=''.join(fields), calls=''.join(calls), text='\n'.join(text.rows))


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
