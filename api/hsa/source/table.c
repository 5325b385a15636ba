/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables in which the runtime offers its functions to tools. ROCr 6 and later hands them to
 * rocprofiler_set_api_table() (interpose/hook_tables.c), 5 to the library in HSA_TOOLS_LIB
 * (interpose/shim/hsa_tool.c), which passes them on to there. They show calls that our exports do
 * not see: of a runtime that is linked statically or opened so that it binds to itself.
 *
 * A table begins with what it is: a number that changes with its layout, and its size. Nothing is
 * assumed of a layout that hsa.tables does not have.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_calls.h"
#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_tables.inc"
#include "api/hsa/hsa_wrappers.h"
#include "base/own_stack.h"
#include "base/log.h"
#include "base/text.h"
#include "interpose/interpose.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY_VARIABLE "HSA_TOOLS_LIB"
#define TOOL_LIBRARY     "libts_hsa_tool.so"

struct version {
    uint32_t major, size, step, reserved;
};

/* Places of the tables in the one that holds them, after its version. */
enum { CORE, AMD_EXT, FINALIZER, IMAGE, TABLE_COUNT };

/* `exact`: what says that it is this one, but has another size, is another one. */
static const struct layout {
    uint32_t place, major;
    bool exact;
    const struct tsm_table *table;
} layouts[] = {
    {CORE, 1, false, &table_core},           {CORE, 2, false, &table_core},
    {AMD_EXT, 1, true, &table_amd_ext1},     {AMD_EXT, 2, false, &table_amd_ext2},
    {FINALIZER, 1, false, &table_finalizer}, {FINALIZER, 2, false, &table_finalizer},
    {IMAGE, 1, false, &table_image},         {IMAGE, 2, false, &table_image},
};

bool hsa_has_tables;

static size_t functions_in(const struct version *head)
{
    return head->size > sizeof(*head) ? (head->size - sizeof(*head)) / sizeof(void *) : 0;
}

static const struct layout *layout_of(uint32_t place, const struct version *head)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        const struct layout *l = &layouts[i];

        if (l->place == place && l->major == head->major &&
            (!l->exact || functions_in(head) == l->table->count))
            return l;
    }
    return NULL;
}

static void take(uint32_t place, struct version *head)
{
    const struct layout *layout = layout_of(place, head);
    size_t there = functions_in(head), taken;

    if (!layout) {
        tsm_log(TSM_LOG_INFO,
                "the runtime's table %u has a layout (%u, %u bytes) that is not known", place,
                head->major, head->size);
        return;
    }
    taken = tsm_table_take(&hsa_exports, layout->table, (void **)(void *)(head + 1), there);
    tsm_log(TSM_LOG_INFO, "%zu of %zu functions in the runtime's table %u", taken, there, place);
    if (!taken && there && place == CORE)
        tsm_session_unmodelled("a second HSA runtime", true);
}

bool hsa_tables(const char *name, void **tables, uint64_t count)
{
    struct version *root;
    struct version **parts;

    if (strcmp(name, "hsa") != 0)
        return false;
    if (!count) {
        tsm_doors_close(&hsa_exports);
        return true;
    }
    hsa_has_tables = true;
    root = tables[0];
    parts = (struct version **)(void *)(root + 1);
    for (uint32_t i = 0; i < TABLE_COUNT && i < functions_in(root); i++)
        if (parts[i])
            take(i, parts[i]);
    return true;
}

/* ---- tables that programs ask for --------------------------------------------------------------
 */

/* Programs call images and the finalizer through this one: they get our exports. Others hold what
 * only tells something, but for readers of files: those are objects that the trace does not make,
 * and says so. */
static void give_exports(uint16_t extension, void **functions, size_t size)
{
    const struct tsm_table *table = extension == HSA_EXTENSION_IMAGES      ? &table_images
                                    : extension == HSA_EXTENSION_FINALIZER ? &table_finalizer
                                                                           : NULL;

    for (size_t i = 0; table && i < table->count && i < size / sizeof(*functions); i++) {
        const struct tsm_export *row = tsm_export_find(&hsa_exports, table->names[i]);

        if (row && row->door->exported && functions[i])
            functions[i] = row->wrapper;
    }
}

hsa_status_t hook_hsa_system_get_extension_table(uint16_t extension, uint16_t version_major,
                                                 uint16_t version_minor, void *table)
{
    struct tsm_call call;
    bool begun = tsm_call_begin(&call, TYPE_hsa_system_get_extension_table);
    hsa_status_t status =
        hsa_runtime.hsa_system_get_extension_table(extension, version_major, version_minor, table);

    if (status == HSA_STATUS_SUCCESS && version_major == 1)
        give_exports(extension, table,
                     extension == HSA_EXTENSION_FINALIZER ? sizeof(hsa_ext_finalizer_1_00_pfn_t)
                                                          : sizeof(hsa_ext_images_1_00_pfn_t));
    if (!begun)
        return status;
    tsm_call_returned(&call, status, status != HSA_STATUS_SUCCESS);
    tsm_call_slot(&call, extension);
    tsm_call_slot(&call, version_major);
    tsm_call_slot(&call, version_minor);
    tsm_call_slot(&call, (uintptr_t)table);
    tsm_call_commit(&call);
    return status;
}

hsa_status_t hook_hsa_system_get_major_extension_table(uint16_t extension, uint16_t version_major,
                                                       size_t table_length, void *table)
{
    struct tsm_call call;
    bool begun = tsm_call_begin(&call, TYPE_hsa_system_get_major_extension_table);
    hsa_status_t status = hsa_runtime.hsa_system_get_major_extension_table(extension, version_major,
                                                                           table_length, table);

    if (status == HSA_STATUS_SUCCESS && version_major == 1)
        give_exports(extension, table, table_length);
    if (!begun)
        return status;
    tsm_call_returned(&call, status, status != HSA_STATUS_SUCCESS);
    tsm_call_slot(&call, extension);
    tsm_call_slot(&call, version_major);
    tsm_call_slot(&call, table_length);
    tsm_call_slot(&call, (uintptr_t)table);
    tsm_call_commit(&call);
    return status;
}

/* ---- HSA_TOOLS_LIB -----------------------------------------------------------------------------
 */

/* Names are separated by spaces; ours comes first. */
static void announce_on_own_stack(void *unused)
{
    const char *old = getenv(LIBRARY_VARIABLE), *capture = getenv("TS_CAPTURE");
    char path[PATH_MAX], text[2 * PATH_MAX];

    if (capture && strcmp(capture, "0") == 0)
        return;
    if ((old && strstr(old, TOOL_LIBRARY)) ||
        !tsm_own_file("shim/" TOOL_LIBRARY, path, sizeof(path)))
        return;
    if (strchr(path, ' ') || (old && strlen(old) + strlen(path) + 2 > sizeof(text)))
        return; /* our exports have to do */
    tsm_format(text, sizeof(text), old && *old ? "%s %s" : "%s", path, old);
    tsm_libc_setenv(LIBRARY_VARIABLE, text);
}

static void announce(void)
{
    tsm_own_stack_run(announce_on_own_stack, NULL);
}

/* The program opens a library that may be the runtime, or need it. */
void hsa_opening(const char *path)
{
    int saved_errno = errno;

    if (strstr(path, "hsa") || strstr(path, "hip") || strstr(path, "roc"))
        announce();
    errno = saved_errno;
}

__attribute__((constructor)) static void begin(void)
{
    int saved_errno = errno;

    if (hsa_is_loaded())
        announce();
    errno = saved_errno;
}
