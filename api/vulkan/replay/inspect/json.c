/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/replay/inspect/json.h"

#include <string.h>

#include "api/vulkan/tables/tables.h"
#include "base/text.h"
#include "format/json.h"

static void put(struct vkr_json *j, const char *text)
{
    tsm_buffer_add(&j->out, text, strlen(text));
}

static void begin(struct vkr_json *j, const char *name)
{
    if (j->comma)
        put(j, ",\n");
    j->comma = true;
    if (!name)
        return;
    sbt_json_string(&j->out, name, strlen(name));
    put(j, ":");
}

void vkr_json_open(struct vkr_json *j, const char *name, char bracket)
{
    begin(j, name);
    tsm_buffer_add_u8(&j->out, (uint8_t)bracket);
    j->comma = false;
}

void vkr_json_close(struct vkr_json *j, char bracket)
{
    tsm_buffer_add_u8(&j->out, (uint8_t)bracket);
    j->comma = true;
}

void vkr_json_text(struct vkr_json *j, const char *name, const char *text)
{
    begin(j, name);
    if (text)
        sbt_json_string(&j->out, text, strlen(text));
    else
        put(j, "null");
}

void vkr_json_u64(struct vkr_json *j, const char *name, uint64_t value)
{
    char text[24];

    begin(j, name);
    tsm_format(text, sizeof(text), "%llu", (unsigned long long)value);
    put(j, text);
}

void vkr_json_bool(struct vkr_json *j, const char *name, bool value)
{
    begin(j, name);
    put(j, value ? "true" : "false");
}

void vkr_json_id(struct vkr_json *j, const char *name, uint32_t type, uint64_t id)
{
    char text[96];

    tsm_format(text, sizeof(text), "%s#%llu", vk_name(vk_objects[type]), (unsigned long long)id);
    vkr_json_text(j, name, id ? text : NULL);
}

void vkr_json_enum(struct vkr_json *j, const char *name, struct sbt_reader *reader,
                   const char *table, int64_t value)
{
    const char *text = sbt_reader_enum_name(reader, table, value);

    if (text)
        vkr_json_text(j, name, text);
    else
        vkr_json_u64(j, name, (uint64_t)value);
}

void vkr_json_bytes(struct vkr_json *j, const char *name, const uint8_t *bytes, size_t size)
{
    begin(j, name);
    sbt_json_bytes(&j->out, bytes, size);
}

void vkr_json_record(struct vkr_json *j, const char *name, struct sbt_reader *reader,
                     const struct sbt_record *record)
{
    begin(j, name);
    if (!record || sbt_json_record(&j->out, reader, record) < 0)
        put(j, "null");
    else if (j->out.size && j->out.data[j->out.size - 1] == '\n')
        j->out.size--;
}
