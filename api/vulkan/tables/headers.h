/* SPDX-License-Identifier: Apache-2.0
 *
 * All of Vulkan that can be compiled anywhere on Linux: vulkan_core.h, the beta extensions, and the
 * window systems whose few opaque types are declared here instead of including their headers, so
 * that building needs none of them. Beside the real headers these declarations are repetitions.
 */
#ifndef API_VULKAN_TABLES_HEADERS_H
#define API_VULKAN_TABLES_HEADERS_H

#include <stdint.h>

/* We never call the loader's functions by name: only their types are wanted. */
#define VK_NO_PROTOTYPES

/* X11/X.h, X11/Xlib.h, X11/extensions/randr.h */
typedef struct _XDisplay Display;
typedef unsigned long Window;
typedef unsigned long VisualID;
typedef unsigned long RROutput;

/* xcb/xcb.h, xcb/xproto.h */
typedef struct xcb_connection_t xcb_connection_t;
typedef uint32_t xcb_window_t;
typedef uint32_t xcb_visualid_t;

/* wayland-client.h */
struct wl_display;
struct wl_surface;

#include <vulkan/vulkan_core.h>

#include <vulkan/vulkan_beta.h>
#include <vulkan/vulkan_wayland.h>
#include <vulkan/vulkan_xcb.h>
#include <vulkan/vulkan_xlib.h>
#include <vulkan/vulkan_xlib_xrandr.h>

#endif
