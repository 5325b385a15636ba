// SPDX-License-Identifier: GPL-2.0
/*
 * The devices and rings that were seen, in order of appearance. Entries are made in any context and
 * live until the module goes; a ring whose driver has gone keeps its id and name.
 */
#include <linux/device.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "core.h"

#define RING_MAX   256
#define DEVICE_MAX 32

/* Ring of id i at place i - 1. No memory is taken when one comes: that may be in any context. */
static struct grtrace_ring rings[RING_MAX];
static unsigned int ring_count;
static char devices[DEVICE_MAX][GRTRACE_TEXT_SIZE]; /* "driver name" of device i at place i - 1 */
static unsigned int device_count;
static struct grtrace_ring nameless; /* id 0: of all that have no place in the table */
static DEFINE_RAW_SPINLOCK(lock);

static const struct {
	const char *part; /* of a ring's name */
	enum grtrace_engine engine;
} classes[] = {
#define ROW(part_, class) { part_, GRTRACE_ENGINE_##class },
	GRTRACE_ENGINE_WORDS(ROW)
#undef ROW
};

u8 grtrace_engine_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (strstr(name, classes[i].part))
			return classes[i].engine;
	}
	return GRTRACE_ENGINE_UNKNOWN;
}

static u8 device_find(struct device *dev, bool *is_new)
{
	char text[GRTRACE_TEXT_SIZE];
	unsigned int i;

	*is_new = false;
	if (!dev)
		return 0;
	scnprintf(text, sizeof(text), "%s %s", dev_driver_string(dev), dev_name(dev));
	for (i = 0; i < device_count; i++) {
		if (!strcmp(devices[i], text))
			return i + 1;
	}
	if (device_count == DEVICE_MAX)
		return 0;
	strscpy(devices[device_count], text, sizeof(devices[0]));
	*is_new = true;
	return ++device_count;
}

static void tell_ring(const struct grtrace_ring *ring)
{
	grtrace_metadata(GRTRACE_METADATA_RING, ring->device, ring->id, ring->engine, ring->name);
}

static void tell_device(u8 device)
{
	grtrace_metadata(GRTRACE_METADATA_DEVICE, device, 0, 0, devices[device - 1]);
}

/* The same ring of a driver that was loaded again. */
static struct grtrace_ring *adopt(const char *name, u8 device)
{
	for (unsigned int i = 0; i < ring_count; i++) {
		if (!rings[i].key && rings[i].device == device &&
		    !strncmp(rings[i].name, name, sizeof(rings[i].name) - 1))
			return &rings[i];
	}
	return NULL;
}

static struct grtrace_ring *make(const char *name, u8 device)
{
	struct grtrace_ring *ring;

	if (ring_count == RING_MAX)
		return NULL;
	ring = &rings[ring_count];
	strscpy(ring->name, name, sizeof(ring->name));
	ring->device = device;
	ring->engine = grtrace_engine_of(name);
	ring->id = ring_count + 1;
	smp_store_release(&ring_count, ring_count + 1);
	return ring;
}

static bool is(const struct grtrace_ring *ring, const void *key, const char *name,
	       struct device *dev)
{
	return READ_ONCE(ring->key) == key && ring->name_at == name && ring->dev_at == dev;
}

static struct grtrace_ring *look(const void *key, const char *name, struct device *dev)
{
	unsigned int count = smp_load_acquire(&ring_count);

	for (unsigned int i = 0; i < count; i++) {
		if (is(&rings[i], key, name, dev))
			return &rings[i];
	}
	return NULL;
}

struct grtrace_ring *grtrace_ring_find(const void *key, const char *name, struct device *dev)
{
	struct grtrace_ring *ring = look(key, name, dev);
	bool new_device = false;
	unsigned long flags;
	u8 device;

	if (likely(ring))
		return ring;
	if (!name)
		name = "?";
	raw_spin_lock_irqsave(&lock, flags);
	ring = look(key, name, dev);
	if (!ring) {
		device = device_find(dev, &new_device);
		ring = adopt(name, device) ?: make(name, device);
		if (ring) {
			ring->name_at = name;
			ring->dev_at = dev;
			WRITE_ONCE(ring->key, key);
			if (new_device)
				tell_device(device);
			tell_ring(ring);
		}
	}
	raw_spin_unlock_irqrestore(&lock, flags);
	return ring ?: &nameless;
}

void grtrace_rings_forget(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	for (unsigned int i = 0; i < ring_count; i++)
		WRITE_ONCE(rings[i].key, NULL);
	raw_spin_unlock_irqrestore(&lock, flags);
}

void grtrace_rings_metadata(void)
{
	unsigned int count = smp_load_acquire(&ring_count);

	for (unsigned int i = 0; i < device_count; i++)
		tell_device(i + 1);
	for (unsigned int i = 0; i < count; i++)
		tell_ring(&rings[i]);
}

int grtrace_rings_show(char *out, size_t size)
{
	unsigned int count = smp_load_acquire(&ring_count);
	int used = 0;

	for (unsigned int i = 0; i < count; i++)
		used += scnprintf(out + used, size - used, "ring %u device %u engine %u %s%s\n",
				  rings[i].id, rings[i].device, rings[i].engine, rings[i].name,
				  rings[i].key ? "" : " gone");
	return used;
}
