/* SPDX-License-Identifier: Apache-2.0
 *
 * A window on an X server, by libxcb, which is opened when the first window is wanted. What of its
 * interface is used is declared in the .c file, so that building needs none of it.
 *
 * Source: xcb/xcb.h, xcb/xproto.h, X11 protocol.
 */
#ifndef API_VULKAN_REPLAY_INSPECT_XCB_WINDOW_H
#define API_VULKAN_REPLAY_INSPECT_XCB_WINDOW_H

#include "api/vulkan/tables/headers.h"

#include <stdbool.h>

struct vk_xcb;

/* Connect to the server of DISPLAY. TSM_E_NOT_FOUND: no libxcb, or no server. */
int vk_xcb_create(struct vk_xcb **out);
void vk_xcb_destroy(struct vk_xcb *xcb); /* its windows, too */
xcb_connection_t *vk_xcb_connection(const struct vk_xcb *xcb);

/* A window that is on the screen. */
int vk_xcb_window(struct vk_xcb *xcb, uint32_t width, uint32_t height, xcb_window_t *out);
void vk_xcb_resize(struct vk_xcb *xcb, xcb_window_t window, uint32_t width, uint32_t height);

#endif
