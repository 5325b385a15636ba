/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/include/grtrace_bpf.h"
#include "tools/kernel/nvidia.h"
#include "tracesmith/error.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *structure, *member;
} names[GRTRACE_NVIDIA_MEMBER_COUNT] = {
#define ROW(structure_, member_) {#structure_, #member_},
    GRTRACE_NVIDIA_MEMBERS(ROW)
#undef ROW
};

static struct grtrace_nvidia_layout told;

/* ---- from a file ---- */

static bool parse(const char *line)
{
    char structure[64], member[64];
    unsigned offset, size;
    int end = 0;

    if (sscanf(line, " %63[^. ].%63s %i %i %n", structure, member, (int *)&offset, (int *)&size,
               &end) != 4 ||
        line[end] || size < 1 || size > 8 || offset > 1u << 20)
        return false;
    for (size_t i = 0; i < GRTRACE_NVIDIA_MEMBER_COUNT; i++) {
        if (strcmp(names[i].structure, structure) == 0 && strcmp(names[i].member, member) == 0) {
            told.members[i].offset = offset;
            told.members[i].size = size;
            return true;
        }
    }
    return false;
}

int tsm_nvidia_layout_read(const char *path)
{
    FILE *file = fopen(path, "re");
    char line[256];
    int number = 0, error = 0;

    if (!file)
        return tsm_fail(TSM_E_IO, "%s: %s", path, strerror(errno));
    while (!error && fgets(line, sizeof(line), file)) {
        number++;
        line[strcspn(line, "#\n")] = 0;
        if (line[strspn(line, " \t")] && !parse(line))
            error = tsm_fail(TSM_E_FORMAT,
                             "%s:%d: is no 'STRUCT.MEMBER OFFSET SIZE' of a member that is read",
                             path, number);
    }
    fclose(file);
    return error;
}

/* ---- from the module's types ---- */

static void take(struct grtrace_nvidia_layout *out, const struct btf *btf,
                 const struct btf_type *type, const char *structure)
{
    const struct btf_member *members = btf_members(type);

    for (unsigned i = 0; i < btf_vlen(type); i++) {
        const char *member = btf__name_by_offset(btf, members[i].name_off);
        __s64 size = btf__resolve_size(btf, members[i].type);

        for (size_t k = 0; k < GRTRACE_NVIDIA_MEMBER_COUNT; k++) {
            if (strcmp(names[k].structure, structure) != 0 || strcmp(names[k].member, member) != 0)
                continue;
            out->members[k].offset = btf_member_bit_offset(type, i) / 8;
            out->members[k].size = size > 0 && size <= 8 ? (__u32)size : 0;
        }
    }
}

static void look(struct grtrace_nvidia_layout *out)
{
    struct btf *kernel = btf__load_vmlinux_btf();
    struct btf *btf = kernel ? btf__load_module_btf("nvidia", kernel) : NULL;

    for (__u32 id = kernel ? btf__type_cnt(kernel) : 0; btf && id < btf__type_cnt(btf); id++) {
        const struct btf_type *type = btf__type_by_id(btf, id);

        if (btf_is_struct(type))
            take(out, btf, type, btf__name_by_offset(btf, type->name_off));
    }
    btf__free(btf);
    btf__free(kernel);
}

void tsm_nvidia_layout(struct grtrace_nvidia_layout *out)
{
    memset(out, 0, sizeof(*out));
    look(out);
    for (size_t i = 0; i < GRTRACE_NVIDIA_MEMBER_COUNT; i++) {
        if (told.members[i].size)
            out->members[i] = told.members[i];
    }
}
