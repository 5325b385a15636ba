# SPDX-License-Identifier: Apache-2.0
"""Replay of calls that need nothing special, and the table of all replay functions."""

import re

from library import slots, statements
from text import HEAD, guarded
from traits import fields_of, param_fields
from wrappers import CUDA

FUNCTION = '''\
static int replay_{name}(struct cuda_replay *replay, const struct sbt_record *record)
{{
    struct cuda_args args;
    CUresult result;

    cuda_args_begin(&args, replay, record, {slot_count});
{read}
    if (args.error)
        return args.error;
{send}    result = args.driver->{name}({args});
{made}
    return cuda_args_end(&args, result);
}}
'''

SOURCE = HEAD + '''\
#include "api/cuda/cuda_replay_calls.h"

{functions}
{find}
/* ---- the driver ----------------------------------------------------------------------------- */

{load}'''

HEADER = '''\
/* What is written by hand for the CUDA backend: the replay of calls that the description leaves to
 * replay_NAME. SLOT_NAME_FIELD is the slot of a field of theirs. */

#include "api/cuda/replay/replay.h"

{prototypes}
enum cuda_replay_slot {{
{slots}}};
'''


def root_name(call):
    return call.alias_of or call.name


def local(param, ctype, value):
    return f'{ctype}{"" if ctype.endswith("*") else " "}{param.name} = {value};'


def integer(param, slot, use):
    if use.type == 'f32':
        return local(param, param.ctype, f'cuda_arg_f32(&args, {slot})')
    return local(param, param.ctype, f'({param.ctype})cuda_arg(&args, {slot})')


def read_struct(param, fields, slot):
    lines = [f'{param.pointee} {param.name} = {{0}};']
    for index, field in enumerate(fields):
        use, at = field.use, slot + index
        value = {'handle': f'cuda_arg_handle(&args, {at}, CUDA_OBJECT_{field.detail.upper()})',
                 'devptr': f'cuda_arg_address(&args, {at})'}.get(use.type, f'cuda_arg(&args, {at})')
        lines.append(f'{field.name} = {value};')
    return lines


def read_in(param, slot, length):
    """The lines that read one parameter from its first slot."""
    use = param.use
    if use.type == 'handle':
        value = f'cuda_arg_handle(&args, {slot}, CUDA_OBJECT_{use.detail.upper()})'
    elif use.type == 'devptr':
        value = f'cuda_arg_address(&args, {slot})'
    elif use.type == 'device':
        value = f'cuda_arg_device(&args, {slot})'
    elif use.type == 'stream':
        value = f'cuda_arg_stream_number(&args, {slot})'
    elif use.type == 'string':
        value = f'cuda_arg_string(&args, {slot})'
    elif use.type == 'bytes':
        value = f'(void *)cuda_arg_bytes(&args, {slot}, {length})'
    elif use.type == 'blob' and use.role == 'code':
        value = f'cuda_arg_image(&args, {slot})'
    elif use.type == 'blob':
        value = f'cuda_arg_blob(&args, {slot}, {length})'
    elif use.type == 'payload':
        value = f'cuda_arg_payload(&args, {slot}, {length})'
    elif use.type == 'readback':
        value = f'cuda_arg_readback(&args, {length})'
    else:
        return [integer(param, slot, use)]
    return [local(param, param.ctype, value)]


def out_variable(param):
    """What an out parameter points to; the caller looks at handles only."""
    return f'{param.pointee} {param.name}_out = {{0}};' if param.use.type == 'bytes' else \
        f'{param.pointee} {param.name}_out = 0;'


def read_lines(call, structs):
    """Parameters in an order in which lengths can be computed: numbers first."""
    first, last, slot = [], [], 0
    for param in call.params:
        fields, use = param_fields(param, structs), param.use
        if param.name == call.stream:
            first.append(local(param, param.ctype, 'cuda_arg_stream(&args)'))
        elif use.type == 'struct':
            last += read_struct(param, fields, slot)
        elif use.out:
            first.append(out_variable(param))
        else:
            length = length_of(use)
            lines = read_in(param, slot, length)
            (last if use.length else first).extend(lines)
        slot += len(fields)
    return first + last


def length_of(use):
    """A length that a helper found out of the bytes themselves is the recorded one."""
    return '0' if re.search(r'\w+\(', use.length.replace('sizeof(', '')) else use.length


def argument(call, param):
    if param.use.type == 'struct':
        return f'&{param.name}'
    if param.use.out and param.use.type != 'readback':
        return f'&{param.name}_out'
    return param.name


def made_lines(call, structs):
    lines, slot = [], 0
    for param in call.params:
        use = param.use
        if use.type == 'handle' and use.out and use.made:
            lines += ['if (result == CUDA_SUCCESS)',
                      f'    cuda_arg_created(&args, {slot}, CUDA_OBJECT_{use.detail.upper()}, '
                      f'{param.name}_out);']
        if use.type == 'handle' and use.role == 'object' and call.kind == 'destroy':
            lines.append(f'cuda_arg_destroyed(&args, {slot}, CUDA_OBJECT_{use.detail.upper()});')
        slot += len(param_fields(param, structs))
    return lines


def function(call, structs):
    count = sum(len(param_fields(param, structs)) for param in call.params)
    text = FUNCTION.format(
        name=call.name, slot_count=count, read=statements(read_lines(call, structs)),
        args=', '.join(argument(call, param) for param in call.params),
        send={'command': '    cuda_args_send(&args);\n', 'wait': '    cuda_args_place(&args);\n',
              'signal': '    cuda_args_place(&args);\n'}.get(call.kind, ''),
        made=statements(made_lines(call, structs)))
    return re.sub(r'\n\n(?=    (if \(args.error|return cuda))', '\n', text)


def replay_calls_c(api):
    return SOURCE.format(
        functions='\n'.join(function(call, api.structs) for call in api.calls
                            if call.replay == 'generated'),
        find=CUDA.find(api.calls), load=CUDA.load(api.calls))


def replay_calls_h(api):
    return guarded('API_CUDA_CUDA_REPLAY_CALLS_H', HEADER.format(
        prototypes=CUDA.replay_prototypes(api.calls),
        slots=slots(CUDA.hooked(api.calls), lambda call: fields_of(call, api.structs))))
