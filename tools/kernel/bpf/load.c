/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/bpf/load.h"

#include "kernel/include/grtrace_bpf.h"

#include "kernel/bpf/grtrace.skel.h"

#include "base/text.h"
#include "tools/kernel/bpf/metadata.h"
#include "tools/kernel/bpf/pins.h"
#include "tools/kernel/nvidia.h"
#include "tracesmith/error.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Why the last program was refused: the end of what the verifier said, else libbpf's first words.
 * TS_BPF_LOG shows all of it. */
static char complaint[128];

static void keep_complaint(char *text)
{
    char *end = strstr(text, "\nprocessed "); /* the verifier's sum, after its reason */
    char *line = text;

    if (end) {
        *end = 0;
        line = strrchr(text, '\n') ? strrchr(text, '\n') + 1 : text;
    }
    if (end || !complaint[0])
        tsm_format(complaint, sizeof(complaint), "%.*s", (int)strcspn(line, "\n"), line);
}

static int hear(enum libbpf_print_level level, const char *format, va_list args)
{
    static char text[1 << 16];

    if (getenv("TS_BPF_LOG"))
        return vfprintf(stderr, format, args);
    if (level != LIBBPF_WARN)
        return 0;
    tsm_vformat(text, sizeof(text), format, args);
    keep_complaint(text);
    return 0;
}

void tsm_bpf_listen(void)
{
    libbpf_set_print(hear);
}

const char *tsm_bpf_refusal(void)
{
    return complaint[0] ? complaint : strerror(errno);
}

/* ---- loading ---- */

/* Constants are each load's own. */
static bool is_shared(const struct bpf_map *map)
{
    return !strstr(bpf_map__name(map), ".rodata");
}

/* Maps that are there already are used again: settings, and in a running session all of them. */
static int reuse_maps(struct grtrace_bpf *programs)
{
    struct bpf_map *map;

    bpf_object__for_each_map(map, programs->obj)
    {
        int fd = is_shared(map) ? tsm_bpf_pin_open(bpf_map__name(map), false) : -1;

        if (fd >= 0 && bpf_map__reuse_fd(map, fd)) {
            close(fd);
            return tsm_fail(TSM_E_IO, "eBPF: map %s cannot be used again", bpf_map__name(map));
        }
        if (fd >= 0)
            close(fd);
    }
    return 0;
}

static bool wanted(const struct tsm_bpf_probe *probe, uint64_t level)
{
    return probe->state == TSM_PROBE_FITS && probe->level <= level &&
           !tsm_bpf_pin_exists(probe->program, true);
}

/* Gives the programs the layout of NVIDIA's structs, which is known only at run time. */
static void tell_layout(struct grtrace_bpf *programs)
{
    struct grtrace_nvidia_layout layout;
    int zero = 0;

    if (!tsm_bpf_module_loaded("nvidia"))
        return;
    tsm_nvidia_layout(&layout);
    bpf_map_update_elem(bpf_map__fd(programs->maps.data_layout), &zero, &layout, BPF_ANY);
}

struct grtrace_bpf *tsm_bpf_load(uint64_t level, const struct tsm_bpf_probe *only, bool teller,
                                 uint32_t ring_size)
{
    struct grtrace_bpf *programs = grtrace_bpf__open();

    complaint[0] = 0;
    if (!programs)
        return NULL;
    for (size_t i = 0; i < tsm_bpf_probe_count; i++) {
        const struct tsm_bpf_probe *probe = &tsm_bpf_probes[i];
        bool take = wanted(probe, level) && (!only || probe == only);

        bpf_program__set_autoload(bpf_object__find_program_by_name(programs->obj, probe->program),
                                  take);
    }
    bpf_program__set_autoload(programs->progs.tell_record, teller);
    if (ring_size)
        bpf_map__set_max_entries(programs->maps.records, ring_size);
    if (reuse_maps(programs) || grtrace_bpf__load(programs)) {
        grtrace_bpf__destroy(programs);
        return NULL;
    }
    tell_layout(programs);
    return programs;
}

static void refuse(struct tsm_bpf_probe *probe, int error)
{
    probe->state = TSM_PROBE_REFUSED;
    tsm_format(probe->found, sizeof(probe->found), "%s",
               complaint[0] ? complaint : strerror(error));
}

/* An attachment stays as long as its name does, which is longer than this process. */
static bool attach(struct grtrace_bpf *programs, struct tsm_bpf_probe *probe)
{
    struct bpf_program *program = bpf_object__find_program_by_name(programs->obj, probe->program);
    struct bpf_link *link;
    char path[PATH_MAX];

    complaint[0] = 0;
    link = bpf_program__attach(program);
    tsm_bpf_pin_path(path, sizeof(path), probe->program, true);
    if (!link || bpf_link__pin(link, path)) {
        refuse(probe, errno);
        bpf_link__destroy(link);
        return false;
    }
    close(bpf_link__fd(link));
    bpf_link__disconnect(link); /* destroying would switch a kprobe off */
    bpf_link__destroy(link);
    return true;
}

void tsm_bpf_attach(struct grtrace_bpf *programs, uint64_t level, void (*attached)(const char *))
{
    for (size_t i = 0; i < tsm_bpf_probe_count; i++) {
        struct tsm_bpf_probe *probe = &tsm_bpf_probes[i];
        struct grtrace_bpf *own = NULL;

        if (!wanted(probe, level))
            continue;
        if (!programs && !(own = tsm_bpf_load(level, probe, false, 0)))
            refuse(probe, errno);
        else if (attach(own ? own : programs, probe))
            attached(probe->point);
        grtrace_bpf__destroy(own);
    }
}

void tsm_bpf_unload(struct grtrace_bpf *programs)
{
    grtrace_bpf__destroy(programs);
}

int tsm_bpf_pin_maps(struct grtrace_bpf *programs)
{
    struct bpf_map *map;
    char path[PATH_MAX];

    bpf_object__for_each_map(map, programs->obj)
    {
        if (!is_shared(map) || tsm_bpf_pin_exists(bpf_map__name(map), false))
            continue;
        tsm_bpf_pin_path(path, sizeof(path), bpf_map__name(map), false);
        if (bpf_obj_pin(bpf_map__fd(map), path))
            return tsm_fail(TSM_E_IO, "%s: %s", path, strerror(errno));
    }
    tsm_bpf_pin_path(path, sizeof(path), TSM_BPF_METADATA_PIN, false);
    if (bpf_obj_pin(bpf_program__fd(programs->progs.tell_record), path))
        return tsm_fail(TSM_E_IO, "%s: %s", path, strerror(errno));
    return 0;
}

/* ---- what is attached ---- */

/* Returns the kernel's facts about an attached program; all 0 where it is not attached. */
static struct bpf_prog_info info_of(const char *program)
{
    struct bpf_link_info link = {0};
    struct bpf_prog_info info = {0};
    uint32_t size = sizeof(link);
    int link_fd = tsm_bpf_pin_open(program, true), fd = -1;

    if (link_fd >= 0 && bpf_obj_get_info_by_fd(link_fd, &link, &size) == 0)
        fd = bpf_prog_get_fd_by_id(link.prog_id);
    size = sizeof(info);
    if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size))
        memset(&info, 0, sizeof(info));
    if (fd >= 0)
        close(fd);
    if (link_fd >= 0)
        close(link_fd);
    return info;
}

uint64_t tsm_bpf_missed(void)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < tsm_bpf_probe_count; i++)
        sum += info_of(tsm_bpf_probes[i].program).recursion_misses;
    return sum;
}

uint32_t tsm_bpf_verified(void)
{
    uint32_t most = 0;

    for (size_t i = 0; i < tsm_bpf_probe_count; i++) {
        uint32_t steps = info_of(tsm_bpf_probes[i].program).verified_insns;

        most = steps > most ? steps : most;
    }
    return most;
}
