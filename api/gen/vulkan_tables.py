# SPDX-License-Identifier: Apache-2.0
"""The tables of api/vulkan/tables/tables.h, as C."""

import re

import vulkan_calls
from text import HEAD, guarded, wrap

REPLAYS = {'none': 'VK_REPLAY_NONE', 'generated': 'VK_REPLAY_GENERATED', 'hook': 'VK_REPLAY_HOOK'}
STATUS = {'generated': 'TSM_CALL_GENERATED', 'hook': 'TSM_CALL_HOOKED',
          'unmodelled': 'TSM_CALL_UNMODELLED'}

IDS_H = '''\
/* Record types of Vulkan's commands, and places in the tables. */
enum vk_type {{
{types}}};

/* Places in vk_commands. */
enum vk_command_place {{
{places}}};

/* Object types: the second argument of tsm_handle_find() and its kin. */
enum vk_object {{
{objects}}};

/* Rows of the tables. */
enum vk_table_size {{
    VK_STRUCT_COUNT = {structs},
    VK_MEMBER_COUNT = {members},
    VK_LIST_COUNT = {lists},
    VK_COMMAND_COUNT = {commands},
    VK_ARGUMENT_COUNT = {arguments},
    VK_ENUM_COUNT = {enums},
    VK_VALUE_COUNT = {values},
}};
'''

ARGS_H = '''\
/* The arguments of each command, in order. An array that is a parameter is a pointer here. */

#include "api/vulkan/tables/headers.h"

{structs}'''

STRUCTS_C = HEAD + '''\
#include "api/vulkan/tables/tables.h"

#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_rules.h"
#include "api/api.h"

#include <assert.h>

/* ---- members of structs: name, offset, type, count, list, kind, form, count kind, rule, flags --- */

const struct vk_member vk_members[] = {{
{members}}};

const struct vk_struct vk_structs[] = {{
{structs}}};
const uint16_t vk_struct_count = {struct_count};

/* ---- unions ------------------------------------------------------------------------------------- */

const struct vk_choice vk_choices[] = {{
{choices}}};

/* ---- VkStructureType ---------------------------------------------------------------------------- */

const struct vk_stype vk_stypes[] = {{
{stypes}}};
const uint16_t vk_stype_count = {stype_count};

const struct vk_struct_id vk_struct_ids[] = {{
{ids}}};

/* ---- lengths ------------------------------------------------------------------------------------ */

uint64_t vk_count(uint16_t function, const void *memory)
{{
    switch (function) {{
{counts}    default:
        return 0;
    }}
}}

uint64_t vk_rows(uint16_t function, const void *memory, uint64_t row)
{{
    switch (function) {{
{rows}    default:
        return 0;
    }}
}}

/* ---- what is valid ------------------------------------------------------------------------------ */

bool vk_valid(uint8_t rule, const struct vk_scope *scope)
{{
    switch (rule) {{
{rules}    default:
        return true;
    }}
}}
'''

COMMANDS_C = HEAD + '''\
#include "api/vulkan/tables/tables.h"

#include "api/api.h"
#include "api/vulkan/vulkan_args.h"

/* ---- arguments ---------------------------------------------------------------------------------- */

const struct vk_member vk_arguments[] = {{
{arguments}}};

const struct vk_command vk_commands[] = {{
{commands}}};
const uint16_t vk_command_count = {command_count};

/* ---- lists -------------------------------------------------------------------------------------- */

const struct vk_list vk_lists[] = {{
{lists}}};
const uint16_t vk_list_count = {list_count};
'''

NAMES_C = HEAD + '''\
#include "api/vulkan/tables/tables.h"

#include "api/vulkan/tables/headers.h"

const char vk_names[] =
{names};

/* ---- names of values ---------------------------------------------------------------------------- */

const struct vk_value vk_values[] = {{
{values}}};

const struct vk_enum vk_enums[] = {{
{enums}}};
const uint16_t vk_enum_count = {enum_count};

/* ---- object types ------------------------------------------------------------------------------- */

const uint32_t vk_objects[] = {{
{objects}}};
const uint16_t vk_object_count = {object_count};

uint32_t vk_object_of(uint32_t type)
{{
    switch (type) {{
{object_types}    default:
        return 0;
    }}
}}
'''

RULES_H = '''\
/* What vulkan.api names with "if": by hand in api/vulkan/tables/valid.c. */

#include "api/vulkan/tables/tables.h"

{rules}'''


class Names:
    """Each name once, and where it is."""

    def __init__(self):
        self.places, self.size = {'': 0}, 1

    def place(self, name):
        if name not in self.places:
            self.places[name] = self.size
            self.size += len(name.encode()) + 1
        return self.places[name]

    def c(self):
        return '\n'.join(f'    "{name}\\0"' for name in self.places)


class Tables:
    def __init__(self, model):
        self.model = model
        self.names = Names()
        self.places = {table.name: place for place, table in enumerate(model.structs)}
        self.enum_places = {enum.name: place for place, enum in enumerate(model.enums)}
        self.list_places = {name: place for place, (name, _) in enumerate(model.lists)}
        self.functions, self.rows, self.rules = [], [], []
        self.first = {}  # command -> place of its first argument
        structs, commands = self.structs(), self.commands_c()
        functions = {  # those that structs and commands name
            'counts': ''.join(self.case(i, *item) for i, item in enumerate(self.functions)),
            'rows': ''.join(self.case(i, *item) for i, item in enumerate(self.rows)),
            'rules': ''.join(f'    case {i + 1}:\n        return {rule}(scope);\n'
                             for i, rule in enumerate(self.rules))}
        calls = vulkan_calls.make(model, self.names)
        self.texts = calls | {
            'vulkan_structs.c': STRUCTS_C.format(**structs, **functions),
            'vulkan_commands.c': commands, 'vulkan_names.c': self.names_c(),
            'vulkan_args.h': self.args_h(), 'vulkan_ids.h': self.ids_h(),
            'vulkan_rules.h': self.rules_h()}

    # ---- rows -----------------------------------------------------------------------------------

    @staticmethod
    def indexed(known, item):
        if item not in known:
            known.append(item)
        return known.index(item)

    def type_of(self, row):
        if row.kind == 'STRUCT':
            return self.places[row.type]
        if row.kind in ('ENUM', 'FLAGS32', 'FLAGS64'):
            return self.enum_places[row.type]
        if row.kind == 'HANDLE':
            return self.model.objects[row.type]
        return 0

    def count_of(self, row):
        if row.count_kind != 'FUNCTION':
            return row.count
        return self.indexed(self.functions, (row.count.owner, row.count.text))

    def row(self, row):
        flags = [flag for flag, on in (('OMIT', row.omit), ('OUT', row.out),
                                       ('OPTIONAL', row.optional), ('FD', row.fd)) if on]
        rule = 1 + self.indexed(self.rules, row.rule) if row.rule else 0
        list_ = 1 + self.list_places[row.list] if row.list else 0
        stride = self.indexed(self.rows, (row.owner, row.rows)) if row.rows else row.stride
        offset = row.offset or f'offsetof({row.owner}, {row.name})'
        text = (f'    {{{self.names.place(row.name)}, {offset}, {self.type_of(row)}, '
                f'{self.count_of(row)}, {list_}, VK_KIND_{row.kind}, VK_FORM_{row.form}, '
                f'VK_COUNT_{row.count_kind}, {rule}, '
                f'{" | ".join("VK_MEMBER_" + flag for flag in flags) or 0}, '
                f'SBT_ROLE_{row.role.upper() or "NONE"}, {stride}}},')
        return wrap(text, 5) + '\n'

    # ---- structs --------------------------------------------------------------------------------

    def structs(self):
        members, structs, choices, place, choice_place = '', '', '', 0, 0
        for table in self.model.structs:
            flags = [flag for flag, on in (('UNION', table.union), ('TYPED', table.stype is not None),
                                           ('RETURNED', table.returned)) if on]
            members += f'    /* {table.name} */\n' + ''.join(map(self.row, table.rows))
            text = (f'    {{{self.names.place(table.name)}, sizeof({table.c_name}), '
                    f'{table.stype or 0}, {table.id}, {place}, {len(table.rows)}, '
                    f'{" | ".join("VK_STRUCT_" + flag for flag in flags) or 0}, {choice_place}, '
                    f'{len(table.choices)}, {table.choose}}},')
            structs += wrap(text, 5) + '\n'
            choices += ''.join(f'    {{{value}, {member}}},\n' for value, member in table.choices)
            place += len(table.rows)
            choice_place += len(table.choices)
        stypes = sorted((table.stype, index) for index, table in enumerate(self.model.structs)
                        if table.stype is not None)
        return dict(
            members=members, structs=structs, struct_count=len(self.model.structs), choices=choices,
            stypes=''.join(f'    {{{stype}, {index}}},\n' for stype, index in stypes),
            stype_count=len(stypes),
            ids=''.join(f'    {{{table.id}, {self.places[table.name]}}},\n'
                        for table in sorted(self.model.structs, key=lambda table: table.id)))

    @staticmethod
    def case(index, owner, text):
        pointer = re.search(r's->(\w+)(->|\[)', text)  # not there in a trace that says so
        text = f's->{pointer[1]} ? {text} : 0' if pointer else text
        return (f'    case {index}: {{\n        const {owner} *s = memory;\n'
                f'        return {text};\n    }}\n')

    # ---- commands -------------------------------------------------------------------------------

    @staticmethod
    def status_of(command):
        """A command is hooked as soon as a function by hand takes part in recording or replay."""
        by_hand = command.before or command.after or command.done or command.replay == 'hook'
        return 'hook' if by_hand and command.status == 'generated' else command.status

    def command_row(self, command, first):
        family = command.command.origin
        flags = ['SBT_SCHEMA_RESULT_ENUM'] if command.command.result == 'VkResult' else []
        flags += ['SBT_SCHEMA_TAINTS'] if 'taints' in command.options else []
        options = [option for option in ('shared', 'partial') if option in command.options] + ['timed'] * command.is_timed
        return wrap(f'    {{{self.names.place(command.name)}, {command.id}, {first}, '
                    f'{len(command.rows)}, sizeof({command.c_name}), {self.names.place(family)}, '
                    f'SBT_KIND_{command.kind.upper()}, {STATUS[self.status_of(command)]}, '
                    f'{" | ".join(flags) or 0}, {REPLAYS[command.replay]}, '
                    f'{" | ".join("VK_COMMAND_IS_" + option.upper() for option in options) or 0}}},', 5) + '\n'

    def commands_c(self):
        arguments, commands, place, where = '', '', 0, {}
        roots = [table for table in self.model.commands if not table.command.alias_of]
        for table in roots:
            arguments += f'    /* {table.name} */\n' + ''.join(map(self.row, table.rows))
            self.first[table.name] = place
            where.update({(table.name, row.name): place + i for i, row in enumerate(table.rows)})
            place += len(table.rows)
        for table in self.model.commands:
            first = self.first[table.command.alias_of or table.name]
            commands += self.command_row(table, first)
        lists = ''
        for name, row in self.model.lists:
            owner = row.owner.removeprefix('struct vk_args_')
            owner = self.model.registry.commands[owner].alias_of or owner
            lists += f'    {{{self.names.place(name)}, {self.model.list_ids[name]}, ' \
                     f'{where[owner, row.name]}}},\n'
        return COMMANDS_C.format(arguments=arguments, commands=commands, lists=lists,
                                 command_count=len(self.model.commands),
                                 list_count=len(self.model.lists))

    # ---- names ----------------------------------------------------------------------------------

    def names_c(self):
        values, enums, place = '', '', 0
        for enum in self.model.enums:
            enums += f'    {{{self.names.place(enum.name)}, {place}, {len(enum.values)}}},\n'
            for name, value in enum.values:
                number = f'{value}u' if 0x7fffffff < value < 1 << 32 else \
                    f'0x{value:x}ll' if value >= 1 << 32 else value
                values += f'    {{{number}, {self.names.place(name)}}},\n'
            place += len(enum.values)
        by_number = {number: name for name, number in self.model.objects.items()}
        objects = ''.join(f'    {self.names.place(by_number.get(number, ""))},\n'
                          for number in range(max(by_number) + 1))
        numbers = dict(self.model.registry.enums['VkObjectType'].values)
        types = ''.join(f'    case {numbers[kind]}: /* {name} */\n        return {number};\n'
                        for name, number in sorted(self.model.objects.items())
                        for kind in self.model.registry.handles[name][:1] if kind in numbers)
        return NAMES_C.format(names=self.names.c(), values=values, enums=enums, objects=objects,
                              enum_count=len(self.model.enums), object_count=max(by_number) + 1,
                              object_types=types)

    # ---- headers --------------------------------------------------------------------------------

    def args_h(self):
        text = ''
        for table in self.model.commands:
            if table.command.alias_of:
                text += f'#define vk_args_{table.name} vk_args_{table.command.alias_of}\n'
                continue
            params = ''.join(f'    {member_declaration(param)};\n' for param in table.command.params)
            text += f'struct vk_args_{table.name} {{\n{params or "    char none;" + chr(10)}}};\n'
        return guarded('API_VULKAN_VULKAN_ARGS_H', ARGS_H.format(structs=text))

    def ids_h(self):
        commands = self.model.commands
        model = self.model
        return guarded('API_VULKAN_VULKAN_IDS_H', IDS_H.format(
            structs=len(model.structs), lists=len(model.lists), commands=len(commands),
            members=sum(len(table.rows) for table in model.structs),
            arguments=sum(len(table.rows) for table in commands if not table.command.alias_of),
            enums=len(model.enums), values=sum(len(enum.values) for enum in model.enums),
            types=''.join(f'    TYPE_{table.name} = 4 << 16 | {table.id},\n' for table in commands),
            places=''.join(f'    VK_COMMAND_{table.name} = {place},\n'
                           for place, table in enumerate(commands)),
            objects=''.join(f'    VK_OBJECT_{name} = {number},\n'
                            for name, number in sorted(self.model.objects.items(),
                                                       key=lambda item: item[1]))))

    def rules_h(self):
        rules = ''.join(f'bool {rule}(const struct vk_scope *scope);\n'
                        for rule in sorted(self.rules))
        return guarded('API_VULKAN_VULKAN_RULES_H', RULES_H.format(rules=rules))


def member_declaration(param):
    """A parameter as a member of its command's struct."""
    if not param.dims:
        return param.declaration
    return param.declaration.replace(f' {param.name}[{"][".join(param.dims)}]', f' *{param.name}')


def make(model):
    """File name -> text."""
    return Tables(model).texts
