/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/replay/inspect/json.h"

#include "api/vulkan/tables/tables.h"
#include "base/text.h"
#include "format/json.h"

void vkr_json_id(struct tsm_json *j, const char *name, uint32_t type, uint64_t id)
{
    char text[96];

    tsm_format(text, sizeof(text), "%s#%llu", vk_name(vk_objects[type]), (unsigned long long)id);
    tsm_json_put_string(j, name, id ? text : NULL);
}

void vkr_json_enum(struct tsm_json *j, const char *name, struct sbt_reader *reader,
                   const char *table, int64_t value)
{
    const char *text = sbt_reader_enum_name(reader, table, value);

    if (text)
        tsm_json_put_string(j, name, text);
    else
        tsm_json_put_u64(j, name, (uint64_t)value);
}

void vkr_json_record(struct tsm_json *j, const char *name, struct sbt_reader *reader,
                     const struct sbt_record *record)
{
    struct tsm_buffer line = {0};

    tsm_json_name(j, name);
    if (record && sbt_json_record(&line, reader, record) == 0)
        tsm_json_raw(j, line.data, line.size - 1); /* without its line end */
    else
        tsm_json_string(j, NULL);
    j->buffer->failed |= line.failed;
    tsm_buffer_finish(&line);
}
