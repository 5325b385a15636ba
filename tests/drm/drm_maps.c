/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes mappings and descriptors between a submit and a read of its result, on amdgpu. drm_maps
 * MODE
 */
#include "tests/drm/drm_small.h"

#include <amdgpu_drm.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SIZE   8192u
#define PAGE   4096u
#define TARGET 0x7f0000200000u
#define RW     (PROT_READ | PROT_WRITE)

static uint64_t ib_offset, target_offset;
static uint32_t target_handle;
static void *ib, *target;

static void *map_as(int fd, uint64_t offset, int prot)
{
    void *memory = mmap(NULL, SIZE, prot, MAP_SHARED, fd, (off_t)offset);

    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return memory;
}

static void check(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

static void make(int fd)
{
    amdgpu_make(fd, 0x100000, &ib_offset);
    target_handle = amdgpu_make(fd, TARGET, &target_offset);
}

static void begin(int fd, int ib_prot, int target_prot)
{
    make(fd);
    ib = map_as(fd, ib_offset, ib_prot);
    target = map_as(fd, target_offset, target_prot);
    amdgpu_begin_at(fd, ib);
}

static void show(const void *memory)
{
    printf("%016llx\n", (unsigned long long)hash_of(memory, SIZE));
}

static void rounds(int fd, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        amdgpu_store(fd, i);
}

static void use(int fd)
{
    rounds(fd, 0, 3);
    show(target);
}

/* ---- descriptors ---- */

/* The descriptor that the file came with is closed. */
static void duplicated(int fd)
{
    int other;

    begin(fd, RW, RW);
    other = dup(fd);
    close(fd);
    use(other);
    munmap(target, SIZE);
    close(other);
}

/* All are closed; the mapping stays. */
static void closed(int fd)
{
    int other = dup(fd);

    begin(fd, RW, RW);
    close(fd);
    rounds(other, 0, 3);
    close(other);
    show(target);
    munmap(target, SIZE);
}

/* The object is closed; the mapping stays. */
static void closed_object(int fd)
{
    struct drm_gem_close c = {0};

    begin(fd, RW, RW);
    rounds(fd, 0, 3);
    c.handle = target_handle;
    MUST(fd, DRM_IOCTL_GEM_CLOSE, &c);
    show(target);
    munmap(target, SIZE);
}

/* Another number for the file, while the mapping is made of the first. */
static void renumbered(int fd)
{
    begin(fd, RW, RW);
    check(dup2(fd, 77) == 77, "dup2");
    close(fd);
    check(open("/dev/null", O_RDWR) == fd, "open");
    use(77);
    munmap(target, SIZE);
    close(77);
}

/* ---- rights ---- */

static void read_only(int fd)
{
    begin(fd, RW, PROT_READ);
    use(fd);
    munmap(target, SIZE);
}

static void write_only(int fd)
{
    begin(fd, PROT_WRITE, RW);
    use(fd);
}

static void rights_later(int fd)
{
    begin(fd, PROT_NONE, PROT_NONE);
    check(mprotect(ib, SIZE, RW) == 0 && mprotect(target, SIZE, PROT_READ) == 0, "mprotect");
    use(fd);
    munmap(target, SIZE);
}

static void rights_later_by_number(int fd)
{
    begin(fd, PROT_NONE, PROT_NONE);
    check(syscall(SYS_mprotect, ib, SIZE, RW) == 0, "mprotect");
    check(pkey_mprotect(target, SIZE, PROT_READ, -1) == 0, "pkey_mprotect");
    use(fd);
    munmap(target, SIZE);
}

static void rights_gone(int fd)
{
    begin(fd, RW, RW);
    rounds(fd, 0, 2);
    check(mprotect(target, SIZE, PROT_NONE) == 0 && mprotect(ib, SIZE, PROT_NONE) == 0, "mprotect");
    check(mprotect(target, SIZE, PROT_READ) == 0 && mprotect(ib, SIZE, RW) == 0, "mprotect");
    rounds(fd, 2, 4);
    show(target);
    check(mprotect(target, SIZE, PROT_NONE) == 0, "mprotect");
}

static void rights_refused(int fd)
{
    begin(fd, RW, RW);
    check(mprotect((char *)target + 1, SIZE, PROT_NONE) != 0, "a place within a page");
    check(mprotect(NULL, SIZE, PROT_NONE) != 0, "what is not mapped");
    check(mprotect(target, SIZE, RW) == 0, "mprotect");
    use(fd);
    munmap(target, SIZE);
}

static void rights_of_a_part(int fd)
{
    begin(fd, RW, RW);
    check(mprotect((char *)ib + PAGE, PAGE, PROT_READ) == 0, "mprotect");
    use(fd);
}

/* ---- places ---- */

static void *free_place(void)
{
    void *place = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    check(place != MAP_FAILED, "mmap");
    return place;
}

static void moved(int fd)
{
    begin(fd, RW, RW);
    rounds(fd, 0, 1);
    ib = mremap(ib, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, free_place());
    target = mremap(target, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, free_place());
    check(ib != MAP_FAILED && target != MAP_FAILED, "mremap");
    amdgpu_begin_at(fd, ib);
    rounds(fd, 1, 4);
    show(target);
    munmap(target, SIZE);
}

static void moved_closed(int fd)
{
    int other = dup(fd);

    begin(fd, RW, RW);
    close(fd);
    ib = (void *)syscall(SYS_mremap, ib, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, free_place());
    check(ib != MAP_FAILED, "mremap");
    amdgpu_begin_at(other, ib);
    use(other);
    munmap(target, SIZE);
    close(other);
}

/* Over the target's mapping, which goes. */
static void moved_over(int fd)
{
    begin(fd, RW, RW);
    rounds(fd, 0, 2);
    show(target);
    ib = mremap(ib, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, target);
    check(ib == target, "mremap");
    amdgpu_begin_at(fd, ib);
    target = map_as(fd, target_offset, RW);
    rounds(fd, 2, 4);
    show(target);
    munmap(target, SIZE);
}

/* mremap() of no bytes: one more mapping. */
static void doubled(int fd)
{
    void *more;

    begin(fd, RW, RW);
    more = mremap(ib, 0, SIZE, MREMAP_MAYMOVE);
    check(more != MAP_FAILED, "mremap");
    munmap(ib, SIZE);
    amdgpu_begin_at(fd, more);
    use(fd);
    munmap(target, SIZE);
}

static void move_refused(int fd)
{
    begin(fd, RW, RW);
    check(mremap(ib, SIZE, SIZE, MREMAP_FIXED, NULL) == MAP_FAILED, "mremap");
    check(mremap((char *)ib + 1, SIZE, SIZE, MREMAP_MAYMOVE) == MAP_FAILED, "mremap");
    use(fd);
    munmap(target, SIZE);
}

static void moved_in_part(int fd)
{
    void *part;

    begin(fd, RW, RW);
    part = mremap(ib, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, free_place());
    check(part != MAP_FAILED, "mremap");
    amdgpu_begin_at(fd, part);
    use(fd);
}

static void mapped_over(int fd)
{
    begin(fd, RW, RW);
    rounds(fd, 0, 2);
    show(target);
    check(mmap(ib, SIZE, RW, MAP_SHARED | MAP_FIXED, fd, (off_t)target_offset) == ib, "mmap");
    show(ib);
    amdgpu_begin_at(fd, map_as(fd, ib_offset, RW));
    rounds(fd, 2, 4);
    show(ib);
    munmap(ib, SIZE);
}

static void map_refused(int fd)
{
    begin(fd, RW, RW);
    check(mmap(ib, SIZE, RW, MAP_SHARED | MAP_FIXED, 999, 0) == MAP_FAILED, "mmap");
    check(mmap(target, SIZE, RW, MAP_SHARED | MAP_FIXED, -1, 0) == MAP_FAILED, "mmap");
    check(munmap((char *)ib + 1, SIZE) != 0 && munmap(target, 0) != 0, "munmap");
    use(fd);
    munmap(target, PAGE + 1); /* as much as both pages */
}

static void unmapped_in_part(int fd)
{
    begin(fd, RW, RW);
    munmap((char *)ib + PAGE, PAGE);
    use(fd);
}

static void twice(int fd)
{
    void *other;

    begin(fd, RW, RW);
    other = map_as(fd, ib_offset, RW);
    amdgpu_begin_at(fd, other);
    rounds(fd, 0, 2);
    amdgpu_begin_at(fd, ib);
    rounds(fd, 2, 4);
    munmap(other, SIZE);
    other = map_as(fd, target_offset, PROT_READ);
    show(other);
    munmap(target, SIZE);
    show(other);
    munmap(other, SIZE);
}

/* Mapped when the work is done. */
static void mapped_late(int fd)
{
    make(fd);
    ib = map_as(fd, ib_offset, RW);
    amdgpu_begin_at(fd, ib);
    rounds(fd, 0, 3);
    target = map_as(fd, target_offset, RW);
    show(target);
    munmap(target, SIZE);
}

/* ... and never at once with what it is compared with. */
static void mapped_again(int fd)
{
    begin(fd, RW, RW);
    rounds(fd, 0, 1);
    munmap(target, SIZE);
    rounds(fd, 1, 3);
    target = map_as(fd, target_offset, PROT_READ);
    show(target);
    munmap(target, SIZE);
}

static void private_mapping(int fd)
{
    void *own;

    begin(fd, RW, RW);
    own = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, (off_t)target_offset);
    check(own != MAP_FAILED, "mmap");
    rounds(fd, 0, 2);
    show(own);
}

/* ---- many ---- */

/* More offsets than were remembered once; the first is the one that counts. */
static void many_offsets(int fd)
{
    make(fd);
    for (uint32_t i = 0; i < 5000; i++) {
        uint64_t offset;
        struct drm_gem_close c = {.handle = amdgpu_make(fd, 0x10000000 + i * 2ull * SIZE, &offset)};
        MUST(fd, DRM_IOCTL_GEM_CLOSE, &c);
    }
    ib = map_as(fd, ib_offset, RW);
    target = map_as(fd, target_offset, RW);
    amdgpu_begin_at(fd, ib);
    use(fd);
    munmap(target, SIZE);
}

static _Atomic bool enough;

static void *come_and_go(void *argument)
{
    int fd = *(int *)argument;

    while (!enough) {
        void *memory = map_as(fd, target_offset, RW);
        check(mprotect(memory, SIZE, PROT_NONE) == 0, "mprotect");
        munmap(memory, SIZE);
    }
    return NULL;
}

/* One thread waits, so that mappings are read, while another one unmaps and protects some. */
static void threads(int fd)
{
    pthread_t thread;

    begin(fd, RW, RW);
    pthread_create(&thread, NULL, come_and_go, &fd);
    for (uint32_t i = 0; i < 200; i++)
        amdgpu_store(fd, i % 4);
    enough = true;
    pthread_join(thread, NULL);
    show(target);
    munmap(target, SIZE);
}

static void forked(int fd)
{
    int status;
    pid_t child;

    begin(fd, RW, RW);
    rounds(fd, 0, 1);
    child = fork();
    if (!child)
        _exit(munmap(target, SIZE));
    waitpid(child, &status, 0);
    rounds(fd, 1, 4);
    show(target);
    munmap(target, SIZE);
}

#define MODE(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
static const struct {
    const char *name;
    void (*run)(int fd);
} modes[] = {
    MODE(duplicated),
    MODE(closed),
    MODE(closed_object),
    MODE(renumbered),
    MODE(read_only),
    MODE(write_only),
    MODE(rights_later),
    MODE(rights_later_by_number),
    MODE(rights_gone),
    MODE(rights_refused),
    MODE(rights_of_a_part),
    MODE(moved),
    MODE(moved_closed),
    MODE(moved_over),
    MODE(doubled),
    MODE(move_refused),
    MODE(moved_in_part),
    MODE(mapped_over),
    MODE(map_refused),
    MODE(unmapped_in_part),
    MODE(twice),
    MODE(private_mapping),
    MODE(mapped_late),
    MODE(mapped_again),
    MODE(many_offsets),
    MODE(threads),
    MODE(forked),
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (argc > 1 && !strcmp(modes[i].name, argv[1])) {
            modes[i].run(open_node());
            return 0;
        }
    return 2;
}
