/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA backend: what generated replay functions (cuda_replay_calls.c) and those by hand share.
 * A replay function carries out one record on the driver of the replay.
 *
 * The objects of a replay are found by the ids of the recording, streams by their recorded numbers.
 * Addresses of the device are the recorded ones, or are translated where those could not be had.
 *
 * A function reads all its slots first, through struct cuda_args. What goes wrong there (a slot
 * that is not in the record, an id of no object) is remembered, and the call is not made:
 *
 *     int replay_cuEventDestroy_v2(struct cuda_replay *replay, const struct sbt_record *record)
 *     {
 *         struct cuda_args args;
 *
 *         cuda_args_begin(&args, replay, record, 1);
 *         CUevent hEvent = cuda_arg_handle(&args, 0, CUDA_OBJECT_EVENT);
 *         if (args.error)
 *             return args.error;
 *         CUresult result = args.driver->cuEventDestroy_v2(hEvent);
 *         ...
 *         return cuda_args_end(&args, result);
 *     }
 *
 * Threads: as replay/backend.h says: host records from one thread, commands from their stream's.
 */
#ifndef API_CUDA_REPLAY_REPLAY_H
#define API_CUDA_REPLAY_REPLAY_H

#include "api/cuda/cuda_calls.h"
#include "api/cuda/cuda_real.h"

struct cuda_replay; /* replay.c: the state of the backend */

typedef int (*cuda_replay_function)(struct cuda_replay *replay, const struct sbt_record *record);

/* Bytes in memory of the host. */
struct cuda_host_box {
    const uint8_t *from;
    size_t width, height, depth; /* bytes of a row, rows, planes */
    size_t pitch, plane;         /* from row to row, from plane to plane */
};

struct cuda_args {
    struct cuda_replay *replay;
    const struct cuda_real *driver;
    const struct sbt_record *record;
    int error; /* the first one, 0 none */
    /* Registered host memory where the bytes of this command arrive, as they did when it was
     * recorded; they are received from there. `from` NULL: none. */
    struct cuda_host_box arriving;
};

/* Prepare to carry out `record` on this thread: makes the context current in which it was recorded.
 * The record must have `slot_count` slots at least. */
void cuda_args_begin(struct cuda_args *args, struct cuda_replay *replay,
                     const struct sbt_record *record, uint32_t slot_count);

/* Say that the driver's function that sends the command is called next, and that it has returned:
 * between them lies its time on the device. A second pair takes the place of the first.
 * cuda_args_end() says the latter, too. */
void cuda_args_send(struct cuda_args *args);
/* The first of them, for what has no time: a schedule may have it wait for others. */
void cuda_args_place(struct cuda_args *args);
void cuda_args_sent(const struct cuda_args *args);

/* 0, or an error when the driver's answer is not CUDA_SUCCESS. */
int cuda_args_end(struct cuda_args *args, CUresult result);

/* Slots. After an error each gives 0 or NULL. */
uint64_t cuda_arg(struct cuda_args *args, uint32_t slot);
float cuda_arg_f32(struct cuda_args *args, uint32_t slot);
/* NULL for id 0; an error when nothing of this id has been made. */
void *cuda_arg_handle(struct cuda_args *args, uint32_t slot, enum cuda_object object);
/* Returns the present address for the recorded device address in `slot`. */
CUdeviceptr cuda_arg_address(struct cuda_args *args, uint32_t slot);
/* The device of the replay that stands for a recorded one. */
CUdevice cuda_arg_device(struct cuda_args *args, uint32_t slot);
/* The record's own stream; CU_STREAM_PER_THREAD for a stream that belonged to a thread, whose
 * commands are all sent from one thread. */
CUstream cuda_arg_stream(struct cuda_args *args);
/* The stream whose number is in a slot. */
CUstream cuda_arg_stream_number(struct cuda_args *args, uint32_t slot);
/* NULL for no string. Lives as long as the replay. */
const char *cuda_arg_string(struct cuda_args *args, uint32_t slot);
/* Returns the BYTES in `slot`, which lie inside the record. NULL when there are none. */
const void *cuda_arg_bytes(struct cuda_args *args, uint32_t slot, size_t size);
/* Returns the bytes of the BLOB in `slot`, `size` of them (0: all). They live until the record's
 * stream has been waited for: an asynchronous copy reads them later. */
const void *cuda_arg_blob(struct cuda_args *args, uint32_t slot, size_t size);
/* Works like it for bytes that the program sends: addresses in them become the replay's. */
const void *cuda_arg_sent(struct cuda_args *args, uint32_t slot, size_t size);
/* Returns the code object in a BLOB. Fails when it says that it is longer than the BLOB. */
const void *cuda_arg_image(struct cuda_args *args, uint32_t slot);
/* Returns the bytes of a payload whose address is in `slot` and whose bytes are in the next
 * slot; or, when a function of the program was still to write them, where it writes them in this
 * replay. */
const void *cuda_arg_payload(struct cuda_args *args, uint32_t slot, size_t size);
/* Memory that stands for the program's at `address`, for a record that takes what is there when it
 * runs. */
const void *cuda_arg_late(struct cuda_args *args, uint64_t address, uint64_t size);
/* Memory for `size` bytes that the device gives back by this command, found again by the backend's
 * readback(). */
void *cuda_arg_readback(struct cuda_args *args, size_t size);

/* The object that the id in a slot stands for has been made, or is gone. */
void cuda_arg_created(struct cuda_args *args, uint32_t slot, enum cuda_object object,
                      const void *raw);
void cuda_arg_destroyed(struct cuda_args *args, uint32_t slot, enum cuda_object object);

/* The function for a record type; NULL when records of this type are not replayed. */
cuda_replay_function cuda_replay_find(uint32_t type);

/* Look up each function of the driver: `symbol` is dlsym() or something like it. Those that the
 * driver lacks become functions that answer CUDA_ERROR_NOT_FOUND. */
void cuda_real_load(struct cuda_real *out, void *(*symbol)(void *library, const char *name),
                    void *library);

#endif
