/* SPDX-License-Identifier: Apache-2.0
 *
 * Two pictures of the program's own, shown in turn on the first screen: dumb buffers, a mode, page
 * flips. Without libdrm: what is asked of the kernel is what is written here. With PAST, so many
 * more ioctls that go past libc. Usage: page_flips COUNT [PAST]
 */
#include <drm.h>
#include <drm_mode.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { COUNT_MAX = 64 };

static int fd;

static void ask(unsigned long request, void *argument, const char *name)
{
    while (ioctl(fd, request, argument) != 0) {
        if (errno == EINTR || errno == EAGAIN)
            continue;
        perror(name);
        exit(1);
    }
}
#define ASK(name, argument) ask(DRM_IOCTL_##name, argument, #name)

struct screen {
    uint32_t crtc, connector;
    struct drm_mode_modeinfo mode;
};

static void find_screen(struct screen *out)
{
    static uint32_t crtcs[COUNT_MAX], connectors[COUNT_MAX], encoders[COUNT_MAX], fbs[COUNT_MAX];
    static struct drm_mode_modeinfo modes[COUNT_MAX];
    struct drm_mode_card_res resources = {
        .fb_id_ptr = (uintptr_t)fbs,
        .count_fbs = COUNT_MAX,
        .crtc_id_ptr = (uintptr_t)crtcs,
        .count_crtcs = COUNT_MAX,
        .connector_id_ptr = (uintptr_t)connectors,
        .count_connectors = COUNT_MAX,
        .encoder_id_ptr = (uintptr_t)encoders,
        .count_encoders = COUNT_MAX,
    };
    struct drm_mode_get_connector connector = {0};

    ASK(MODE_GETRESOURCES, &resources);
    if (!resources.count_crtcs || !resources.count_connectors)
        exit(77);
    connector.connector_id = connectors[0];
    ASK(MODE_GETCONNECTOR, &connector); /* looks at the screen, and counts */
    connector = (struct drm_mode_get_connector){
        .connector_id = connectors[0], .modes_ptr = (uintptr_t)modes, .count_modes = COUNT_MAX};
    ASK(MODE_GETCONNECTOR, &connector);
    if (!connector.count_modes)
        exit(77);
    *out = (struct screen){crtcs[0], connectors[0], modes[0]};
}

/* Returns the framebuffer: all of one colour. */
static uint32_t make_picture(const struct screen *screen, uint32_t colour)
{
    struct drm_mode_create_dumb dumb = {
        .width = screen->mode.hdisplay, .height = screen->mode.vdisplay, .bpp = 32};
    struct drm_mode_map_dumb map = {0};
    struct drm_mode_fb_cmd fb = {0};
    uint32_t *pixels;

    ASK(MODE_CREATE_DUMB, &dumb);
    map.handle = dumb.handle;
    ASK(MODE_MAP_DUMB, &map);
    pixels = mmap(NULL, dumb.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)map.offset);
    if (pixels == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    for (uint64_t i = 0; i < dumb.size / 4; i++)
        pixels[i] = colour;
    munmap(pixels, dumb.size);
    fb = (struct drm_mode_fb_cmd){.width = dumb.width,
                                  .height = dumb.height,
                                  .pitch = dumb.pitch,
                                  .bpp = 32,
                                  .depth = 24,
                                  .handle = dumb.handle};
    ASK(MODE_ADDFB, &fb);
    return fb.fb_id;
}

static void wait_for_flip(void)
{
    struct drm_event_vblank event;

    if (read(fd, &event, sizeof(event)) != (ssize_t)sizeof(event) ||
        event.base.type != DRM_EVENT_FLIP_COMPLETE) {
        fprintf(stderr, "no page flip came back\n");
        exit(1);
    }
}

static void ask_past_libc(void)
{
    struct drm_get_cap cap = {.capability = DRM_CAP_DUMB_BUFFER};
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)SYS_ioctl), "D"((long)fd), "S"(DRM_IOCTL_GET_CAP), "d"(&cap)
                     : "rcx", "r11", "memory");
    if (result || !cap.value)
        exit(1);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1;
    struct screen screen;
    struct drm_mode_crtc crtc;
    uint32_t pictures[2];

    fd = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return 77;
    for (int i = argc > 2 ? atoi(argv[2]) : 0; i > 0; i--)
        ask_past_libc();
    find_screen(&screen);
    pictures[0] = make_picture(&screen, 0x00ff8000);
    pictures[1] = make_picture(&screen, 0x000080ff);
    crtc = (struct drm_mode_crtc){.set_connectors_ptr = (uintptr_t)&screen.connector,
                                  .count_connectors = 1,
                                  .crtc_id = screen.crtc,
                                  .fb_id = pictures[0],
                                  .mode_valid = 1,
                                  .mode = screen.mode};
    ASK(MODE_SETCRTC, &crtc);
    for (int i = 1; i <= count; i++) {
        struct drm_mode_crtc_page_flip flip = {
            .crtc_id = screen.crtc, .fb_id = pictures[i % 2], .flags = DRM_MODE_PAGE_FLIP_EVENT};
        ASK(MODE_PAGE_FLIP, &flip);
        wait_for_flip();
    }
    for (int i = 0; i < 2; i++)
        ASK(MODE_RMFB, &pictures[i]);
    printf("%d flips of %ux%u\n", count, screen.mode.hdisplay, screen.mode.vdisplay);
    return 0;
}
