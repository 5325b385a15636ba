/* SPDX-License-Identifier: GPL-2.0 */
/* The module's files, and the records of a session. */
#ifndef GRTRACE_TESTS_SESSION_H
#define GRTRACE_TESTS_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "../include/grtrace.h"

/* Write `text` to a file of the module: 0 or -errno. */
int session_write(const char *file, const char *text);
/* Its whole text, in a buffer that the next call reuses. */
const char *session_read(const char *file);
/* The number behind the line that begins with "name "; UINT64_MAX where there is none. */
uint64_t session_number(const char *file, const char *name);

int session_start(void);
int session_stop(void);
/* All settings as after loading. */
void session_defaults(void);

/* The records of all CPUs in order of gseq. They live until the next call. */
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
