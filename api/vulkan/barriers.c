/* SPDX-License-Identifier: Apache-2.0
 *
 * Work and barriers in command buffers. Work goes through all stages of its pipeline, whether its
 * shaders use them or not. Queries, events, time stamps, changes of layouts and what only sets
 * state count as no work; a call that is not known here counts as work that only a barrier for all
 * commands orders.
 */
#include "api/barriers_of.h"

#include "api/waits_of.h"

#include <string.h>

/* Stages, those of drawing in their order. */
#define FETCH    TSM_STAGE_FETCH /* of indirect commands */
#define INPUT    0x2u            /* indices and vertex attributes */
#define VERTEX   0x4u
#define GEOMETRY 0x8u  /* tessellation, geometry, transform feedback */
#define MESH     0x10u /* task and mesh */
#define EARLY    0x20u /* tests */
#define FRAGMENT 0x40u
#define LATE     0x80u
#define COLOR    0x100u
#define COMPUTE  0x200u
#define COPY     0x400u
#define CLEAR    0x800u
#define BLIT     0x1000u /* and resolve */
#define RAYS     0x2000u
#define BUILD    0x4000u /* acceleration structures */
#define OTHER    0x8000u

#define ATTACHMENTS   (EARLY | LATE | COLOR)
#define FROM_EARLY    (EARLY | FRAGMENT | LATE | COLOR)
#define FROM_GEOMETRY (GEOMETRY | FROM_EARLY)
#define FROM_VERTEX   (VERTEX | FROM_GEOMETRY)
#define UP_TO_INPUT   (FETCH | INPUT)
#define UP_TO_VERTEX  (UP_TO_INPUT | VERTEX)
#define UP_TO_EARLY   (UP_TO_VERTEX | GEOMETRY | MESH | EARLY)
#define DRAWING       (UP_TO_EARLY | FROM_EARLY)
#define TRANSFER      (COPY | CLEAR | BLIT)

#define RESOLVE_AND_BLIT 0x600000000ull /* flags */
#define CONTINUES_PASS   2u             /* flag of a begin */

/* Flags of stages, each with the stages before it or behind it. One that covers a part of ours
 * counts as little as that part does. */
static const struct {
    uint64_t flag;
    struct tsm_barrier covers;
} flags[] = {
    {0x1, {0, TSM_STAGES_ALL}}, /* top of pipe */
    {0x2, {FETCH, FETCH}},      /* indirect commands */
    {0x4, {UP_TO_INPUT, INPUT | FROM_VERTEX}},
    {0x8, {UP_TO_VERTEX, FROM_VERTEX}},
    {0x10, {UP_TO_VERTEX, FROM_GEOMETRY}}, /* tessellation */
    {0x20, {UP_TO_VERTEX, FROM_EARLY}},
    {0x40, {UP_TO_VERTEX, FROM_EARLY}}, /* geometry */
    {0x80, {UP_TO_EARLY | FRAGMENT, FRAGMENT | LATE | COLOR}},
    {0x100, {UP_TO_EARLY, FROM_EARLY}},
    {0x200, {UP_TO_EARLY | FRAGMENT | LATE, LATE | COLOR}},
    {0x400, {UP_TO_EARLY | FRAGMENT | LATE | COLOR, COLOR}},
    {0x800, {FETCH | COMPUTE, COMPUTE}},
    {0x1000, {TRANSFER, TRANSFER}},
    {0x2000, {TSM_STAGES_ALL, 0}}, /* bottom of pipe */
    {0x8000, {DRAWING, DRAWING}},
    {0x10000, {TSM_STAGES_ALL, TSM_STAGES_ALL}},
    {0x80000, {FETCH, MESH | FROM_EARLY}}, /* task */
    {0x100000, {FETCH | MESH, FROM_EARLY}},
    {0x200000, {FETCH | RAYS, RAYS}},
    {0x400000, {UP_TO_EARLY & ~EARLY, FROM_EARLY}},     /* shading rate */
    {0x1000000, {UP_TO_VERTEX | GEOMETRY, FROM_EARLY}}, /* transform feedback */
    {0x2000000, {FETCH | BUILD, BUILD}},
    {1ull << 32, {COPY, COPY}},
    {1ull << 35, {CLEAR, CLEAR}},
    {1ull << 36, {FETCH, INPUT | FROM_VERTEX}}, /* indices */
    {1ull << 37, {UP_TO_INPUT, FROM_VERTEX}},   /* attributes */
    {1ull << 38, {UP_TO_VERTEX | MESH, MESH | FROM_VERTEX}},
};

/* Calls by their names, the first that fits: "*" at the end stands for the rest of a name. */
static const struct {
    const char *name;
    enum tsm_recorded_kind kind;
    uint16_t stages;
} calls[] = {
    {"vkBeginCommandBuffer", TSM_RECORDED_BEGINS, 0},
    {"vkResetCommandBuffer", TSM_RECORDED_BEGINS, 0},
    {"vkFreeCommandBuffers", TSM_RECORDED_FREES, 0},
    {"vkQueueSubmit*", TSM_RECORDED_SUBMITS, 0},
    {"vkQueuePresentKHR", TSM_RECORDED_PRESENTS, 0},
    {"vkCmdPipelineBarrier*", TSM_RECORDED_BARRIERS, 0},
    {"vkCmdExecuteCommands", TSM_RECORDED_EXECUTES, 0},
    {"vkCmdBeginRenderPass*", TSM_RECORDED_PASS_BEGINS, ATTACHMENTS},
    {"vkCmdBeginRendering*", TSM_RECORDED_PASS_BEGINS, ATTACHMENTS},
    {"vkCmdEndRenderPass*", TSM_RECORDED_PASS_ENDS, ATTACHMENTS},
    {"vkCmdEndRendering*", TSM_RECORDED_PASS_ENDS, ATTACHMENTS},
    {"vkCmdNextSubpass*", TSM_RECORDED_WORK, ATTACHMENTS},
    {"vkCmdClearAttachments", TSM_RECORDED_WORK, ATTACHMENTS},
    {"vkCmdDispatch", TSM_RECORDED_WORK, COMPUTE},
    {"vkCmdDispatchBase*", TSM_RECORDED_WORK, COMPUTE},
    {"vkCmdDispatchIndirect*", TSM_RECORDED_WORK, FETCH | COMPUTE},
    {"vkCmdDrawMeshTasksIndirect*", TSM_RECORDED_WORK, FETCH | MESH | FROM_EARLY},
    {"vkCmdDrawMeshTasks*", TSM_RECORDED_WORK, MESH | FROM_EARLY},
    {"vkCmdDrawCluster*", TSM_RECORDED_WORK, OTHER},
    {"vkCmdDrawIndirect*", TSM_RECORDED_WORK, FETCH | INPUT | FROM_VERTEX},
    {"vkCmdDrawIndexedIndirect*", TSM_RECORDED_WORK, FETCH | INPUT | FROM_VERTEX},
    {"vkCmdDraw*", TSM_RECORDED_WORK, INPUT | FROM_VERTEX},
    {"vkCmdTraceRaysKHR", TSM_RECORDED_WORK, RAYS},
    {"vkCmdTraceRaysNV", TSM_RECORDED_WORK, RAYS},
    {"vkCmdTraceRaysIndirect*", TSM_RECORDED_WORK, FETCH | RAYS},
    {"vkCmdBuildAccelerationStructuresIndirect*", TSM_RECORDED_WORK, FETCH | BUILD},
    {"vkCmdBuildAccelerationStructure*", TSM_RECORDED_WORK, BUILD},
    {"vkCmdCopyBuffer*", TSM_RECORDED_WORK, COPY},
    {"vkCmdCopyImage", TSM_RECORDED_WORK, COPY},
    {"vkCmdCopyImage2*", TSM_RECORDED_WORK, COPY},
    {"vkCmdCopyImageToBuffer*", TSM_RECORDED_WORK, COPY},
    {"vkCmdCopyQueryPoolResults", TSM_RECORDED_WORK, COPY},
    {"vkCmdBlitImage*", TSM_RECORDED_WORK, BLIT},
    {"vkCmdResolveImage*", TSM_RECORDED_WORK, BLIT},
    {"vkCmdClear*", TSM_RECORDED_WORK, CLEAR},
    {"vkCmdFillBuffer", TSM_RECORDED_WORK, CLEAR},
    {"vkCmdUpdateBuffer", TSM_RECORDED_WORK, COPY | CLEAR},
    /* No work. */
    {"vkCmdBind*", 0, 0},
    {"vkCmdPush*", 0, 0},
    {"vkCmdSet*", 0, 0},
    {"vkCmdDebug*", 0, 0},
    {"vkCmdInsert*", 0, 0},
    {"vkCmdWaitEvents*", 0, 0},
    {"vkCmdReset*", 0, 0},
    {"vkCmdBeginQuery*", 0, 0},
    {"vkCmdEndQuery*", 0, 0},
    {"vkCmdBeginDebugUtilsLabelEXT", 0, 0},
    {"vkCmdEndDebugUtilsLabelEXT", 0, 0},
    {"vkCmdBeginTransformFeedback*", 0, 0},
    {"vkCmdEndTransformFeedback*", 0, 0},
    {"vkCmdWriteTimestamp*", 0, 0},
    {"vkCmdEnd*", 0, 0},
    /* Commands that nothing above knows. */
    {"vkCmd*", TSM_RECORDED_WORK, OTHER},
};

static bool is_called(const char *name, const char *pattern)
{
    const size_t size = strlen(pattern);

    return pattern[size - 1] == '*' ? strncmp(name, pattern, size - 1) == 0
                                    : strcmp(name, pattern) == 0;
}

uint32_t tsm_recorded_way_vulkan(const struct sbt_schema *schema)
{
    for (uint32_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (is_called(schema->name, calls[i].name))
            return calls[i].kind ? i + 1 : 0;
    return 0;
}

static void add_barrier(struct tsm_recorded *out, uint64_t before, uint64_t behind)
{
    struct tsm_barrier b = {0};

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        b.before |= before & flags[i].flag ? flags[i].covers.before : 0;
        b.behind |= behind & flags[i].flag ? flags[i].covers.behind : 0;
    }
    b.before |= (before & RESOLVE_AND_BLIT) == RESOLVE_AND_BLIT ? BLIT : 0;
    b.behind |= (behind & RESOLVE_AND_BLIT) == RESOLVE_AND_BLIT ? BLIT : 0;
    for (uint32_t i = 0; i < out->barrier_count; i++)
        if (out->barriers[i].before == b.before && out->barriers[i].behind == b.behind)
            return;
    if (b.before && b.behind && out->barrier_count < TSM_BARRIERS_MAX)
        out->barriers[out->barrier_count++] = b;
}

static bool is_member(const struct sbt_step *step, const char *name)
{
    return step->kind == SBT_STEP_VALUE && step->member && strcmp(step->member->name, name) == 0;
}

/* Opens the structured value of a field. Returns false if there is none. */
static bool begin(const struct tsm_wait_visit *v, const char *field, struct sbt_value *value,
                  struct sbt_walk *walk)
{
    const int i = tsm_wait_field(v->schema, field);

    *value = (struct sbt_value){.data = NULL};
    return i >= 0 && sbt_reader_value(v->reader, v->record, (uint32_t)i, value) == 1 &&
           sbt_walk_begin(walk, v->reader, v->schema->fields[i].detail, value->data, value->size) ==
               0;
}

/* Each barrier of the newer call has stages of its own; those before come first. */
static void read_barriers(struct tsm_recorded *out, const struct tsm_wait_visit *v)
{
    uint64_t before = 0;
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;

    if (tsm_wait_field(v->schema, "srcStageMask") >= 0) {
        add_barrier(out, tsm_wait_slot(v, "srcStageMask", 0), tsm_wait_slot(v, "dstStageMask", 0));
        return;
    }
    if (begin(v, "pDependencyInfo", &value, &walk))
        while (sbt_walk_next(&walk, &step) == 1) {
            if (is_member(&step, "srcStageMask"))
                before = step.number;
            if (is_member(&step, "dstStageMask"))
                add_barrier(out, before, step.number);
        }
    sbt_value_finish(&value);
}

/* A buffer that goes on in a pass of another one has barriers for that pass alone. */
static bool continues_pass(const struct tsm_wait_visit *v)
{
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;
    bool found = false;

    if (begin(v, "pBeginInfo", &value, &walk))
        while (!found && sbt_walk_next(&walk, &step) == 1)
            found = is_member(&step, "flags") && step.number & CONTINUES_PASS;
    sbt_value_finish(&value);
    return found;
}

void tsm_recorded_read_vulkan(struct tsm_recorded *out, uint32_t way, struct sbt_reader *reader,
                              const struct sbt_record *record, const struct sbt_schema *schema)
{
    const struct tsm_wait_visit v = {.reader = reader, .record = record, .schema = schema};

    out->kind = calls[way - 1].kind;
    out->stages = calls[way - 1].stages;
    if (out->kind == TSM_RECORDED_BARRIERS)
        read_barriers(out, &v);
    else if (out->kind == TSM_RECORDED_BEGINS)
        out->is_inside = continues_pass(&v);
}
