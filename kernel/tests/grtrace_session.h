/* SPDX-License-Identifier: GPL-2.0 */
/* The module's files, or those of eBPF where $GRTRACE_BACKEND is "bpf", and the records of a session. */
#ifndef GRTRACE_TESTS_SESSION_H
#define GRTRACE_TESTS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../include/grtrace.h"

/* Else eBPF's: it has no rules, no overwriting, no bodies to inject. */
bool session_of_module(void);

/* Write `text` to a file: 0 or -errno. */
int session_write(const char *file, const char *text);
/* Its whole text, in a buffer that the next call reuses. */
const char *session_read(const char *file);
/* The number after the line that begins with "name "; UINT64_MAX where there is none. */
uint64_t session_number(const char *file, const char *name);

int session_start(void);
int session_stop(void);
/* All settings as after loading. */
void session_defaults(void);

/* No records, and all settings as after loading but for `config`: a new session, or where that is dear
 * and `config` does not name buffers the one that runs, of which nothing counts that was before. */
int session_renew(const char *config);
/* Records can be read now; the session has stopped if it does not go on. */
void session_rest(void);

/* The records of all CPUs that were not read yet, in order of gseq. They live until the next call. */
struct records {
	size_t count;
	const struct grtrace_record **at;
	size_t broken; /* bytes that are no records */
};
const struct records *session_records(void);
size_t session_count(const struct records *records, enum grtrace_type type);
/* The first of `type` about {ctx, seqno}, or NULL. */
const struct grtrace_record *session_find(const struct records *records, enum grtrace_type type,
					  uint64_t ctx, uint64_t seqno);
/* Sum of the gaps in each CPU's cseq, up to what the file pc_cseq says. */
uint64_t session_gaps(const struct records *records);

#endif
