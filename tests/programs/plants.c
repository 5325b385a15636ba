/* SPDX-License-Identifier: Apache-2.0
 *
 * plants OUT [other|without]: writes a trace that has a word plant_WHAT_N in each place where a
 * recording can put something that somebody may want to take out again; WHAT is the name that
 * 'tracesmith redact --remove' has for it. other: another byte in what a structured value holds,
 * and nothing else. without: as TS_CONTENTS=0 has it written.
 */
#include "kernel/include/grtrace.h"
#include "tests/programs/trace_edit.h"

#define BYTES(at, size) ((uint64_t)(at) << 32 | (uint64_t)(size))

static struct sbt_writer *w;
static uint64_t count;
static uint32_t string_count;

static uint64_t text(const char *word)
{
    must(sbt_writer_string(w, ++string_count, word, strlen(word)));
    return string_count;
}

static void write_record(uint32_t type, const uint64_t *slots, uint32_t slot_count,
                         const void *data, size_t size)
{
    struct sbt_record record = {
        .seq = count,
        .time_ns = 1000 * (count + 1),
        .duration_ns = 10,
        .type = type,
        .thread = 7,
        .stream = SBT_STREAM_NONE,
        .slot_count = slot_count,
        .slots = slots,
        .data = data,
        .data_size = size,
    };

    must(sbt_writer_record(w, &record));
    count++;
}

/* One record of a call with one field. */
static void write_call(uint32_t api, const char *call, const char *field, enum sbt_field_type type,
                       const char *detail, uint64_t slot, const void *data, size_t size)
{
    static uint32_t number;
    const struct sbt_field fields[] = {{field, type, SBT_ROLE_NONE, detail}};
    const struct sbt_schema schema = {.type = SBT_TYPE(api, ++number),
                                      .kind = SBT_KIND_OTHER,
                                      .name = call,
                                      .result_enum = "",
                                      .field_count = 1,
                                      .fields = fields};

    must(sbt_writer_schema(w, &schema));
    write_record(schema.type, &slot, 1, data, size);
}

static void write_string(uint32_t api, const char *call, const char *field, const char *word)
{
    write_call(api, call, field, SBT_FIELD_STRING, "", text(word), NULL, 0);
}

static void write_bytes(uint32_t api, const char *call, const char *field, const char *word)
{
    write_call(api, call, field, SBT_FIELD_BYTES, "", BYTES(0, strlen(word)), word, strlen(word));
}

/* ---- bytes ---- */

static void write_blob(const char *word, size_t size)
{
    uint8_t reference[SBT_BLOB_ENCODED_SIZE(100000)], *bytes = calloc(1, size);
    uint64_t encoded;

    memcpy(bytes, word, strlen(word));
    must(sbt_writer_blob(w, bytes, size, reference));
    encoded = size <= SBT_INLINE_MAX ? 8 + size : SBT_BLOB_ENCODED_SIZE(size);
    write_call(SBT_API_CUDA, "cuMemcpyHtoD_v2", "srcHost.bytes", SBT_FIELD_BLOB, "",
               BYTES(0, encoded), reference, encoded);
    free(bytes);
}

static const struct sbt_member code_members[] = {
    {"pCode", SBT_FIELD_BYTES, SBT_FORM_ONE, ""},
    {"pNext", SBT_FIELD_STRUCT, SBT_FORM_CHAIN, ""},
    {"deviceUUID", SBT_FIELD_BYTES, SBT_FORM_ONE, ""},
    {"pName", SBT_FIELD_STRING, SBT_FORM_ONE, ""},
    {"hex32", SBT_FIELD_HEX, SBT_FORM_LIST, ""},
};

static uint8_t *put(uint8_t *out, const char *word)
{
    *out++ = (uint8_t)(strlen(word) + 1);
    memcpy(out, word, strlen(word));
    return out + strlen(word);
}

/* Numbers whose bytes in the file are the word's: each a varint. */
static uint8_t *put_numbers(uint8_t *out, const char *word)
{
    *out++ = (uint8_t)(strlen(word) + 1);
    memcpy(out, word, strlen(word));
    return out + strlen(word);
}

static void write_struct(const char *code)
{
    static const struct sbt_struct structure = {.id = SBT_TYPE(SBT_API_VULKAN, 1),
                                                .name = "Planted",
                                                .member_count = 5,
                                                .members = code_members};
    static const char unknown[] = "plant_contents_8";
    uint8_t value[256] = {0}, *end = put(value + 1, code);

    *end++ = 9; /* an id that nothing describes */
    *end++ = sizeof(unknown) - 1;
    memcpy(end, unknown, sizeof(unknown) - 1);
    end += sizeof(unknown) - 1;
    *end++ = 0;
    end = put_numbers(put(put(end, "plant_host_4"), "plant_names_5"), "plant_contents_9");
    must(sbt_writer_struct(w, &structure));
    write_call(SBT_API_VULKAN, "vkCreateShaderModule", "pCreateInfo", SBT_FIELD_STRUCT, "Planted",
               BYTES(0, end - value), value, (size_t)(end - value));
}

/* ---- what the kernel saw ---- */

/* A name of a thread that had a longer one before. */
static void put_name(char *out, const char *word, const char *before)
{
    memset(out, 0, GRTRACE_CPU_NAME_SIZE);
    memcpy(out, before, strlen(before));
    memcpy(out, word, strlen(word) + 1);
}

static void write_kernel(void)
{
    struct {
        struct grtrace_record head;
        char name[GRTRACE_CPU_NAME_SIZE];
    } cpu = {{.size = sizeof(cpu), .type = GRTRACE_CPU_SWITCH}, {0}};
    struct {
        struct grtrace_record head;
        struct grtrace_channel_group group;
    } channel = {{.size = sizeof(channel), .type = GRTRACE_CHANNEL_GROUP}, {0}};
    struct {
        struct grtrace_record head;
        struct grtrace_metadata metadata;
    } config = {{.size = sizeof(config), .type = GRTRACE_METADATA},
                {GRTRACE_METADATA_DEVICE, 0, "driver plant_host_1"}};

    put_name(cpu.name, "plant_command_4", "");
    must(sbt_writer_kernel_events(w, &cpu, sizeof(cpu)));
    put_name(cpu.name, "p", "..plant_command");
    must(sbt_writer_kernel_events(w, &cpu, sizeof(cpu)));
    put_name(channel.group.comm, "plant_command_5", "");
    must(sbt_writer_kernel_events(w, &channel, sizeof(channel)));
    must(sbt_writer_kernel_events(w, &config, sizeof(config)));
}

/* ---- texts ---- */

static void write_metadata(void)
{
    static const char *const facts[][2] = {
        {"host.name", "plant_host_1"},
        {"cuda.device.0.uuid", "plant_host_2"},
        {"process.command", "./app --password plant_command_1"},
        {"process.executable", "/data/plant_paths_1/app"},
        {"setting.TS_OUTPUT", "runs of plant_paths_2/t.sbt"},
        {"setting.TS_KERNELS", "plant_names_1*"},
        {"setting.TS_THREAD_NAMES", "plant_command_2*"},
        {"capture.stopped", "no place in /data/my plant/plant_paths_3/t.sbt"},
        {"other", "of plant_host_1, in /home" "/plant_user_1/x"},
    };

    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
        must(sbt_writer_metadata(w, facts[i][0], facts[i][1]));
}

static void write_mappings(void)
{
    static const char *const paths[] = {
        "/dev/shm/plant_paths_4",         "/usr/lib/../../data/plant_paths_5.so",
        "/data/a b/plant_paths_6.so",     "/usr/lib/x86_64-linux-gnu/libc.so.6",
        "/memfd:plant_paths_7 (deleted)", "/dev/hugepages/plant_paths_8",
    };

    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        must(sbt_writer_mapping(w, &(struct sbt_mapping){.start = (i + 1) << 20,
                                                         .end = ((i + 1) << 20) + 4096,
                                                         .path = paths[i]}));
}

static void write_texts(void)
{
    write_string(SBT_API_CUDA, "cuModuleLoad", "fname", "plant_paths_9.cubin");
    write_string(SBT_API_HSA, "hsa_executable_load", "options", "-I/data/plant_paths_10");
    write_string(SBT_API_HSA, "hsa_code_object", "options",
                 "-I ../plant_paths_11/a -Lb/plant_paths_12");
    write_string(SBT_API_HIP, "hipModuleGetFunction", "kname", "plant_names_2");
    write_string(SBT_API_HIP, "hipModuleLoad", "fname", "/home" "/plant_user_2/a.co");
    write_bytes(SBT_API_VULKAN, "vkCmdUpdateBuffer", "pData", "plant_contents_2");
    write_bytes(SBT_API_CUDA, "cuLaunchKernel", "arguments", "plant_values_1");
    write_bytes(SBT_API_CUDA, "cuDeviceGetUuid_v2", "uuid", "plant_host_3");
}

static void write_core(uint32_t call, uint64_t first, uint64_t second)
{
    const uint64_t slots[] = {first, second};

    must(sbt_writer_schema(w, sbt_core_schema(call)));
    write_record(SBT_TYPE(SBT_API_CORE, call), slots, sbt_core_schema(call)->field_count, NULL, 0);
}

int main(int argc, char **argv)
{
    const bool without = argc == 3 && strcmp(argv[2], "without") == 0;
    const struct sbt_session session = {.id = {1},
                                        .clock = "monotonic",
                                        .optional_features =
                                            without ? SBT_OPTIONAL_NO_CONTENTS : 0};
    const struct sbt_writer_options options = {.takes_contents = true};
    const struct sbt_totals totals = {0};

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: plants OUT [other|without]\n");
        return 2;
    }
    must(sbt_writer_create(&w, argv[1], &session, &options));
    write_metadata();
    write_mappings();
    write_core(SBT_CORE_THREAD, text("plant_command_3"), 0);
    write_core(SBT_CORE_EXEC, text("/data/plant_paths_13"), 0);
    write_core(SBT_CORE_FORK, 5, text("children/plant_paths_14.sbt"));
    write_texts();
    if (!without) /* nobody records it so any more */
        write_string(SBT_API_HIP, "hiprtcCreateProgram", "src", "__global__ plant_contents_1");
    write_blob("plant_contents_3", 20);
    if (!without) /* its caller gives the writer no such pieces */
        write_blob("plant_contents_4", 100000);
    write_struct(argc == 3 && !without ? "plant_contents_6" : "plant_contents_5");
    write_kernel();
    must(sbt_writer_finish(w, &totals, SBT_END_FINISHED));
    sbt_writer_destroy(w);
    return 0;
}
