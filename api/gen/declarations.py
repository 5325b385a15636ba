# SPDX-License-Identifier: Apache-2.0
"""Declarations of the API itself: constants, prototypes and the list of all calls."""

from text import HEAD, guarded, wrap


def number(enum, value):
    return str(value) if enum.kind == 'enum' and abs(value) < 0x10000 else hex(value)


def c_enum(enum):
    values = ''.join(f'    {name} = {number(enum, value)},\n' for name, value in enum.values)
    tag = f'{enum.tag} ' if enum.tag else ''
    return f'typedef enum {tag}{{\n{values}}} {enum.name};\n'


def c_defines(enum):
    defines = ''.join(f'#define {name} {number(enum, value)}\n' for name, value in enum.values)
    return f'/* {enum.name} */\n{defines}'


def enums_h(api):
    body = '\n'.join(c_defines(enum) if enum.kind == 'defines' else c_enum(enum)
                     for enum in api.enums.values())
    return guarded('API_CUDA_CUDA_ENUMS_H', body)


def params_of(call):
    return ', '.join(param.declaration for param in call.params) or 'void'


def prototypes_h(api):
    body = '#include "api/cuda/abi.h"\n\n'
    body += ''.join(wrap(f'CUresult {call.name}({params_of(call)});') + '\n' for call in api.calls)
    return guarded('API_CUDA_CUDA_PROTOTYPES_H', body)


def calls_inc(api):
    text = HEAD + '/* TSM_CUDA_CALL(id, name, (parameters with types), (arguments)): each call. */\n'
    for call in api.calls:
        names = ', '.join(param.name for param in call.params)
        text += wrap(f'TSM_CUDA_CALL({call.id}, {call.name}, ({params_of(call)}), ({names}))') + '\n'
    return text
