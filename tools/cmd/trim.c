/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of a trace as a trace: what makes the objects that the part needs, a checkpoint of what
 * memory holds at its begin, the part. Where no checkpoint was recorded there, a replay up to there
 * makes it.
 */
#include "tools/command.h"

#include "analysis/slice/trim_slice.h"
#include "base/bytes.h"
#include "base/map.h"
#include "base/text.h"
#include "replay/save.h"
#include "tools/text/json_out.h"
#include "tools/kernel/copy.h"
#include "analysis/place_list.h"
#include "tools/named_output.h"
#include "tools/selection.h"
#include "tools/aslr.h"
#include "tools/terminal.h"
#include "tools/edit/trace_copy.h"
#include "tools/edit/trim_copies.h"
#include "tools/trace_open.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNEL_MARGIN_NS 10000000u /* around the range: jobs begin before it and end after it */
#define ITEM_SIZE        ((uint64_t)16 << 20) /* bytes of one MEMORY record, at most */

struct trim_values {
    struct tsm_selection_streams streams; /* none: all */
    struct tsm_selection_range range;
    const char *output, *device, *library;
    bool force, keep_going, lossy, trust_code, whole, json;
    uint64_t timeout_s;
};

static const struct tsm_option options[] = {
    {.name = "output",
     .letter = 'o',
     .type = TSM_OPTION_NEW,
     .offset = TSM_FIELD(trim_values, output),
     .argument = "FILE",
     .help = "The new trace. An older one of this name is replaced."},
    TSM_OUTPUT_FORCE(trim_values, force),
    TSM_SELECTION_RANGE(trim_values, range),
    {.name = "whole",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(trim_values, whole),
     .help =
         "Keep everything, and only add a checkpoint where the range begins: from there 'tsreplay "
         "--range' can go on."},
    {.name = "device",
     .letter = 'd',
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(trim_values, device),
     .argument = "DEVICE",
     .help = "On which GPU what comes before the range is replayed: as in tsreplay."},
    {.name = "gpu",
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(trim_values, device),
     .argument = "DEVICE",
     .help = "The same as --device."},
    {.name = "library",
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(trim_values, library),
     .argument = "FILE",
     .help = "Use this driver library instead of the one that programs find."},
    {.name = "keep-going",
     .letter = 'k',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(trim_values, keep_going),
     .help = "Also when what comes before the range gives other bytes here than were recorded, or "
             "nobody can tell; a replay of the new trace then cannot tell either."},
    {.name = "lossy",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(trim_values, lossy),
     .help = "Also from a trace that something is missing from: the new one says so."},
    {.name = "trust-code",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(trim_values, trust_code),
     .help = "HSA on the software GPU: run the trace's native code in this process, with all your "
             "rights, instead of in a sandbox. Only for traces whose maker you trust."},
    {.name = "timeout",
     .type = TSM_OPTION_SECONDS,
     .offset = TSM_FIELD(trim_values, timeout_s),
     .argument = "SECONDS",
     .help = "Give up after so long without progress. Default: 60."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(trim_values, json),
     .help = "One JSON object, schema \"tstrim/1\"."},
    {0},
};

struct trim {
    const struct trim_values *values;
    struct sbt_reader *reader;
    struct sbt_filter range;  /* seq_first and seq_end */
    uint64_t checkpoint_seq;  /* the last one before it; 0: none */
    uint32_t number;          /* of the new checkpoint */
    uint64_t time_ns;         /* where the range begins */
    uint64_t end_ns;          /* where its last record ended */
    uint64_t commands_before; /* commands before the range */
    struct tsm_map positions; /* stream -> position of its first command in the range */
    struct tsm_map before;    /* stream -> position of its last command before the range */
    struct tsm_replay *replays[TSM_REPLAY_API_MAX]; /* one for each API */
    int replay_count;
    struct tsm_trim_slice keep;
    struct tsm_output output;
    struct tsm_trace_copy copy;
    uint64_t item_count, item_bytes; /* of the checkpoint */
    uint64_t command_count;          /* in the range */
    uint8_t *bytes;                  /* ITEM_SIZE, and after them a reference */
    uint32_t next_string;            /* the last one that a name got; 0: none yet */
    struct tsm_place_list places;    /* what the range has of each stream */
    bool is_doubtful; /* what the range begins with may not be what it was in the recording */
};

/* ---- what there is -------------------------------------------------------------------------- */

static bool is_command(const struct sbt_schema *schema, const struct sbt_record *record)
{
    return schema && record->stream != SBT_STREAM_NONE && !(record->flags & SBT_RECORD_CAPTURED) &&
           (schema->kind == SBT_KIND_COMMAND || schema->kind == SBT_KIND_SIGNAL ||
            schema->kind == SBT_KIND_WAIT);
}

/* A call that waits is recorded when it returns: another thread's commands, which come after it on
 * the stream, may lie before the range then, and it in the range. */
static int note_before(struct trim *t, const struct sbt_record *record)
{
    bool added;
    uint64_t *position = tsm_map_insert(&t->before, record->stream, &added);

    if (!position)
        return tsm_fail(TSM_E_MEMORY, "no memory for streams");
    if (added || record->position > *position)
        *position = record->position;
    return 0;
}

static int note_command(struct trim *t, const struct sbt_record *record)
{
    bool added;
    uint64_t *position;

    if (record->seq < t->range.seq_first) {
        t->commands_before++;
        return note_before(t, record);
    }
    t->command_count++;
    position = tsm_map_find(&t->before, record->stream);
    if (position && record->position < *position)
        t->is_doubtful = true;
    position = tsm_map_insert(&t->positions, record->stream, &added);
    if (!position)
        return tsm_fail(TSM_E_MEMORY, "no memory for streams");
    if (added || record->position < *position)
        *position = record->position;
    return 0;
}

/* Returns the first record that a part may begin with: a recording which began late has no state
 * from before its start. */
static uint64_t find_floor(const struct trim *t)
{
    uint64_t floor = 0;

    for (size_t i = 0; i < sbt_reader_checkpoint_count(t->reader); i++) {
        const struct sbt_checkpoint *c = sbt_reader_checkpoint(t->reader, i);
        if ((c->flags & SBT_CHECKPOINT_START) && c->seq >= floor)
            floor = c->seq + 1;
    }
    return floor;
}

static void note_checkpoints(struct trim *t)
{
    const uint64_t floor = find_floor(t);

    if (t->range.seq_first < floor)
        t->range.seq_first = floor;
    for (size_t i = 0; i < sbt_reader_checkpoint_count(t->reader); i++) {
        const struct sbt_checkpoint *c = sbt_reader_checkpoint(t->reader, i);
        if (c->seq < t->range.seq_first)
            t->checkpoint_seq = c->seq;
        if (t->number < c->number)
            t->number = c->number;
    }
    t->number++;
}

static int look(struct trim *t)
{
    const struct sbt_filter filter = {.seq_end = t->range.seq_end};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, t->reader, &filter, 1);

    note_checkpoints(t);
    while (error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1) {
        if (record->seq <= t->range.seq_first)
            t->time_ns = record->time_ns;
        if (is_command(sbt_reader_schema(t->reader, record->type), record))
            error = note_command(t, record);
    }
    sbt_cursor_destroy(cursor);
    if (!error && !t->command_count && !t->values->whole)
        return tsm_fail(TSM_E_NOT_FOUND, "%s: no command lies in that range",
                        sbt_reader_name(t->reader));
    return error;
}

/* ---- what comes before it, replayed --------------------------------------------------------- */

static void progress(void *user, uint64_t done, uint64_t total)
{
    tsm_progress("replaying what comes before", done, total);
}

static int run_before(struct trim *t, const struct tsm_replay_options *replay)
{
    struct tsm_replay_result result = {0};
    struct tsm_replay **made = &t->replays[t->replay_count];
    int error = tsm_replay_create(made, t->reader, replay);

    t->replay_count += !error;
    if (!error)
        error = tsm_replay_run(*made, &result);
    tsm_progress_end();
    if (error || result.verdict == TSM_SAME || result.verdict == TSM_NOTHING_TO_COMPARE)
        return error;
    t->is_doubtful = true;
    if (t->values->keep_going || (t->values->lossy && result.verdict == TSM_CANNOT_TELL))
        return 0;
    return tsm_fail(TSM_E_STATE,
                    "before the range %s%s; the new trace would begin with that (--keep-going)",
                    result.verdict == TSM_DIFFERENT ? "" : "nobody can tell whether all is right: ",
                    result.why);
}

static int replay_before(struct trim *t)
{
    const struct trim_values *v = t->values;
    struct tsm_replay_options replay = {
        .device = v->device,
        .library = v->library,
        .filter = {.seq_first = t->checkpoint_seq ? t->checkpoint_seq + 1 : 0,
                   .seq_end = t->range.seq_first},
        .lossy = v->lossy,
        .trust_code = v->trust_code,
        .keep_going = true,
        .timeout_ns = v->timeout_s * 1000000000u,
        .progress = progress,
    };
    const char *apis[TSM_REPLAY_API_MAX];
    int count = tsm_replay_apis(t->reader, apis, TSM_REPLAY_API_MAX);
    int error = count < 0 ? count : 0;
    for (int i = 0; i < count && !error; i++) {
        replay.backend = apis[i];
        error = run_before(t, &replay);
    }
    return error;
}

/* ---- the checkpoint ------------------------------------------------------------------------- */

static int put_core(struct trim *t, uint32_t call, const uint64_t *slots, uint32_t slot_count,
                    const uint8_t *data, size_t data_size)
{
    struct sbt_record record = {.time_ns = t->time_ns,
                                .type = SBT_TYPE(SBT_API_CORE, call),
                                .flags = call == SBT_CORE_UNMODELLED ? SBT_RECORD_TAINTS : 0,
                                .stream = SBT_STREAM_NONE,
                                .slot_count = slot_count,
                                .slots = slots,
                                .data = data,
                                .data_size = data_size};

    return tsm_trace_copy_own(&t->copy, &record);
}

/* Names of variables, after the strings that the trace has. */
static int put_name(struct trim *t, const char *text, uint64_t *id)
{
    do
        t->next_string++;
    while (sbt_reader_string(t->reader, t->next_string));
    *id = t->next_string;
    return sbt_writer_string(t->copy.writer, (uint32_t)*id, text, strlen(text));
}

static int put_memory(struct trim *t, const struct tsm_saved *saved, uint64_t offset, uint64_t size)
{
    uint8_t *reference = t->bytes + ITEM_SIZE;
    uint64_t name = 0;
    int error = saved->name ? put_name(t, saved->name, &name) : 0;

    if (!error)
        error = saved->read(saved, offset, t->bytes, size);
    if (!error)
        error = sbt_writer_blob(t->copy.writer, t->bytes, size, reference);
    const uint64_t slots[] = {
        t->number,      saved->kind, saved->object, name,
        saved->address, offset,      size,          SBT_BLOB_ENCODED_SIZE(size)};
    if (!error)
        error = put_core(t, SBT_CORE_MEMORY, slots, 8, reference, SBT_BLOB_ENCODED_SIZE(size));
    t->item_count += !error;
    t->item_bytes += size;
    return error;
}

static bool is_needed(const struct trim *t, const char *type, uint64_t id)
{
    return t->values->whole || !type || tsm_trim_slice_has_object(&t->keep, type, id);
}

static int save_memory(void *user, const struct tsm_saved *saved)
{
    struct trim *t = user;
    int error = 0;

    if (!is_needed(t, saved->owner, saved->owner_id))
        return 0;
    for (uint64_t at = 0; at < saved->size && !error; at += ITEM_SIZE)
        error = put_memory(t, saved, saved->offset + at,
                           saved->size - at < ITEM_SIZE ? saved->size - at : ITEM_SIZE);
    return error;
}

static int save_state(void *user, const char *type, const uint64_t slots[8])
{
    struct trim *t = user;
    uint64_t all[9] = {t->number};

    memcpy(all + 1, slots, 8 * sizeof(*slots));
    return is_needed(t, type, slots[1]) ? put_core(t, SBT_CORE_STATE, all, 9, NULL, 0) : 0;
}

/* Writes a record that says that the memory at the begin is not proven: replays report it. */
static int write_doubt(struct trim *t)
{
    uint64_t slots[2] = {0};
    int error = put_name(
        t, "memory at its begin, which a replay computed that was not proven right", &slots[0]);

    return error ? error : put_core(t, SBT_CORE_UNMODELLED, slots, 2, NULL, 0);
}

static int write_checkpoint(struct trim *t)
{
    const struct tsm_saver saver = {.memory = save_memory,
                                    .state = save_state,
                                    .user = t,
                                    .part_first = t->values->whole ? 0 : t->range.seq_first,
                                    .part_end = t->range.seq_end};
    uint64_t flags = t->values->whole ? 0 : SBT_CHECKPOINT_START;
    const uint64_t begin[] = {t->number, flags};
    int error = put_core(t, SBT_CORE_CHECKPOINT_BEGIN, begin, 2, NULL, 0);

    for (int i = 0; i < t->replay_count && !error; i++)
        error = tsm_replay_save(t->replays[i], &saver);
    const uint64_t end[] = {t->number, flags, t->item_count, t->item_bytes};
    return error ? error : put_core(t, SBT_CORE_CHECKPOINT_END, end, 4, NULL, 0);
}

/* ---- the new trace -------------------------------------------------------------------------- */

/* Results of a command that is not there any more. */
static bool is_orphan(const struct trim *t, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(t->reader, record->type);
    uint64_t stream = sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    const uint64_t *first = tsm_map_find(&t->positions, stream);

    uint64_t position = sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0);

    if (t->values->whole || stream == SBT_STREAM_NONE || !position ||
        (record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK) &&
         record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKSUM) &&
         record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_WRITE)))
        return false;
    return !first || position < *first;
}

/* Tests whether it belongs to a place on a stream. */
static bool has_place(const struct trim *t, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(t->reader, record->type);

    return sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE) != SBT_STREAM_NONE;
}

/* Tests whether what a function of the program wrote is missing: it was sent before the range, and
 * no command before the range comes after it, for which the replay would have waited for it. */
static bool is_late_write(const struct trim *t, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(t->reader, record->type);
    const uint64_t *last;

    if (record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_WRITE) || !is_orphan(t, record))
        return false;
    last = tsm_map_find(&t->before,
                        sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE));
    return !last || sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0) >= *last;
}

/* A command is missing before the range, within it, or between: what comes before was replayed
 * without it.
 */
static int find_gaps(struct trim *t)
{
    struct tsm_place_list all = {0};
    uint32_t stream;
    int error = tsm_place_list_read(&all, t->reader, t->range.seq_end);

    if (!error && tsm_place_list_missing(&all, t->reader, &stream))
        t->is_doubtful = true;
    tsm_place_list_finish(&all);
    return error;
}

/* Finds writes of functions that are not in the memory that the range begins with. */
static int find_lost_writes(struct trim *t)
{
    const struct sbt_filter filter = {.seq_first = t->range.seq_first, .seq_end = t->range.seq_end};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, t->reader, &filter, 1);

    while (error >= 0 && !t->is_doubtful && (error = sbt_cursor_next(cursor, &record)) == 1)
        t->is_doubtful = is_late_write(t, record);
    sbt_cursor_destroy(cursor);
    return error < 0 ? error : 0;
}

static void note_time(struct trim *t, const struct sbt_record *record)
{
    uint64_t end = record->time_ns + record->duration_ns;

    t->end_ns = end > t->end_ns ? end : t->end_ns;
}

static int copy_kernel_records(struct trim *t)
{
    uint64_t from = t->time_ns > KERNEL_MARGIN_NS ? t->time_ns - KERNEL_MARGIN_NS : 0;

    if (t->values->whole || t->range.seq_first == 0)
        from = 0;
    return tsm_kernel_copy(t->copy.writer, t->reader, from,
                           t->values->whole ? UINT64_MAX : t->end_ns + KERNEL_MARGIN_NS);
}

/* The places of records outside of the range that lie between those inside. */
static int note_outside(struct trim *t, const struct sbt_filter *filter, bool is_before)
{
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, t->reader, filter, 1);

    while (error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1) {
        error = is_before ? 0 : tsm_place_list_watch(&t->places, t->reader, record);
        if (!error && tsm_place_list_reaches(&t->places, record, false))
            error = tsm_place_list_note(&t->places, record);
    }
    sbt_cursor_destroy(cursor);
    return error < 0 ? error : 0;
}

static int note_rest(struct trim *t)
{
    const struct sbt_filter before = {.seq_end = t->range.seq_first};
    const struct sbt_filter behind = {.seq_first = t->range.seq_end};
    int error = t->range.seq_first ? note_outside(t, &before, true) : 0;

    return error || !t->range.seq_end ? error : note_outside(t, &behind, false);
}

/* Counts the missing commands that places outside fill, and those that the trace itself declared
 * missing. */
static uint64_t count_known(const struct trim *t, uint32_t stream, uint64_t missing)
{
    uint64_t lacking = tsm_places_missing(&t->places.streams[stream], !t->replay_count);
    uint64_t known = tsm_places_known(t->reader, stream);

    lacking -= known < lacking ? known : lacking;
    return missing > lacking ? missing - lacking : 0;
}

/* A cut may go between commands of a stream that several threads sent, and after a wait that is
 * recorded when it is over: notes how many of those whose places lie between the range's are on the
 * other side of its begin or end. What the whole trace lacks is no such thing. */
static int write_missing(struct trim *t)
{
    uint32_t count = t->places.count;
    uint64_t *missing = calloc(count + 1, sizeof(*missing)), any = 0;
    char text[4096] = "";
    size_t used = 0;
    int error = missing ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for streams");

    for (uint32_t i = 0; i < count && !error; i++)
        any |= missing[i] = tsm_places_missing(&t->places.streams[i], !t->replay_count);
    if (any)
        error = note_rest(t);
    for (uint32_t i = 0; i < count && any && !error; i++) {
        uint64_t known = count_known(t, i, missing[i]);
        if (known && used + 64 < sizeof(text))
            used += tsm_format(text + used, sizeof(text) - used, "%s%u:%" PRIu64, used ? "," : "",
                               i, known);
    }
    free(missing);
    if (error || (!used && !sbt_reader_metadata_find(t->reader, TSM_PLACES_METADATA)))
        return error;
    return sbt_writer_metadata(t->copy.writer, TSM_PLACES_METADATA, text);
}

static int copy_records(struct trim *t, uint64_t first, uint64_t end, bool is_before)
{
    const struct sbt_filter filter = {.seq_first = first, .seq_end = end};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, t->reader, &filter, 1);

    while (error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1) {
        bool wanted = is_before
                          ? t->values->whole || tsm_trim_slice_has_record(&t->keep, record->seq)
                          : !is_orphan(t, record);
        if (!is_before)
            note_time(t, record);
        error = tsm_place_list_watch(&t->places, t->reader, record);
        if (!error && wanted)
            error = tsm_trace_copy_record(&t->copy, record);
        if (!error && wanted && !is_before)
            error = tsm_place_list_note(&t->places, record);
    }
    sbt_cursor_destroy(cursor);
    return error;
}

/* Copies writes of functions that a command of the range calls: their records come before the
 * command's when its call returned after they had run. */
static int copy_early_writes(struct trim *t)
{
    const struct sbt_filter filter = {.seq_end = t->range.seq_first};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, t->reader, &filter, 1);

    while (error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1)
        if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_WRITE) && has_place(t, record) &&
            !is_orphan(t, record))
            error = tsm_trace_copy_record(&t->copy, record);
    sbt_cursor_destroy(cursor);
    return error < 0 ? error : 0;
}

static int write_facts(struct trim *t)
{
    const struct sbt_session *session = sbt_reader_session(t->reader);
    char text[96];
    size_t used = 0;

    for (size_t i = 0; i < sizeof(session->id); i++)
        used += tsm_format(text + used, sizeof(text) - used, "%02x", session->id[i]);
    int error = sbt_writer_metadata(t->copy.writer, "trim.session", text);
    tsm_format(text, sizeof(text), "%" PRIu64 ":%" PRIu64, t->range.seq_first, t->range.seq_end);
    return error ? error : sbt_writer_metadata(t->copy.writer, "trim.records", text);
}

static uint64_t last_seq_end(const struct trim *t)
{
    return t->values->whole ? 0 : t->range.seq_end;
}

/* Fails where the new trace would lack something without saying so. */
static int check_whole(const struct trim *t)
{
    const char *name = sbt_reader_name(t->reader);
    uint64_t lost = sbt_reader_totals(t->reader)->lost_count;
    bool lacks_end;

    lost += tsm_trace_copy_missing(&t->copy, last_seq_end(t), &lacks_end);
    if (t->values->lossy || (!lost && !lacks_end))
        return 0;
    if (lost)
        return tsm_fail(TSM_E_LOSSY,
                        "%s: %" PRIu64 " records or other parts are missing from it; --lossy keeps "
                        "what is there and notes the loss",
                        name, lost);
    return tsm_fail(
        TSM_E_LOSSY,
        "%s: has no end, so what was recorded last may be missing from the range; name a "
        "range that ends before, or give --lossy",
        name);
}

static int write_trace(struct trim *t)
{
    bool has_before = t->range.seq_first > 0;
    int error = tsm_trace_copy_begin(&t->copy, t->reader, t->output.written, NULL);

    if (!t->copy.writer)
        return error;
    if (!error)
        error = check_whole(t); /* as far as it is known: nothing need be copied then */
    if (!error)
        error = write_facts(t);
    tsm_trace_show_progress(t->reader, "copying");
    if (!error && has_before)
        error = copy_records(t, 0, t->range.seq_first, true);
    if (!error && t->replay_count)
        error = write_checkpoint(t);
    if (!error && t->is_doubtful)
        error = write_doubt(t);
    if (!error && has_before && !t->values->whole)
        error = copy_early_writes(t);
    if (!error)
        error = copy_records(t, t->range.seq_first, last_seq_end(t), false);
    if (!error && !t->values->whole)
        error = write_missing(t);
    tsm_trace_show_progress(t->reader, NULL);
    if (!error)
        error = copy_kernel_records(t);
    if (!error)
        error = check_whole(t);
    return tsm_output_end(&t->output, tsm_trace_copy_end(&t->copy, last_seq_end(t), error));
}

/* ---- the command ---------------------------------------------------------------------------- */

static uint64_t size_of(const char *path)
{
    struct stat facts;

    return stat(path, &facts) == 0 ? (uint64_t)facts.st_size : 0;
}

static void tell(const struct trim *t)
{
    const char *output = t->values->output, *from = sbt_reader_name(t->reader);
    struct tsm_json json = {.out = stdout};

    if (!t->values->json) {
        printf("%s: %" PRIu64 " command%s, %" PRIu64 " of %" PRIu64 " records, %" PRIu64
               " of %" PRIu64 " bytes\n",
               tsm_clean(output), t->command_count, t->command_count == 1 ? "" : "s", t->copy.count,
               sbt_reader_totals(t->reader)->record_count, size_of(output), size_of(from));
        return;
    }
    tsm_json_begin(&json, "tstrim/1");
    tsm_json_put_string(&json, "trace", from);
    tsm_json_put_string(&json, "output", output);
    tsm_json_put_u64(&json, "command_count", t->command_count);
    tsm_json_put_u64(&json, "record_count", t->copy.count);
    tsm_json_put_u64(&json, "memory_bytes", t->item_bytes);
    tsm_json_put_u64(&json, "bytes", size_of(output));
    tsm_json_put_u64(&json, "trace_bytes", size_of(from));
    tsm_json_end(&json);
}

static int trim(struct trim *t)
{
    const struct trim_values *v = t->values;
    int error = tsm_output_begin(&t->output, v->output, sbt_reader_name(t->reader), v->force);

    if (!error)
        error = tsm_selection_filter(&t->range, t->reader, &v->streams, &v->range);
    if (!error)
        error = tsm_selection_seqs(&t->range, t->reader);
    if (!error && !v->whole)
        error = tsm_trim_begin_with_copies(&t->range, t->reader, find_floor(t));
    if (!error)
        error = look(t);
    if (!error && (t->commands_before || t->checkpoint_seq))
        error = replay_before(t);
    if (!error && t->replay_count)
        error = find_lost_writes(t);
    if (!error && t->replay_count)
        error = find_gaps(t);
    if (!error && !t->replay_count)
        t->range.seq_first = 0; /* nothing was sent before it */
    if (!error && !v->whole)
        error = tsm_trim_slice_find(&t->keep, t->reader, t->range.seq_first, t->range.seq_end);
    return error ? error : write_trace(t);
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    struct trim t = {.values = values};
    size_t noted = 0;
    int error;

    if (!t.values->output)
        return tsm_complain("no --output; say where the new trace is to be written");
    tsm_aslr_disable();
    t.reader = tsm_trace_open(words->words[0]);
    if (!t.reader)
        return TSM_EXIT_ERROR;
    tsm_trace_note_damage(t.reader, &noted);
    t.bytes = malloc(ITEM_SIZE + SBT_BLOB_ENCODED_MAX(ITEM_SIZE));
    error = t.bytes ? trim(&t) : tsm_fail(TSM_E_MEMORY, "no memory to trim a trace");
    if (!error)
        tell(&t);
    tsm_trace_note_damage(t.reader, &noted);
    for (int i = 0; i < t.replay_count; i++)
        tsm_replay_destroy(t.replays[i]);
    tsm_trim_slice_finish(&t.keep);
    tsm_map_finish(&t.positions);
    tsm_map_finish(&t.before);
    tsm_place_list_finish(&t.places);
    free(t.bytes);
    sbt_reader_destroy(t.reader);
    return error ? tsm_complain_error() : TSM_EXIT_OK;
}

const struct tsm_command tsm_command_trim = {
    .name = "trim",
    .summary = "cut a part out of a trace, so that it replays alone",
    .synopsis = "--range=RANGE --output=FILE [OPTION]... TRACE",
    .description =
        "The new trace makes the objects that the range needs, gives memory the content that it "
        "had "
        "where the range begins, and then has the range's records as they are. What memory held is "
        "found by replaying what comes before, from the nearest checkpoint; so a driver is needed "
        "here, the same as for tsreplay. Objects, code and bytes that the range does not need are "
        "left "
        "out. Results are compared as in the whole trace. Of what the kernel module recorded the "
        "range's time stays, and 10 ms around it.",
    .examples =
        "tracesmith trim --range frames:100:110 -o part.sbt trace.sbt\n"
        "tracesmith trim --range submits:40:60 -o part.sbt trace.sbt\n"
        "tracesmith trim --range label:shadows -o part.sbt trace.sbt\n"
        "tracesmith trim --range frames:500: --whole -o with.sbt trace.sbt    a checkpoint\n",
    .exit_status =
        "0|the new trace is there\n2|error, or something is missing from TRACE (see --lossy)",
    .options = options,
    .values_size = sizeof(struct trim_values),
    .operand = "TRACE",
    .word_min = 1,
    .word_max = 1,
    .run = run,
};
