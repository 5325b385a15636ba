#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the headers in front of us have, as flags for the compiler. Distributions carry changes back,
# so that a kernel's version says nothing about them.
# Usage: headers.sh SRCTREE
set -eu
tree=$1

# flag NAME HEADER ITEM PART: -DNAME where the struct or function ITEM has PART, comments left out.
flag() {
    tr '\n' ' ' < "$tree/include/drm/$2" | sed 's,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/,,g' |
        grep -o "$3" | head -1 | grep -q "$4" && printf ' -D%s' "$1" || true
}

flag HAVE_SCHED_DEV gpu_scheduler.h 'struct drm_gpu_scheduler {[^}]*}' 'struct device[[:space:]]*\*dev;'
flag HAVE_SCHED_INIT_ARGS gpu_scheduler.h 'struct drm_sched_init_args {[^}]*}' .
flag HAVE_SCHED_NUM_RQS gpu_scheduler.h 'struct drm_sched_init_args {[^}]*}' 'num_rqs;'
flag HAVE_JOB_CREDITS gpu_scheduler.h 'int drm_sched_job_init([^)]*)' 'u32 credits'
flag HAVE_JOB_CLIENT gpu_scheduler.h 'int drm_sched_job_init([^)]*)' 'client_id'
flag HAVE_START_RECOVERY gpu_scheduler.h 'void drm_sched_start([^)]*)' 'bool'
flag HAVE_START_ERRNO gpu_scheduler.h 'void drm_sched_start([^)]*)' 'int errno'
flag HAVE_STAT_RESET gpu_scheduler.h 'enum drm_gpu_sched_stat {[^}]*}' 'STAT_RESET'
flag HAVE_DRIVER_DATE drm_drv.h 'struct drm_driver {[^}]*}' 'char \*date;'
echo
