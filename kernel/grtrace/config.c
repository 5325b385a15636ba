// SPDX-License-Identifier: GPL-2.0
/*
 * The file `config`: one table of entries. A write holds any number of "key value" lines (or
 * key=value) and counts as a whole or not at all.
 */
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "core.h"

struct entry {
	const char *name;
	enum grtrace_key_kind kind;
	size_t offset;
	u64 min, max;
	bool at_rest; /* cannot change while a session runs */
};

#define ENTRY(field, kind_, min_, max_, at_rest_)                                                   \
	{ .name = #field, .kind = GRTRACE_KEY_##kind_,                                            \
	  .offset = offsetof(struct grtrace_config, field), .min = min_, .max = max_,             \
	  .at_rest = at_rest_ },

static const struct entry entries[] = { GRTRACE_KEYS(ENTRY) };

static const char *const modes[] = { GRTRACE_MODE_NAMES };

static const struct grtrace_config defaults = GRTRACE_CONFIG_DEFAULT;

static struct grtrace_config __rcu *current_config;

const struct grtrace_config *grtrace_config_get(void)
{
	return rcu_dereference_check(current_config, irqs_disabled());
}

/* ---- text to values ---------------------------------------------------------------------- */

static int parse_list(struct grtrace_list *list, const struct entry *entry, char *text)
{
	char *word;

	list->count = 0;
	while ((word = strsep(&text, ",")) != NULL) {
		u64 value;

		if (!*word && !list->count && !text)
			return 0; /* empty: nobody is listed */
		if (list->count == GRTRACE_LIST_MAX || kstrtou64(word, 0, &value) ||
		    value > entry->max)
			return -EINVAL;
		list->values[list->count++] = value;
	}
	return 0;
}

static int parse_value(struct grtrace_config *config, const struct entry *entry, char *text)
{
	u64 *field = (void *)config + entry->offset;
	u64 value;
	int mode;

	if (entry->kind == GRTRACE_KEY_LIST)
		return parse_list((struct grtrace_list *)field, entry, text);
	if (entry->kind == GRTRACE_KEY_RING && !strcmp(text, "-1")) {
		*field = U64_MAX;
		return 0;
	}
	if (entry->kind == GRTRACE_KEY_MODE) {
		mode = match_string(modes, ARRAY_SIZE(modes), text);
		if (mode < 0)
			return -EINVAL;
		*field = mode;
		return 0;
	}
	if (kstrtou64(text, 0, &value) || value < entry->min || value > entry->max)
		return -EINVAL;
	*field = value;
	return 0;
}

static int parse_pair(struct grtrace_config *config, bool *reset, char *line)
{
	char *name = strim(line), *value = name + strcspn(name, " \t=");
	bool has_value = *value;

	if (!*name)
		return 0;
	if (has_value)
		*value++ = 0;
	value = skip_spaces(value);
	if (!strcmp(name, "reset_stats")) {
		*reset = true;
		return has_value && strcmp(value, "1") ? -EINVAL : 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		if (strcmp(entries[i].name, name))
			continue;
		if (entries[i].at_rest && grtrace_running())
			return -EBUSY;
		return has_value ? parse_value(config, &entries[i], value) : -EINVAL;
	}
	return -EINVAL;
}

static void replace(struct grtrace_config *config)
{
	struct grtrace_config *old = rcu_dereference_protected(current_config,
							       lockdep_is_held(&grtrace_mutex));

	rcu_assign_pointer(current_config, config);
	if (grtrace_config_leaves_out(config))
		static_branch_enable(&grtrace_gated);
	else
		static_branch_disable(&grtrace_gated);
	synchronize_rcu();
	kfree(old);
}

static bool fits(const struct grtrace_config *config)
{
	return config->subbuf_size % PAGE_SIZE == 0 &&
	       config->subbuf_size * config->subbuf_count <= GRTRACE_CPU_BUFFER_MAX;
}

/* Under grtrace_mutex. `text` is cut up. */
int grtrace_config_write(char *text)
{
	struct grtrace_config *config;
	bool reset = false;
	int error = 0;
	char *line;

	config = kmemdup(rcu_dereference_protected(current_config,
						   lockdep_is_held(&grtrace_mutex)),
			 sizeof(*config), GFP_KERNEL);
	if (!config)
		return -ENOMEM;
	while (!error && (line = strsep(&text, "\n")) != NULL)
		error = parse_pair(config, &reset, line);
	if (!error && !fits(config))
		error = -EINVAL;
	if (error) {
		kfree(config);
		return error;
	}
	replace(config);
	if (reset)
		grtrace_stats_reset();
	return 0;
}

/* ---- values to text ---------------------------------------------------------------------- */

static int show_list(char *out, size_t size, const struct grtrace_list *list)
{
	int used = 0;

	for (u32 i = 0; i < list->count; i++)
		used += scnprintf(out + used, size - used, "%s%llu", i ? "," : "",
				  list->values[i]);
	return used;
}

static int show_value(char *out, size_t size, const struct grtrace_config *config,
		      const struct entry *entry)
{
	const u64 *field = (const void *)config + entry->offset;

	if (entry->kind == GRTRACE_KEY_LIST)
		return show_list(out, size, (const struct grtrace_list *)field);
	if (entry->kind == GRTRACE_KEY_MODE)
		return scnprintf(out, size, "%s", modes[*field]);
	if (entry->kind == GRTRACE_KEY_RING)
		return scnprintf(out, size, "%lld", (s64)*field);
	return scnprintf(out, size, entry->max == U64_MAX ? "0x%llx" : "%llu", *field);
}

int grtrace_config_show(char *out, size_t size)
{
	const struct grtrace_config *config;
	int used = 0;

	rcu_read_lock();
	config = grtrace_config_get();
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		used += scnprintf(out + used, size - used, "%s ", entries[i].name);
		used += show_value(out + used, size - used, config, &entries[i]);
		used += scnprintf(out + used, size - used, "\n");
	}
	rcu_read_unlock();
	return used;
}

void grtrace_config_metadata(void)
{
	char text[GRTRACE_TEXT_SIZE], usual[GRTRACE_TEXT_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		int used = scnprintf(text, sizeof(text), "%s ", entries[i].name);

		usual[0] = text[used] = 0;
		show_value(usual, sizeof(usual) - used, &defaults, &entries[i]);
		rcu_read_lock();
		show_value(text + used, sizeof(text) - used, grtrace_config_get(), &entries[i]);
		rcu_read_unlock();
		if (strcmp(text + used, usual))
			grtrace_metadata(GRTRACE_METADATA_CONFIG, 0, 0, 0, text);
	}
}

int grtrace_config_init(void)
{
	struct grtrace_config *config = kmemdup(&defaults, sizeof(defaults), GFP_KERNEL);

	if (!config)
		return -ENOMEM;
	RCU_INIT_POINTER(current_config, config);
	return 0;
}

void grtrace_config_finish(void)
{
	kfree(rcu_dereference_protected(current_config, true));
}
