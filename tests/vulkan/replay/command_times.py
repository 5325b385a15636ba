#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the times of commands inside of command buffers in the records of `tsview --json`, given as a file: each lies in
its batch, comes before it, and none overlaps another one of its batch; their sum is what the batch says. Prints, for each submit,
how many commands of which call have a time, of how many."""

import collections
import json
import sys

WORDS = ('vkCmdDispatch', 'vkCmdDraw', 'vkCmdCopy', 'vkCmdFill', 'vkCmdUpdate', 'vkCmdClear', 'vkCmdBlit', 'vkCmdResolve')


class Buffers:
    """What was recorded into command buffers, with the commands of those that they execute in their place."""

    def __init__(self):
        self.commands = collections.defaultdict(list)

    def note(self, record):
        args = record['args']
        name = args.get('commandBuffer')
        if record['call'] in ('vkBeginCommandBuffer', 'vkResetCommandBuffer'):
            self.commands[name] = []
        elif record['call'] == 'vkCmdExecuteCommands':
            for one in args['pCommandBuffers']['items']:
                self.commands[name] += self.commands[one]
        elif record['call'].startswith(WORDS):
            self.commands[name].append(record['call'])


def sent(record):
    for batch in record['args']['pSubmits']['items']:
        infos = batch.get('pCommandBufferInfos') or []
        yield from batch.get('pCommandBuffers') or [info['commandBuffer'] for info in infos]


def check_batch(inner, outer):
    error = outer['error_ns'] + 2000
    inner.sort(key=lambda time: (time['buffer'], time['command']))
    last = outer['start_ns'] - error
    for time in sorted(inner, key=lambda time: time['start_ns']):
        assert time['flags'] == outer['flags'], time
        assert time['start_ns'] + error >= last, (time, last)
        last = time['start_ns'] + time['duration_ns']
    assert last <= outer['start_ns'] + outer['duration_ns'] + error, (last, outer)
    total = sum(time['duration_ns'] for time in inner)
    assert total == outer['inner_ns'] <= outer['duration_ns'], (total, outer)
    places = [(time['buffer'], time['command']) for time in inner]
    assert len(places) == len(set(places)), places


def main():
    with open(sys.argv[1], encoding='utf-8') as lines:
        records = [json.loads(line) for line in lines][1:]
    buffers, submits, pending = Buffers(), {}, collections.defaultdict(list)
    for record in records:
        args = record['args']
        if record['call'].startswith('vkQueueSubmit'):
            submits[record['stream'], record['position']] = [list(buffers.commands[one]) for one in sent(record)], []
        elif record['call'] != 'gpu_time':
            buffers.note(record)
        elif args['command']:
            commands, times = submits[args['of_stream'], args['of_position']]
            call = commands[args['buffer']][args['command'] - 1]
            times.append(call)
            pending[args['of_stream'], args['of_position'], args['part']].append(args)
        else:
            check_batch(pending.pop((args['of_stream'], args['of_position'], args['part']), []), args)
    assert not pending, 'commands without their batch'
    for commands, times in submits.values():
        all_of = collections.Counter(call for buffer in commands for call in buffer)
        timed = collections.Counter(times)
        print(' '.join(f'{call[5:]} {timed[call]}/{all_of[call]}' for call in sorted(all_of)) or 'nothing')


main()
