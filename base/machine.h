/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine description of virtual time, and the device model that computes with it: when a
 * command starts and ends on a GPU of a few figures. The software GPU (TS_EMU_TIME=virtual) and
 * whoever predicts a schedule use the same arithmetic, so that both come to the same nanosecond.
 *
 * docs/emu.md has the formulae. Everything is integers; a division rounds up. Times are nanoseconds
 * from 0 on and stop at TSM_MACHINE_TIME_MAX.
 *
 * Threads: no globals, no threads, no locks. One thread at a time uses a model.
 */
#ifndef BASE_MACHINE_H
#define BASE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TSM_MACHINE_TIME_MAX    (UINT64_C(1) << 62)
#define TSM_MACHINE_WHY         160u
#define TSM_MACHINE_ENGINES_MAX 16u

/* Rates are in 10^6 bytes a second: as many bytes a microsecond. */
struct tsm_machine {
    uint64_t block_slots;         /* blocks that run at a time */
    uint64_t instruction_ps;      /* of a slot, for one warp instruction */
    uint64_t kernel_ns;           /* added to each launch, after its last block */
    uint64_t call_ns;             /* of the host, for a call that sends, waits or asks */
    uint64_t launch_latency_ns;   /* from the call to the command's arrival at the device */
    uint64_t copy_latency_ns;     /* added to each copy between host and device */
    uint64_t host_to_device_mbps; /* rate of that copy engine */
    uint64_t device_to_host_mbps;
    uint64_t device_mbps;            /* rate of copies inside the device, and of fills */
    uint64_t host_function_ns;       /* of a function of the program in a stream */
    uint64_t host_to_device_engines; /* copies to the device that run at a time */
    uint64_t device_to_host_engines;
};

/* A figure of the description. */
struct tsm_machine_key {
    const char *name;
    size_t offset;            /* in struct tsm_machine, a uint64_t */
    uint64_t value, min, max; /* value: the default */
};

const struct tsm_machine_key *tsm_machine_keys(size_t *count);

/* Fills in the defaults. */
void tsm_machine_init(struct tsm_machine *machine);

/* Reads "key=value,key=value" over what the description holds; of a key that comes twice the last
 * value counts. NULL and "" change nothing. TSM_E_ARGUMENT: *why, of TSM_MACHINE_WHY bytes, names
 * the key that is unknown or the value that is no number in its range, and the description is
 * untouched. There is no tsm_fail() here: its message lies where a driver that is loaded late has
 * no room. */
int tsm_machine_parse(struct tsm_machine *machine, const char *text, char *why);

/* Writes all keys as tsm_machine_parse() reads them. */
#define TSM_MACHINE_TEXT 512u
void tsm_machine_text(const struct tsm_machine *machine, char out[TSM_MACHINE_TEXT]);

enum tsm_device_work_kind {
    TSM_DEVICE_NONE, /* takes no time: a mark, a wait */
    TSM_DEVICE_KERNEL,
    TSM_DEVICE_TO_DEVICE, /* a copy from the host, also from host to host */
    TSM_DEVICE_TO_HOST,
    TSM_DEVICE_ON_DEVICE, /* a copy inside the device, or a fill */
    TSM_DEVICE_HOST_FUNCTION,
};

/* Work of one command. */
struct tsm_device_work {
    enum tsm_device_work_kind kind;
    uint64_t bytes;        /* of a copy or a fill */
    uint64_t blocks;       /* of a kernel */
    uint64_t instructions; /* of a kernel: warp instructions, of all blocks together */
    bool is_fixed;         /* it takes fixed_ns, whatever the machine; a kernel takes no slots */
    uint64_t fixed_ns;
};

struct tsm_device_span {
    uint64_t start_ns, end_ns;
};

/* One device and when its engines are free. */
struct tsm_device_model {
    struct tsm_machine machine;
    uint64_t *slots_ns; /* of each block slot; owned */
    /* Host to device, device to host, functions of the program. */
    uint64_t engine_ns[3][TSM_MACHINE_ENGINES_MAX];
};

/* An idle device. TSM_E_MEMORY: no memory for the slots. */
int tsm_device_model_init(struct tsm_device_model *model, const struct tsm_machine *machine);
void tsm_device_model_finish(struct tsm_device_model *model); /* also of one that is all zero */

/* Returns when such work would start that is ready at `ready_ns`. Changes nothing. */
uint64_t tsm_device_model_start(const struct tsm_device_model *model,
                                enum tsm_device_work_kind kind, uint64_t ready_ns);

/* Carries the work out and says from when to when it took. Engines serve in the order of these
 * calls: make them in the order of the commands' ready times. */
struct tsm_device_span tsm_device_model_run(struct tsm_device_model *model,
                                            const struct tsm_device_work *work, uint64_t ready_ns);

#endif
