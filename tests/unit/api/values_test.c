/* SPDX-License-Identifier: Apache-2.0
 *
 * Values in memory that end waits, as the records of commands say.
 */
#include "api/values.h"

#include "tests/unit/check.h"

#include <string.h>

static bool ends(enum sbt_value_access kind, uint32_t size, uint64_t wanted, uint64_t value)
{
    const struct tsm_value_access wait = {.kind = kind, .value = wanted, .size = size};

    return tsm_value_ends(&wait, value);
}

static bool access_of(struct tsm_value_access *out, const char *name, uint64_t flags)
{
    const struct sbt_field fields[] = {{.name = "addr"}, {.name = "value"}, {.name = "flags"}};
    const struct sbt_schema schema = {
        .type = SBT_TYPE(SBT_API_CUDA, 392), .name = name, .field_count = 3, .fields = fields};
    const uint64_t slots[] = {0x1000, 7, flags};
    const struct sbt_record record = {.slot_count = 3, .slots = slots};

    return tsm_value_access_of(out, &record, &schema);
}

static void check_ends(void)
{
    CHECK(ends(SBT_VALUE_AT_LEAST, 4, 5, 5) && ends(SBT_VALUE_AT_LEAST, 4, 5, 6));
    CHECK(!ends(SBT_VALUE_AT_LEAST, 4, 5, 4));
    /* Values go round: 2 is 4 behind 2^32 - 2, and 2^63 behind nothing. */
    CHECK(ends(SBT_VALUE_AT_LEAST, 4, 0xfffffffe, 2) &&
          !ends(SBT_VALUE_AT_LEAST, 8, 0xfffffffe, 2));
    CHECK(!ends(SBT_VALUE_AT_LEAST, 8, 0, UINT64_C(1) << 63));
    CHECK(ends(SBT_VALUE_EQUAL, 4, 5, 5) && !ends(SBT_VALUE_EQUAL, 4, 5, 6));
    CHECK(ends(SBT_VALUE_ANY_BIT, 4, 6, 2) && !ends(SBT_VALUE_ANY_BIT, 4, 6, 9));
    CHECK(ends(SBT_VALUE_ZERO_BIT, 4, 0xffff, 0xffff) &&
          !ends(SBT_VALUE_ZERO_BIT, 4, 0xffff, 0xffff0000));
    CHECK(!ends(SBT_VALUE_WRITE, 4, 5, 5));
}

int main(void)
{
    struct tsm_value_access value;
    char text[TSM_VALUE_TEXT_MAX];

    check_ends();
    CHECK(access_of(&value, "cuStreamWaitValue32_v2", 1u << 30 | 3));
    CHECK(value.kind == SBT_VALUE_ZERO_BIT && value.size == 4 && value.address == 0x1000);
    CHECK(!strcmp(tsm_value_text(text, &value), "~(v | 0x7) != 0"));
    CHECK(access_of(&value, "cuStreamWriteValue64_ptsz", 1));
    CHECK(value.kind == SBT_VALUE_WRITE && value.size == 8 && value.value == 7);
    CHECK(!strcmp(tsm_value_text(text, &value), "v = 0x7"));
    CHECK(!access_of(&value, "cuStreamWaitEvent", 0));
    return check_result();
}
