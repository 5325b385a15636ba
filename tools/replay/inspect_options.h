/* SPDX-License-Identifier: Apache-2.0
 *
 * Options that make tsreplay inspect records: --dump-resources, --screenshot, --present and
 * --replace-shader.
 */
#ifndef TOOLS_REPLAY_INSPECT_OPTIONS_H
#define TOOLS_REPLAY_INSPECT_OPTIONS_H

#include "api/vulkan/view/help_examples.h"
#include "tools/option.h"
#include "tracesmith/replay.h"

#include <stdbool.h>

#define TSM_INSPECT_FRAMES_MAX  64
#define TSM_INSPECT_SHADERS_MAX 64

struct tsm_inspect_dump {
    bool is_wanted;
    uint64_t seq;
    const char *directory; /* NULL: not named */
};

struct tsm_inspect_frames {
    struct tsm_frames list[TSM_INSPECT_FRAMES_MAX];
    size_t count;
    const char *directory;
};

struct tsm_inspect_present {
    bool is_wanted;
    uint64_t hold_ns;
};

struct tsm_inspect_shaders {
    struct tsm_shader_replacement list[TSM_INSPECT_SHADERS_MAX];
    size_t count;
};

struct tsm_inspect_values {
    struct tsm_inspect_dump dump;
    struct tsm_inspect_frames frames;
    struct tsm_inspect_present present;
    struct tsm_inspect_shaders shaders;
};

/* "SEQ[:DIR]" */
bool tsm_inspect_parse_dump(void *field, const char *text);
/* "LIST[:DIR]", LIST as in 1,5-9 */
bool tsm_inspect_parse_frames(void *field, const char *text);
/* "SECONDS" */
bool tsm_inspect_parse_present(void *field, const char *text);
/* "HASH=FILE"; each adds one */
bool tsm_inspect_parse_shader(void *field, const char *text);

/* The folder of a dump as a word of its own. False: nothing wants one. */
bool tsm_inspect_take_directory(struct tsm_inspect_values *values, const char *word);

/* Translates the options for the engine. Returns false if there is nothing to inspect. *out points
 * into `values`. */
bool tsm_inspect_from_values(struct tsm_inspect *out, const struct tsm_inspect_values *values);

/* The rows, for a table of options. */
#define TSM_INSPECT_OPTIONS(values, look)                                                          \
    {.name = "screenshot",                                                                         \
     .type = TSM_OPTION_PARSED,                                                                    \
     .offset = TSM_FIELD(values, look.frames),                                                     \
     .argument = "FRAMES[:DIR]",                                                                   \
     .parse = tsm_inspect_parse_frames,                                                            \
     .help = "Vulkan: write what these frames presented to DIR/frame-NNNNNN.png (default: here). " \
             "Frames count from 1: 1,10-12. The replay ends with the last of them."},              \
        {.name = "dump-resources",                                                                 \
         .type = TSM_OPTION_PARSED,                                                                \
         .offset = TSM_FIELD(values, look.dump),                                                   \
         .argument = "SEQ[:DIR]",                                                                  \
         .parse = tsm_inspect_parse_dump,                                                          \
         .help =                                                                                   \
             "Vulkan: write what the submit with this number uses to DIR (default: "               \
             "resources-SEQ), as it is after it, and end: buffers, images as PNG, descriptors, "   \
             "pipelines, names, in DIR/resources.json. Of a " VULKAN_EXAMPLE_COMMANDS              \
             ", as it is after that command: "                                                     \
             "the first submit of its command buffer is cut off there."},                          \
        {.name = "replace-shader",                                                                 \
         .type = TSM_OPTION_PARSED,                                                                \
         .offset = TSM_FIELD(values, look.shaders),                                                \
         .argument = "HASH=FILE",                                                                  \
         .parse = tsm_inspect_parse_shader,                                                        \
         .help =                                                                                   \
             "Vulkan: put the SPIR-V in FILE in the place of the module whose hash begins with "   \
             "HASH (`tracesmith shaders` lists them). May be given more than once."},              \
    {                                                                                              \
        .name = "present", .type = TSM_OPTION_PARSED, .offset = TSM_FIELD(values, look.present),   \
        .argument = "SECONDS", .absent = "0", .parse = tsm_inspect_parse_present,                  \
        .help = "Vulkan: show what was presented in a window (X11), which stays open SECONDS at "  \
                "the end.",                                                                        \
    }

#endif
