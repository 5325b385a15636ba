/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of a replay's objects does no more than what is asked concerns: what a pool has made
 * goes without a look at anything else, and what is gone takes no room. Looks are not timed: who
 * looks at the one after the others goes where nothing is.
 */
#include "api/vulkan/replay/replay.h"

#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/object.h"
#include "tests/unit/check.h"

#include <stdlib.h>

#define POOL VK_OBJECT_VkDescriptorPool
#define SET  VK_OBJECT_VkDescriptorSet

#define NOWHERE ((struct vkr_object *)8)

static struct vkr *r;

static struct vkr_object *add(uint32_t type, uint64_t id, uint64_t raw, struct vkr_object *parent)
{
    struct vkr_object *o = vkr_object_add(r, type, id, raw);

    if (CHECK(o) && parent)
        vkr_object_set_parent(o, parent);
    return o;
}

/* A reset of one pool beside another, and of an object that came later. */
static void test_children(void)
{
    struct vkr_object *pool = add(POOL, 1, 0x10, NULL), *other = add(POOL, 2, 0x20, NULL), *later;

    for (uint64_t id = 1; id <= 3; id++)
        add(SET, id, 0x100 + id, pool);
    add(SET, 4, 0x104, other);
    later = add(SET, 5, 0x105, other);
    later->next = NOWHERE;
    vkr_object_remove(r, vkr_object_find(r, SET, 2));
    vkr_object_remove_children(r, pool);
    later->next = NULL;
    for (uint64_t id = 1; id <= 5; id++)
        CHECK_EQ_INT(vkr_object_find(r, SET, id) != NULL, id > 3);
    CHECK(!pool->children && other->children == later);
    vkr_object_remove(r, other);
    CHECK(!vkr_object_find(r, SET, 4) && !vkr_object_find(r, SET, 5));
    vkr_object_remove(r, pool);
    CHECK(!r->objects.first && !r->objects.last);
}

/* Several objects may have one handle; one that stands for nothing is not searched for. */
static void test_handles(void)
{
    struct vkr_object *first = add(SET, 1, 0x10, NULL), *second = add(SET, 2, 0x10, NULL),
                      *third = add(SET, 3, 0x10, NULL);

    CHECK(vkr_object_of(r, SET, 0x10) == third);
    vkr_object_remove(r, second);
    CHECK(vkr_object_of(r, SET, 0x10) == third);
    CHECK(vkr_object_set_raw(r, third, 0x20));
    CHECK(vkr_object_of(r, SET, 0x10) == first && vkr_object_of(r, SET, 0x20) == third);
    third->previous = NOWHERE;
    CHECK(!vkr_object_of(r, SET, 0x30));
    third->previous = first;
    vkr_object_remove(r, first);
    CHECK(!vkr_object_of(r, SET, 0x10));
    vkr_object_remove(r, third);
}

/* Whatever was made before: as much room as what there is. */
static void test_room(void)
{
    struct vkr_object *pool = add(POOL, 1, 0x10, NULL);

    for (uint64_t id = 1; id <= 100000; id++) {
        add(SET, id, id << 4, pool);
        if (id % 100 == 0)
            vkr_object_remove_children(r, pool);
    }
    CHECK_EQ_INT(r->objects.places.count, 1);
    CHECK_EQ_INT(r->objects.raws.count, 1);
    CHECK(r->objects.places.capacity <= 512 && r->objects.raws.capacity <= 512);
    vkr_object_remove(r, pool);
}

static unsigned destroyed;

static VKAPI_ATTR void VKAPI_CALL count_pool(VkDevice d, VkDescriptorPool pool,
                                             const VkAllocationCallbacks *callbacks)
{
    destroyed++;
}

/*
 * A device goes with all that is its own, sets also with their pool; another one's stay. The driver
 * is told of what was left, but not where the validation layer is to name it.
 */
static void test_forget(bool validate)
{
    struct vkr_instance *instance = calloc(1, sizeof(*instance));
    struct vkr_device *gone = calloc(1, sizeof(*gone)), *stays = calloc(1, sizeof(*stays));
    struct vkr_object *pool = add(POOL, 1, 0x10, NULL), *o = NULL;

    gone->instance = stays->instance = instance;
    gone->dispatch.f.vkDestroyDescriptorPool = count_pool;
    r->options = &(struct tsm_replay_options){.validate = validate};
    destroyed = 0;
    pool->device = gone;
    for (uint64_t id = 1; id <= 6; id++) {
        o = add(SET, id, id << 4, id % 2 ? pool : NULL);
        o->device = id % 2 ? gone : stays;
    }
    vkr_forget(r, NULL, gone);
    CHECK_EQ_INT(destroyed, validate ? 0 : 1);
    for (uint64_t id = 1; id <= 6; id++)
        CHECK_EQ_INT(vkr_object_find(r, SET, id) != NULL, id % 2 == 0);
    CHECK(!vkr_object_find(r, POOL, 1) && r->objects.last == o && !r->objects.cursor);
    vkr_forget(r, NULL, stays);
    CHECK(!r->objects.first);
    r->options = NULL;
    free(gone);
    free(stays);
    free(instance);
}

int main(void)
{
    r = calloc(1, sizeof(*r));
    if (!r)
        return 1;
    test_children();
    test_handles();
    test_room();
    test_forget(false);
    test_forget(true);
    vkr_objects_finish(r);
    free(r);
    return check_result();
}
