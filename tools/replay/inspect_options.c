/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/replay/inspect_options.h"

#include "base/text.h"
#include "tools/selection.h"

#include <string.h>

/* Takes the rest after a list or number: nothing, or ":DIR". */
static bool take_directory(const char **out, const char *text)
{
    *out = NULL;
    if (!*text)
        return true;
    *out = text + 1;
    return *text == ':' && text[1];
}

bool tsm_inspect_parse_dump(void *field, const char *text)
{
    struct tsm_inspect_dump *dump = field;

    dump->is_wanted = true;
    return tsm_selection_take_number(&dump->seq, &text) && take_directory(&dump->directory, text);
}

bool tsm_inspect_parse_frames(void *field, const char *text)
{
    struct tsm_inspect_frames *frames = field;

    frames->count = 0;
    for (;;) {
        struct tsm_frames *f = &frames->list[frames->count];
        if (frames->count == TSM_INSPECT_FRAMES_MAX ||
            !tsm_selection_take_number(&f->first, &text) || !f->first)
            return false;
        f->last = f->first;
        if (*text == '-') {
            text++;
            if (!tsm_selection_take_number(&f->last, &text) || f->last < f->first)
                return false;
        }
        frames->count++;
        if (*text != ',')
            return take_directory(&frames->directory, text);
        text++;
    }
}

bool tsm_inspect_parse_present(void *field, const char *text)
{
    struct tsm_inspect_present *present = field;
    uint64_t seconds;

    present->is_wanted = true;
    if (!tsm_selection_take_number(&seconds, &text) || *text || seconds > 86400)
        return false;
    present->hold_ns = seconds * 1000000000u;
    return true;
}

bool tsm_inspect_parse_shader(void *field, const char *text)
{
    struct tsm_inspect_shaders *shaders = field;
    const char *equals = strchr(text, '=');
    char *hash;

    if (!equals || equals == text || !equals[1] || shaders->count == TSM_INSPECT_SHADERS_MAX)
        return false;
    hash = strndup(text, (size_t)(equals - text)); /* lives as long as the process */
    if (!hash)
        return false;
    shaders->list[shaders->count++] = (struct tsm_shader_replacement){hash, equals + 1};
    return true;
}

bool tsm_inspect_take_directory(struct tsm_inspect_values *v, const char *word)
{
    if (!v->dump.is_wanted || v->dump.directory)
        return false;
    v->dump.directory = word;
    return true;
}

bool tsm_inspect_from_values(struct tsm_inspect *out, const struct tsm_inspect_values *v)
{
    static char directory[64];

    *out = (struct tsm_inspect){
        .frames = v->frames.list,
        .frame_count = v->frames.count,
        .present = v->present.is_wanted,
        .present_hold_ns = v->present.hold_ns,
    };
    if (v->frames.count)
        out->screenshot_directory = v->frames.directory ? v->frames.directory : ".";
    if (v->dump.is_wanted) {
        tsm_format(directory, sizeof(directory), "resources-%llu", (unsigned long long)v->dump.seq);
        out->dump_seq = v->dump.seq;
        out->dump_directory = v->dump.directory ? v->dump.directory : directory;
    }
    return v->frames.count || v->dump.is_wanted || v->present.is_wanted;
}
