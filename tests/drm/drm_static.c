/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that no preloaded library reaches: no libc, system calls of its own, as Go's programs
 * make them. Five ioctls of DRM's type on descriptor 0, wherever that leads.
 */
#include <stdint.h>

#define SYS_IOCTL   16
#define SYS_EXIT    60
#define GET_CAP     0xc010640cul
#define CALL_COUNT  5
#define EXIT_STATUS 7

static long system_call(long number, long a, long b, long c)
{
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

__attribute__((force_align_arg_pointer)) void _start(void);
void _start(void)
{
    uint64_t capability[2] = {1, 0};

    for (int i = 0; i < CALL_COUNT; i++)
        system_call(SYS_IOCTL, 0, (long)GET_CAP, (long)capability);
    system_call(SYS_EXIT, EXIT_STATUS, 0, 0);
}
