/* SPDX-License-Identifier: Apache-2.0
 *
 * Walking through a structured value. docs/FORMAT.md section 8.1.
 *
 * Whatever the bytes and the descriptions say, the number of steps is bounded by the bytes: a
 * struct that takes none is allowed only at the top and in a chain, whose elements take two bytes
 * before they begin. So 32 levels of structs of thousands of structs of nothing cannot be.
 */
#include "base/bytes.h"
#include "format/values/structs.h"

enum { FRESH, INSIDE, OVER, BROKEN };

static int broken(struct sbt_walk *w, const char *what)
{
    w->state = BROKEN;
    return tsm_fail(TSM_E_FORMAT, "a structured value is malformed: %s", what);
}

static struct sbt_walk_frame *top(struct sbt_walk *w)
{
    return &w->frames[w->depth - 1];
}

/* A varint inside the innermost frame. */
static bool take_varint(struct sbt_walk *w, uint64_t *out)
{
    struct tsm_view v = {.at = w->at, .end = top(w)->end};

    *out = tsm_view_varint(&v);
    w->at = v.at;
    return !v.failed;
}

static uint64_t left(struct sbt_walk *w)
{
    return (uint64_t)(top(w)->end - w->at);
}

/* ---- into structs, lists and chains ---- */

static int open_frame(struct sbt_walk *w, const struct sbt_walk_frame *frame, struct sbt_step *out)
{
    if (w->depth == SBT_VALUE_DEPTH_MAX)
        return broken(w, "it nests too deep");
    out->kind = SBT_STEP_OPEN;
    out->shape = frame->shape;
    out->depth = w->depth;
    out->member = frame->member;
    out->index = frame->index;
    out->structure = frame->shape == SBT_SHAPE_STRUCT ? frame->structure : NULL;
    out->number = frame->count;
    w->frames[w->depth++] = *frame;
    return 1;
}

/* A union has one member at most; the bytes say which. */
static int open_struct(struct sbt_walk *w, struct sbt_walk_frame frame, struct sbt_step *out)
{
    uint64_t place;
    int result;

    frame.shape = SBT_SHAPE_STRUCT;
    frame.start = w->at;
    frame.count = frame.structure->member_count;
    result = open_frame(w, &frame, out);
    if (result < 0 || !(frame.structure->flags & SBT_STRUCT_UNION))
        return result;
    if (!take_varint(w, &place) || place > frame.count)
        return broken(w, "a union has no such member");
    top(w)->next = place ? place - 1 : 0;
    top(w)->count = place;
    return 1;
}

static int open_list(struct sbt_walk *w, const struct sbt_member *m, struct sbt_step *out)
{
    struct sbt_walk_frame frame = {.member = m,
                                   .index = SBT_STEP_MEMBER,
                                   .shape = SBT_SHAPE_LIST,
                                   .end = top(w)->end,
                                   .may_be_empty = true};
    uint64_t count;

    if (!take_varint(w, &count) || (count && count - 1 > left(w)))
        return broken(w, "a list is longer than its bytes");
    if (count == 0) {
        out->kind = SBT_STEP_VALUE;
        out->none = true;
        return 1;
    }
    frame.count = count - 1;
    if (m->type == SBT_FIELD_STRUCT) {
        frame.structure = sbt_structs_find(w->structs, m->detail);
        if (!frame.structure)
            return broken(w, "its struct is not described");
    }
    return open_frame(w, &frame, out);
}

static int open_chain(struct sbt_walk *w, const struct sbt_member *m, struct sbt_step *out)
{
    const struct sbt_walk_frame frame = {.member = m,
                                         .index = SBT_STEP_MEMBER,
                                         .shape = SBT_SHAPE_CHAIN,
                                         .end = top(w)->end,
                                         .may_be_empty = true};

    return open_frame(w, &frame, out);
}

/* ---- values ---- */

static int take_fixed(struct sbt_walk *w, size_t size, struct sbt_step *out)
{
    if (left(w) < size)
        return broken(w, "a number is cut off");
    out->number = size == 4 ? tsm_get_u32(w->at) : tsm_get_u64(w->at);
    w->at += size;
    return 1;
}

static int take_bytes(struct sbt_walk *w, struct sbt_step *out)
{
    uint64_t size;

    if (!take_varint(w, &size) || (size && size - 1 > left(w)))
        return broken(w, "a text or bytes are cut off");
    out->none = size == 0;
    out->size = size ? (size_t)(size - 1) : 0;
    out->data = w->at;
    w->at += out->size;
    return 1;
}

static int take_number(struct sbt_walk *w, bool is_signed, struct sbt_step *out)
{
    if (!take_varint(w, &out->number))
        return broken(w, "a number is cut off");
    if (is_signed)
        out->number = (uint64_t)tsm_unzigzag(out->number);
    return 1;
}

/* No struct. */
static int take_value(struct sbt_walk *w, enum sbt_field_type type, struct sbt_step *out)
{
    out->kind = SBT_STEP_VALUE;
    switch (type) {
    case SBT_FIELD_UINT:
    case SBT_FIELD_HEX:
    case SBT_FIELD_BOOL:
    case SBT_FIELD_HANDLE:
    case SBT_FIELD_DEVPTR:
    case SBT_FIELD_HOSTPTR:
    case SBT_FIELD_SIZE:
    case SBT_FIELD_FLAGS:
        return take_number(w, false, out);
    case SBT_FIELD_INT:
    case SBT_FIELD_ENUM:
        return take_number(w, true, out);
    case SBT_FIELD_F32:
        return take_fixed(w, 4, out);
    case SBT_FIELD_F64:
        return take_fixed(w, 8, out);
    case SBT_FIELD_STRING:
    case SBT_FIELD_BYTES:
        return take_bytes(w, out);
    case SBT_FIELD_BLOB:
    case SBT_FIELD_STRUCT:
        break;
    }
    return broken(w, "a member has a type that this build does not know");
}

/* ---- steps ---- */

/* One value of a member: the member itself, or one of its list. */
static int one_value(struct sbt_walk *w, const struct sbt_member *m, uint64_t index,
                     const struct sbt_struct *structure, struct sbt_step *out)
{
    if (m->type != SBT_FIELD_STRUCT)
        return take_value(w, m->type, out);
    if (!structure)
        return broken(w, "its struct is not described");
    return open_struct(w,
                       (struct sbt_walk_frame){
                           .structure = structure, .member = m, .index = index, .end = top(w)->end},
                       out);
}

static int next_member(struct sbt_walk *w, struct sbt_step *out)
{
    struct sbt_walk_frame *f = top(w);
    const struct sbt_member *m = &f->structure->members[f->next++];

    out->member = m;
    out->depth = w->depth;
    if (m->form == SBT_FORM_LIST)
        return open_list(w, m, out);
    if (m->form == SBT_FORM_CHAIN && m->type == SBT_FIELD_STRUCT)
        return open_chain(w, m, out);
    if (m->form != SBT_FORM_ONE)
        return broken(w, "a member has a form that this build does not know");
    return one_value(w, m, SBT_STEP_MEMBER,
                     m->type == SBT_FIELD_STRUCT ? sbt_structs_find(w->structs, m->detail) : NULL,
                     out);
}

static int next_in_list(struct sbt_walk *w, struct sbt_step *out)
{
    struct sbt_walk_frame *f = top(w);

    out->member = f->member;
    out->depth = w->depth;
    out->index = f->next++;
    return one_value(w, f->member, out->index, f->structure, out);
}

static int close_frame(struct sbt_walk *w, struct sbt_step *out)
{
    const struct sbt_walk_frame *f = top(w);
    bool is_bounded = f->shape == SBT_SHAPE_STRUCT && f->may_be_empty;

    if (is_bounded && w->at != f->end)
        return broken(w, "bytes are left over");
    if (!f->may_be_empty && w->at == f->start)
        return broken(w, "a struct in it takes no bytes");
    out->kind = SBT_STEP_CLOSE;
    out->shape = f->shape;
    out->member = f->member;
    out->index = f->index;
    out->structure = f->shape == SBT_SHAPE_STRUCT ? f->structure : NULL;
    out->depth = --w->depth;
    if (w->depth == 0)
        w->state = OVER;
    return 1;
}

static int next_in_chain(struct sbt_walk *w, struct sbt_step *out)
{
    struct sbt_walk_frame *f = top(w), element = {.may_be_empty = true};
    uint64_t id, size;

    if (!take_varint(w, &id))
        return broken(w, "a chain is cut off");
    if (id == 0)
        return close_frame(w, out);
    if (id > UINT32_MAX || !take_varint(w, &size) || size > left(w))
        return broken(w, "a chain is cut off");
    element.member = out->member = f->member;
    element.index = out->index = f->next++;
    element.end = w->at + size;
    element.structure = sbt_structs_by_id(w->structs, id);
    if (element.structure)
        return open_struct(w, element, out);
    out->kind = SBT_STEP_UNKNOWN;
    out->depth = w->depth;
    out->number = id;
    out->data = w->at;
    out->size = (size_t)size;
    w->at += size;
    return 1;
}

int sbt_walk_init(struct sbt_walk *walk, const struct sbt_structs *structs, const char *name,
                  const void *data, size_t size)
{
    const struct sbt_struct *structure = sbt_structs_find(structs, name);
    const uint8_t *at = data;

    if (!structure)
        return tsm_fail(TSM_E_NOT_FOUND, "no struct %s is described", name);
    walk->structs = structs;
    walk->at = at;
    walk->depth = 0;
    walk->state = size <= SBT_VALUE_MAX ? FRESH : BROKEN;
    walk->frames[0] = (struct sbt_walk_frame){
        .structure = structure, .index = SBT_STEP_MEMBER, .end = at + size, .may_be_empty = true};
    return 0;
}

int sbt_walk_next(struct sbt_walk *walk, struct sbt_step *out)
{
    const struct sbt_walk_frame *f;

    *out = (struct sbt_step){.index = SBT_STEP_MEMBER};
    if (walk->state == OVER)
        return 0;
    if (walk->state == BROKEN)
        return broken(walk, "it cannot be read further");
    if (walk->state == FRESH) {
        walk->state = INSIDE;
        return open_struct(walk, walk->frames[0], out);
    }
    f = top(walk);
    if (f->shape == SBT_SHAPE_CHAIN)
        return next_in_chain(walk, out);
    if (f->next == f->count)
        return close_frame(walk, out);
    return f->shape == SBT_SHAPE_LIST ? next_in_list(walk, out) : next_member(walk, out);
}
