/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/doctor/doctor.h"

#include "base/text.h"
#include "tools/locate.h"
#include "tracesmith/error.h"

#include <cpuid.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Newer than Debian 12's headers. linux/fs.h and linux/userfaultfd.h, Linux 6.7. */
struct page_scan {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define PAGEMAP_SCAN_IOCTL      _IOWR('f', 16, struct page_scan)
#define PAGE_IS_WRITTEN_MASK    2u
#define UFFD_FEATURE_ASYNC      (1u << 15)
#define UFFD_USER_MODE_ONLY_BIT 1

static void look_kernel(struct tsm_finding *out)
{
    struct utsname name;
    unsigned major = 0, minor = 0;

    if (uname(&name) != 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2) {
        tsm_found(out, TSM_HEALTH_WARN, "", "unknown system");
        return;
    }
    bool old = major < 5 || (major == 5 && minor < 10);
    tsm_found(out, old ? TSM_HEALTH_WARN : TSM_HEALTH_OK,
              old ? "TraceSmith is tested on Linux 5.10 and later" : "", "%s %s, %s", name.sysname,
              name.release, name.machine);
}

static void look_clock(struct tsm_finding *out)
{
    unsigned a = 0, b = 0, c = 0, d = 0;

    if (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8)))
        tsm_found(out, TSM_HEALTH_OK, "", "the CPU's time stamp counter is invariant");
    else
        tsm_found(out, TSM_HEALTH_WARN,
                  "times in traces may drift; virtual machines: pass the host's CPU through",
                  "the CPU does not promise an invariant time stamp counter");
}

static int scan_pages(void)
{
    static char page[4096] __attribute__((aligned(4096)));
    struct page_scan scan = {
        .size = sizeof(scan),
        .start = (uint64_t)(uintptr_t)page,
        .end = (uint64_t)(uintptr_t)page + sizeof(page),
        .category_mask = PAGE_IS_WRITTEN_MASK,
        .return_mask = PAGE_IS_WRITTEN_MASK,
    };
    int result = -1, fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        result = ioctl(fd, PAGEMAP_SCAN_IOCTL, &scan);
        close(fd);
    }
    return result;
}

static bool has_async_protection(void)
{
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_ASYNC};
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY_BIT);
    bool has = false;

    if (fd >= 0) {
        has = ioctl(fd, UFFDIO_API, &api) == 0;
        close(fd);
    }
    return has;
}

static void look_dirty_pages(struct tsm_finding *out)
{
    static const char slow[] = "mapped memory is hashed instead, which costs time with its size";

    if (scan_pages() < 0)
        tsm_found(out, TSM_HEALTH_WARN, slow, "no PAGEMAP_SCAN (Linux 6.7 and later have it)");
    else if (!has_async_protection())
        tsm_found(out, TSM_HEALTH_WARN, slow,
                  "PAGEMAP_SCAN, but userfaultfd's asynchronous write protection is refused");
    else
        tsm_found(out, TSM_HEALTH_OK, "", "PAGEMAP_SCAN and asynchronous write protection");
}

static void look_capture(struct tsm_finding *out)
{
    char path[PATH_MAX];

    if (tsm_locate(path, sizeof(path), TSM_PLACE_CAPTURE) < 0)
        tsm_found(out, TSM_HEALTH_MISSING, "install TraceSmith whole, or build it whole",
                  "libts_capture.so is not beside this program");
    else
        tsm_found(out, TSM_HEALTH_OK, "", "%s", path);
}

static void look_unwind(struct tsm_finding *out)
{
    void *library = dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL);

    if (!library) {
        tsm_found(out, TSM_HEALTH_WARN, "apt install libunwind8",
                  "no libunwind.so.8: traces carry no host stacks");
        return;
    }
    dlclose(library);
    tsm_found(out, TSM_HEALTH_OK, "", "libunwind.so.8");
}

static void look_disk(struct tsm_finding *out)
{
    struct statvfs disk;

    if (statvfs(".", &disk) != 0) {
        tsm_found(out, TSM_HEALTH_WARN, "", "this folder: %s", strerror(errno));
        return;
    }
    double free_gb = (double)disk.f_bavail * (double)disk.f_frsize / 1e9;
    bool writable = access(".", W_OK) == 0;
    if (!writable)
        tsm_found(out, TSM_HEALTH_WARN, "write traces elsewhere: tsrecord -o /path/trace.sbt",
                  "this folder cannot be written to");
    else
        tsm_found(out, free_gb < 1 ? TSM_HEALTH_WARN : TSM_HEALTH_OK,
                  free_gb < 1 ? "a trace can need gigabytes: tsrecord -o /path/trace.sbt" : "",
                  "%.1f GB free in this folder", free_gb);
}

static void look_addresses(struct tsm_finding *out)
{
    int now = personality(0xffffffff);

    if (now >= 0 && personality((unsigned long)now | ADDR_NO_RANDOMIZE) >= 0) {
        personality((unsigned long)now);
        tsm_found(out, TSM_HEALTH_OK, "", "address randomisation can be switched off for replay");
        return;
    }
    tsm_found(out, TSM_HEALTH_WARN, "containers: allow personality(2) in the seccomp profile",
              "address randomisation cannot be switched off: some recorded addresses may be taken");
}

const struct tsm_check tsm_checks_system[] = {
    {"kernel", "both", look_kernel},
    {"clock", "capture", look_clock},
    {"changed memory", "capture", look_dirty_pages},
    {"capture library", "capture", look_capture},
    {"host stacks", "capture", look_unwind},
    {"disk", "capture", look_disk},
    {"addresses", "replay", look_addresses},
    {0},
};
