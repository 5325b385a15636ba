/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the program's labels (MARK records) and HIP calls around its requests as Chrome's trace
 * events. The commands of HSA come from these calls.
 */
#include "tools/timeline/report.h"

#include "tools/timeline/chrome_out.h"
#include "api/traits.h"
#include "tracesmith/reader.h"

/* docs/FORMAT.md 10, "mark". */
enum phase { POINT, BEGIN, END };
#define OF_THREAD 0u

static void put_call(struct tsm_json *j, const struct tsm_request *place, const char *name)
{
    tsm_chrome_slice(j, name, place->pid, place->tid, place->begin_ns, place->end_ns);
    tsm_json_name(j, "args");
    tsm_json_open(j, '{');
    tsm_json_put_u64(j, "seq", place->seq);
    tsm_json_close(j, '}');
    tsm_json_close(j, '}');
}

/* Writes a label. Labels of a thread nest in its track; others have tracks of their own, by their
 * id. */
static void put_label(struct tsm_json *j, const struct tsm_request *place, const char *name,
                      uint64_t phase, uint64_t id)
{
    static const char *const nested[] = {"i", "B", "E"}, *const apart[] = {"n", "b", "e"};

    tsm_chrome_open(j, id == OF_THREAD ? nested[phase] : apart[phase], name ? name : "", place->pid,
                    place->tid);
    tsm_json_put_string(j, "cat", "label");
    if (id != OF_THREAD)
        tsm_json_put_u64(j, "id", id);
    else if (phase == POINT)
        tsm_json_put_string(j, "s", "t");
    tsm_chrome_time(j, "ts", place->begin_ns);
    tsm_json_close(j, '}');
}

static void put_record(struct tsm_json *j, const struct tsm_timeline *m,
                       const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(m->reader, record->type);
    const struct tsm_request place = {.seq = record->seq,
                                      .pid = m->requests.pid,
                                      .tid = record->thread,
                                      .begin_ns = m->requests.start_ns + record->time_ns,
                                      .end_ns = m->requests.start_ns + record->time_ns +
                                                record->duration_ns};
    const uint64_t *s = record->slots;

    if (!schema || !tsm_timeline_wants(m, &place))
        return;
    if (tsm_api_traits(record->type) & TSM_API_NESTS)
        put_call(j, &place, schema->name);
    else if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_MARK) && record->slot_count >= 3 &&
             s[1] <= END)
        put_label(j, &place, sbt_reader_string(m->reader, (uint32_t)s[0]), s[1], s[2]);
}

void tsm_timeline_calls(const struct tsm_timeline *m, struct tsm_json *j)
{
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;

    if (sbt_cursor_create(&cursor, m->reader, NULL, 0) < 0)
        return;
    while (sbt_cursor_next(cursor, &record) == 1)
        put_record(j, m, record);
    sbt_cursor_destroy(cursor);
}
