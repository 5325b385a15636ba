/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/graphml.h"

#include "tools/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Writes text inside of an element, with what would end it replaced. */
static void put_escaped(const char *text)
{
    for (const char *c = tsm_clean(text); *c; c++)
        if (strchr("<>&\"", *c))
            printf("&#%d;", *c);
        else
            putchar(*c);
}

static void put_node(const struct tsm_dependency_node *n)
{
    printf("<node id=\"n%" PRIu64 "\"><data key=\"call\">", n->seq);
    put_escaped(n->kernel ? n->kernel : tsm_dependency_node_call(n));
    printf("</data>");
    if (n->stream != SBT_STREAM_NONE)
        printf("<data key=\"stream\">%u</data>", n->stream);
    printf("<data key=\"thread\">%u</data></node>\n", n->thread);
}

static void put_edge(const struct tsm_graphml *graphml, const struct tsm_dependency *edge)
{
    const struct tsm_dependency_node *from = tsm_dependency_graph_find(graphml->graph, edge->from);

    if (!from || !graphml->is_shown(graphml->user, from) ||
        (edge->is_redundant && !graphml->has_redundant))
        return;
    printf("<edge source=\"n%" PRIu64 "\" target=\"n%" PRIu64 "\"><data key=\"reason\">%s</data>"
           "<data key=\"redundant\">%s</data></edge>\n",
           edge->from, edge->to, tsm_dependency_reason_name(edge->reason),
           edge->is_redundant ? "true" : "false");
}

void tsm_graphml_print(const struct tsm_graphml *graphml)
{
    const struct tsm_dependency_graph *g = graphml->graph;

    printf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
           "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
           "<key id=\"call\" for=\"node\" attr.name=\"call\" attr.type=\"string\"/>\n"
           "<key id=\"stream\" for=\"node\" attr.name=\"stream\" attr.type=\"long\"/>\n"
           "<key id=\"thread\" for=\"node\" attr.name=\"thread\" attr.type=\"long\"/>\n"
           "<key id=\"reason\" for=\"edge\" attr.name=\"reason\" attr.type=\"string\"/>\n"
           "<key id=\"redundant\" for=\"edge\" attr.name=\"redundant\" attr.type=\"boolean\"/>\n"
           "<graph edgedefault=\"directed\">\n");
    for (size_t i = 0; i < g->node_count; i++)
        if (graphml->is_shown(graphml->user, &g->nodes[i]))
            put_node(&g->nodes[i]);
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t e = g->nodes[i].first_edge;
             graphml->is_shown(graphml->user, &g->nodes[i]) && e < g->nodes[i + 1].first_edge; e++)
            put_edge(graphml, &g->edges[e]);
    printf("</graph>\n</graphml>\n");
}
