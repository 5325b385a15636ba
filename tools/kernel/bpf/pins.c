/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/bpf/pins.h"

#include "base/text.h"
#include "tracesmith/error.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define CONFIG_PIN "data_config"
#define LOCKDOWN   "/sys/kernel/security/lockdown"

void tsm_bpf_pin_path(char *out, size_t size, const char *name, bool link)
{
    size_t used = tsm_format(out, size, "%s/%s", TSM_BPF_FOLDER, link ? "link_" : "");

    tsm_format(out + used, size - used, "%s", *name == '.' ? name + 1 : name);
    for (char *c = out + used; *c; c++) {
        if (*c == '.')
            *c = '_';
    }
}

int tsm_bpf_pin_open(const char *name, bool link)
{
    char path[PATH_MAX];

    tsm_bpf_pin_path(path, sizeof(path), name, link);
    return bpf_obj_get(path);
}

bool tsm_bpf_pin_exists(const char *name, bool link)
{
    char path[PATH_MAX];

    tsm_bpf_pin_path(path, sizeof(path), name, link);
    return access(path, F_OK) == 0;
}

void tsm_bpf_pin_remove(const char *name, bool link)
{
    char path[PATH_MAX];

    tsm_bpf_pin_path(path, sizeof(path), name, link);
    unlink(path);
}

void tsm_bpf_pins_clear(void)
{
    DIR *folder = opendir(TSM_BPF_FOLDER);
    struct dirent *entry;
    char path[PATH_MAX];

    while (folder && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, CONFIG_PIN) == 0)
            continue;
        tsm_format(path, sizeof(path), "%s/%s", TSM_BPF_FOLDER, entry->d_name);
        unlink(path);
    }
    if (folder)
        closedir(folder);
    tsm_bpf_state_forget();
}

/* ---- permission ---- */

/* With "confidentiality" programs may not read the kernel's memory. */
static bool locked_down(void)
{
    char text[128] = "";
    int fd = open(LOCKDOWN, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

    if (fd >= 0)
        close(fd);
    return got > 0 && strstr(text, "[confidentiality]");
}

int tsm_bpf_check(void)
{
    struct statfs mount;

    if (geteuid() != 0)
        return tsm_fail(TSM_E_UNSUPPORTED, "only root may trace the kernel: run it with sudo");
    if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "/sys/kernel/btf/vmlinux: %s: eBPF needs a kernel with "
                        "CONFIG_DEBUG_INFO_BTF; use the module",
                        strerror(errno));
    if (locked_down())
        return tsm_fail(TSM_E_UNSUPPORTED,
                        LOCKDOWN ": the kernel is locked down to "
                                 "confidentiality, which forbids eBPF as well as "
                                 "the module; boot with lockdown=integrity");
    if (statfs(TSM_BPF_MOUNT, &mount) != 0 || mount.f_type != BPF_FS_MAGIC)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        TSM_BPF_MOUNT " is not mounted: mount -t bpf bpf " TSM_BPF_MOUNT);
    if (mkdir(TSM_BPF_FOLDER, 0700) != 0 && errno != EEXIST)
        return tsm_fail(TSM_E_IO, TSM_BPF_FOLDER ": %s", strerror(errno));
    return 0;
}

/* ---- settings and state ---- */

int tsm_bpf_config_open(struct grtrace_config *out)
{
    static const struct grtrace_config usual = GRTRACE_CONFIG_DEFAULT;
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    int zero = 0, fd = tsm_bpf_pin_open(CONFIG_PIN, false);
    char path[PATH_MAX];

    if (fd >= 0 && bpf_map_lookup_elem(fd, &zero, out) == 0)
        return fd;
    if (fd >= 0)
        close(fd); /* of another version */
    tsm_bpf_pin_remove(CONFIG_PIN, false);
    fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "config", sizeof(zero), sizeof(usual), 1, &options);
    if (fd < 0)
        return tsm_fail(TSM_E_UNSUPPORTED, "the kernel refuses eBPF: %s", strerror(errno));
    tsm_bpf_pin_path(path, sizeof(path), CONFIG_PIN, false);
    *out = usual;
    if (bpf_map_update_elem(fd, &zero, &usual, BPF_ANY) == 0 && bpf_obj_pin(fd, path) == 0)
        return fd;
    tsm_fail(TSM_E_IO, "%s: %s", path, strerror(errno));
    close(fd);
    return TSM_E_IO;
}

static struct grtrace_bpf_state *shared;

void tsm_bpf_state_forget(void)
{
    if (shared)
        munmap(shared, (size_t)sysconf(_SC_PAGESIZE));
    shared = NULL;
}

struct grtrace_bpf_state *tsm_bpf_state(void)
{
    void *place;
    int fd;

    if (shared)
        return shared;
    fd = tsm_bpf_pin_open("data_state", false);
    if (fd < 0)
        return NULL;
    place = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    shared = place == MAP_FAILED ? NULL : place;
    return shared;
}
