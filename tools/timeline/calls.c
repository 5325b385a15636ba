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
enum { NAME, PHASE, ID, FIELDS_FIRST, DOMAIN = FIELDS_FIRST, CATEGORY, CATEGORY_NAME };
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

static const char *text_of(const struct tsm_timeline *m, uint64_t id)
{
    const char *text = sbt_reader_string(m->reader, (uint32_t)id);

    return text ? text : "";
}

/* Writes the names that a label of NVTX has beside its own. */
static void put_names(struct tsm_json *j, const struct tsm_timeline *m,
                      const struct sbt_record *record)
{
    const bool has_more = record->slot_count > CATEGORY_NAME;
    const uint64_t domain = has_more ? record->slots[DOMAIN] : 0;
    const uint64_t category = has_more ? record->slots[CATEGORY_NAME] : 0;

    if (!domain && !category)
        return;
    tsm_json_name(j, "args");
    tsm_json_open(j, '{');
    if (domain)
        tsm_json_put_string(j, "domain", text_of(m, domain));
    if (category)
        tsm_json_put_string(j, "category", text_of(m, category));
    tsm_json_close(j, '}');
}

/* Writes a label. Labels of a thread nest in its track; others have tracks of their own, by their
 * id. */
static void put_label(struct tsm_json *j, const struct tsm_timeline *m,
                      const struct tsm_request *place, const struct sbt_record *record)
{
    static const char *const nested[] = {"i", "B", "E"}, *const apart[] = {"n", "b", "e"};
    const uint64_t phase = record->slots[PHASE], id = record->slots[ID];

    tsm_chrome_open(j, id == OF_THREAD ? nested[phase] : apart[phase],
                    text_of(m, record->slots[NAME]), place->pid, place->tid);
    tsm_json_put_string(j, "cat", "label");
    if (id != OF_THREAD)
        tsm_json_put_u64(j, "id", id);
    else if (phase == POINT)
        tsm_json_put_string(j, "s", "t");
    tsm_chrome_time(j, "ts", place->begin_ns);
    put_names(j, m, record);
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

    if (!schema || !tsm_timeline_wants(m, &place))
        return;
    if (tsm_api_traits(record->type) & TSM_API_NESTS)
        put_call(j, &place, schema->name);
    else if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_MARK) &&
             record->slot_count >= FIELDS_FIRST && record->slots[PHASE] <= END)
        put_label(j, m, &place, record);
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
