# SPDX-License-Identifier: Apache-2.0
"""Cases of verdict_test.py: parts without results, whose memory is compared with a full replay."""

LOSES_STORES = {'TS_EMU_DROP': '40:2'}


def add_cases(row, cuda, find, replay):
    def part_of(trace, *options, **env):
        """The first part whose memory differs, if it is to."""
        for end in range(20, find(trace, 'readback')):
            verdict, result = replay(trace, '--range', f'{end // 3}:{end}', *options, once='--json', **env)
            if 'part_memory' in result and bool(result['part_memory']['differing_count']) == bool(env):
                return verdict, result
        raise AssertionError('no such part')

    @row('R34', 'than after a full replay')
    def part_differs():
        return part_of(cuda('threads'), **LOSES_STORES)

    @row('R36', 'commands of other streams')
    def part_of_streams_differs():
        return part_of(cuda('pipeline', '2'), '--streams', '2', **LOSES_STORES)

    @row('R35')
    def part_is_same():
        return part_of(cuda('pipeline', '2'))
