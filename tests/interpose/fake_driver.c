/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest library that could be a driver: enough to see which cuInit a program reaches. It
 * lacks almost everything that we export, and has one function that we do not know.
 */
#include <stddef.h>

__attribute__((visibility("default"))) int cuInit(unsigned int flags);
__attribute__((visibility("default"))) int cuDriverGetVersion(int *version);
__attribute__((visibility("default"))) int cuNewerThanTraceSmith(int a, double b, int c, int d,
                                                                 int e, int f, int g, int h);

int cuInit(unsigned int flags)
{
    return 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 1234;
    return 0;
}

/* Arguments in registers of both kinds and on the stack. */
int cuNewerThanTraceSmith(int a, double b, int c, int d, int e, int f, int g, int h)
{
    return a + 2 * (int)b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}
