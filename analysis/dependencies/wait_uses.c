/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/wait_uses.h"

#include "analysis/dependencies/followed.h"
#include "analysis/model/pass.h"
#include "analysis/model/work.h"
#include "api/traits.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define PAIRS_MAX   (1u << 22) /* that are compared for one wait */
#define STREAMS_MAX 1024u      /* that a vector clock knows */

/* Order without one of the waits. */
struct without {
    struct tsm_wait_use *use;
    struct tsm_dependencies order;
    uint64_t pair_count;
    bool is_guessed; /* the order that is known does not say all that it waits for */
    /* Writes of the program are noticed at the next command: until then they may have been made
     * right behind the wait, and before others. */
    uint64_t *before; /* of each stream: what was over without the wait; NULL: a command came */
    size_t before_count;
    bool may_be_used; /* by such a write */
};

struct finding {
    struct sbt_reader *reader;
    struct tsm_dependencies order;
    struct tsm_command_accesses accesses;
    struct without *list;
    size_t count;
    uint64_t *until; /* of each stream of `order`: what is over when the record begins */
    size_t until_capacity;
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for the uses of waits");
}

/* Tests whether nothing that is surer can be found. */
static bool is_certain(const struct tsm_wait_use *use)
{
    return use->kind == TSM_WAIT_USE_RESULT || use->kind == TSM_WAIT_USE_UNKNOWN ||
           (use->kind == TSM_WAIT_USE_CONFLICT && use->conflict.access == TSM_ACCESS_DECLARED);
}

/* ---- pairs ------------------------------------------------------------------------------------
 */

static void compare(const struct finding *f, struct without *one, const struct tsm_accessing *from,
                    const struct tsm_accessing *to)
{
    struct tsm_wait_use *use = one->use;
    struct tsm_access_conflict conflict;

    if (!from || !tsm_command_accesses_conflict(&conflict, &f->accesses, from, to) ||
        (use->kind == TSM_WAIT_USE_CONFLICT && use->conflict.access <= conflict.access))
        return;
    use->kind = TSM_WAIT_USE_CONFLICT;
    use->conflict = conflict;
    use->from = from->seq;
    use->to = to->seq;
}

/* Compares what is over on one stream with the wait alone. */
static void compare_stream(const struct finding *f, struct without *one, uint32_t stream,
                           uint64_t first, uint64_t last, const struct tsm_accessing *to)
{
    for (uint64_t position = first; position <= last && !is_certain(one->use); position++) {
        if (one->pair_count++ >= PAIRS_MAX)
            one->use->kind = TSM_WAIT_USE_UNKNOWN;
        else
            compare(f, one, tsm_command_accesses_at(&f->accesses, stream, position), to);
    }
}

static void compare_wait(const struct finding *f, struct without *one,
                         const struct sbt_record *record, const struct tsm_accessing *to)
{
    for (size_t i = 0; i < f->order.stream_count && !is_certain(one->use); i++) {
        const uint32_t stream = f->order.streams[i].number;
        uint64_t until;

        if (!f->until[i])
            continue;
        until = tsm_dependencies_over_until(&one->order, record, to->position != 0, stream);
        if (until < f->until[i])
            compare_stream(f, one, stream, until + 1, f->until[i], to);
    }
}

/* Tests whether what the program wrote may have been written before other waits that order it as
 * the one that is left out did. */
static void compare_write(const struct finding *f, struct without *one,
                          const struct sbt_record *record, const struct tsm_accessing *to)
{
    for (size_t i = 0; i < f->order.stream_count && !one->may_be_used; i++) {
        const uint32_t stream = f->order.streams[i].number;
        const uint64_t last = tsm_dependencies_over_until(&one->order, record, false, stream);
        uint64_t position = (i < one->before_count ? one->before[i] : 0) + 1;

        for (; position <= last && !one->may_be_used; position++) {
            const struct tsm_accessing *from =
                tsm_command_accesses_at(&f->accesses, stream, position);
            struct tsm_access_conflict conflict;

            one->may_be_used =
                one->pair_count++ >= PAIRS_MAX ||
                (from && tsm_command_accesses_conflict(&conflict, &f->accesses, from, to));
        }
    }
}

/* Notes what is over without a wait that is left out. */
static int remember_before(struct finding *f, struct without *one, const struct sbt_record *record)
{
    one->before = calloc(f->order.stream_count + 1, sizeof(*one->before));
    if (!one->before)
        return no_memory();
    one->before_count = f->order.stream_count;
    for (size_t i = 0; i < one->before_count; i++)
        one->before[i] =
            tsm_dependencies_over_until(&one->order, record, false, f->order.streams[i].number);
    return 0;
}

/* Compares the record that was noted last with all that it comes after because of one wait. */
static int compare_record(struct finding *f, const struct sbt_record *record)
{
    const struct tsm_accessing *to =
        f->accesses.count ? &f->accesses.list[f->accesses.count - 1] : NULL;

    if (!to || to->seq != record->seq)
        return 0;
    if (!TSM_ARRAY_EXTEND(f->until, f->until_capacity, f->order.stream_count))
        return no_memory();
    for (size_t i = 0; i < f->order.stream_count; i++)
        f->until[i] = tsm_dependencies_over_until(&f->order, record, to->position != 0,
                                                  f->order.streams[i].number);
    for (size_t i = 0; i < f->count; i++) {
        struct without *one = &f->list[i];

        if (one->use->seq >= record->seq || is_certain(one->use))
            continue;
        compare_wait(f, one, record, to);
        if (!to->position && one->before)
            compare_write(f, one, record, to);
    }
    return 0;
}

/* Notes for which waits the program could not have read a result yet without them. */
static void compare_result(struct finding *f, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_core_schema(SBT_CORE_READBACK);
    const uint64_t stream = sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    const uint64_t position = sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0);
    const struct tsm_accessing *from =
        stream < SBT_STREAM_NONE && position
            ? tsm_command_accesses_at(&f->accesses, (uint32_t)stream, position)
            : NULL;

    if (!from || position > tsm_dependencies_over_until(&f->order, record, false, from->stream))
        return;
    for (size_t i = 0; i < f->count; i++) {
        struct tsm_wait_use *use = f->list[i].use;

        if (use->seq >= record->seq || use->kind == TSM_WAIT_USE_RESULT ||
            position <= tsm_dependencies_over_until(&f->list[i].order, record, false, from->stream))
            continue;
        *use = (struct tsm_wait_use){
            .seq = use->seq, .kind = TSM_WAIT_USE_RESULT, .from = from->seq, .to = record->seq};
    }
}

/* ---- records ----------------------------------------------------------------------------------
 */

/* Tests whether it is a command whose call alone does not say that it waits, or that waits until
 * the program may change what it sends. */
static bool is_guessed(const struct tsm_call_node *call)
{
    return call->is_command && call->schema->kind != SBT_KIND_WAIT &&
           (!call->is_wait || tsm_work_returns_early(call->schema) ||
            tsm_call_traits(call->schema).traits & TSM_TRAIT_MAY_WAIT);
}

static int note_without(struct finding *f, struct without *one, const struct tsm_call_node *call)
{
    const bool is_it = one->use->seq == call->record->seq;
    const int error = tsm_dependencies_note(&one->order, call);

    one->is_guessed |= is_it && is_guessed(call);
    if (is_it && !error && !call->is_command)
        return remember_before(f, one, call->record);
    if (call->is_command) {
        free(one->before);
        one->before = NULL;
    }
    return error;
}

static int note_call(void *user, const struct tsm_call_node *call)
{
    struct finding *f = user;
    int error = tsm_dependencies_note(&f->order, call);

    for (size_t i = 0; i < f->count && !error; i++)
        error = note_without(f, &f->list[i], call);
    if (!error)
        error = tsm_command_accesses_note(&f->accesses, f->reader, call);
    return error || !call->is_command ? error : compare_record(f, call->record);
}

static int note_core(void *user, const struct sbt_record *record)
{
    struct finding *f = user;
    int error = tsm_dependencies_note_core(&f->order, record);

    for (size_t i = 0; i < f->count && !error; i++)
        error = tsm_dependencies_note_core(&f->list[i].order, record);
    if (!error)
        error = tsm_command_accesses_note_core(&f->accesses, record);
    if (!error && record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK))
        compare_result(f, record);
    return error || record->flags & SBT_RECORD_HELD ? error : compare_record(f, record);
}

static int note_change(void *user, const struct tsm_memory_node *change)
{
    struct finding *f = user;

    tsm_command_accesses_change(&f->accesses, change);
    return 0;
}

int tsm_wait_uses_find(struct tsm_wait_use *list, size_t count, struct sbt_reader *reader)
{
    struct finding f = {.reader = reader, .order = {.reader = reader}, .count = count};
    const struct tsm_model_visitor visitor = {
        .user = &f, .call = note_call, .core = note_core, .memory = note_change};
    struct tsm_model_counts counts;
    int error;

    f.list = calloc(count + 1, sizeof(*f.list));
    for (size_t i = 0; i < count && f.list; i++) {
        list[i] = (struct tsm_wait_use){.seq = list[i].seq};
        f.list[i].use = &list[i];
        f.list[i].order = (struct tsm_dependencies){.reader = reader, .dropped = list[i].seq + 1};
    }
    error = f.list ? tsm_accesses_begin(&f.accesses.accesses, reader) : no_memory();
    if (!error)
        error = tsm_model_pass(&counts, reader, NULL, &visitor);
    for (size_t i = 0; i < count && f.list; i++)
        if ((!is_certain(&list[i]) &&
             (f.order.stream_count > STREAMS_MAX || f.list[i].is_guessed)) ||
            (list[i].kind == TSM_WAIT_USE_NOTHING && f.list[i].may_be_used))
            list[i].kind = TSM_WAIT_USE_UNKNOWN;
    for (size_t i = 0; i < count && f.list; i++) {
        tsm_dependencies_finish(&f.list[i].order);
        free(f.list[i].before);
    }
    tsm_dependencies_finish(&f.order);
    tsm_command_accesses_finish(&f.accesses);
    free(f.list);
    free(f.until);
    return error;
}
