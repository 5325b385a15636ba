/* SPDX-License-Identifier: Apache-2.0 -- calls that an older version recorded without their bytes.
 */
#include "replay/left_out.h"
#include "tests/unit/check.h"

static const struct sbt_field bytes = {"value", SBT_FIELD_BYTES, SBT_ROLE_NONE, ""};
static const struct sbt_field address = {"value", SBT_FIELD_HOSTPTR, SBT_ROLE_NONE, ""};
#define SCHEMA(field)                                                                              \
    {                                                                                              \
        SBT_TYPE(SBT_API_CUDA, 1), "set", SBT_KIND_STATE, 0, "", 1, &(field)                       \
    }

static enum tsm_treatment treatment(const struct sbt_field *recorded, const struct sbt_field *ours)
{
    const struct sbt_schema in_trace = SCHEMA(*recorded), in_build = SCHEMA(*ours);
    const struct tsm_call_description call = {&in_build, TSM_CALL_GENERATED, "test"};
    const struct tsm_api_description api = {.api = SBT_API_CUDA, .calls = &call, .call_count = 1};
    const struct sbt_record record = {.type = in_build.type, .stream = SBT_STREAM_NONE};

    return tsm_plan_treatment(&api, &record, &in_trace);
}

int main(void)
{
    CHECK_EQ_INT(treatment(&bytes, &bytes), TSM_TREAT_REPLAY);
    CHECK_EQ_INT(treatment(&address, &address), TSM_TREAT_REPLAY);
    CHECK_EQ_INT(treatment(&address, &bytes), TSM_TREAT_UNMODELLED);
    return check_result();
}
