/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/frame_names.h"

#include "tools/terminal.h"

static void find_frame(void *user, uint64_t address, struct tsm_frame_text *out)
{
    const struct tsm_symbol *symbol = tsm_symbols_find(user, address);
    const char *name = symbol->function ? symbol->function : symbol->module;

    out->function = name ? tsm_clean(name) : NULL;
    out->module = symbol->module ? tsm_clean(symbol->module) : NULL;
    out->file = symbol->source ? tsm_clean(symbol->source) : NULL;
    out->line = symbol->line;
    out->offset = symbol->module ? symbol->offset : 0;
}

static const char *clean_name(void *user, const char *name)
{
    return tsm_clean(name);
}

struct tsm_frame_names tsm_frame_names(struct tsm_symbols *symbols)
{
    return (struct tsm_frame_names){symbols, find_frame, clean_name};
}
