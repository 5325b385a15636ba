/* SPDX-License-Identifier: Apache-2.0
 *
 * A driver in front of the one at TS_TEST_NEXT: it passes all calls on, but for the first one of
 * each function in TS_TEST_FAIL (comma-separated), which fails without an effect.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID_VALUE = 1, TOLD_MAX = 64 };

static int fail(void)
{
    return INVALID_VALUE;
}

/* Is `name` an item of TS_TEST_FAIL that did not fail before? */
static int is_due(const char *name)
{
    static const char *told[TOLD_MAX];
    static int told_count;
    const char *list = getenv("TS_TEST_FAIL");
    size_t length = strlen(name);

    for (int i = 0; i < told_count; i++)
        if (told[i] == name)
            return 0;
    for (const char *at = list; at && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        if (strcspn(at, ",") != length || strncmp(at, name, length) != 0 || told_count == TOLD_MAX)
            continue;
        told[told_count++] = name;
        fprintf(stderr, "failed: %s\n", name);
        return 1;
    }
    return 0;
}

/* Returns the next definition of `name`. */
__attribute__((used)) static void *next(const char *name)
{
    static void *library;
    void *function;

    if (is_due(name))
        return (void *)fail;
    if (!library)
        library = dlopen(getenv("TS_TEST_NEXT"), RTLD_NOW | RTLD_LOCAL);
    function = library ? dlsym(library, name) : NULL;
    return function ? function : (void *)fail;
}

/* The arguments stay where they are: registers are saved around next(). */
#define NAME(name)                                                                                 \
    __asm__(".pushsection .rodata\n" #name "_name: .asciz \"" #name "\"\n.popsection\n"            \
            ".globl " #name "\n.type " #name ", @function\n" #name ":\n"                           \
            "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\n"                     \
            "sub $24, %rsp\nmovups %xmm0, (%rsp)\n"                                                \
            "lea " #name "_name(%rip), %rdi\ncall next\n"                                          \
            "movups (%rsp), %xmm0\nadd $24, %rsp\n"                                                \
            "pop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\njmp *%rax\n");
#include "failing.inc"
