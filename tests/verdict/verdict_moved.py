# SPDX-License-Identifier: Apache-2.0
"""Cases of verdict_test.py: memory and variables that are not where they were recorded."""

import os
import pathlib

ELSEWHERE = {'TS_EMU_NOOP': '1', 'TS_EMU_PLACE': '0'}


def add_cases(row, cuda, find, records, replay):
    @row('R5', 'recorded addresses could not be had')
    def moved():
        return replay(cuda('variables'), **ELSEWHERE)

    @row('R5', 'recorded addresses could not be had')
    def variables_that_nobody_asked_for():
        trace = cuda('old_addresses')
        assert replay(trace)[0] == 0 and replay(trace, TS_EMU_NOOP='1', TS_EMU_PLACE='0')[0] == 1
        return replay(trace, TS_EMU_PLACE='0')

    @row('R8', 'gave other bytes than recorded')
    def different_where_all_were_translated():
        return replay(cuda('variables', 'plain'), **ELSEWHERE)

    occupy = pathlib.Path(os.environ['TEST_PROGRAMS']).parent / 'hsa' / 'occupy.so'
    if not occupy.exists():
        return

    @row('R8', 'gave other bytes than recorded')
    def different_where_a_place_is_taken():
        trace = cuda('pointers')
        verdict, result = replay(trace)
        assert verdict == 0 and not result['translated_count'], result
        table = next(r['args']['dptr'] for r in records(trace) if r['call'] == 'cuModuleGetGlobal_v2')
        return replay(trace, '--range', f'{find(trace, "readback", -1)}:', TS_EMU_NOOP='1', TEST_OCCUPIED=hex(int(table, 0) & -4096), LD_PRELOAD=str(occupy))

    @row('R24')
    def ends_and_old_addresses_are_moved():
        trace = cuda('old_addresses')
        array = [r['args']['dptr'] for r in records(trace) if r['call'] == 'cuMemAlloc_v2'][1]
        taken = {'TEST_OCCUPIED': array, 'LD_PRELOAD': str(occupy)}
        assert replay(trace, TS_EMU_NOOP='1', **taken)[0] == 1
        verdict, result = replay(trace, **taken)
        assert result['translated_count'] == 1 and result['translated_word_count'] == 3, result
        return verdict, result
