/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/sequences.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void tsm_sequences_finish(struct tsm_sequences *s)
{
    for (size_t i = 0; i < s->count; i++)
        tsm_sequences_clear(s, &s->list[i]);
    for (int i = 0; i < TSM_SEQUENCE_KINDS; i++)
        tsm_map_finish(&s->numbers[i]);
    free(s->list);
    memset(s, 0, sizeof(*s));
}

struct tsm_sequence *tsm_sequences_find(struct tsm_sequences *s, enum tsm_sequence_kind kind,
                                        uint64_t number)
{
    uint64_t *place;
    bool added;

    if (!TSM_ARRAY_RESERVE(s->list, s->capacity, s->count + 1))
        return NULL;
    place = tsm_map_insert(&s->numbers[kind], number, &added);
    if (!place)
        return NULL;
    if (added) {
        s->list[s->count] = (struct tsm_sequence){.kind = kind, .number = number};
        *place = ++s->count;
    }
    return &s->list[*place - 1];
}

int tsm_sequences_wait(struct tsm_sequences *s, struct tsm_sequence *sequence, int trace,
                       const struct sbt_record *record, const struct sbt_schema *schema)
{
    size_t slots = record->slot_count * sizeof(*record->slots);
    size_t bytes = sizeof(struct tsm_waiting) + slots + record->data_size;
    struct tsm_waiting *w = malloc(bytes);
    uint8_t *place = (uint8_t *)(w + 1);

    if (!w)
        return tsm_fail(TSM_E_MEMORY, "no memory for a record of %zu bytes", bytes);
    *w = (struct tsm_waiting){.schema = schema, .record = *record, .bytes = bytes};
    if (slots)
        memcpy(place, record->slots, slots);
    if (record->data_size)
        memcpy(place + slots, record->data, record->data_size);
    w->record.slots = (const uint64_t *)(const void *)place;
    w->record.data = place + slots;
    if (sequence->last[trace])
        sequence->last[trace]->next = w;
    else
        sequence->first[trace] = w;
    sequence->last[trace] = w;
    s->waiting[trace]++;
    s->bytes += bytes;
    return 0;
}

void tsm_sequences_drop(struct tsm_sequences *s, struct tsm_sequence *sequence, int trace)
{
    struct tsm_waiting *w = sequence->first[trace];

    sequence->first[trace] = w->next;
    if (!w->next)
        sequence->last[trace] = NULL;
    s->waiting[trace]--;
    s->bytes -= w->bytes;
    free(w);
}

void tsm_sequences_clear(struct tsm_sequences *s, struct tsm_sequence *sequence)
{
    for (int i = 0; i < 2; i++)
        while (sequence->first[i])
            tsm_sequences_drop(s, sequence, i);
}

static bool is_active(const struct tsm_sequence *sequence)
{
    return !sequence->is_done && !sequence->is_put_off;
}

void tsm_sequences_put_off(struct tsm_sequences *s, size_t bytes)
{
    size_t active = 0;

    for (size_t i = 0; i < s->count; i++)
        active += is_active(&s->list[i]);
    for (size_t i = s->count; i-- > 0 && active > 1 && s->bytes > bytes;) {
        struct tsm_sequence *sequence = &s->list[i];
        if (!is_active(sequence) || (!sequence->first[0] && !sequence->first[1]))
            continue;
        tsm_sequences_clear(s, sequence);
        sequence->is_put_off = true;
        active--;
    }
}

bool tsm_sequences_again(struct tsm_sequences *s)
{
    bool again = false;

    for (size_t i = 0; i < s->count; i++) {
        struct tsm_sequence *sequence = &s->list[i];
        sequence->is_done |= !sequence->is_put_off;
        again |= sequence->is_put_off;
        sequence->is_put_off = false;
        for (int trace = 0; trace < 2; trace++)
            sequence->skip[trace] = sequence->compared + sequence->lone[trace];
    }
    return again;
}
