# SPDX-License-Identifier: Apache-2.0
"""Cases of verdict_test.py: programs whose commands fail on the device."""

FAILS = 1 + (2 << 32)  # faults: in the second word of a kernel's arguments


def add_cases(row, cuda, altered, find, replay):
    def earlier():
        trace = cuda('faults', 'late', 'assert')
        return altered(trace, 'argument', find(trace, 'cuLaunchKernel'), f'1:{FAILS}')

    @row('R31', 'gave CUDA_ERROR_ASSERT; recorded: CUDA_ERROR_ASSERT of one of 3 commands')
    def fails_earlier():
        return replay(earlier())

    @row('R31', 'no command failed; recorded: CUDA_ERROR_ILLEGAL_ADDRESS of record')
    def fails_no_more():
        return replay(cuda('fails', 'alone'), TS_EMU_NOOP='1')

    @row('R7', 'records before them are missing')
    def fails_otherwise_after_gap():
        return replay(altered(cuda('fails', 'alone'), 'lost', 5), '--lossy', TS_EMU_NOOP='1')

    @row('R32', 'failed in the replay before they were there')
    def fails_before_results():
        return replay(earlier(), TS_EMU_EXACT='0')

    @row('R33', 'not all were sent')
    def fails_elsewhere():
        return replay(cuda('fails', 'among'), '--streams=2')

    @row('R24')
    def fails_as_recorded():
        return replay(cuda('fails', 'among'))
