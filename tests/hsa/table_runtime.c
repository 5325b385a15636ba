/* SPDX-License-Identifier: Apache-2.0
 *
 * An HSA runtime that offers its functions in tables, as ROCr does: the functions are those of the
 * runtime in TEST_HSA (a copy of the software GPU's under another name), and each export goes
 * through the table, which tools may change.
 *
 *   TEST_DOOR=register        as ROCr 6: rocprofiler_set_api_table, where rocprofiler_configure is
 *   TEST_DOOR=tools           as ROCr 5: OnLoad of the library in HSA_TOOLS_LIB
 *   TEST_VENDOR               its agents are said to be that vendor's
 *   TEST_FINALIZED            it has a finalizer, which makes the code in that file
 *   TEST_MAJOR, TEST_CORE, TEST_AMD   layout of the tables, and how many functions they hold
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/hsa/hsa_prototypes.h"
#include "interpose/interpose.h"

#include "api/hsa/hsa_tables.inc"

#define EXPORT  __attribute__((visibility("default")))
#define ROW_MAX 160u

struct table {
    uint32_t major, size, step, reserved;
    void *functions[ROW_MAX];
};

static struct table core, amd_ext, finalizer, image;
static struct {
    uint32_t major, size, step, reserved;
    struct table *parts[4];
} root = {3, 16 + 4 * sizeof(void *), 1, 0, {&core, &amd_ext, &finalizer, &image}};

static void *runtime;

/* ---- exports: through a pointer to the function's place in a table --------------------------- */

#define TSM_HSA_CALL(id, name, ...)                                                                \
    static void *own_##name;                                                                       \
    __attribute__((visibility("hidden"), used)) void **place_##name = &own_##name;                 \
    __asm__(".globl " #name "\n.type " #name ", @function\n" #name ": movq place_" #name           \
            "(%rip), %r11\njmp *(%r11)\n");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include "api/hsa/hsa_calls.inc"
#pragma GCC diagnostic pop
#undef TSM_HSA_CALL

static const struct {
    const char *name;
    void ***place;
    void **own;
} exports[] = {
#define TSM_HSA_CALL(id, name, ...) {#name, &place_##name, &own_##name},
#include "api/hsa/hsa_calls.inc"
#undef TSM_HSA_CALL
};

static void ***place_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(exports) / sizeof(exports[0]); i++)
        if (strlen(exports[i].name) == length && strncmp(exports[i].name, name, length) == 0)
            return exports[i].place;
    return NULL;
}

static void fill(struct table *table, const struct tsm_table *known, uint32_t major, size_t there)
{
    table->major = major;
    table->size = (uint32_t)(16 + there * sizeof(void *));
    for (size_t i = 0; i < known->count && i < there; i++) {
        const char *name = known->names[i], *second = strchr(name, '=');
        size_t length = second ? (size_t)(second - name) : strlen(name);
        char text[128];
        void ***place = place_of(name, length);

        snprintf(text, sizeof(text), "%.*s", (int)length, name);
        table->functions[i] = dlsym(runtime, text);
        if (place)
            *place = &table->functions[i];
        if (second && (place = place_of(second + 1, strlen(second + 1))))
            *place = &table->functions[i];
    }
}

static size_t number(const char *name, size_t otherwise)
{
    const char *text = getenv(name);

    return text ? (size_t)strtoul(text, NULL, 0) : otherwise;
}

/* ---- what it offers ----------------------------------------------------------------------------
 */

static void offer_as_6(void)
{
    typedef int (*set_function)(const char *, uint64_t, uint64_t, void **, uint64_t);
    set_function set = (set_function)dlsym(RTLD_DEFAULT, "rocprofiler_set_api_table");
    void *tables[] = {&root};

    if (set && dlsym(RTLD_DEFAULT, "rocprofiler_configure") && set("hsa", 11500, 0, tables, 1) != 0)
        fprintf(stderr, "the tool does not want the table\n");
}

static void offer_as_5(void)
{
    typedef bool (*load_function)(void *, uint64_t, uint64_t, const char *const *);
    char *paths = getenv("HSA_TOOLS_LIB") ? strdup(getenv("HSA_TOOLS_LIB")) : NULL;

    for (char *rest = paths, *path; (path = strsep(&rest, " ")) != NULL;) {
        void *tool = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        load_function load = tool ? (load_function)dlsym(tool, "OnLoad") : NULL;
        if (load)
            load(&root, 1, 0, NULL);
        else
            fprintf(stderr, "%s: no OnLoad\n", path);
    }
    free(paths);
}

/* ---- a finalizer: what it makes is the file in TEST_FINALIZED, whatever it is given
 * --------------
 */

static hsa_status_t program_create(hsa_machine_model_t model, hsa_profile_t profile,
                                   hsa_default_float_rounding_mode_t rounding, const char *options,
                                   hsa_ext_program_t *program)
{
    program->handle = 1;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t program_add(hsa_ext_program_t program, hsa_ext_module_t module)
{
    return program.handle == 1 && module ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
}

static hsa_status_t program_destroy(hsa_ext_program_t program)
{
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t program_finalize(hsa_ext_program_t program, hsa_isa_t isa, int32_t convention,
                                     hsa_ext_control_directives_t directives, const char *options,
                                     hsa_code_object_type_t type, hsa_code_object_t *code)
{
    typedef hsa_status_t (*deserialize_function)(void *, size_t, const char *, hsa_code_object_t *);
    deserialize_function deserialize =
        (deserialize_function)dlsym(runtime, "hsa_code_object_deserialize");
    FILE *file = fopen(getenv("TEST_FINALIZED"), "rb");
    char *bytes = malloc(1 << 20);
    hsa_status_t status = HSA_STATUS_ERROR;

    if (file && bytes)
        status = deserialize(bytes, fread(bytes, 1, 1 << 20, file), NULL, code);
    free(bytes);
    if (file)
        fclose(file);
    return status;
}

static void make_finalizer(void)
{
    finalizer.functions[0] = (void *)program_create;
    finalizer.functions[1] = (void *)program_destroy;
    finalizer.functions[2] = (void *)program_add;
    finalizer.functions[5] = (void *)program_finalize;
}

/* Images: a table whose functions all fail, and are counted by nobody but the recorder. */
static hsa_status_t no_image(void)
{
    return HSA_STATUS_ERROR;
}

static hsa_status_t extension_table(uint16_t extension, uint16_t major, size_t length, void *table)
{
    if (extension == HSA_EXTENSION_FINALIZER && getenv("TEST_FINALIZED")) {
        memcpy(table, finalizer.functions, length);
        return HSA_STATUS_SUCCESS;
    }
    if (extension != HSA_EXTENSION_IMAGES || major != 1)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (size_t i = 0; i < length / sizeof(void *); i++)
        ((void **)table)[i] = (void *)no_image;
    return HSA_STATUS_SUCCESS;
}

/* Agents of somebody else's. */
static hsa_status_t agent_info(hsa_agent_t agent, hsa_agent_info_t attribute, void *value)
{
    typedef hsa_status_t (*info_function)(hsa_agent_t, hsa_agent_info_t, void *);

    if (attribute != HSA_AGENT_INFO_VENDOR_NAME)
        return ((info_function)dlsym(runtime, "hsa_agent_get_info"))(agent, attribute, value);
    snprintf(value, 64, "%s", getenv("TEST_VENDOR"));
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t (*real_init)(void);

static hsa_status_t init(void)
{
    static bool offered;
    const char *door = getenv("TEST_DOOR");
    hsa_status_t status = real_init();

    if (!offered && door && strcmp(door, "register") == 0)
        offer_as_6();
    else if (!offered && door && strcmp(door, "tools") == 0)
        offer_as_5();
    offered = true;
    return status;
}

__attribute__((constructor)) static void begin(void)
{
    uint32_t major = (uint32_t)number("TEST_MAJOR", 2);
    const struct tsm_table *amd = major == 1 ? &table_amd_ext1 : &table_amd_ext2;

    runtime = dlopen(getenv("TEST_HSA"), RTLD_NOW | RTLD_LOCAL);
    if (!runtime) {
        fprintf(stderr, "TEST_HSA: %s\n", dlerror());
        exit(1);
    }
    for (size_t i = 0; i < sizeof(exports) / sizeof(exports[0]); i++)
        *exports[i].own = dlsym(runtime, exports[i].name);
    fill(&core, &table_core, major, number("TEST_CORE", table_core.count));
    fill(&amd_ext, amd, major, number("TEST_AMD", amd->count));
    fill(&finalizer, &table_finalizer, major, table_finalizer.count);
    if (getenv("TEST_FINALIZED"))
        make_finalizer();
    fill(&image, &table_image, major, table_image.count);
    *place_hsa_system_get_major_extension_table = (void *)extension_table;
    if (getenv("TEST_VENDOR"))
        *place_hsa_agent_get_info = (void *)agent_info;
    real_init = (hsa_status_t(*)(void))core.functions[0];
    core.functions[0] = (void *)init;
}
