/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks for C unit tests: print what differed, count it, go on. main() ends with
 * `return check_result();`. Include once per program.
 */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int check_failures;

static inline bool check_that(bool ok, const char *file, int line, const char *what)
{
    if (!ok) {
        fprintf(stderr, "%s:%d: %s\n", file, line, what);
        check_failures++;
    }
    return ok;
}

static inline bool check_int(long long got, long long wanted, const char *file, int line,
                             const char *what)
{
    if (got != wanted) {
        fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", file, line, what, got, wanted);
        check_failures++;
    }
    return got == wanted;
}

static inline bool check_str(const char *got, const char *wanted, const char *file, int line,
                             const char *what)
{
    bool ok = got && wanted ? strcmp(got, wanted) == 0 : got == wanted;

    if (!ok) {
        fprintf(stderr, "%s:%d: %s is\n  %s\nnot\n  %s\n", file, line, what, got ? got : "(null)",
                wanted ? wanted : "(null)");
        check_failures++;
    }
    return ok;
}

static inline bool check_mem(const void *got, const void *wanted, size_t size, const char *file,
                             int line, const char *what)
{
    const unsigned char *a = got, *b = wanted;

    for (size_t i = 0; i < size; i++) {
        if (a[i] != b[i]) {
            fprintf(stderr, "%s:%d: %s: byte %zu of %zu is %02x, not %02x\n", file, line, what, i,
                    size, a[i], b[i]);
            check_failures++;
            return false;
        }
    }
    return true;
}

static inline int check_result(void)
{
    if (check_failures)
        fprintf(stderr, "%d checks failed\n", check_failures);
    return check_failures ? 1 : 0;
}

#define CHECK(cond)                     check_that((cond), __FILE__, __LINE__, #cond)
#define CHECK_EQ_INT(got, wanted)       check_int((got), (wanted), __FILE__, __LINE__, #got)
#define CHECK_EQ_STR(got, wanted)       check_str((got), (wanted), __FILE__, __LINE__, #got)
#define CHECK_EQ_MEM(got, wanted, size) check_mem((got), (wanted), (size), __FILE__, __LINE__, #got)

#endif
