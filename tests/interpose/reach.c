/* SPDX-License-Identifier: Apache-2.0
 *
 * Reaches the driver's cuInit in one way and prints whose function it got:
 * hooked, unhooked, absent (no such symbol), missing (no such library).
 * Compiled twice: with LINKED it needs libcuda.so.1.
 */
#include "reach.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned int flags);

static const char *by_dlopen(const char *name, int mode)
{
    void *driver = dlopen(name, mode);

    return driver ? owner_of(dlsym(driver, "cuInit")) : "missing";
}

static const char *by_default(void)
{
    if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
        return "missing";
    return owner_of(dlsym(RTLD_DEFAULT, "cuInit"));
}

static const char *by_plugin(void *plugin)
{
    const char *(*probe)(void);

    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return "no plugin";
    }
    probe = (const char *(*)(void))(uintptr_t)dlsym(plugin, "probe");
    return probe ? probe() : "no probe";
}

/* Opened, closed, and used again. */
static const char *by_reopen(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned int) = (int (*)(unsigned int))(uintptr_t)dlsym(driver, "cuInit");

    dlclose(driver);
    if (!init || init(0) != 0)
        return "fails";
    return by_dlopen("libcuda.so.1", RTLD_NOW);
}

static const char *newer_function(void)
{
    int (*newer)(int, double, int, int, int, int, int, int);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);

    newer = (int (*)(int, double, int, int, int, int, int, int))(uintptr_t)dlsym(
        driver, "cuNewerThanTraceSmith");
    if (!newer)
        return "absent";
    return newer(1, 2, 3, 4, 5, 6, 7, 8) == 1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 ? "works" : "fails";
}

static const char *function_it_lacks(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);

    if (dlsym(driver, "cuMemAlloc_v2"))
        return "found";
    return dlerror() ? "absent" : "absent without dlerror";
}

static const char *without_loading(void)
{
    return dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) ? "loaded" : "not loaded";
}

static const char *linked(void)
{
#ifdef LINKED
    return cuInit(0) == 0 ? owner_of((void *)cuInit) : "fails";
#else
    return "not linked";
#endif
}

static const char *reach(const char *way, const char *path)
{
    if (strcmp(way, "linked") == 0)
        return linked();
    if (strcmp(way, "dlopen") == 0)
        return by_dlopen(path, RTLD_NOW);
    if (strcmp(way, "default") == 0)
        return by_default();
    if (strcmp(way, "plugin") == 0)
        return by_plugin(dlopen(path, RTLD_NOW));
    if (strcmp(way, "deepbind") == 0)
        return by_plugin(dlopen(path, RTLD_NOW | RTLD_DEEPBIND));
    if (strcmp(way, "dlmopen") == 0)
        return by_plugin(dlmopen(LM_ID_NEWLM, path, RTLD_NOW));
    if (strcmp(way, "reopen") == 0)
        return by_reopen();
    if (strcmp(way, "newer") == 0)
        return newer_function();
    if (strcmp(way, "lacking") == 0)
        return function_it_lacks();
    if (strcmp(way, "noload") == 0)
        return without_loading();
    return "unknown way";
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return EXIT_FAILURE;
    puts(reach(argv[1], argc > 2 ? argv[2] : NULL));
    return EXIT_SUCCESS;
}
