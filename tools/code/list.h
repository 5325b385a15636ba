/* SPDX-License-Identifier: Apache-2.0
 *
 * The code that a trace loads: modules, libraries and code objects, each once, by what its bytes
 * are, with the kernels in it and how often these were launched.
 *
 * One thread.
 */
#ifndef TOOLS_CODE_LIST_H
#define TOOLS_CODE_LIST_H

#include "base/map.h"
#include "tools/text/code_objects.h"
#include "tracesmith/reader.h"

enum tsm_code_kind {
    TSM_CODE_UNKNOWN, /* its bytes are not understood */
    TSM_CODE_MISSING, /* the trace does not have its bytes */
    TSM_CODE_FATBIN,  /* holds others; never a member */
    TSM_CODE_PTX,
    TSM_CODE_CUBIN,
    TSM_CODE_AMD, /* a code object for an AMD GPU */
    TSM_CODE_X86, /* one for the software GPU */
};

#define TSM_CODE_NUMBER_UNKNOWN UINT32_MAX

struct tsm_code_param {
    uint32_t offset, size; /* bytes, in the argument block */
    char kind[32];         /* "u32", "pointer", "bytes", "global_buffer" */
};

struct tsm_code_kernel {
    char *name;
    char *plain; /* demangled; NULL: it is none of C++'s */
    struct tsm_code_param *params;
    uint32_t param_count;
    bool has_params; /* else the code does not say */
    /* TSM_CODE_NUMBER_UNKNOWN: the code does not say. Bytes of memory: those of a block, of a
     * thread, of a bank of constants with parameters. */
    uint32_t registers, scalar_registers, shared, local, constant, max_threads;
    uint32_t block[3];         /* required; [0] unknown: none is */
    size_t text_at, text_size; /* of PTX: where it stands */
    uint64_t launch_count;     /* commands that launch it */
    uint64_t node_count;       /* nodes of graphs that do */
    uint64_t first_seq;        /* of the first of either */
};

struct tsm_code_member {
    enum tsm_code_kind kind;
    bool is_packed;
    char version[16]; /* of PTX: "8.0"; else "" */
    char target[64];  /* "sm_80"; "": unknown */
    uint64_t size;    /* bytes, unpacked */
    struct tsm_code_kernel *kernels;
    size_t count, capacity;
    struct tsm_map by_name; /* hash of a name -> place + 1 */
};

struct tsm_code {
    enum tsm_code_kind kind;
    char hash[33];    /* XXH3-128 of its bytes, 32 digits; "" where they are missing */
    const char *call; /* that loaded it first; "" unknown */
    const char *type; /* of the object that it was loaded as: "module" */
    uint64_t id, seq; /* of that object and record */
    uint64_t count;   /* objects that were loaded from it */
    uint64_t size;
    size_t object; /* index in `objects` */
    struct tsm_code_member *members;
    size_t member_count, member_capacity;
};

struct tsm_code_list {
    struct sbt_reader *reader;
    struct tsm_code_objects objects;
    struct tsm_code *list; /* in the order in which they were first loaded */
    size_t count, capacity;
    struct tsm_map places; /* hash of a blob's keys -> place + 1 */
};

/* Reads the whole trace. Finish in any case. */
int tsm_code_list_init(struct tsm_code_list *list, struct sbt_reader *reader);
void tsm_code_list_finish(struct tsm_code_list *list);

/* Reads the bytes of code, with a 0 behind them: *out is the caller's to free. */
int tsm_code_read(uint8_t **out, const struct tsm_code_list *list, const struct tsm_code *code);

/* Visits the members of code, whose bytes are `data`, with their own, unpacked. An error ends it.
 */
int tsm_code_each_member(const struct tsm_code *code, const uint8_t *data,
                         int (*visit)(void *user, const struct tsm_code_member *member,
                                      const uint8_t *bytes, size_t size),
                         void *user);

/* "PTX" */
const char *tsm_code_kind_name(enum tsm_code_kind kind);

#endif
