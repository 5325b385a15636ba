/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/module/cache.h"

#include <link.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "emu/cuda/core/emu.h"

/* Below, decoding takes less than a millisecond, and a parser that stays is not worth its memory.
 */
#define TEXT_MIN (32u << 10)

/* In this process: so many, the oldest goes. A record of 1 MB of PTX is some 10 KB. */
#define KEPT_COUNT 64
#define KEPT_SIZE  (4u << 20)

static struct kept {
    struct sbt_key key;
    struct tsm_buffer record;
} kept[KEPT_COUNT];
static unsigned kept_next;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- keys ---- */

/* The build of this code: the note that the linker made from what it linked. */
static int add_build(struct dl_phdr_info *info, size_t size, void *user)
{
    uintptr_t here = (uintptr_t)&kept;
    bool is_ours = false;

    for (unsigned k = 0; k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[k];
        is_ours |= h->p_type == PT_LOAD && here - (info->dlpi_addr + h->p_vaddr) < h->p_memsz;
    }
    for (unsigned k = 0; is_ours && k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[k];
        if (h->p_type == PT_NOTE)
            tsm_hasher_add(user, (const void *)(info->dlpi_addr + h->p_vaddr), h->p_memsz);
    }
    return is_ours;
}

static struct sbt_key build;

static void find_build(void)
{
    struct tsm_hasher_storage storage;
    struct tsm_hasher *h = tsm_hasher_init(&storage);

    dl_iterate_phdr(add_build, h);
    build = tsm_hasher_key(h);
}

static struct sbt_key key_of(const char *text, size_t size, unsigned target)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct tsm_hasher_storage storage;
    struct tsm_hasher *h = tsm_hasher_init(&storage);

    pthread_once(&once, find_build);
    tsm_hasher_add(h, &build, sizeof(build));
    tsm_hasher_add(h, &target, sizeof(target));
    tsm_hasher_add(h, text, size);
    return tsm_hasher_key(h);
}

/* ---- in this process ---- */

static struct kept *find_kept(const struct sbt_key *key)
{
    for (unsigned k = 0; k < KEPT_COUNT; k++)
        if (kept[k].record.size && tsm_key_equal(&kept[k].key, key))
            return &kept[k];
    return NULL;
}

static bool read_kept(const struct sbt_key *key, struct tsm_buffer *out)
{
    pthread_mutex_lock(&lock);
    const struct kept *found = find_kept(key);
    if (found)
        tsm_buffer_add(out, found->record.data, found->record.size);
    pthread_mutex_unlock(&lock);
    return found && !out->failed;
}

static void keep(const struct sbt_key *key, const struct tsm_buffer *record)
{
    if (record->size > KEPT_SIZE)
        return;
    pthread_mutex_lock(&lock);
    struct kept *slot = find_kept(key);
    if (!slot)
        slot = &kept[kept_next++ % KEPT_COUNT];
    slot->key = *key;
    tsm_buffer_finish(&slot->record);
    tsm_buffer_add(&slot->record, record->data, record->size);
    if (slot->record.failed)
        tsm_buffer_finish(&slot->record);
    pthread_mutex_unlock(&lock);
}

void emu_cache_forget(const struct sbt_key *key)
{
    if (tsm_key_is_zero(key))
        return;
    pthread_mutex_lock(&lock);
    struct kept *slot = find_kept(key);
    if (slot)
        tsm_buffer_finish(&slot->record);
    pthread_mutex_unlock(&lock);
    emu_cache_file_remove(emu_settings.cache, key);
}

/* ---- loading ---- */

static const char *recall(struct ptx_module **out, const struct sbt_key *key, const char *text,
                          size_t size, unsigned target)
{
    struct tsm_buffer record = {0};
    const char *from = read_kept(key, &record) ? "memory" : NULL;

    if (!from) {
        tsm_buffer_clear(&record);
        if (emu_cache_file_read(emu_settings.cache, key, &record))
            from = "disk";
    }
    if (from && ptx_module_recall(out, text, size, target, record.data, record.size) != PTX_OK) {
        tsm_log(TSM_LOG_INFO, "what the cache has of a module does not fit its text");
        emu_cache_forget(key);
        from = NULL;
    } else if (from && from[0] == 'd') {
        keep(key, &record);
    }
    tsm_buffer_finish(&record);
    return from;
}

static void remember(const struct ptx_module *module, const struct sbt_key *key)
{
    struct tsm_buffer record = {0};

    if (ptx_module_record(module, &record) == PTX_OK) {
        keep(key, &record);
        emu_cache_file_write(emu_settings.cache, emu_settings.cache_size, key, &record);
    }
    tsm_buffer_finish(&record);
}

int emu_cache_load(struct ptx_module **out, struct sbt_key *key_out, const char *text, size_t size,
                   unsigned target, struct ptx_log *log)
{
    uint64_t start = tsm_monotonic_ns();
    struct sbt_key key;

    *key_out = (struct sbt_key){{0}};
    if (!emu_settings.has_cache || size < TEXT_MIN)
        return ptx_module_create(out, text, size, target, log);
    key = key_of(text, size, target);
    const char *from = recall(out, &key, text, size, target);
    int status = from ? PTX_OK : ptx_module_create(out, text, size, target, log);
    if (status == PTX_OK)
        *key_out = key;
    if (status == PTX_OK && !from)
        remember(*out, &key);
    tsm_log(TSM_LOG_DEBUG, "module of %zu bytes: %s%s, %llu us", size,
            from ? "known, from " : "decoded whole", from ? from : "",
            (unsigned long long)(tsm_monotonic_ns() - start) / 1000);
    return status;
}
