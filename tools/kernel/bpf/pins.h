/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps a session of the eBPF backend alive between commands: its maps and attachments have names
 * in the kernel's file system for such things, as the module has its files in debugfs.
 */
#ifndef TOOLS_KERNEL_BPF_PINS_H
#define TOOLS_KERNEL_BPF_PINS_H

#include "kernel/include/grtrace_bpf.h"

#include <stdbool.h>
#include <stddef.h>

#define TSM_BPF_MOUNT  "/sys/fs/bpf"
#define TSM_BPF_FOLDER TSM_BPF_MOUNT "/grtrace"

/* Path of a map or, with `link`, of a program's attachment. Dots are not allowed there. */
void tsm_bpf_pin_path(char *out, size_t size, const char *name, bool link);

/* A descriptor of what has that name, or -1. */
int tsm_bpf_pin_open(const char *name, bool link);
bool tsm_bpf_pin_exists(const char *name, bool link);
void tsm_bpf_pin_remove(const char *name, bool link);

/* Remove all of the last session but its settings. */
void tsm_bpf_pins_clear(void);

/* 0 when eBPF can be used by us here; else an error that says what to do. Makes the folder. */
int tsm_bpf_check(void);

/* The session's state, shared with the programs; NULL: there has been no session. */
struct grtrace_bpf_state *tsm_bpf_state(void);
void tsm_bpf_state_forget(void); /* after the session's maps were replaced */

/* The settings; made when there are none yet. A descriptor of their map, or a negative error. */
int tsm_bpf_config_open(struct grtrace_config *out);

#endif
