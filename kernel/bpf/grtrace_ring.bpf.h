/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Rings and devices in order of appearance, as grtrace/ring.c of the module keeps them, and what is
 * known of fences. Included by grtrace.bpf.c alone.
 */
#ifndef GRTRACE_RING_BPF_H
#define GRTRACE_RING_BPF_H

#include <bpf/bpf_core_read.h>

#include "grtrace_emit.bpf.h"
#include "kernel_structs.h"

#define RING_MAX   256
#define DEVICE_MAX 32
#define CLASS_MAX  32

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RING_MAX);
	__type(key, struct grtrace_bpf_ring_key);
	__type(value, struct grtrace_bpf_ring);
} rings SEC(".maps");

/* Latest ring of each name. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RING_MAX);
	__type(key, struct grtrace_bpf_ring_name);
	__type(value, struct grtrace_bpf_ring);
} ring_names SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, DEVICE_MAX);
	__type(key, struct grtrace_bpf_text); /* "driver name" */
	__type(value, __u8);
} devices SEC(".maps");

/* By the address of a fence's table of functions. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CLASS_MAX);
	__type(key, __u64);
	__type(value, struct grtrace_bpf_class);
} classes SEC(".maps");

/* Words as numbers, to be compared under a mask; a power of two of them, for the verifier. */
#define WORD_MAX 32
static const struct {
	union {
		char text[8];
		__u64 letters;
	};
	__u64 mask;
	__u64 engine;
} engine_words[WORD_MAX] = {
#define ROW(part_, class)                                                                         \
	{ .text = part_, .mask = (1ull << 8 * (sizeof(part_) - 1)) - 1,                           \
	  .engine = GRTRACE_ENGINE_##class },
	GRTRACE_ENGINE_WORDS(ROW)
#undef ROW
};

struct engine_search {
	char name[40]; /* 32 letters and zeroes */
	__u32 engine;
};

/* One word, at every place of the name. */
static long look_for_word(__u32 number, void *user)
{
	struct engine_search *search = user;
	__u64 word = number & (WORD_MAX - 1), window = 0;

	for (int i = 0; i < 39; i++) {
		window = window >> 8 | (__u64)(__u8)search->name[i] << 56;
		if (engine_words[word].mask &&
		    (window & engine_words[word].mask) == engine_words[word].letters) {
			search->engine = engine_words[word].engine;
			return 1;
		}
	}
	return 0;
}

static __noinline __u32 engine_of(const char *name)
{
	struct engine_search search = { 0 };

	__builtin_memcpy(search.name, name, 32);
	bpf_loop(WORD_MAX, look_for_word, &search, 0);
	return search.engine;
}

static __noinline int tell(__u32 kind, __u32 device, __u32 ring, __u32 engine, const char *text)
{
	struct grtrace_record draft = { .type = GRTRACE_METADATA, .device = device, .ring = ring,
					.engine = engine };
	struct grtrace_metadata body = { .kind = kind };

	draft.pid = bpf_get_current_pid_tgid() >> 32;
	draft.tid = bpf_get_current_pid_tgid();
	bpf_probe_read_kernel_str(body.text, sizeof(body.text), text);
	return emit_body(&draft, &body, sizeof(body));
}

/* ---- devices ----------------------------------------------------------------------------- */

static __noinline __u32 device_find(struct device *device)
{
	struct grtrace_bpf_text text = { 0 };
	const char *driver, *name;
	__u8 *known, id;

	if (!device)
		return 0;
	driver = BPF_CORE_READ(device, driver, name);
	name = BPF_CORE_READ(device, init_name);
	if (!name)
		name = BPF_CORE_READ(device, kobj.name);
	BPF_SNPRINTF(text.text, sizeof(text.text), "%s %s", driver, name);
	known = bpf_map_lookup_elem(&devices, &text);
	if (known)
		return *known;
	if (state.device_count >= DEVICE_MAX)
		return 0;
	id = ADD(state.device_count, 1) + 1;
	if (bpf_map_update_elem(&devices, &text, &id, BPF_NOEXIST)) {
		known = bpf_map_lookup_elem(&devices, &text); /* another CPU was quicker */
		return known ? *known : 0;
	}
	tell(GRTRACE_METADATA_DEVICE, id, 0, 0, text.text);
	return id;
}

/* ---- rings ------------------------------------------------------------------------------- */

/* The ring of a name whose driver has gone gives its number to the one that came, as in the module. */
static __noinline __u32 ring_number(const struct grtrace_bpf_ring_name *name)
{
	struct grtrace_bpf_ring *before = bpf_map_lookup_elem(&ring_names, name);

	if (before && before->unloads != state.unloads)
		return before->id;
	return state.ring_count < RING_MAX ? ADD(state.ring_count, 1) + 1 : 0;
}

static __always_inline int same_name(const char *a, const char *b)
{
	const __u64 *x = (const void *)a, *y = (const void *)b;

	return x[0] == y[0] && x[1] == y[1] && x[2] == y[2] && x[3] == y[3];
}

/* `key` is new, or was not looked at since a module went: its object may be another's by now. */
static __noinline struct grtrace_bpf_ring *ring_make(const struct grtrace_bpf_ring_key *key)
{
	struct grtrace_bpf_ring ring = { 0 }, *before = bpf_map_lookup_elem(&rings, key);
	struct grtrace_bpf_ring_name name = { 0 };

	if (bpf_probe_read_kernel_str(ring.name, sizeof(ring.name), (const void *)key->name) <= 0)
		ring.name[0] = '?';
	ring.device = device_find((struct device *)key->device);
	ring.unloads = state.unloads;
	name.device = ring.device;
	__builtin_memcpy(name.name, ring.name, sizeof(name.name));
	if (before && before->device == ring.device &&
	    same_name(before->name, ring.name)) {
		before->unloads = ring.unloads;
	} else {
		ring.engine = engine_of(ring.name);
		ring.id = ring_number(&name);
		if (!ring.id)
			return NULL;
		if (!bpf_map_update_elem(&rings, key, &ring, before ? BPF_ANY : BPF_NOEXIST))
			tell(GRTRACE_METADATA_RING, ring.device, ring.id, ring.engine, ring.name);
		before = bpf_map_lookup_elem(&rings, key); /* another CPU may have been quicker */
	}
	if (before)
		bpf_map_update_elem(&ring_names, &name, before, BPF_ANY);
	return before;
}

/* NULL: there are too many. */
static __always_inline struct grtrace_bpf_ring *ring_find(const void *object, const void *name,
							  const void *device)
{
	struct grtrace_bpf_ring_key key = { (__u64)object, (__u64)name, (__u64)device };
	struct grtrace_bpf_ring *ring = bpf_map_lookup_elem(&rings, &key);

	return ring && ring->unloads == state.unloads ? ring : ring_make(&key);
}

/* ---- fences ------------------------------------------------------------------------------ */

static __noinline __u32 class_ask(__u64 ops)
{
	struct grtrace_bpf_class known = { .unloads = state.unloads };
	__u32 class = GRTRACE_CLASS_OTHER;
	char symbol[64] = { 0 };

	BPF_SNPRINTF(symbol, sizeof(symbol), "%ps", ops);
	/* A module's symbol has " [module]" after it. */
#define ROW(name, class_)                                                                         \
	if (!bpf_strncmp(symbol, sizeof(name) - 1, name) &&                                       \
	    (!symbol[sizeof(name) - 1] || symbol[sizeof(name) - 1] == ' '))                       \
		class = GRTRACE_CLASS_##class_;
	GRTRACE_FENCE_CLASSES(ROW)
#undef ROW
	known.class = class;
	bpf_map_update_elem(&classes, &ops, &known, BPF_ANY);
	return class;
}

static __always_inline __u32 class_of(const struct dma_fence *fence)
{
	__u64 ops = (__u64)fence->ops;
	struct grtrace_bpf_class *known = bpf_map_lookup_elem(&classes, &ops);

	return known && known->unloads == state.unloads ? known->class : class_ask(ops);
}

#endif
