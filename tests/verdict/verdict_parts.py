# SPDX-License-Identifier: Apache-2.0
"""Cases of verdict_test.py: parts without results, whose memory is compared with a full replay."""

# Which stores are lost depends on addresses: of some seeds no part differs.
LOSES_STORES = [{'TS_EMU_DROP': f'40:{seed}'} for seed in (2, 3, 5, 7)]


def add_cases(row, cuda, find, replay):
    def part_of(trace, *options, devices=({},)):
        """The first part whose memory differs, if it is to."""
        for env in devices:
            for end in range(20, find(trace, 'readback', -1)):
                verdict, result = replay(trace, '--range', f'{end // 3}:{end}', *options, once='--json', **env)
                if 'part_memory' in result and bool(result['part_memory']['differing_count']) == bool(env):
                    return verdict, result
        raise AssertionError('no such part')

    @row('R34', 'than after a full replay')
    def part_differs():
        return part_of(cuda('threads'), devices=LOSES_STORES)

    @row('R36', 'commands of other streams')
    def part_of_streams_differs():
        return part_of(cuda('pipeline', '2'), '--streams', '2', devices=LOSES_STORES)

    @row('R35')
    def part_is_same():
        return part_of(cuda('pipeline', '2'))
