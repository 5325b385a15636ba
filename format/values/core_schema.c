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
    FIELD("domain", STRING, NONE, ""),
    FIELD("category", UINT, NONE, ""),
    FIELD("category_name", STRING, NONE, ""),
    FIELD("color", HEX, NONE, ""), /* alpha, red, green, blue */
    FIELD("payload_type", ENUM, NONE, "tracesmith_payload"),
    FIELD("payload", HEX, NONE, ""),
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

static const struct sbt_field checkpoint_begin_fields[] = {
    FIELD("number", UINT, NONE, ""),
    FIELD("flags", FLAGS, NONE, "tracesmith_checkpoint"),
};

static const struct sbt_field memory_fields[] = {
    FIELD("checkpoint", UINT, NONE, ""), FIELD("kind", ENUM, NONE, "tracesmith_memory"),
    FIELD("object", UINT, OBJECT, ""),   FIELD("name", STRING, NAME, ""),
    FIELD("address", DEVPTR, DST, ""), /* of the memory as a whole; 0 for variables and arrays */
    FIELD("offset", SIZE, NONE, ""),   /* where in it these bytes are */
    FIELD("size", SIZE, SIZE, ""),       FIELD("bytes", BLOB, PAYLOAD, ""),
};

static const struct sbt_field state_fields[] = {
    FIELD("checkpoint", UINT, NONE, ""), FIELD("kind", ENUM, NONE, "tracesmith_state"),
    FIELD("object", UINT, OBJECT, ""),   FIELD("value", UINT, NONE, ""),
    FIELD("part", HEX, NONE, ""),        FIELD("first", UINT, NONE, ""),
    FIELD("count", UINT, NONE, ""),      FIELD("layer", UINT, NONE, ""),
    FIELD("layers", UINT, NONE, ""),
};

static const struct sbt_field checkpoint_end_fields[] = {
    FIELD("number", UINT, NONE, ""),
    FIELD("flags", FLAGS, NONE, "tracesmith_checkpoint"),
    FIELD("items", UINT, NONE, ""),
    FIELD("size", SIZE, SIZE, ""),
};

static const struct sbt_field gpu_time_fields[] = {
    FIELD("of_stream", UINT, OF_STREAM, ""), FIELD("of_position", UINT, OF_POSITION, ""),
    FIELD("part", UINT, NONE, ""),           FIELD("start_ns", UINT, NONE, ""),
    FIELD("duration_ns", UINT, NONE, ""),    FIELD("flags", FLAGS, NONE, "tracesmith_gpu_time"),
    FIELD("error_ns", UINT, NONE, ""),       FIELD("run", UINT, NONE, ""),
    FIELD("buffer", UINT, NONE, ""),         FIELD("command", UINT, NONE, ""),
    FIELD("of_type", UINT, NONE, ""),        FIELD("object", UINT, NONE, ""),
    FIELD("inner_ns", UINT, NONE, ""),
};

static const struct sbt_field complete_fields[] = {
    FIELD("of_stream", UINT, OF_STREAM, ""), FIELD("of_position", UINT, OF_POSITION, ""),
    FIELD("parts", UINT, NONE, ""), /* of the last command; 0: all */
};

static const struct sbt_field host_runs_fields[] = {
    FIELD("address", HOSTPTR, HOST_SRC, ""), FIELD("size", SIZE, SIZE, ""),
    FIELD("bytes", BLOB, PAYLOAD, ""), /* zeros between the runs */
    FIELD("runs", BYTES, NONE, ""),    /* which of them are meant */
};

static const struct sbt_field gpu_work_fields[] = {
    FIELD("of_stream", UINT, OF_STREAM, ""),
    FIELD("of_position", UINT, OF_POSITION, ""),
    FIELD("number", UINT, NONE, ""),
    FIELD("kind", ENUM, NONE, "tracesmith_gpu_work"),
    FIELD("bytes", SIZE, NONE, ""),
    FIELD("blocks", UINT, NONE, ""),
    FIELD("instructions", UINT, NONE, ""),
    FIELD("sent_ns", UINT, NONE, ""),
    FIELD("queue", UINT, NONE, ""),
    FIELD("priority", INT, NONE, ""),
    FIELD("flags", FLAGS, NONE, "tracesmith_gpu_work_flags"),
    FIELD("parents", BYTES, NONE, ""),
    FIELD("id", UINT, NONE, ""),
};

static const struct sbt_field gpu_order_fields[] = {
    FIELD("of_stream", UINT, OF_STREAM, ""),
    FIELD("of_position", UINT, OF_POSITION, ""),
    FIELD("number", UINT, NONE, ""),
    FIELD("event", UINT, NONE, ""),
    FIELD("access", ENUM, NONE, "tracesmith_value_access"),
    FIELD("size", UINT, NONE, ""),
    FIELD("address", DEVPTR, NONE, ""),
    FIELD("value", UINT, NONE, ""),
    FIELD("brought_by", UINT, NONE, ""),
    FIELD("host_ns", UINT, NONE, ""),
    FIELD("awaited", BYTES, NONE, ""),
};

static const struct sbt_field accesses_fields[] = {
    FIELD("of_stream", UINT, OF_STREAM, ""),
    FIELD("of_position", UINT, OF_POSITION, ""),
    FIELD("ranges", BYTES, NONE, ""),
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
    CORE(SBT_CORE_CHECKPOINT_BEGIN, "checkpoint_begin", SBT_KIND_META, checkpoint_begin_fields),
    CORE(SBT_CORE_MEMORY, "memory", SBT_KIND_META, memory_fields),
    CORE(SBT_CORE_CHECKPOINT_END, "checkpoint_end", SBT_KIND_META, checkpoint_end_fields),
    CORE(SBT_CORE_STATE, "state", SBT_KIND_META, state_fields),
    CORE(SBT_CORE_GPU_TIME, "gpu_time", SBT_KIND_META, gpu_time_fields),
    CORE(SBT_CORE_COMPLETE, "complete", SBT_KIND_META, complete_fields),
    CORE(SBT_CORE_HOST_RUNS, "host_runs", SBT_KIND_STATE, host_runs_fields),
    CORE(SBT_CORE_GPU_WORK, "gpu_work", SBT_KIND_META, gpu_work_fields),
    CORE(SBT_CORE_ACCESSES, "accesses", SBT_KIND_META, accesses_fields),
    CORE(SBT_CORE_GPU_ORDER, "gpu_order", SBT_KIND_META, gpu_order_fields),
};

static const struct sbt_enum_value memory_values[] = {
    {"device", SBT_MEMORY_DEVICE}, {"host", SBT_MEMORY_HOST},
    {"global", SBT_MEMORY_GLOBAL}, {"library_global", SBT_MEMORY_LIBRARY_GLOBAL},
    {"array", SBT_MEMORY_ARRAY},   {"physical", SBT_MEMORY_PHYSICAL},
};

static const struct sbt_enum_value state_values[] = {
    {"fence", SBT_STATE_FENCE},       {"semaphore", SBT_STATE_SEMAPHORE},
    {"timeline", SBT_STATE_TIMELINE}, {"event", SBT_STATE_EVENT},
    {"query", SBT_STATE_QUERY},       {"layout", SBT_STATE_LAYOUT},
    {"signal", SBT_STATE_SIGNAL},
};

static const struct sbt_enum_value checkpoint_values[] = {
    {"start", SBT_CHECKPOINT_START},
};

static const struct sbt_enum_value gpu_time_values[] = {
    {"calibrated", SBT_GPU_TIME_CALIBRATED},
    {"at_most", SBT_GPU_TIME_AT_MOST},
    {"virtual", SBT_GPU_TIME_VIRTUAL},
};

static const struct sbt_enum_value gpu_work_values[] = {
    {"none", SBT_GPU_WORK_NONE},           {"kernel", SBT_GPU_WORK_KERNEL},
    {"to_device", SBT_GPU_WORK_TO_DEVICE}, {"to_host", SBT_GPU_WORK_TO_HOST},
    {"on_device", SBT_GPU_WORK_ON_DEVICE}, {"host_function", SBT_GPU_WORK_HOST_FUNCTION},
};

static const struct sbt_enum_value gpu_work_flags[] = {
    {"node", SBT_GPU_WORK_NODE},
    {"last", SBT_GPU_WORK_LAST},
    {"inner", SBT_GPU_WORK_INNER},
};

static const struct sbt_enum_value value_access_values[] = {
    {"none", SBT_VALUE_NONE},   {"write", SBT_VALUE_WRITE},     {"at_least", SBT_VALUE_AT_LEAST},
    {"equal", SBT_VALUE_EQUAL}, {"any_bit", SBT_VALUE_ANY_BIT}, {"zero_bit", SBT_VALUE_ZERO_BIT},
};

static const struct sbt_enum_value payload_values[] = {
    {"none", SBT_PAYLOAD_NONE},     {"uint64", SBT_PAYLOAD_UINT64}, {"int64", SBT_PAYLOAD_INT64},
    {"double", SBT_PAYLOAD_DOUBLE}, {"uint32", SBT_PAYLOAD_UINT32}, {"int32", SBT_PAYLOAD_INT32},
    {"float", SBT_PAYLOAD_FLOAT},
};

#define TABLE(name_, values_)                                                                      \
    {                                                                                              \
        .name = name_, .value_count = sizeof(values_) / sizeof((values_)[0]), .values = values_    \
    }

static const struct sbt_enum core_enums[] = {
    TABLE("tracesmith_memory", memory_values),
    TABLE("tracesmith_checkpoint", checkpoint_values),
    TABLE("tracesmith_state", state_values),
    TABLE("tracesmith_gpu_time", gpu_time_values),
    TABLE("tracesmith_gpu_work", gpu_work_values),
    TABLE("tracesmith_gpu_work_flags", gpu_work_flags),
    TABLE("tracesmith_value_access", value_access_values),
    TABLE("tracesmith_payload", payload_values),
};

const struct sbt_enum *sbt_core_enum(uint32_t index)
{
    return index < sizeof(core_enums) / sizeof(core_enums[0]) ? &core_enums[index] : NULL;
}

const struct sbt_schema *sbt_core_schema(uint32_t call)
{
    if (call >= sizeof(core_schemas) / sizeof(core_schemas[0]) || !core_schemas[call].name)
        return NULL;
    return &core_schemas[call];
}
