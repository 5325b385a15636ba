/* SPDX-License-Identifier: Apache-2.0
 *
 * For programs that open a GPU's library by themselves: its functions, asked for by name.
 */
#ifndef TESTS_PROGRAMS_OPENED_H
#define TESTS_PROGRAMS_OPENED_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *library; /* the program sets it */

static inline void *function(const char *name)
{
    void *address = dlsym(library, name);

    if (!address) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return address;
}

/* The function of that name, with its type. */
#define F(name) ((__typeof__(&name))function(#name))

#endif
