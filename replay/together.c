/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/together.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

struct part {
    const struct tsm_backend *backend;
    struct tsm_backend_state *state;
};

struct tsm_backend_state {
    struct part parts[TSM_TOGETHER_MAX];
    size_t count;
    uint8_t *streams; /* by number: the place of its API, + 1; 0: not known */
    size_t stream_capacity;
    struct tsm_region *regions; /* of the last regions() */
    struct tsm_peers peers;     /* for the parts */
};

/* ---- which APIs ---------------------------------------------------------------------------- */

static bool is_said(const struct sbt_reader *reader, const struct tsm_backend *a,
                    const struct tsm_backend *b)
{
    char name[96];

    tsm_format(name, sizeof(name), "shared.%s.%s", a->description->name, b->description->name);
    return sbt_reader_metadata_find(reader, name) != NULL;
}

static bool has_records(const struct sbt_reader *reader, const struct tsm_backend *backend)
{
    for (size_t i = 0; i < sbt_reader_schema_count(reader); i++)
        if (SBT_TYPE_API(sbt_reader_schema_at(reader, i)->type) ==
            (uint32_t)backend->description->api)
            return true;
    return false;
}

static bool shares(const struct sbt_reader *reader, const struct tsm_backend *backend)
{
    for (size_t i = 0; tsm_backends[i]; i++)
        if (tsm_backends[i] != backend && (is_said(reader, tsm_backends[i], backend) ||
                                           is_said(reader, backend, tsm_backends[i])))
            return true;
    return false;
}

size_t tsm_together_find(const struct sbt_reader *reader, const struct tsm_backend **out)
{
    size_t count = 0;

    for (size_t i = 0; tsm_backends[i] && count < TSM_TOGETHER_MAX; i++)
        if (shares(reader, tsm_backends[i]) && has_records(reader, tsm_backends[i]))
            out[count++] = tsm_backends[i];
    return count;
}

/* ---- whose it is --------------------------------------------------------------------------- */

/* Returns the part that carries out records of an API; NULL: none does. */
static const struct part *part_of_api(const struct tsm_backend_state *s, uint32_t api)
{
    for (size_t i = 0; i < s->count; i++)
        if ((uint32_t)s->parts[i].backend->description->api == api)
            return &s->parts[i];
    return NULL;
}

static const struct part *part_of(const struct tsm_backend_state *s,
                                  const struct sbt_record *record)
{
    return part_of_api(s, SBT_TYPE_API(record->type));
}

static const struct part *part_of_stream(const struct tsm_backend_state *s, uint64_t stream)
{
    const unsigned place = stream < s->stream_capacity ? s->streams[stream] : 0;

    return place ? &s->parts[place - 1] : NULL;
}

static bool is_core(const struct sbt_record *record)
{
    return SBT_TYPE_API(record->type) == SBT_API_CORE;
}

static int fail_foreign(const struct sbt_record *record)
{
    return tsm_fail(TSM_E_FORMAT, "is of API %u, which shares nothing here",
                    SBT_TYPE_API(record->type));
}

/* ---- life ---------------------------------------------------------------------------------- */

static void together_close(struct tsm_backend_state *s)
{
    for (size_t i = s->count; i-- > 0;)
        if (s->parts[i].state)
            s->parts[i].backend->close(s->parts[i].state);
    free(s->streams);
    free(s->regions);
    free(s);
}

/* Implements struct tsm_peers. */
static int give(void *user, uint32_t api, enum tsm_shared kind, uint64_t id, int *fd)
{
    const struct part *p = part_of_api(user, api);

    if (!p || !p->backend->give)
        return tsm_fail(TSM_E_FORMAT, "shares object %llu of API %u, which gives none away",
                        (unsigned long long)id, api);
    return p->backend->give(p->state, kind, id, fd);
}

static int use(void *user, uint32_t api, const struct tsm_semaphore_use *use)
{
    const struct part *p = part_of_api(user, api);

    return p && p->backend->use ? p->backend->use(p->state, use) : 0;
}

static int together_open(struct tsm_backend_state **out, struct sbt_reader *reader,
                         const struct tsm_replay_options *options)
{
    const struct tsm_backend *backends[TSM_TOGETHER_MAX];
    struct tsm_backend_state *s = calloc(1, sizeof(*s));
    int error = 0;

    if (!s)
        return tsm_fail(TSM_E_MEMORY, "no memory for the backends");
    s->peers = (struct tsm_peers){s, give, use};
    s->count = tsm_together_find(reader, backends);
    for (size_t i = 0; i < s->count && !error; i++) {
        s->parts[i].backend = backends[i];
        error = backends[i]->open(&s->parts[i].state, reader, options);
    }
    if (error)
        together_close(s);
    else
        *out = s;
    return error;
}

static int note_stream(struct tsm_backend_state *s, const struct sbt_record *record,
                       const struct part *p)
{
    const size_t need = (size_t)record->stream + 1;

    if (record->stream == SBT_STREAM_NONE)
        return 0;
    if (!TSM_ARRAY_EXTEND(s->streams, s->stream_capacity, need))
        return tsm_fail(TSM_E_MEMORY, "no memory for %zu streams", need);
    s->streams[record->stream] = (uint8_t)(p - s->parts + 1);
    return 0;
}

static int together_plan(struct tsm_backend_state *s, const struct sbt_record *record,
                         const struct sbt_schema *schema)
{
    const struct part *own = part_of(s, record);
    int error = own ? note_stream(s, record, own) : 0;

    for (size_t i = 0; i < s->count && !error; i++) {
        const struct part *p = &s->parts[i];
        if (p->backend->plan && (p == own || is_core(record)))
            error = p->backend->plan(p->state, record, schema);
    }
    return error;
}

static int together_prepare(struct tsm_backend_state *s)
{
    int error = 0;

    for (size_t i = 0; i < s->count && !error; i++) {
        const struct part *p = &s->parts[i];
        if (p->backend->meet)
            p->backend->meet(p->state, &s->peers);
        if (p->backend->prepare)
            error = p->backend->prepare(p->state);
    }
    return error;
}

/* ---- records ------------------------------------------------------------------------------- */

static int together_host(struct tsm_backend_state *s, const struct sbt_record *record,
                         const struct sbt_schema *schema)
{
    const struct part *own = part_of(s, record);
    int error = 0;

    if (own)
        return own->backend->host(own->state, record, schema);
    /* The program's writes, checkpoints: each takes what is of its memory. */
    for (size_t i = 0; i < s->count && !error; i++)
        error = s->parts[i].backend->host(s->parts[i].state, record, schema);
    return error;
}

static int together_submit(struct tsm_backend_state *s, const struct sbt_record *record,
                           const struct sbt_schema *schema)
{
    const struct part *p = part_of(s, record);

    return p ? p->backend->submit(p->state, record, schema) : fail_foreign(record);
}

static int together_wait(struct tsm_backend_state *s, uint32_t stream)
{
    const struct part *own = part_of_stream(s, stream);
    int error = 0;

    if (own)
        return own->backend->wait(own->state, stream);
    for (size_t i = 0; i < s->count && !error && stream == SBT_STREAM_NONE; i++)
        error = s->parts[i].backend->wait(s->parts[i].state, SBT_STREAM_NONE);
    return error;
}

static int together_wait_for_api(struct tsm_backend_state *s, uint32_t api)
{
    const struct part *p = part_of_api(s, api);

    return p ? p->backend->wait(p->state, SBT_STREAM_NONE) : 0;
}

/* ---- what came out ------------------------------------------------------------------------- */

static int together_readback(struct tsm_backend_state *s, uint32_t stream, uint64_t position,
                             uint64_t address, const uint8_t **data, uint64_t *size)
{
    const struct part *p = part_of_stream(s, stream);

    return p ? p->backend->readback(p->state, stream, position, address, data, size)
             : TSM_E_NOT_FOUND;
}

static int compare_regions(const void *a, const void *b)
{
    const struct tsm_region *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

static int together_regions(struct tsm_backend_state *s, const struct tsm_region **regions,
                            size_t *count)
{
    const struct tsm_region *some;
    size_t all = 0, more;
    int error = 0;

    for (size_t i = 0; i < s->count && !error; i++) {
        error = s->parts[i].backend->regions(s->parts[i].state, &some, &more);
        if (error || !more)
            continue;
        if (!TSM_ARRAY_RESIZE(s->regions, all + more))
            return tsm_fail(TSM_E_MEMORY, "no memory for %zu allocations", all + more);
        memcpy(s->regions + all, some, more * sizeof(*some));
        all += more;
    }
    if (all)
        qsort(s->regions, all, sizeof(*s->regions), compare_regions);
    *regions = s->regions;
    *count = all;
    return error;
}

/* Memory of two APIs never has the same recorded address at a time. */
static int together_read(struct tsm_backend_state *s, uint64_t address, void *out, uint64_t size)
{
    int result = TSM_E_NOT_FOUND;

    for (size_t i = 0; i < s->count && result == TSM_E_NOT_FOUND; i++)
        result = s->parts[i].backend->read(s->parts[i].state, address, out, size);
    return result;
}

static bool together_shared(struct tsm_backend_state *s, uint64_t address, uint64_t size,
                            uint64_t *actual)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct part *p = &s->parts[i];
        if (p->backend->shared && p->backend->shared(p->state, address, size, actual))
            return true;
    }
    return false;
}

static bool together_is_software(struct tsm_backend_state *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->parts[i].backend->is_software && s->parts[i].backend->is_software(s->parts[i].state))
            return true;
    return false;
}

static void together_describe(struct tsm_backend_state *s, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < s->count; i++) {
        const struct part *p = &s->parts[i];
        char one[128] = "";

        if (p->backend->describe)
            p->backend->describe(p->state, one, sizeof(one));
        if (*one && used < size)
            used += tsm_format(out + used, size - used, "%s%s", used ? "; " : "", one);
    }
}

/* ---- waits of the program ------------------------------------------------------------------ */

static int together_sync(struct tsm_backend_state *s, const struct sbt_record *record,
                         const struct sbt_schema *schema)
{
    const struct part *p = part_of(s, record);

    return p && p->backend->sync ? p->backend->sync->sync(p->state, record, schema)
                                 : fail_foreign(record);
}

static bool together_owns(struct tsm_backend_state *s, const struct sbt_record *record)
{
    const struct part *p = part_of(s, record);

    return p && p->backend->sync && p->backend->sync->owns &&
           p->backend->sync->owns(p->state, record);
}

static int together_reached(struct tsm_backend_state *s, const struct sbt_record *record,
                            const struct sbt_schema *schema)
{
    const struct part *p =
        part_of_stream(s, sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE));

    return p && p->backend->sync && p->backend->sync->reached
               ? p->backend->sync->reached(p->state, record, schema)
               : 0;
}

static const struct tsm_backend_sync sync_table = {
    .sync = together_sync,
    .owns = together_owns,
    .reached = together_reached,
};

static const struct tsm_backend_waits *waits_of(const struct part *p)
{
    return p ? p->backend->waits : NULL;
}

static int together_unblock(struct tsm_backend_state *s)
{
    bool any = false;
    int result = 0;

    for (size_t i = 0; i < s->count && result >= 0; i++) {
        const struct tsm_backend_waits *waits = waits_of(&s->parts[i]);
        result = waits ? waits->unblock(s->parts[i].state) : 0;
        any |= result > 0;
    }
    return result < 0 ? result : any;
}

static bool together_may_stay(struct tsm_backend_state *s, const struct sbt_record *record)
{
    const struct part *p = part_of(s, record);
    const struct tsm_backend_waits *waits = waits_of(p);

    return waits && waits->may_stay && waits->may_stay(p->state, record);
}

static bool together_is_stuck(struct tsm_backend_state *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct tsm_backend_waits *waits = waits_of(&s->parts[i]);
        if (waits && waits->is_stuck && waits->is_stuck(s->parts[i].state))
            return true;
    }
    return false;
}

static int together_each_event(struct tsm_backend_state *s, const struct sbt_record *record,
                               tsm_event_user report, void *user)
{
    const struct part *p = part_of(s, record);
    const struct tsm_backend_waits *waits = waits_of(p);

    return waits && waits->each_event ? waits->each_event(p->state, record, report, user) : 0;
}

static unsigned together_release(struct tsm_backend_state *s)
{
    unsigned count = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct tsm_backend_waits *waits = waits_of(&s->parts[i]);
        count += waits && waits->release ? waits->release(s->parts[i].state) : 0;
    }
    return count;
}

static uint64_t together_executed(struct tsm_backend_state *s)
{
    uint64_t count = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct tsm_backend_waits *waits = waits_of(&s->parts[i]);
        count += waits && waits->executed ? waits->executed(s->parts[i].state) : 0;
    }
    return count;
}

static void together_describe_last(struct tsm_backend_state *s, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < s->count && !*out; i++) {
        const struct tsm_backend_waits *waits = waits_of(&s->parts[i]);
        if (waits && waits->describe_last)
            waits->describe_last(s->parts[i].state, out, size);
    }
}

static const struct tsm_backend_waits waits_table = {
    .unblock = together_unblock,
    .may_stay = together_may_stay,
    .is_stuck = together_is_stuck,
    .each_event = together_each_event,
    .release = together_release,
    .executed = together_executed,
    .describe_last = together_describe_last,
};

/* ---- failures ------------------------------------------------------------------------------ */

static bool together_is_here(struct tsm_backend_state *s, uint32_t stream)
{
    const struct part *p = part_of_stream(s, stream);

    return p && p->backend->failures && p->backend->failures->is_here(p->state, stream);
}

static bool together_find_failure(struct tsm_backend_state *s, uint32_t stream,
                                  struct tsm_device_failure *out)
{
    const struct part *p = part_of_stream(s, stream);

    return p && p->backend->failures && p->backend->failures->find(p->state, stream, out);
}

static const struct tsm_backend_failures failures_table = {
    .is_here = together_is_here,
    .find = together_find_failure,
};

/* ---- checkpoints --------------------------------------------------------------------------- */

static int together_save(struct tsm_backend_state *s, const struct tsm_saver *saver)
{
    int error = 0;

    for (size_t i = 0; i < s->count && !error; i++) {
        const struct part *p = &s->parts[i];
        error =
            p->backend->checkpoint
                ? p->backend->checkpoint->save(p->state, saver)
                : tsm_fail(TSM_E_UNSUPPORTED, "what a replay of %s has computed cannot be saved",
                           p->backend->description->name);
    }
    return error;
}

/* Does what the walk does where a backend follows nothing before the checkpoint. */
static int together_fast_forward(struct tsm_backend_state *s, const struct sbt_record *record,
                                 const struct sbt_schema *schema)
{
    const struct part *p = part_of(s, record);

    if (!p)
        return fail_foreign(record);
    if (p->backend->checkpoint && p->backend->checkpoint->fast_forward)
        return p->backend->checkpoint->fast_forward(p->state, record, schema);
    if (schema->kind == SBT_KIND_COMMAND || schema->kind == SBT_KIND_SIGNAL ||
        schema->kind == SBT_KIND_WAIT)
        return 0;
    return p->backend->host(p->state, record, schema);
}

static const struct tsm_backend_checkpoint checkpoint_table = {
    .save = together_save,
    .fast_forward = together_fast_forward,
};

/* ---- times --------------------------------------------------------------------------------- */

static int together_timing_start(struct tsm_backend_state *s, uint64_t seq_first)
{
    int error = 0;

    for (size_t i = 0; i < s->count && !error; i++)
        if (s->parts[i].backend->timing)
            error = s->parts[i].backend->timing->start(s->parts[i].state, seq_first);
    return error;
}

static int together_timing_report(struct tsm_backend_state *s, tsm_time_user report, void *user)
{
    int error = 0;

    for (size_t i = 0; i < s->count && !error; i++)
        if (s->parts[i].backend->timing)
            error = s->parts[i].backend->timing->report(s->parts[i].state, report, user);
    return error;
}

static void together_clocks(struct tsm_backend_state *s, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < s->count && !*out; i++) {
        const struct tsm_backend_timing *timing = s->parts[i].backend->timing;
        if (timing && timing->clocks)
            timing->clocks(s->parts[i].state, out, size);
    }
}

static const struct tsm_backend_timing timing_table = {
    .start = together_timing_start,
    .report = together_timing_report,
    .clocks = together_clocks,
};

/* ---- looking ------------------------------------------------------------------------------- */

static bool together_wants(struct tsm_backend_state *s, const struct sbt_record *record)
{
    const struct part *p = part_of(s, record);

    return p && p->backend->inspect && p->backend->inspect->wants(p->state, record);
}

static int together_inspect_write(struct tsm_backend_state *s, const struct sbt_record *record)
{
    const struct part *p = part_of(s, record);

    return p && p->backend->inspect ? p->backend->inspect->write(p->state, record) : 0;
}

static uint64_t together_file_count(struct tsm_backend_state *s)
{
    uint64_t count = 0;

    for (size_t i = 0; i < s->count; i++)
        if (s->parts[i].backend->inspect)
            count += s->parts[i].backend->inspect->file_count(s->parts[i].state);
    return count;
}

static int together_inspect_finish(struct tsm_backend_state *s)
{
    int error = 0;

    for (size_t i = 0; i < s->count && !error; i++)
        if (s->parts[i].backend->inspect)
            error = s->parts[i].backend->inspect->finish(s->parts[i].state);
    return error;
}

static const struct tsm_backend_inspect inspect_table = {
    .wants = together_wants,
    .write = together_inspect_write,
    .file_count = together_file_count,
    .finish = together_inspect_finish,
};

/* ---- comparing ----------------------------------------------------------------------------- */

static const struct tsm_backend_compare *compare_of(const struct part *p)
{
    return p->backend->compare;
}

static const uint8_t *together_last_host_bytes(struct tsm_backend_state *s, uint64_t address,
                                               uint64_t size)
{
    const uint8_t *bytes = NULL;

    for (size_t i = 0; i < s->count && !bytes; i++) {
        const struct tsm_backend_compare *compare = compare_of(&s->parts[i]);
        if (compare && compare->last_host_bytes)
            bytes = compare->last_host_bytes(s->parts[i].state, address, size);
    }
    return bytes;
}

static bool together_ignore_timestamps(struct tsm_backend_state *s, uint64_t address,
                                       uint8_t *bytes, uint64_t size, uint64_t *times)
{
    bool any = false;

    for (size_t i = 0; i < s->count; i++) {
        const struct tsm_backend_compare *compare = compare_of(&s->parts[i]);
        if (compare && compare->ignore_timestamps)
            any |= compare->ignore_timestamps(s->parts[i].state, address, bytes, size, times);
    }
    return any;
}

/* Addresses of one API are recorded ones: what any of them can explain is explained. */
static uint64_t together_match_moved(struct tsm_backend_state *s, const uint8_t *recorded,
                                     const uint8_t *actual, uint64_t size, bool has_more)
{
    uint64_t most = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct tsm_backend_compare *compare = compare_of(&s->parts[i]);
        const uint64_t equal =
            compare && compare->match_moved
                ? compare->match_moved(s->parts[i].state, recorded, actual, size, has_more)
                : 0;
        most = equal > most ? equal : most;
    }
    return most;
}

#define SUM(name, table)                                                                           \
    static uint64_t together_##name(struct tsm_backend_state *s)                                   \
    {                                                                                              \
        uint64_t count = 0;                                                                        \
                                                                                                   \
        for (size_t i = 0; i < s->count; i++)                                                      \
            if (s->parts[i].backend->table && s->parts[i].backend->table->name)                    \
                count += s->parts[i].backend->table->name(s->parts[i].state);                      \
        return count;                                                                              \
    }

SUM(uncompared, compare)
SUM(mixed, compare)
SUM(translated, report)
SUM(translated_words, report)
SUM(doubtful, report)
SUM(replaced, report)
SUM(validation, report)

static void together_describe_address(struct tsm_backend_state *s, uint64_t address, char *out,
                                      size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < s->count && !*out; i++) {
        const struct tsm_backend_compare *compare = compare_of(&s->parts[i]);
        if (compare && compare->describe_address)
            compare->describe_address(s->parts[i].state, address, out, size);
    }
}

static uint64_t together_untranslated(struct tsm_backend_state *s, char *out, size_t size)
{
    uint64_t count = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct tsm_backend_report *report = s->parts[i].backend->report;
        if (report && report->untranslated)
            count += report->untranslated(s->parts[i].state, out, size);
    }
    return count;
}

static const struct tsm_backend_compare compare_table = {
    .last_host_bytes = together_last_host_bytes,
    .ignore_timestamps = together_ignore_timestamps,
    .match_moved = together_match_moved,
    .uncompared = together_uncompared,
    .mixed = together_mixed,
    .describe_address = together_describe_address,
};

static const struct tsm_backend_report report_table = {
    .translated = together_translated,
    .translated_words = together_translated_words,
    .doubtful = together_doubtful,
    .untranslated = together_untranslated,
    .replaced = together_replaced,
    .validation = together_validation,
};

/* ---- the backend --------------------------------------------------------------------------- */

static const struct tsm_backend together_backend = {
    .open = together_open,
    .close = together_close,
    .plan = together_plan,
    .prepare = together_prepare,
    .host = together_host,
    .submit = together_submit,
    .wait = together_wait,
    .wait_for_api = together_wait_for_api,
    .readback = together_readback,
    .regions = together_regions,
    .read = together_read,
    .shared = together_shared,
    .is_software = together_is_software,
    .describe = together_describe,
    .sync = &sync_table,
    .waits = &waits_table,
    .failures = &failures_table,
    .checkpoint = &checkpoint_table,
    .compare = &compare_table,
    .report = &report_table,
};

void tsm_together_init(struct tsm_together *out, const struct sbt_reader *reader)
{
    const struct tsm_backend *backends[TSM_TOGETHER_MAX];
    const size_t count = tsm_together_find(reader, backends);

    *out = (struct tsm_together){.backend = together_backend};
    for (size_t i = 0; i < count; i++) {
        tsm_description_fill(backends[i]->description);
        out->parts[i] = backends[i]->description;
        if (backends[i]->timing)
            out->backend.timing = &timing_table;
        if (backends[i]->inspect)
            out->backend.inspect = &inspect_table;
    }
    out->description = (struct tsm_api_description){.name = TSM_TOGETHER_NAME, .parts = out->parts};
    out->backend.description = &out->description;
}
