/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors. A function that can fail returns int: 0 (or a count >= 0) on success, a negative
 * enum tsm_error on failure. The out-parameter comes first and is untouched on failure.
 *
 * Whoever detects an error describes it once with tsm_fail(); whoever forwards it just returns the
 * value. Tools print tsm_error_message(), which names the file, the place and the remedy.
 *
 * Threads: the message is kept per thread. Everything here may be called from any thread, with any
 * lock held: nothing here allocates, locks or changes errno.
 */
#ifndef TRACESMITH_ERROR_H
#define TRACESMITH_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* Values are pinned: append only, never reuse. Strings are in base/error.c. */
enum tsm_error {
    TSM_OK = 0,
    TSM_E_ARGUMENT = -1,     /* the caller broke the function's contract; nothing was changed */
    TSM_E_MEMORY = -2,       /* out of memory, or over a limit that protects memory */
    TSM_E_IO = -3,           /* the operating system refused; the message holds its reason */
    TSM_E_FORMAT = -4,       /* not a trace, or damaged in a way that cannot be skipped */
    TSM_E_VERSION = -5,      /* a well-formed trace that needs a newer TraceSmith */
    TSM_E_NOT_FOUND = -6,    /* the named thing is not in the trace / on this machine */
    TSM_E_CHECKSUM = -7,     /* bytes do not match their checksum */
    TSM_E_LOSSY = -8,        /* the trace lost something and the caller asked for a whole one */
    TSM_E_UNSUPPORTED = -9,  /* understood, but not possible here; the message says why */
    TSM_E_DEVICE = -10,      /* the GPU or its driver reported an error */
    TSM_E_DIFFERENT = -11,   /* a comparison came out unequal */
    TSM_E_STATE = -12,       /* called at the wrong time: after finish, twice, ... */
    TSM_E_LIMIT = -13,       /* over a documented limit of the format or of this build */
};

/* A short, constant description of `code`, never NULL. */
const char *tsm_strerror(int code);

/* Returns the message of this thread's last tsm_fail(); "" before the first one. Valid until the
 * next one. */
const char *tsm_error_message(void);

/* Record a message for this thread and return `code`, which must be negative.
 * Use: return tsm_fail(TSM_E_FORMAT, "%s: chunk %u: checksum mismatch", path, i); */
int tsm_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
#endif
