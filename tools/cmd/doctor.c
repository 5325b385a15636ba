/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "base/text.h"
#include "tools/doctor/doctor.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"

#include <stdarg.h>

struct doctor_values {
    bool json;
};

static const struct tsm_option options[] = {
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(doctor_values, json),
     .help = "One JSON object, schema \"tsdoctor/1\"."},
    {0},
};

static const char *const words_of[] = {
    [TSM_HEALTH_OK] = "ok",
    [TSM_HEALTH_WARN] = "warn",
    [TSM_HEALTH_MISSING] = "missing",
};

void tsm_found(struct tsm_finding *out, enum tsm_health health, const char *remedy,
               const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    tsm_vformat(out->text, sizeof(out->text), format, ap);
    va_end(ap);
    out->health = health;
    tsm_format(out->remedy, sizeof(out->remedy), "%s", remedy);
}

static void print_line(const struct tsm_check *check, const struct tsm_finding *f)
{
    static const enum tsm_paint paints[] = {TSM_PAINT_GOOD, TSM_PAINT_WARN, TSM_PAINT_BAD};

    printf("%s%-8s%s%-18s %s\n", tsm_paint(paints[f->health]), words_of[f->health],
           tsm_paint(TSM_PAINT_NONE), check->name, tsm_clean(f->text));
    if (f->remedy[0])
        printf("%27s%s-> %s%s\n", "", tsm_paint(TSM_PAINT_DIM), tsm_clean(f->remedy),
               tsm_paint(TSM_PAINT_NONE));
    fflush(stdout);
}

static void print_json(struct tsm_json *j, const struct tsm_check *check,
                       const struct tsm_finding *f)
{
    tsm_json_open(j, '{');
    tsm_json_put_string(j, "name", check->name);
    tsm_json_put_string(j, "for", check->needed_for);
    tsm_json_put_string(j, "status", words_of[f->health]);
    tsm_json_put_string(j, "text", f->text);
    tsm_json_put_string(j, "remedy", f->remedy);
    tsm_json_close(j, '}');
}

static enum tsm_health look(const struct tsm_check *check, struct tsm_json *j)
{
    enum tsm_health worst = TSM_HEALTH_OK;

    for (; check->name; check++) {
        struct tsm_finding finding = {0};
        check->look(&finding);
        if (finding.health > worst)
            worst = finding.health;
        if (j)
            print_json(j, check, &finding);
        else
            print_line(check, &finding);
    }
    return worst;
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    const struct doctor_values *v = values;
    struct tsm_json json = {.out = stdout};
    enum tsm_health system, gpu;

    if (v->json) {
        tsm_json_begin(&json, "tsdoctor/1");
        tsm_json_name(&json, "checks");
        tsm_json_open(&json, '[');
    }
    system = look(tsm_checks_system, v->json ? &json : NULL);
    gpu = look(tsm_checks_gpu, v->json ? &json : NULL);
    if (v->json) {
        tsm_json_close(&json, ']');
        tsm_json_end(&json);
    }
    return system == TSM_HEALTH_MISSING || gpu == TSM_HEALTH_MISSING ? TSM_EXIT_NO : TSM_EXIT_OK;
}

const struct tsm_command tsm_command_doctor = {
    .name = "doctor",
    .summary = "say what this machine can capture and replay",
    .synopsis = "[OPTION]...",
    .description =
        "Looks at the operating system, TraceSmith's own files, GPU drivers and devices, and "
        "says for each whether it is ok, could be better (warn) or is missing, and what to do "
        "about it. Drivers are tried in a process of their own, so that one that hangs or "
        "crashes does no harm. Nothing is changed.",
    .examples = "tracesmith doctor\n"
                "tracesmith doctor --json | jq '.checks[] | select(.status != \"ok\")'\n",
    .exit_status = "0|nothing is missing\n"
                   "1|something is missing\n"
                   "2|it could not be found out",
    .options = options,
    .values_size = sizeof(struct doctor_values),
    .run = run,
};
