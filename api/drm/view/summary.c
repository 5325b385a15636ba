/* SPDX-License-Identifier: Apache-2.0
 *
 * How often each ioctl was made, how long it took, how often it failed.
 */
#include "api/drm/view/text.h"
#include "base/array.h"
#include "tools/terminal.h"

#include "api/drm/describe.h"
#include "api/drm/tables.h"
#include "base/text.h"
#include "tools/text/json_out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX 4096u
#define RAW       SBT_TYPE(SBT_API_DRM, DRM_RECORD_IOCTL)

static struct tsm_ioctl_count *count_of(struct tsm_ioctls *all, uint32_t type, uint32_t request,
                                        const char *name)
{
    for (uint32_t i = 0; i < all->count_count; i++)
        if (all->counts[i].type == type && (type != RAW || all->counts[i].request == request))
            return &all->counts[i];
    if (all->count_count == COUNT_MAX)
        return &all->counts[COUNT_MAX - 1];
    if (!TSM_ARRAY_RESIZE(all->counts, all->count_count + 1))
        return NULL;
    struct tsm_ioctl_count *c = &all->counts[all->count_count++];
    *c = (struct tsm_ioctl_count){.type = type, .request = request};
    tsm_format(c->name, sizeof(c->name), "%s", name);
    return c;
}

/* Drivers say so of what comes after a hang, a reset, or the device's going. */
static bool is_lost(const struct sbt_schema *schema, const struct sbt_record *record)
{
    return schema && schema->kind == SBT_KIND_COMMAND &&
           (record->result == -ECANCELED || record->result == -EIO || record->result == -ENODEV);
}

bool tsm_ioctls_count(struct tsm_ioctls *all, struct sbt_reader *reader,
                      const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
    const char *name = record->type != RAW && schema ? schema->name : NULL;
    struct tsm_ioctl_count *c;

    if (SBT_TYPE_CALL(record->type) < DRM_RECORD_IOCTL || record->slot_count < DRM_SLOT_COMMON)
        return true;
    if (!name)
        name = tsm_ioctls_raw_name(all, record);
    c = count_of(all, record->type, (uint32_t)record->slots[DRM_SLOT_REQUEST], name ? name : "");
    if (!c)
        return false;
    if ((record->slots[DRM_SLOT_REQUEST] >> 8 & 0xff) == 'd')
        all->drm_count += 1 + record->slots[DRM_SLOT_RETRIES];
    all->lost_submits += is_lost(schema, record);
    c->count++;
    c->error_count += (record->flags & SBT_RECORD_FAILED) != 0;
    c->retry_count += record->slots[DRM_SLOT_RETRIES];
    c->total_ns += record->duration_ns;
    if (record->duration_ns > c->longest_ns)
        c->longest_ns = record->duration_ns;
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct tsm_ioctl_count *x = a, *y = b;

    if (x->total_ns != y->total_ns)
        return x->total_ns < y->total_ns ? 1 : -1;
    return x->type < y->type ? -1 : x->type > y->type;
}

static void put_row(FILE *out, const struct tsm_ioctl_count *c, uint64_t all_ns)
{
    fprintf(out, "%6.2f %11.6f %11.3f %9" PRIu64 " ",
            all_ns ? 100.0 * (double)c->total_ns / (double)all_ns : 0.0, (double)c->total_ns / 1e9,
            c->count ? (double)c->total_ns / 1e3 / (double)c->count : 0.0, c->count);
    if (c->error_count)
        fprintf(out, "%9" PRIu64 " ", c->error_count);
    else
        fprintf(out, "%9s ", "");
    if (c->name[0])
        fprintf(out, "%s\n", tsm_clean(c->name));
    else
        fprintf(out, "ioctl 0x%08x (unknown)\n", c->request);
}

void tsm_ioctls_summary(struct tsm_ioctls *all, FILE *out)
{
    struct tsm_ioctl_count total = {.name = "total"};

    if (all->count_count)
        qsort(all->counts, all->count_count, sizeof(*all->counts), by_time);
    for (uint32_t i = 0; i < all->count_count; i++) {
        total.count += all->counts[i].count;
        total.error_count += all->counts[i].error_count;
        total.total_ns += all->counts[i].total_ns;
    }
    fprintf(out, "%6s %11s %11s %9s %9s %s\n", "% time", "seconds", "usecs/call", "calls", "errors",
            "ioctl");
    for (uint32_t i = 0; i < all->count_count; i++)
        put_row(out, &all->counts[i], total.total_ns);
    put_row(out, &total, total.total_ns);
}

/* A number, null where it is not known. */
static void put_metadata(struct tsm_json *j, struct sbt_reader *reader, const char *name,
                         const char *key)
{
    const char *value = sbt_reader_metadata_find(reader, key);

    if (value)
        tsm_json_put_u64(j, name, strtoull(value, NULL, 10));
    else
        tsm_json_put_string(j, name, NULL);
}

void tsm_ioctls_summary_json(struct tsm_ioctls *all, struct sbt_reader *reader, FILE *out)
{
    struct tsm_json j = {.out = out};
    const struct sbt_totals *totals = sbt_reader_totals(reader);

    if (all->count_count)
        qsort(all->counts, all->count_count, sizeof(*all->counts), by_time);
    tsm_json_begin(&j, "ioctls/1");
    tsm_json_put_u64(&j, "lost", totals->lost_count);
    tsm_json_put_u64(&j, "lost_submits", all->lost_submits);
    put_metadata(&j, reader, "counted", "drm.ioctls_counted");
    put_metadata(&j, reader, "recorded", "drm.ioctls_recorded");
    tsm_json_name(&j, "ioctls");
    tsm_json_open(&j, '[');
    for (uint32_t i = 0; i < all->count_count; i++) {
        const struct tsm_ioctl_count *c = &all->counts[i];
        tsm_json_open(&j, '{');
        tsm_json_put_string(&j, "name", c->name[0] ? c->name : NULL);
        tsm_json_put_hex(&j, "request", c->request);
        tsm_json_put_u64(&j, "calls", c->count);
        tsm_json_put_u64(&j, "errors", c->error_count);
        tsm_json_put_u64(&j, "retries", c->retry_count);
        tsm_json_put_u64(&j, "total_ns", c->total_ns);
        tsm_json_put_u64(&j, "longest_ns", c->longest_ns);
        tsm_json_close(&j, '}');
    }
    tsm_json_close(&j, ']');
    tsm_json_end(&j);
}
