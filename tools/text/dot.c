/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/dot.h"

#include "analysis/dependencies/accesses.h"
#include "analysis/model/work.h"
#include "base/text.h"
#include "tools/terminal.h"
#include "tools/text/demangle.h"
#include "tools/text/edge.h"
#include "tracesmith/error.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX    20u /* letters of a node's label */
#define COLUMNS_MAX 16u /* that begin side by side; with more the picture is longer, not wider */

/* Kinds of nodes, by how they look. */
enum look { LOOK_KERNEL, LOOK_COPY, LOOK_ORDER, LOOK_OTHER, LOOK_HOST, LOOK_COUNT };

static const struct {
    const char *what, *fill;
} looks[LOOK_COUNT] = {
    [LOOK_KERNEL] = {"kernel, graph, submit", "#cfe2f3"},
    [LOOK_COPY] = {"copy, fill", "#fff2cc"},
    [LOOK_ORDER] = {"event, wait", "#ffffff"},
    [LOOK_OTHER] = {"other command", "#e8e8e8"},
    [LOOK_HOST] = {"the program's", "#f4cccc"},
};

static const struct {
    const char *what, *color, *style;
} edges[TSM_DEPENDS_COUNT] = {
    [TSM_DEPENDS_STREAM] = {"order of the stream", "#000000", "solid"},
    [TSM_DEPENDS_DEFAULT] = {"default stream", "#1155cc", "bold"},
    [TSM_DEPENDS_EVENT] = {"event", "#38761d", "bold"},
    [TSM_DEPENDS_SIGNAL] = {"semaphore, signal", "#00796b", "bold"},
    [TSM_DEPENDS_BARRIER] = {"barrier", "#00796b", "dashed"},
    [TSM_DEPENDS_HOST] = {"the host waits", "#cc0000", "dashed"},
    [TSM_DEPENDS_THREAD] = {"sent after a wait", "#cc7a7a", "dashed"},
    [TSM_DEPENDS_UNKNOWN] = {"unknown", "#e69138", "dashed"},
    [TSM_DEPENDS_READ_AFTER_WRITE] = {"read after write", "#674ea7", "dotted"},
    [TSM_DEPENDS_WRITE_AFTER_WRITE] = {"write after write", "#674ea7", "dotted"},
    [TSM_DEPENDS_WRITE_AFTER_READ] = {"write after read", "#674ea7", "dotted"},
};

struct drawing {
    const struct tsm_dot *dot;
    const struct tsm_dependency_node **nodes; /* by column, then by record */
    size_t count;
    bool is_drawn[TSM_DEPENDS_COUNT], is_unordered, is_redundant;
};

/* ---- nodes ------------------------------------------------------------------------------------
 */

static int by_column(const void *a, const void *b)
{
    const struct tsm_dependency_node *x = *(const struct tsm_dependency_node *const *)a,
                                     *y = *(const struct tsm_dependency_node *const *)b;
    const uint32_t column[2] = {x->is_command ? x->stream : x->thread,
                                y->is_command ? y->stream : y->thread};

    if (x->is_command != y->is_command)
        return x->is_command ? 1 : -1;
    if (column[0] != column[1])
        return column[0] < column[1] ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static bool is_same_column(const struct tsm_dependency_node *a, const struct tsm_dependency_node *b)
{
    return a->is_command == b->is_command &&
           (a->is_command ? a->stream == b->stream : a->thread == b->thread);
}

static enum look look_of(const struct tsm_dependency_node *n)
{
    if (!n->is_command)
        return LOOK_HOST;
    switch (tsm_work_of_type(n->schema).work) {
    case TSM_WORK_KERNEL:
    case TSM_WORK_GRAPH:
    case TSM_WORK_SUBMIT:
        return LOOK_KERNEL;
    case TSM_WORK_COPY:
    case TSM_WORK_FILL:
        return LOOK_COPY;
    case TSM_WORK_ORDER:
        return LOOK_ORDER;
    default:
        return LOOK_OTHER;
    }
}

/* Skips what begins all names of an API's calls, as in "xyCopyAsync". */
static const char *stem_of(const char *name)
{
    const char *stem = name;

    while (islower((unsigned char)*stem))
        stem++;
    return *stem && *stem != '_' ? stem : name;
}

static void put_text(const char *text, size_t size)
{
    for (size_t i = 0; text[i] && i < size; i++) {
        if (strchr("\"\\", text[i]))
            putchar('\\');
        putchar(text[i]);
    }
}

/* Returns how much of a name is shown: nothing of a kernel's parameters, of a call's version. */
static size_t name_size(const struct tsm_dependency_node *n, const char *name)
{
    size_t size = strlen(name), short_size = size;

    if (n->kernel)
        short_size = strcspn(name, "(<");
    else if (isupper((unsigned char)*name))
        short_size = strcspn(name, "_");
    return short_size ? short_size : size;
}

static void put_name(const struct tsm_dependency_node *n)
{
    char *demangled = n->kernel ? tsm_demangle(n->kernel) : NULL;
    const char *name = tsm_clean(demangled   ? demangled
                                 : n->kernel ? n->kernel
                                             : stem_of(tsm_dependency_node_call(n)));
    const size_t whole = name_size(n, name);
    size_t size = whole > NAME_MAX ? NAME_MAX - 1 : whole;

    while (size && ((unsigned char)name[size] & 0xc0) == 0x80) /* inside of a letter */
        size--;
    put_text(name, size);
    if (size < whole)
        fputs("\xe2\x80\xa6", stdout);
    free(demangled);
}

static void put_node(const struct tsm_dependency_node *n)
{
    const enum look look = look_of(n);

    printf("    n%" PRIu64 " [label=\"%" PRIu64 " ", n->seq, n->seq);
    put_name(n);
    printf("\", fillcolor=\"%s\"%s, tooltip=\"record %" PRIu64 ": ", looks[look].fill,
           look == LOOK_ORDER  ? ", shape=ellipse, fontsize=8"
           : look == LOOK_HOST ? ", style=\"rounded,filled\""
                               : "",
           n->seq);
    put_text(tsm_clean(tsm_dependency_node_call(n)), SIZE_MAX);
    if (n->kernel) {
        putchar(' ');
        put_text(tsm_clean(n->kernel), SIZE_MAX);
    }
    if (n->is_command)
        printf(", stream %u", n->stream);
    printf(", thread %u\"]\n", n->thread);
}

/* ---- edges ------------------------------------------------------------------------------------
 */

static bool is_wanted(const struct tsm_dot *dot, const struct tsm_dependency *edge)
{
    return !edge->is_redundant || dot->has_redundant ||
           (tsm_dependency_is_memory(edge) && dot->has_ordered);
}

/* Returns the edge's begin, if it is drawn. */
static const struct tsm_dependency_node *drawn_begin(const struct drawing *d,
                                                     const struct tsm_dependency *edge)
{
    const struct tsm_dependency_node *from =
        is_wanted(d->dot, edge) ? tsm_dependency_graph_find(d->dot->graph, edge->from) : NULL;

    return from && d->dot->is_shown(d->dot->user, from) ? from : NULL;
}

/* Tests whether an edge is drawn that puts `to` below `from`. */
static bool is_linked(const struct drawing *d, const struct tsm_dependency_node *from,
                      const struct tsm_dependency_node *to)
{
    for (size_t e = to->first_edge; e < to[1].first_edge; e++)
        if (d->dot->graph->edges[e].from == from->seq &&
            !tsm_dependency_is_memory(&d->dot->graph->edges[e]) &&
            drawn_begin(d, &d->dot->graph->edges[e]))
            return true;
    return false;
}

static void put_memory(const struct tsm_dependency *edge)
{
    printf(", constraint=false, tooltip=\"%s, %s", tsm_dependency_reason_name(edge->reason),
           tsm_access_kind_name((enum tsm_access_kind)edge->access));
    if (edge->size)
        printf(", 0x%" PRIx64 " + %" PRIu64, edge->start, edge->size);
    if (edge->object)
        printf(", array %" PRIu64, edge->object);
    printf("\"%s", edge->is_unordered ? ", color=red, style=bold" : "");
}

static void put_edge(struct drawing *d, const struct tsm_dependency *edge,
                     const struct tsm_dependency_node *from, const struct tsm_dependency_node *to)
{
    const bool is_grey = edge->is_redundant && !tsm_dependency_is_memory(edge);
    char object[TSM_EDGE_OBJECT_MAX];

    d->is_drawn[edge->reason] |= !is_grey;
    d->is_unordered |= edge->is_unordered;
    d->is_redundant |= is_grey;
    printf("  n%" PRIu64 " -> n%" PRIu64 " [color=\"%s\", style=%s", edge->from, edge->to,
           is_grey ? "#cccccc" : edges[edge->reason].color, edges[edge->reason].style);
    if (tsm_dependency_is_memory(edge)) {
        put_memory(edge);
    } else {
        printf(", tooltip=\"%s", tsm_dependency_reason_name(edge->reason));
        if (tsm_edge_object(object, edge))
            printf(", %s", object);
        printf("%s\"", edge->is_part ? ", a part waits" : "");
        if (edge->is_begin)
            printf(", arrowhead=empty");
        if (edge->from > edge->to) /* the program lets it go on later */
            printf(", constraint=false");
        else if (is_same_column(from, to))
            printf(", weight=100");
    }
    puts("]");
}

static void put_edges(struct drawing *d)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct tsm_dependency_node *to = d->nodes[i];

        for (size_t e = to->first_edge; e < to[1].first_edge; e++) {
            const struct tsm_dependency *edge = &d->dot->graph->edges[e];
            const struct tsm_dependency_node *from = drawn_begin(d, edge);

            if (from)
                put_edge(d, edge, from, to);
        }
    }
}

/* ---- columns and legend -----------------------------------------------------------------------
 */

static size_t column_end(const struct drawing *d, size_t first)
{
    size_t end = first + 1;

    while (end < d->count && is_same_column(d->nodes[first], d->nodes[end]))
        end++;
    return end;
}

static void put_column(const struct drawing *d, size_t first, size_t end)
{
    const struct tsm_dependency_node *n = d->nodes[first];
    const char *what = n->is_command ? "stream" : "thread";
    const uint32_t number = n->is_command ? n->stream : n->thread;

    printf("  subgraph cluster_%s%u {\n    label=\"%s %u\"\n", what, number, what, number);
    for (size_t i = first; i < end; i++)
        put_node(d->nodes[i]);
    for (size_t i = first + 1; i < end; i++) /* keep those in order that no edge keeps */
        if (!is_linked(d, d->nodes[i - 1], d->nodes[i]))
            printf("    n%" PRIu64 " -> n%" PRIu64 " [style=invis, weight=100]\n",
                   d->nodes[i - 1]->seq, d->nodes[i]->seq);
}

/* Writes columns. Of a few, each has a head above its first node, and all heads are in one line:
 * Graphviz puts them side by side, in the order with the fewest crossings. */
static void put_columns(const struct drawing *d)
{
    size_t count = 0;

    for (size_t first = 0; first < d->count; first = column_end(d, first))
        count++;
    for (size_t first = 0, end; first < d->count; first = end) {
        end = column_end(d, first);
        put_column(d, first, end);
        if (count <= COLUMNS_MAX)
            printf("    c%zu [style=invis, label=\"\", width=0, height=0]\n"
                   "    c%zu -> n%" PRIu64 " [style=invis, weight=100]\n",
                   first, first, d->nodes[first]->seq);
        puts("  }");
    }
    if (count > COLUMNS_MAX)
        return;
    fputs("  {rank=same", stdout);
    for (size_t first = 0; first < d->count; first = column_end(d, first))
        printf("; c%zu", first);
    puts("}");
}

static void put_line(const char *what, const char *color, const char *style)
{
    const char *sample = !strcmp(style, "dashed")   ? "&#8211; &#8211; &#8211;"
                         : !strcmp(style, "dotted") ? "&#183; &#183; &#183; &#183;"
                                                    : "&#8212;&#8212;&#8212;";

    printf("<tr><td><font color=\"%s\">%s%s%s</font></td><td align=\"left\">%s</td></tr>", color,
           !strcmp(style, "bold") ? "<b>" : "", sample, !strcmp(style, "bold") ? "</b>" : "", what);
}

/* Writes the label of the whole picture. */
static void put_legend(const struct drawing *d)
{
    bool has_look[LOOK_COUNT] = {false};

    printf("  labelloc=t\n  labeljust=l\n  label=<<table border=\"1\" cellborder=\"0\" "
           "cellspacing=\"2\" id=\"legend\">");
    for (size_t i = 0; i < d->count; i++)
        has_look[look_of(d->nodes[i])] = true;
    for (int i = 0; i < LOOK_COUNT; i++)
        if (has_look[i])
            printf(
                "<tr><td bgcolor=\"%s\" border=\"1\">12 name</td><td align=\"left\">%s</td></tr>",
                looks[i].fill, looks[i].what);
    for (int i = 0; i < TSM_DEPENDS_COUNT; i++)
        if (d->is_drawn[i])
            put_line(edges[i].what, edges[i].color, edges[i].style);
    if (d->is_unordered)
        put_line("conflict without order", "red", "bold");
    if (d->is_redundant)
        put_line("redundant, of each kind", "#cccccc", "solid");
    puts("</table>>");
}

static void draw(struct drawing *d)
{
    puts("digraph dependencies {\n  newrank=true\n"
         "  fontname=\"Helvetica,sans-serif\"\n  fontsize=11\n  ranksep=0.18\n  nodesep=0.12\n"
         "  style=\"rounded,filled\"\n  fillcolor=\"#fafafa\"\n  color=\"#bbbbbb\"\n"
         "  node [shape=box, style=filled, fontname=\"Helvetica,sans-serif\", fontsize=10, "
         "height=0.22, width=0.4, margin=\"0.06,0.02\", penwidth=0.6]\n"
         "  edge [arrowsize=0.5, penwidth=0.9]");
    put_columns(d);
    put_edges(d);
    put_legend(d);
    puts("}");
}

int tsm_dot_print(const struct tsm_dot *dot)
{
    const struct tsm_dependency_graph *g = dot->graph;
    struct drawing d = {.dot = dot, .nodes = malloc((g->node_count + 1) * sizeof(*d.nodes))};

    if (!d.nodes)
        return tsm_fail(TSM_E_MEMORY, "no memory for the nodes");
    for (size_t i = 0; i < g->node_count; i++)
        if (dot->is_shown(dot->user, &g->nodes[i]))
            d.nodes[d.count++] = &g->nodes[i];
    qsort(d.nodes, d.count, sizeof(*d.nodes), by_column);
    draw(&d);
    free(d.nodes);
    return 0;
}
