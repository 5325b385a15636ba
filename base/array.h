/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing arrays for code that may use malloc (never on a traced program's call path): a pointer, a
 * count and a capacity in the owner's struct, all zero at first; free() releases the pointer. The
 * macros evaluate their arguments more than once. Those that may grow return false, and change
 * nothing, when out of memory.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Grows the array at *items (a pointer to an object pointer) so that *capacity >= need: doubled, at
 * least 16. */
bool tsm_array_grow(void *items, size_t *capacity, size_t need, size_t size);

/* The same, and sets the new elements to 0. */
bool tsm_array_grow_zeroed(void *items, size_t *capacity, size_t need, size_t size);

/* Gives the array at *items room for exactly `count` elements. */
bool tsm_array_resize(void *items, size_t count, size_t size);

/* Moves the elements from `at` on up by one. */
static inline void tsm_array_shift_up(void *items, size_t count, size_t at, size_t size)
{
    if (at < count)
        memmove((char *)items + (at + 1) * size, (char *)items + at * size, (count - at) * size);
}

/* Moves the elements after `at` down by one; `count` counts the removed one. */
static inline void tsm_array_shift_down(void *items, size_t count, size_t at, size_t size)
{
    if (at + 1 < count)
        memmove((char *)items + at * size, (char *)items + (at + 1) * size,
                (count - at - 1) * size);
}

/* Makes room for `need` elements in all. */
#define TSM_ARRAY_RESERVE(items, capacity, need)                                                   \
    ((need) <= (capacity) ||                                                                       \
     tsm_array_grow((void *)&(items), &(capacity), (need), sizeof(*(items))))

/* The same for an array in which each element up to the capacity counts: new ones are 0. */
#define TSM_ARRAY_EXTEND(items, capacity, need)                                                    \
    ((need) <= (capacity) ||                                                                       \
     tsm_array_grow_zeroed((void *)&(items), &(capacity), (need), sizeof(*(items))))

/* Makes room for exactly `count` elements: for short arrays without a capacity. */
#define TSM_ARRAY_RESIZE(items, count) tsm_array_resize((void *)&(items), (count), sizeof(*(items)))

/* Appends the value. */
#define TSM_ARRAY_PUSH(items, count, capacity, ...)                                                \
    (TSM_ARRAY_RESERVE(items, capacity, (count) + 1) && ((items)[(count)++] = __VA_ARGS__, true))

/* Inserts the value before the element at `at`. */
#define TSM_ARRAY_INSERT(items, count, capacity, at, ...)                                          \
    (TSM_ARRAY_RESERVE(items, capacity, (count) + 1) &&                                            \
     (tsm_array_shift_up((items), (count), (at), sizeof(*(items))), (count)++,                     \
      (items)[at] = __VA_ARGS__, true))

/* Removes the element at `at`; the order of the others stays. */
#define TSM_ARRAY_REMOVE(items, count, at)                                                         \
    (tsm_array_shift_down((items), (count), (at), sizeof(*(items))), (void)(count)--)

/* Sets `at`, a size_t variable, to the first index below `count` for which `condition` holds, or to
 * `count`. The condition names `at`; it is false before that index and true from there on. */
#define TSM_BISECT(at, count, condition)                                                           \
    do {                                                                                           \
        size_t bisect_low = 0, bisect_high = (count);                                              \
        while (bisect_low < bisect_high) {                                                         \
            (at) = bisect_low + (bisect_high - bisect_low) / 2;                                    \
            if (condition)                                                                         \
                bisect_high = (at);                                                                \
            else                                                                                   \
                bisect_low = (at) + 1;                                                             \
        }                                                                                          \
        (at) = bisect_low;                                                                         \
    } while (0)

#endif
