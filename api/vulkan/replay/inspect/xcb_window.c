/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/replay/inspect/xcb_window.h"

#include "base/clock.h"
#include "tracesmith/error.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY     "libxcb.so.1"
#define SHOW_MAX_NS 2000000000u /* so long a window may need to come up */
#define TITLE       "tsreplay"

enum {
    EVENT_MAP_NOTIFY = 19,
    CLASS_INPUT_OUTPUT = 1,
    MASK_BACK_PIXEL = 2,
    MASK_EVENTS = 2048,
    EVENTS_STRUCTURE = 131072,
    CONFIGURE_WIDTH = 4,
    CONFIGURE_HEIGHT = 8,
    ATOM_STRING = 31,
    ATOM_WM_NAME = 39,
};

struct cookie {
    unsigned sequence;
};

struct screen {
    uint32_t root, colormap, white, black, masks;
    uint16_t width, height, width_mm, height_mm, maps_min, maps_max;
    uint32_t visual;
};

struct screens {
    struct screen *data;
    int left, index;
};

struct event {
    uint8_t type; /* bit 7: sent by another client */
};

struct vk_xcb {
    void *library;
    xcb_connection_t *connection;
    struct screen *screen;
    struct cookie (*create_window)(xcb_connection_t *, uint8_t depth, xcb_window_t, xcb_window_t up,
                                   int16_t x, int16_t y, uint16_t width, uint16_t height,
                                   uint16_t border, uint16_t class, xcb_visualid_t, uint32_t mask,
                                   const void *values);
    struct cookie (*map_window)(xcb_connection_t *, xcb_window_t);
    struct cookie (*configure_window)(xcb_connection_t *, xcb_window_t, uint16_t mask,
                                      const void *values);
    struct cookie (*change_property)(xcb_connection_t *, uint8_t mode, xcb_window_t, uint32_t name,
                                     uint32_t type, uint8_t format, uint32_t size,
                                     const void *data);
    struct event *(*poll_for_event)(xcb_connection_t *);
    uint32_t (*generate_id)(xcb_connection_t *);
    int (*flush)(xcb_connection_t *);
    int (*has_error)(xcb_connection_t *);
    void (*disconnect)(xcb_connection_t *);
};

/* ---- the connection ---------------------------------------------------------------------- */

static bool find_functions(struct vk_xcb *x)
{
    const struct {
        const char *name;
        void *place;
    } wanted[] = {
        {"xcb_create_window", &x->create_window},
        {"xcb_map_window", &x->map_window},
        {"xcb_configure_window", &x->configure_window},
        {"xcb_change_property", &x->change_property},
        {"xcb_poll_for_event", &x->poll_for_event},
        {"xcb_generate_id", &x->generate_id},
        {"xcb_flush", &x->flush},
        {"xcb_connection_has_error", &x->has_error},
        {"xcb_disconnect", &x->disconnect},
    };

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        void *address = dlsym(x->library, wanted[i].name);
        if (!address)
            return false;
        memcpy(wanted[i].place, &address, sizeof(address));
    }
    return true;
}

static bool find_screen(struct vk_xcb *x, int number)
{
    const void *(*get_setup)(xcb_connection_t *) =
        (const void *(*)(xcb_connection_t *))dlsym(x->library, "xcb_get_setup");
    struct screens (*roots)(const void *) =
        (struct screens(*)(const void *))dlsym(x->library, "xcb_setup_roots_iterator");
    void (*next)(struct screens *) =
        (void (*)(struct screens *))dlsym(x->library, "xcb_screen_next");
    struct screens screens;

    if (!get_setup || !roots || !next)
        return false;
    screens = roots(get_setup(x->connection));
    for (; number > 0 && screens.left > 1; number--)
        next(&screens);
    x->screen = screens.left ? screens.data : NULL;
    return x->screen;
}

static int open_connection(struct vk_xcb *x)
{
    xcb_connection_t *(*connect)(const char *, int *);
    const char *display = getenv("DISPLAY");
    int number = 0;

    x->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!x->library)
        return tsm_fail(TSM_E_NOT_FOUND, "no window can be shown: %s; install libxcb1", dlerror());
    connect = (xcb_connection_t * (*)(const char *, int *)) dlsym(x->library, "xcb_connect");
    if (!connect || !find_functions(x))
        return tsm_fail(TSM_E_UNSUPPORTED, "no window can be shown: " LIBRARY " is another one");
    x->connection = connect(NULL, &number);
    if (x->has_error(x->connection) || !find_screen(x, number))
        return tsm_fail(TSM_E_NOT_FOUND,
                        "no window can be shown: no X server at DISPLAY \"%s\"; leave out "
                        "--present, or use xvfb-run",
                        display ? display : "");
    return 0;
}

int vk_xcb_create(struct vk_xcb **out)
{
    struct vk_xcb *x = calloc(1, sizeof(*x));
    int error = x ? open_connection(x) : tsm_fail(TSM_E_MEMORY, "no memory for a window");

    if (error)
        vk_xcb_destroy(x);
    else
        *out = x;
    return error;
}

/* The library stays: drivers may have been given the connection's functions. */
void vk_xcb_destroy(struct vk_xcb *x)
{
    if (x && x->connection)
        x->disconnect(x->connection);
    free(x);
}

xcb_connection_t *vk_xcb_connection(const struct vk_xcb *x)
{
    return x->connection;
}

/* ---- windows ----------------------------------------------------------------------------- */

/* Waits until the window is on the screen: earlier drawing is lost. */
static bool is_shown(struct vk_xcb *x)
{
    uint64_t until = tsm_monotonic_ns() + SHOW_MAX_NS;
    const struct timespec pause = {0, 1000000};
    bool shown = false;

    while (!shown && !x->has_error(x->connection) && tsm_monotonic_ns() < until) {
        struct event *event = x->poll_for_event(x->connection);
        shown = event && (event->type & 127) == EVENT_MAP_NOTIFY;
        if (!event)
            nanosleep(&pause, NULL);
        free(event);
    }
    return shown;
}

int vk_xcb_window(struct vk_xcb *x, uint32_t width, uint32_t height, xcb_window_t *out)
{
    const uint32_t values[] = {x->screen->black, EVENTS_STRUCTURE};
    xcb_window_t window = x->generate_id(x->connection);

    if (width > UINT16_MAX || height > UINT16_MAX)
        return tsm_fail(TSM_E_UNSUPPORTED, "no window is %u x %u large", width, height);
    x->create_window(x->connection, 0, window, x->screen->root, 0, 0, (uint16_t)width,
                     (uint16_t)height, 0, CLASS_INPUT_OUTPUT, x->screen->visual,
                     MASK_BACK_PIXEL | MASK_EVENTS, values);
    x->change_property(x->connection, 0, window, ATOM_WM_NAME, ATOM_STRING, 8, sizeof(TITLE) - 1,
                       TITLE);
    x->map_window(x->connection, window);
    x->flush(x->connection);
    if (!is_shown(x))
        return tsm_fail(TSM_E_DEVICE, "the X server does not show a window");
    *out = window;
    return 0;
}

void vk_xcb_resize(struct vk_xcb *x, xcb_window_t window, uint32_t width, uint32_t height)
{
    const uint32_t values[] = {width, height};

    x->configure_window(x->connection, window, CONFIGURE_WIDTH | CONFIGURE_HEIGHT, values);
    x->flush(x->connection);
}
