/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin that reaches the driver by itself. Compiled twice: with LINKED it needs libcuda.so.1.
 */
#include "reach.h"

__attribute__((visibility("default"))) const char *probe(void);
int cuInit(unsigned int flags);

#ifdef LINKED
const char *probe(void)
{
    return cuInit(0) == 0 ? owner_of((void *)cuInit) : "fails";
}
#else
const char *probe(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);

    return driver ? owner_of(dlsym(driver, "cuInit")) : "missing";
}
#endif
