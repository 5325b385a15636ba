/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps contexts of zstd from one execution to the next, by --wrap: each is 100 KB or more, which a
 * sanitizer maps, marks and unmaps. A context is reset by each use, also after a failed one.
 */
#include <pthread.h>
#include <zstd.h>

#define KEPT_MAX 64u

ZSTD_CCtx *__real_ZSTD_createCCtx(void);
size_t __real_ZSTD_freeCCtx(ZSTD_CCtx *context);
ZSTD_DCtx *__real_ZSTD_createDCtx(void);
size_t __real_ZSTD_freeDCtx(ZSTD_DCtx *context);
ZSTD_CCtx *__wrap_ZSTD_createCCtx(void);
size_t __wrap_ZSTD_freeCCtx(ZSTD_CCtx *context);
ZSTD_DCtx *__wrap_ZSTD_createDCtx(void);
size_t __wrap_ZSTD_freeDCtx(ZSTD_DCtx *context);

struct pool {
    void *all[KEPT_MAX];
    unsigned count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pool compress, decompress;

static void *take(struct pool *pool)
{
    void *context = NULL;

    pthread_mutex_lock(&lock);
    if (pool->count)
        context = pool->all[--pool->count];
    pthread_mutex_unlock(&lock);
    return context;
}

/* Returns false if there is no room: the caller frees the context. */
static int give(struct pool *pool, void *context)
{
    int is_kept;

    if (!context)
        return 1;
    pthread_mutex_lock(&lock);
    is_kept = pool->count < KEPT_MAX;
    if (is_kept)
        pool->all[pool->count++] = context;
    pthread_mutex_unlock(&lock);
    return is_kept;
}

ZSTD_CCtx *__wrap_ZSTD_createCCtx(void)
{
    ZSTD_CCtx *context = take(&compress);

    return context ? context : __real_ZSTD_createCCtx();
}

size_t __wrap_ZSTD_freeCCtx(ZSTD_CCtx *context)
{
    return give(&compress, context) ? 0 : __real_ZSTD_freeCCtx(context);
}

ZSTD_DCtx *__wrap_ZSTD_createDCtx(void)
{
    ZSTD_DCtx *context = take(&decompress);

    return context ? context : __real_ZSTD_createDCtx();
}

size_t __wrap_ZSTD_freeDCtx(ZSTD_DCtx *context)
{
    return give(&decompress, context) ? 0 : __real_ZSTD_freeDCtx(context);
}
