/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints in which order six commands of three streams ran. The streams should have waited for each
 * other and do not, so the order is the schedule's: emu_order_test.py runs this under several.
 */
#include "tests/emu/emu_test.h"

static void print(void *letter)
{
    putchar((int)(intptr_t)letter);
}

int main(void)
{
    CUcontext context = test_context();
    CUstream s[3];
    CUevent e;

    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < 3; i++)
        OK(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(s[0], print, (void *)(intptr_t)'a'));
    OK(cuEventRecord(e, s[0]));
    OK(cuLaunchHostFunc(s[1], print, (void *)(intptr_t)'c'));
    OK(cuStreamWaitEvent(s[2], e, 0)); /* "e" comes after "a" in any order */
    OK(cuLaunchHostFunc(s[2], print, (void *)(intptr_t)'e'));
    OK(cuLaunchHostFunc(s[0], print, (void *)(intptr_t)'b'));
    OK(cuLaunchHostFunc(s[1], print, (void *)(intptr_t)'d'));
    OK(cuLaunchHostFunc(s[2], print, (void *)(intptr_t)'f'));
    OK(cuCtxSynchronize());
    OK(cuCtxDestroy_v2(context));
    putchar('\n');
    return check_result();
}
