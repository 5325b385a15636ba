/* SPDX-License-Identifier: Apache-2.0
 *
 * The source of NVTX labels. The headers of NVTX 3, which are compiled into a program, and the
 * older libnvToolsExt open the library that a variable names, and let it set the functions that
 * their calls end in. Ours are global: a program may have several copies of NVTX, and each hands us
 * its tables.
 *
 * It runs inside the traced program: the rules of capture/capture.h hold. What programs name
 * (domains, categories, registered strings) is remembered for the process, since a session may
 * begin later, in tables of fixed size: nothing waits, and nothing is given back.
 */
#ifndef API_NVTX_SOURCE_SOURCE_H
#define API_NVTX_SOURCE_SOURCE_H

#include "capture/capture.h"
#include "interpose/interpose.h"

extern const struct tsm_source nvtx_source;

/* ---- environment.c -------------------------------------------------------------------------- */

/* Tests whether this process is recorded by us, with its labels: the library was preloaded. */
bool nvtx_is_wanted(void);

/* ---- texts (text.c) ------------------------------------------------------------------------- */

/* Remembers `size` bytes of UTF-8, or of it what fits. Returns the text's number, the same for the
 * same bytes, and 0 where there is no room, which is said once. */
uint32_t nvtx_text_add(const char *text, size_t size);
uint32_t nvtx_text_add_wide(const wchar_t *text);
/* Returns the text of the number; NULL: there is none. */
const char *nvtx_text(uint32_t number);

/* Bytes of a wide text as UTF-8, terminator included; not above the longest text that is recorded.
 */
size_t nvtx_utf8_size(const wchar_t *text);
/* Writes it, terminated; `size` is at least 1. What is no character becomes U+FFFD. */
void nvtx_utf8(char *out, size_t size, const wchar_t *text);

/* ---- domains and categories (name.c) -------------------------------------------------------- */

/* 0 is the domain that has no name. */
#define NVTX_NO_DOMAIN UINT32_MAX

/* Returns the number of the domain with that name (nvtx_text_add()), from 1 on. Domains for which
 * there is no room share the last number, whose name says so. */
uint32_t nvtx_domain_add(uint32_t name);
/* NULL: the domain has no name. */
const char *nvtx_domain_name(uint32_t domain);

void nvtx_category_name_set(uint32_t domain, uint32_t category, uint32_t name);
/* NULL: it has no name. */
const char *nvtx_category_name(uint32_t domain, uint32_t category);

/* Values that programs have for them: never NULL, and no pointers. A value that is not ours gives
 * NVTX_NO_DOMAIN, 0; a domain of NULL is the one without a name. */
void *nvtx_domain_handle(uint32_t domain);
uint32_t nvtx_domain_of(const void *handle);
void *nvtx_text_handle(uint32_t number);
uint32_t nvtx_text_of(const void *handle);

/* ---- nesting (depth.c) ---------------------------------------------------------------------- */

/* NVTX's values for "nobody counts", and for an error. */
enum { NVTX_NOT_COUNTED = -2, NVTX_ERROR = -1 };

/* Returns the level that begins or ends in this thread, from 0; NVTX_ERROR: none is open;
 * NVTX_NOT_COUNTED: there is no room, which is said once. */
int nvtx_depth_begin(uint32_t domain);
int nvtx_depth_end(uint32_t domain);

/* Returns a MARK record's id for ranges that nest in this thread and domain. */
uint64_t nvtx_nest_id(uint32_t domain);

/* ---- attributes (attributes.c) -------------------------------------------------------------- */

/* A label as the program described it. At most one of the three texts is there. */
struct nvtx_label {
    const char *text;
    const wchar_t *wide;
    uint32_t registered;
    uint32_t domain, category, color;
    uint32_t payload_type; /* enum sbt_payload */
    uint64_t payload;
};

/* Reads of nvtxEventAttributes_t what its size says is there. NULL: nothing. */
void nvtx_attributes_read(struct nvtx_label *out, const void *attributes);

/* ---- functions (label.c) -------------------------------------------------------------------- */

/* By NVTX's numbers of its modules' callbacks; NULL: not ours. */
extern void (*const nvtx_core[])(void);
extern void (*const nvtx_core2[])(void);
extern const uint32_t nvtx_core_count, nvtx_core2_count;

#endif
