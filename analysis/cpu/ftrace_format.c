/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/cpu/ftrace_format.h"

#include "base/bytes.h"

#include <stdio.h>
#include <stdlib.h>

/* Fields in the order in which fill() takes them. */
static const struct kind {
    const char *name;
    uint8_t type; /* 0: a mark */
    const char *fields[TSM_FTRACE_FIELD_MAX];
} kinds[TSM_FTRACE_KIND_MAX] = {
    {"sched_switch", GRTRACE_CPU_SWITCH, {"prev_pid", "prev_state", "next_pid", "next_comm"}},
    {"sched_wakeup", GRTRACE_CPU_WAKEUP, {"pid", "comm"}},
    {"sched_wakeup_new", GRTRACE_CPU_WAKEUP, {"pid", "comm"}},
    {"irq_handler_entry", GRTRACE_CPU_IRQ_ENTER, {"irq", "name"}},
    {"irq_handler_exit", GRTRACE_CPU_IRQ_EXIT, {"irq"}},
    {"block_rq_issue", GRTRACE_CPU_BLOCK_ISSUE, {"dev", "sector"}},
    {"block_rq_complete", GRTRACE_CPU_BLOCK_COMPLETE, {"dev", "sector"}},
    {"print", 0, {"buf"}},
    {"tracing_mark_write", 0, {"buf"}}, /* how text calls it */
};

int tsm_ftrace_kind(const char *name, size_t size)
{
    for (int i = 0; i < TSM_FTRACE_KIND_MAX; i++) {
        if (strlen(kinds[i].name) == size && memcmp(kinds[i].name, name, size) == 0)
            return i;
    }
    return -1;
}

/* ---- format files ---- */

/* "offset:8;" of a line; 0 when it is not there or absurd. */
static uint32_t number_behind(const char *line, const char *name)
{
    const char *found = strstr(line, name);
    unsigned long value = found ? strtoul(found + strlen(name), NULL, 10) : 0;

    return value < 65536 ? (uint32_t)value : 0;
}

/* "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;": the name ends at ; or [. */
static bool parse_field(struct tsm_ftrace_field *out, const char **name, size_t *size,
                        const char *line)
{
    const char *declared = strstr(line, "field:"), *end, *begin;

    if (!declared)
        return false;
    declared += strlen("field:");
    end = declared + strcspn(declared, ";[");
    /* __data_loc char[] name; */
    if (*end == '[' && strncmp(declared, "__data_loc", strlen("__data_loc")) == 0)
        end = declared + strcspn(declared, ";");
    begin = end;
    while (begin > declared && begin[-1] != ' ' && begin[-1] != '\t' && begin[-1] != '*' &&
           begin[-1] != ']')
        begin--;
    *name = begin;
    *size = (size_t)(end - begin);
    out->offset = number_behind(line, "offset:");
    out->size = number_behind(line, "size:");
    out->is_signed = number_behind(line, "signed:") != 0;
    out->is_elsewhere = strncmp(declared, "__data_loc", strlen("__data_loc")) == 0;
    return true;
}

static bool is_named(const char *name, size_t size, const char *wanted)
{
    return wanted && strlen(wanted) == size && memcmp(name, wanted, size) == 0;
}

static void add_field(struct tsm_ftrace_formats *f, int kind, const char *line)
{
    struct tsm_ftrace_field field;
    const char *name;
    size_t size;

    if (!parse_field(&field, &name, &size, line))
        return;
    if (is_named(name, size, "common_type"))
        f->common_type = field;
    else if (is_named(name, size, "common_pid"))
        f->common_pid = field;
    for (int i = 0; i < TSM_FTRACE_FIELD_MAX; i++) {
        if (is_named(name, size, kinds[kind].fields[i]))
            f->layouts[kind].fields[i] = field;
    }
}

/* The next line, cut to what fits; false after the last. */
static bool next_line(char *out, size_t out_size, const char **at, const char *end)
{
    const char *begin = *at, *stop;
    size_t size;

    if (begin >= end)
        return false;
    stop = memchr(begin, '\n', (size_t)(end - begin));
    *at = stop ? stop + 1 : end;
    size = (size_t)((stop ? stop : end) - begin);
    size = size < out_size ? size : out_size - 1;
    memcpy(out, begin, size);
    out[size] = 0;
    return true;
}

void tsm_ftrace_format_add(struct tsm_ftrace_formats *f, const char *text, size_t size)
{
    const char *at = text, *end = text + size;
    char line[256];
    int kind = -1;

    while (next_line(line, sizeof(line), &at, end)) {
        if (strncmp(line, "name: ", strlen("name: ")) == 0)
            kind = tsm_ftrace_kind(line + strlen("name: "), strlen(line) - strlen("name: "));
        else if (kind >= 0 && strncmp(line, "ID: ", strlen("ID: ")) == 0)
            f->layouts[kind].id = (uint16_t)strtoul(line + strlen("ID: "), NULL, 10);
        else if (kind >= 0)
            add_field(f, kind, line);
        if (kind < 0)
            return;
        f->layouts[kind].known = true;
    }
}

/* ---- values ---- */

static uint64_t number_at(const struct tsm_ftrace_field *field, const uint8_t *data, size_t size)
{
    const uint8_t *p = data + field->offset;

    if (field->offset > size || field->size > size - field->offset)
        return 0;
    switch (field->size) {
    case 1:
        return *p;
    case 2:
        return tsm_get_u16(p);
    case 4:
        return tsm_get_u32(p);
    case 8:
        return tsm_get_u64(p);
    }
    return 0;
}

static void text_at(char out[GRTRACE_CPU_NAME_SIZE + 1], const struct tsm_ftrace_field *field,
                    const uint8_t *data, size_t size)
{
    uint64_t place = number_at(field, data, size);
    size_t offset = field->is_elsewhere ? place & 0xffff : field->offset;
    size_t length = field->is_elsewhere ? place >> 16 & 0xffff : field->size;

    out[0] = 0;
    if (offset > size)
        return;
    length = length < size - offset ? length : size - offset;
    length = length < GRTRACE_CPU_NAME_SIZE ? length : GRTRACE_CPU_NAME_SIZE;
    memcpy(out, data + offset, length);
    out[length] = 0;
}

static void fill(struct tsm_cpu_event *e, const uint64_t numbers[TSM_FTRACE_FIELD_MAX])
{
    switch (e->type) {
    case GRTRACE_CPU_SWITCH:
        e->tid = (uint32_t)numbers[0];
        e->state = (uint32_t)numbers[1];
        e->other_tid = (uint32_t)numbers[2];
        break;
    case GRTRACE_CPU_WAKEUP:
        e->other_tid = (uint32_t)numbers[0];
        break;
    case GRTRACE_CPU_IRQ_ENTER:
    case GRTRACE_CPU_IRQ_EXIT:
        e->number = numbers[0];
        break;
    default:
        e->device = (uint32_t)numbers[0];
        e->number = numbers[1];
    }
}

/* Which field is the name: the last one of those that have one. */
static int name_field(uint8_t type)
{
    return type == GRTRACE_CPU_SWITCH                                    ? 3
           : type == GRTRACE_CPU_WAKEUP || type == GRTRACE_CPU_IRQ_ENTER ? 1
                                                                         : -1;
}

static const struct tsm_ftrace_layout *find_layout(const struct tsm_ftrace_formats *f, uint64_t id,
                                                   int *kind)
{
    for (*kind = 0; *kind < TSM_FTRACE_KIND_MAX; (*kind)++) {
        if (f->layouts[*kind].known && f->layouts[*kind].id == id)
            return &f->layouts[*kind];
    }
    return NULL;
}

int tsm_ftrace_event(struct tsm_cpu_events *events, const struct tsm_ftrace_formats *f,
                     uint16_t cpu, uint32_t pid, uint64_t ts_ns, const uint8_t *data, size_t size)
{
    struct tsm_cpu_event e = {.ts_ns = ts_ns, .cpu = cpu, .pid = pid};
    uint64_t numbers[TSM_FTRACE_FIELD_MAX];
    const struct tsm_ftrace_layout *layout;
    int kind, named;

    layout = find_layout(f, number_at(&f->common_type, data, size), &kind);
    if (!layout)
        return 0;
    if (!kinds[kind].type) {
        uint32_t offset = layout->fields[0].offset;
        if (offset && offset < size)
            tsm_cpu_events_mark(events, ts_ns, (const char *)data + offset, size - offset);
        return 0;
    }
    e.type = kinds[kind].type;
    e.tid = (uint32_t)number_at(&f->common_pid, data, size);
    for (int i = 0; i < TSM_FTRACE_FIELD_MAX; i++)
        numbers[i] = number_at(&layout->fields[i], data, size);
    fill(&e, numbers);
    named = name_field(e.type);
    if (named >= 0)
        text_at(e.name, &layout->fields[named], data, size);
    return tsm_cpu_events_add(events, &e);
}

/* ---- text ---- */

/* Returns the text after " name=", or after "name=" at the begin; NULL if there is none. */
static const char *value_of(const char *text, const char *name)
{
    size_t size = strlen(name);

    for (const char *at = text; (at = strstr(at, name)) != NULL; at += size) {
        if ((at == text || at[-1] == ' ') && at[size] == '=')
            return at + size + 1;
    }
    return NULL;
}

/* Names may hold spaces: one ends where the next field, " word=", or the text ends. */
static void copy_name(char out[GRTRACE_CPU_NAME_SIZE + 1], const char *value)
{
    size_t size = 0;

    while (value && value[size] && size < GRTRACE_CPU_NAME_SIZE) {
        if (value[size] == ' ' &&
            value[size + 1 + strspn(value + size + 1, "abcdefghijklmnopqrstuvwxyz_")] == '=')
            break;
        size++;
    }
    if (value)
        memcpy(out, value, size);
    out[size] = 0;
}

/* "R", "R+", "S", "D|K": only running matters. */
static uint64_t state_of(const char *value)
{
    return !value || *value == 'R' ? 0 : 1;
}

/* "8,0 W 4096 () 12345 + 8 [name]" */
static bool parse_block(uint64_t numbers[2], const char *text)
{
    unsigned major, minor;
    const char *sector = strstr(text, ") ");

    if (sscanf(text, "%u,%u", &major, &minor) != 2 || !sector)
        return false;
    numbers[0] = (uint64_t)major << 20 | minor;
    numbers[1] = strtoull(sector + 2, NULL, 10);
    return true;
}

static uint64_t number_of(const char *text, const char *name)
{
    const char *value = value_of(text, name);

    return value ? strtoull(value, NULL, 10) : 0;
}

int tsm_ftrace_text_event(struct tsm_cpu_events *events, int kind, uint16_t cpu, uint32_t tid,
                          uint64_t ts_ns, const char *text)
{
    struct tsm_cpu_event e = {.ts_ns = ts_ns, .cpu = cpu, .tid = tid, .type = kinds[kind].type};
    uint64_t numbers[TSM_FTRACE_FIELD_MAX] = {0};
    const char *const *fields = kinds[kind].fields;
    int named = name_field(e.type);

    if (!e.type) {
        tsm_cpu_events_mark(events, ts_ns, text, strlen(text));
        return 0;
    }
    if (e.type == GRTRACE_CPU_BLOCK_ISSUE || e.type == GRTRACE_CPU_BLOCK_COMPLETE) {
        if (!parse_block(numbers, text))
            goto unread;
    } else {
        if (!value_of(text, fields[0]))
            goto unread;
        numbers[0] = number_of(text, fields[0]);
    }
    if (e.type == GRTRACE_CPU_SWITCH) {
        numbers[1] = state_of(value_of(text, fields[1]));
        numbers[2] = number_of(text, fields[2]);
    }
    fill(&e, numbers);
    if (named >= 0)
        copy_name(e.name, value_of(text, fields[named]));
    return tsm_cpu_events_add(events, &e);
unread:
    events->unread_count++;
    return 0;
}
