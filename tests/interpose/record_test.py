# SPDX-License-Identifier: Apache-2.0
"""What the traces of small programs say: everything that a replay needs, in the right order.
Argument: a test."""

import struct
import sys

import interposed
from interposed import BUILD, equal, same, traces, true, view


def trace_of(folder, program, *words, **more):
    same(folder, BUILD / program, *words, **more)
    return view(traces(folder)[0])


def find(records, call, **args):
    return [record for record in records if record['call'] == call
            and all(record['args'].get(name) == value for name, value in args.items())]


def one(records, call, **args):
    found = find(records, call, **args)
    equal(f'records {call} {args}', len(found), 1)
    return found[0]


def order(records, stream):
    """The commands of a stream, in order of position."""
    return [record['call'] for record in sorted(
        (record for record in records if record['stream'] == stream),
        key=lambda record: record['position'])]


def block(*values):
    """An argument block of two ints and an address."""
    return struct.pack('<iiQ', *values).hex()


def streams(folder):
    head, records = trace_of(folder, 'host_streams')
    joins, free_running = (record['args']['number'] for record in find(records, 'cuStreamCreate'))
    default = one(records, 'cuCtxCreate_v2')['args']['default_stream']
    a, b = (int(record['args']['dptr'], 16) for record in find(records, 'cuMemAlloc_v2'))
    equal('the first default stream', default, 0)
    equal('taints', head['tainted'], 0)
    equal('streams', head['streams'], 4)

    equal('joins', order(records, joins), ['cuMemcpyHtoDAsync_v2', 'cuEventRecord',
          'cuMemcpy2DAsync_v2', 'cuMemcpy2DAsync_v2', 'cuLaunchKernel'])
    equal('free running', order(records, free_running), ['cuStreamWaitEvent', 'cuLaunchKernel',
          'cuMemcpyDtoHAsync_v2', 'cuStreamSynchronize'])
    equal('default', order(records, default), ['cuMemsetD32Async', 'cuMemsetD32Async', 'cuMemcpy',
          'cuMemcpy'])
    own = one(records, 'cuMemsetD32Async_ptsz')['stream']
    equal("the thread's own", order(records, own), ['cuMemsetD32Async', 'cuMemsetD32Async_ptsz'])
    equal('all different', len({default, joins, free_running, own}), 4)
    true('in the order of time', [record['seq'] for record in records] == list(range(len(records))))

    launches = find(records, 'cuLaunchKernel')
    equal('arguments by address', launches[0]['args']['arguments'], block(1024, 2, a))
    equal('arguments in a block', launches[1]['args']['arguments'], block(1024, 3, a))
    equal('names', [launch['args']['name'] for launch in launches], ['mix', 'mix'])
    equal('grid', launches[0]['args']['gridDimX'], 4)

    up, down = find(records, 'cuMemcpy2DAsync_v2')
    equal('the box sent', up['args']['payload']['size'], 32 * 3)
    equal('no bytes are sent by', down['args']['payload']['size'], 0)
    to_device, to_host = find(records, 'cuMemcpy')
    equal('bytes sent', to_device['args']['payload']['size'], 100)
    equal('not sent', to_host['args']['payload']['size'], 0)
    back = find(records, 'readback')
    equal('sizes given back', sorted(record['args']['size'] for record in back), [96, 100, 4096])
    equal('by whom', sorted(record['args']['of_stream'] for record in back),
          sorted([joins, default, free_running]))
    equal('where to', int(to_device['args']['dst'], 16), b)


def library(folder):
    head, records = trace_of(folder, 'host_library')
    memory = int(one(records, 'cuMemAlloc_v2')['args']['dptr'], 16)
    kernel = one(records, 'cuLibraryGetKernel')['args']['pKernel']
    launches = find(records, 'cuLaunchKernel') + find(records, 'cuLaunchKernelEx')

    equal('taints', head['tainted'], 0)
    true('the code', one(records, 'cuLibraryLoadData')['args']['code']['size'] > 1000)
    equal('launches', len(launches), 4)
    for launch in launches:
        equal('arguments', launch['args']['arguments'], block(256, 1, memory))
        equal('name', launch['args']['name'], 'mix')
    equal('by kernel', [launch['args']['f'] == kernel for launch in launches],
          [True, False, False, True])
    true('attributes', len(launches[3]['args']['config.attrs']) > 0)


def enumerate(folder):
    """Functions that no call named are there by name."""
    head, records = trace_of(folder, 'host_enumerate')
    memory = int(one(records, 'cuMemAlloc_v2')['args']['dptr'], 16)
    launches = find(records, 'cuLaunchKernel')

    equal('taints', head['tainted'], 0)
    equal('functions', [launch['args']['f'] for launch in launches],
          [one(records, 'cuModuleGetFunction', name='mix')['args']['hfunc'],
           one(records, 'cuLibraryGetKernel', name='mix')['args']['pKernel']])
    equal('arguments', [launch['args']['arguments'] for launch in launches],
          [block(256, 1, memory)] * 2)


def old_driver(folder):
    """The same from a driver that cannot tell what parameters a function has."""
    interposed.EMU = BUILD / 'old'
    streams(folder)
    traces(folder)[0].unlink()
    library(folder)


def metadata(folder):
    head, _ = trace_of(folder, 'host_close')
    for name in ('cuda.driver_version', 'cuda.device_count', 'cuda.device.0.name',
                 'cuda.device.0.compute_capability_major', 'cuda.device.0.memory'):
        true(f'{name} in {sorted(head["metadata"])}', head['metadata'].get(name))


def checksum(folder):
    """Each live allocation, whenever the program knows that the GPU is idle."""
    _, records = trace_of(folder, 'host_streams', TS_CHECKSUM='sync')
    allocations = {record['args']['dptr'] for record in find(records, 'cuMemAlloc_v2')}
    checksums = find(records, 'checksum')
    equal('memory', {record['args']['address'] for record in checksums}, allocations)
    true('each several times', len(checksums) >= 4 and len(checksums) % 2 == 0)
    equal('hashes', {len(record['args']['xxh3_128']) for record in checksums}, {32})
    true('they differ', len({record['args']['xxh3_128'] for record in checksums}) > 2)


def checksum_command(folder):
    """... and after each command."""
    _, records = trace_of(folder, 'host_streams', TS_CHECKSUM='command')
    commands = [record for record in records if record['kind'] in ('command', 'signal', 'wait')]
    where = {(record['args']['of_stream'], record['args']['of_position'])
             for record in find(records, 'checksum')}
    for command in commands:
        if command['kind'] == 'command':
            true(command['call'], (command['stream'], command['position']) in where)


with interposed.folder() as directory:
    globals()[sys.argv[1]](directory)
interposed.finish()
