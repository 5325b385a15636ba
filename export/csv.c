/* SPDX-License-Identifier: Apache-2.0
 *
 * Comma-separated values, quoted as RFC 4180 says, with a head: a line for each command in the
 * order in which their times are known, for spreadsheets and scripts.
 */
#include "export/events.h"

#include "format/json.h"

#include <inttypes.h>
#include <string.h>

struct csv {
    FILE *out;
    const struct tsm_event_source *source;
    struct tsm_event_counts *counts;
};

/* Writes a text of the program: quoted, and never as a formula of a spreadsheet. */
static void put_text(struct csv *c, const char *text)
{
    text = tsm_event_clean(c->source, text);
    putc('"', c->out);
    if (strchr("=+-@", *text) && *text)
        putc('\'', c->out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', c->out);
        putc(*text, c->out);
    }
    putc('"', c->out);
}

static void put_time(struct csv *c, const struct tsm_span *gpu)
{
    if (gpu->kind == TSM_TIME_UNKNOWN)
        fputs("unknown,,,,,", c->out);
    else
        fprintf(c->out, "%s,%s,%" PRId64 ",%" PRIu64 ",%" PRIu64 ",", tsm_time_kind_name(gpu->kind),
                tsm_time_axis_name(gpu->axis), gpu->start_ns, tsm_span_ns(gpu), gpu->error_ns);
}

static void put_command(struct csv *c, const struct tsm_command_node *node)
{
    char device[TSM_DEVICE_NAME_MAX], space[16];
    const char *device_name = tsm_device_name(device, &node->device);

    fprintf(c->out, "%" PRIu64 ",%u,%u,%s,", node->seq, node->part, node->run,
            sbt_api_name(SBT_TYPE_API(node->schema->type), space));
    put_text(c, node->schema->name);
    fprintf(c->out, ",%s,", tsm_work_name(node->work));
    put_text(c, node->kernel ? node->kernel : "");
    fprintf(c->out, ",%s,%u,%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",",
            device_name ? device_name : "", node->stream, node->position, node->thread,
            node->call_ns, node->returned_ns - node->call_ns);
    put_time(c, &node->gpu);
    fprintf(c->out, "%" PRIu64 ",", node->bytes);
    if (node->work == TSM_WORK_KERNEL)
        fprintf(c->out, "%u,%u,%u,%u,%u,%u,%" PRIu64 ",", node->grid[0], node->grid[1],
                node->grid[2], node->block[0], node->block[1], node->block[2], node->shared_size);
    else
        fputs(",,,,,,,", c->out);
    put_text(c, node->label ? node->label : "");
    fputs("\n", c->out);
}

static int visit_command(void *user, const struct tsm_command_node *node)
{
    struct csv *c = user;

    c->counts->command_count++;
    put_command(c, node);
    return 0;
}

int tsm_export_csv(struct tsm_event_counts *out, FILE *file, const struct tsm_event_source *source)
{
    struct csv c = {file, source, out};
    const struct tsm_model_visitor visitor = {.user = &c, .command = visit_command};

    *out = (struct tsm_event_counts){0};
    fputs("seq,part,run,api,call,work,kernel,device,stream,position,thread,call_ns,call_duration_"
          "ns,time,"
          "clock,start_ns,duration_ns,error_ns,bytes,grid_x,grid_y,grid_z,block_x,block_y,block_z,"
          "shared_bytes,label\n",
          file);
    return tsm_model_pass(&out->model, source->reader, source->filter, &visitor);
}
