/* SPDX-License-Identifier: Apache-2.0
 *
 * TraceSmith's own record types. docs/FORMAT.md section 10. Fields are appended, never changed.
 */
#include "tracesmith/trace.h"

#define FIELD(name_, type_, role_, detail_)                                                        \
    {                                                                                              \
        .name = name_, .type = SBT_FIELD_##type_, .role = SBT_ROLE_##role_, .detail = detail_      \
    }

static const struct sbt_field host_write_fields[] = {
    FIELD("address", HOSTPTR, HOST_SRC, ""),     FIELD("size", SIZE, SIZE, ""),
    FIELD("bytes", BLOB, PAYLOAD, ""),           FIELD("of_stream", UINT, OF_STREAM, ""),
    FIELD("of_position", UINT, OF_POSITION, ""),
};

static const struct sbt_field readback_fields[] = {
    FIELD("of_stream", UINT, OF_STREAM, ""), FIELD("of_position", UINT, OF_POSITION, ""),
    FIELD("address", HOSTPTR, HOST_DST, ""), FIELD("size", SIZE, SIZE, ""),
    FIELD("bytes", BLOB, PAYLOAD, ""),
};

static const struct sbt_field checksum_fields[] = {
    FIELD("of_stream", UINT, OF_STREAM, ""), FIELD("of_position", UINT, OF_POSITION, ""),
    FIELD("address", DEVPTR, SRC, ""),       FIELD("size", SIZE, SIZE, ""),
    FIELD("xxh3_128", BYTES, NONE, ""),
};

static const struct sbt_field lost_fields[] = {
    FIELD("count", UINT, NONE, ""),   FIELD("first_ns", UINT, NONE, ""),
    FIELD("last_ns", UINT, NONE, ""), FIELD("reason", STRING, NONE, ""),
    FIELD("streams", HEX, NONE, ""), /* a stream set, as in a chunk header */
};

static const struct sbt_field stopped_fields[] = {
    FIELD("reason", STRING, NONE, ""),
};

static const struct sbt_field unmodelled_fields[] = {
    FIELD("what", STRING, NAME, ""),
    FIELD("detail", HEX, NONE, ""),
};

static const struct sbt_field mark_fields[] = {
    FIELD("name", STRING, NAME, ""),
    FIELD("phase", ENUM, NONE, "tracesmith_phase"), /* 0 point, 1 begin, 2 end */
    FIELD("id", UINT, NONE, ""),                    /* pairs a begin with its end */
};

static const struct sbt_field thread_fields[] = {
    FIELD("name", STRING, NAME, ""),
};

static const struct sbt_field fork_fields[] = {
    FIELD("child", UINT, NONE, ""),
    FIELD("trace", STRING, NONE, ""), /* path of the child's trace, when known */
};

static const struct sbt_field exec_fields[] = {
    FIELD("path", STRING, NAME, ""),
};

static const struct sbt_field filtered_fields[] = {
    FIELD("count", UINT, NONE, ""),   FIELD("first_ns", UINT, NONE, ""),
    FIELD("last_ns", UINT, NONE, ""), FIELD("reason", STRING, NONE, ""),
    FIELD("streams", HEX, NONE, ""),
};

#define CORE(call_, name_, kind_, fields_)                                                         \
    [call_] = {                                                                                    \
        .type = SBT_TYPE(SBT_API_CORE, call_),                                                     \
        .name = name_,                                                                             \
        .kind = kind_,                                                                             \
        .result_enum = "",                                                                         \
        .field_count = sizeof(fields_) / sizeof((fields_)[0]),                                     \
        .fields = fields_,                                                                         \
    }

static const struct sbt_schema core_schemas[] = {
    CORE(SBT_CORE_HOST_WRITE, "host_write", SBT_KIND_STATE, host_write_fields),
    CORE(SBT_CORE_READBACK, "readback", SBT_KIND_META, readback_fields),
    CORE(SBT_CORE_CHECKSUM, "checksum", SBT_KIND_META, checksum_fields),
    CORE(SBT_CORE_LOST, "lost", SBT_KIND_META, lost_fields),
    CORE(SBT_CORE_STOPPED, "stopped", SBT_KIND_META, stopped_fields),
    CORE(SBT_CORE_UNMODELLED, "unmodelled", SBT_KIND_META, unmodelled_fields),
    CORE(SBT_CORE_MARK, "mark", SBT_KIND_META, mark_fields),
    CORE(SBT_CORE_THREAD, "thread", SBT_KIND_META, thread_fields),
    CORE(SBT_CORE_FORK, "fork", SBT_KIND_META, fork_fields),
    CORE(SBT_CORE_EXEC, "exec", SBT_KIND_META, exec_fields),
    CORE(SBT_CORE_FILTERED, "filtered", SBT_KIND_META, filtered_fields),
};

const struct sbt_schema *sbt_core_schema(uint32_t call)
{
    if (call >= sizeof(core_schemas) / sizeof(core_schemas[0]) || !core_schemas[call].name)
        return NULL;
    return &core_schemas[call];
}
