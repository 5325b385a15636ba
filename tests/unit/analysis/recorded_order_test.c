/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests which calls count as work and on which stages, and that what barriers put into order is the
 * same however what is recorded was put together.
 */
#include "analysis/dependencies/recorded_order.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 2000u
#define ITEMS  12u

static struct tsm_recorded read(const char *name)
{
    const struct sbt_schema schema = {.type = SBT_TYPE(SBT_API_VULKAN, 1), .name = name};
    const uint32_t way = tsm_recorded_way(&schema);
    struct tsm_recorded out = {.kind = 0};

    if (way)
        tsm_recorded_read(&out, way, NULL, NULL, &schema);
    return out;
}

static void test_calls(void)
{
    const uint16_t dispatch = read("vkCmdDispatch").stages, copy = read("vkCmdCopyImage").stages,
                   other = read("vkCmdDoSomethingNewEXT").stages;

    CHECK_EQ_INT(read("vkCmdDispatch").kind, TSM_RECORDED_WORK);
    CHECK(dispatch && !(dispatch & copy) && !(dispatch & other) && !(copy & other));
    CHECK_EQ_INT(read("vkCmdDispatchIndirect").stages, dispatch | TSM_STAGE_FETCH);
    CHECK_EQ_INT(read("vkCmdDrawIndexedIndirectCountKHR").stages,
                 read("vkCmdDraw").stages | TSM_STAGE_FETCH);
    CHECK_EQ_INT(read("vkCmdCopyBufferToImage2KHR").stages, copy);
    CHECK_EQ_INT(read("vkCmdDispatchGraphAMDX").stages, other);
    CHECK_EQ_INT(read("vkCmdEndRenderPass2KHR").kind, TSM_RECORDED_PASS_ENDS);
    CHECK_EQ_INT(read("vkCmdSetScissor").kind, 0);
    CHECK_EQ_INT(read("vkCmdEndQuery").kind, 0);
    CHECK_EQ_INT(read("vkCreateBuffer").kind, 0);
    CHECK_EQ_INT(read("vkQueueSubmit2").kind, TSM_RECORDED_SUBMITS);
}

/* ---- what is put together ---------------------------------------------------------------------
 */

static uint64_t number = 1;

static unsigned draw(unsigned below)
{
    number = number * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(number >> 33) % below;
}

static uint16_t draw_stages(void)
{
    return (uint16_t)(draw(4) ? 1u << draw(4) : 1u << draw(4) | 1u << draw(4));
}

struct item {
    bool is_work;
    uint16_t stages;
    struct tsm_barrier barriers[2];
};

static void put(struct tsm_recorded_order *o, const struct item *item)
{
    if (item->is_work)
        tsm_recorded_order_work(o, item->stages);
    else
        tsm_recorded_order_barriers(o, item->barriers, 2);
}

static void test_appended(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct tsm_recorded_order all = {0}, joined = {0};
        struct item items[ITEMS];
        unsigned at = 0;

        for (unsigned i = 0; i < ITEMS; i++) {
            items[i] = (struct item){.is_work = draw(2), .stages = draw_stages()};
            for (unsigned k = 0; k < 2; k++)
                items[i].barriers[k] = (struct tsm_barrier){draw_stages(), draw_stages()};
            put(&all, &items[i]);
        }
        while (at < ITEMS) {
            struct tsm_recorded_order part = {0};

            for (unsigned count = draw(5); count && at < ITEMS; count--)
                put(&part, &items[at++]);
            tsm_recorded_order_append(&joined, &part);
        }
        CHECK(memcmp(&all, &joined, sizeof(all)) == 0);
    }
}

/* Barriers in a pass order nothing outside. */
static void test_pass(void)
{
    const struct tsm_barrier all = {TSM_STAGES_ALL, TSM_STAGES_ALL};
    const struct tsm_held none = {{0}};
    struct tsm_recorded_order o = {.is_inside = true};

    tsm_recorded_order_barriers(&o, &all, 1);
    tsm_recorded_order_work(&o, 2);
    CHECK_EQ_INT(tsm_recorded_order_waiting(&o, 2, &none, &none).some, 0);
    o.is_inside = false;
    tsm_recorded_order_barriers(&o, &all, 1);
    tsm_recorded_order_work(&o, 2);
    CHECK_EQ_INT(tsm_recorded_order_waiting(&o, 2, &none, &none).part, 2);
    CHECK_EQ_INT(tsm_recorded_order_waiting(&o, 2, &none, &none).begun, 0);
}

int main(void)
{
    test_calls();
    test_appended();
    test_pass();
    return check_result();
}
