/* SPDX-License-Identifier: Apache-2.0
 *
 * A backend sends records of one API to a GPU: api/X/replay/. The engine (replay/player.c) knows
 * order, streams, verification and time; the backend knows calls. They share a struct
 * tsm_backend, whose functions the engine calls as said here. Those marked optional may be NULL.
 *
 * Threads: open, plan, prepare, readback, regions, read, describe and close are called from the
 * engine's main thread; submit and wait from the thread of the stream that they name, several at
 * once for different streams; host, sync and wait for the whole device from one more thread, from which
 * everything is called where host_runs_behind and there is one stream only. While host, regions or
 * read run, nothing else does.
 */
#ifndef REPLAY_BACKEND_H
#define REPLAY_BACKEND_H

#include "api/api.h"
#include "replay/save.h"
#include "tracesmith/replay.h"

/* An allocation of device-visible memory of the replay, under its recorded address. */
struct tsm_region {
    uint64_t address; /* as recorded */
    uint64_t actual;  /* as placed: equal unless it had to be translated */
    uint64_t size;
    uint64_t made_seq; /* the record that made it */
    bool is_host;      /* host memory that the device can read: mapped, registered */
};

/* What a command does with an event. */
struct tsm_event_use {
    uint64_t id;    /* as recorded */
    bool is_signal; /* else it waits for it */
};
typedef int (*tsm_event_user)(void *user, const struct tsm_event_use *use);

struct tsm_backend_state; /* the backend's own */

struct tsm_backend {
    const struct tsm_api_description *description;

    /* Make the backend's state, without touching a driver: a dry run goes no further than plan. On
     * failure nothing stays open. `options` and the reader outlive the state. */
    int (*open)(struct tsm_backend_state **out, struct sbt_reader *reader,
                const struct tsm_replay_options *options);
    void (*close)(struct tsm_backend_state *state);

    /* One look at each record, in order, before anything runs: collect the address ranges to
     * reserve, the functions needed, unknown calls. Optional. */
    int (*plan)(struct tsm_backend_state *state, const struct sbt_record *record,
                const struct sbt_schema *schema);
    /* After the last plan call: open driver and device, reserve addresses, check that the trace's
     * code can run there. Optional. */
    int (*prepare)(struct tsm_backend_state *state);
    /* Errors that a validation layer has reported so far. Optional. */
    uint64_t (*validation)(struct tsm_backend_state *state);
    /* How many recorded addresses could not be had so far and were translated. Optional. */
    uint64_t (*translated)(struct tsm_backend_state *state);
    /* How many values in arguments of kernels so far are, or look like, recorded addresses of memory that
     * lies elsewhere, in places of which nothing says that they hold addresses: they were left as they
     * are. Where there are any, the first is described in `out`. Optional: none. */
    uint64_t (*untranslated)(struct tsm_backend_state *state, char *out, size_t size);

    /* Carry out a record that is no command: init, create, destroy, state, query, host writes. All
     * earlier records have been submitted. */
    int (*host)(struct tsm_backend_state *state, const struct sbt_record *record,
                const struct sbt_schema *schema);

    /* A record before the checkpoint that the replay starts from. As host(), but what a command has
     * done is not done again: only what it leaves behind beside memory (a fence that is signalled,
     * an image's layout) is noted. At the checkpoint's own records, which host() gets, that becomes
     * so. Optional: then commands before a checkpoint are passed over, all else goes to host(). */
    int (*fast_forward)(struct tsm_backend_state *state, const struct sbt_record *record,
                 const struct sbt_schema *schema);

    /* May the engine go on reading while host() and sync() run? They are still called in recorded
     * order, and everything else waits for them; only an error is seen later. For APIs with many
     * small records that are no commands. */
    bool host_runs_behind;

    /* Submit a command, signal or wait on its stream. Must not wait for the GPU, except for a call
     * that itself does. Bytes that the device gives back go to memory of the backend, to be asked
     * for with readback(). */
    int (*submit)(struct tsm_backend_state *state, const struct sbt_record *record,
                  const struct sbt_schema *schema);

    /* Can this command stay incomplete until another one is sent, or the host writes what it waits
     * for? Then its stream is waited for only where the program waited. Optional: no. */
    bool (*may_stay)(struct tsm_backend_state *state, const struct sbt_record *record);

    /* A result comes behind the record of a wait, or of a look, that showed that its command was
     * complete. To do the same is enough: its stream may wait for the host by now. */
    bool waits_show_results;

    /* Does something that was sent wait for what the host has not done yet? Then nothing is waited for
     * but what the program waited for. The host's work and all submissions are done. Optional: no. */
    bool (*is_stuck)(struct tsm_backend_state *state);

    /* Report each event that the command signals or waits for though its record names none: those of the
     * nodes of a graph. From the main thread. Optional: none. */
    int (*each_event)(struct tsm_backend_state *state, const struct sbt_record *record,
                      tsm_event_user report, void *user);

    /* As submit(), but of the command only what it waits for and signals: what it computes nobody
     * wants. Optional: then all is submitted. */
    int (*submit_sync_only)(struct tsm_backend_state *state, const struct sbt_record *record,
                  const struct sbt_schema *schema);

    /* Wait until everything submitted to `stream` is complete; SBT_STREAM_NONE: the whole device.
     */
    int (*wait)(struct tsm_backend_state *state, uint32_t stream);

    /* Is this record, of kind sync (on no stream) or query, a wait that only sync() can carry out?
     * Waiting for the whole device in its place might never end. Optional: no. */
    bool (*owns_sync)(struct tsm_backend_state *state, const struct sbt_record *record);

    /* Carry out a recorded synchronisation as it was: an event's, say, which wait() for a stream
     * can only exceed. What it waits for has been submitted. Optional: then wait() is called.
     * TSM_E_NOT_FOUND: this backend has nothing finer for this record. */
    int (*sync)(struct tsm_backend_state *state, const struct sbt_record *record,
                const struct sbt_schema *schema);

    /* Wait until the command that a COMPLETE record names is complete, and for nothing that was sent
     * behind it. All earlier records have been submitted. Optional: nothing is waited for. */
    int (*reached)(struct tsm_backend_state *state, const struct sbt_record *record,
                   const struct sbt_schema *schema);

    /* The bytes given back by the command at (stream, position), packed like the recorded READBACK;
     * where it gives back several, those for `address` of the recorded program.
     * The stream has been waited for. *data lives until the next readback of that stream. *size is at
     * first that of what was recorded. TSM_E_NOT_FOUND: that command gives none back. */
    int (*readback)(struct tsm_backend_state *state, uint32_t stream, uint64_t position,
                    uint64_t address, const uint8_t **data, uint64_t *size);

    /* What the recorded program itself last left in those bytes of its memory, of which readback() told:
     * where they still hold that, no command has written. NULL: it is not known. Optional: never is. */
    const uint8_t *(*last_host_bytes)(struct tsm_backend_state *state, uint64_t address, uint64_t size);

    /* Where [address, address + size) of the recorded program lies now, in memory of the host that the
     * device can read; it stays there until close(). From the main thread, while other functions run.
     * False: it is not there, or may go. Optional: nothing is written early (replay/stall.h). */
    bool (*shared)(struct tsm_backend_state *state, uint64_t address, uint64_t size,
                   uint64_t *actual);

    /* Live regions in order of address; valid until the next host() call. */
    int (*regions)(struct tsm_backend_state *state, const struct tsm_region **regions,
                   size_t *count);
    /* Copy memory of a region out, by its recorded address. The device has been waited for. */
    int (*read)(struct tsm_backend_state *state, uint64_t address, void *out, uint64_t size);

    /* Zeroes those of the bytes, read from `address`, that are others in each run by their nature:
     * times that the device wrote. Adds their number to *times. Returns whether the bytes can differ
     * from the recorded ones without a mistake of the device. Optional: they cannot. */
    bool (*ignore_timestamps)(struct tsm_backend_state *state, uint64_t address, uint8_t *bytes, uint64_t size,
                 uint64_t *times);

    /* Hand over what a checkpoint at this moment would hold; everything has been waited for. Optional.
     * TSM_E_UNSUPPORTED: something cannot be saved. */
    int (*save)(struct tsm_backend_state *state, const struct tsm_saver *saver);

    /* For loops over a part of the trace; optional, all or none. repeats() is asked of each of its
     * records that are not core records, in order: can it be carried out again after back()? hold()
     * keeps what a checkpoint would hold, back() makes it so again. Everything has been waited for. */
    bool (*repeats)(struct tsm_backend_state *state, const struct sbt_record *record);
    int (*hold)(struct tsm_backend_state *state);
    int (*back)(struct tsm_backend_state *state);

    /* Recorded results that could not be told from what the program wrote, so that they took the place of
     * this device's; everything is complete. Optional: none. */
    uint64_t (*uncompared)(struct tsm_backend_state *state);
    /* Writes of the host until now that may have been the device's, half done perhaps, and that were
     * carried out where this device had left something else. Optional: none. */
    uint64_t (*mixed)(struct tsm_backend_state *state);

    /* What lies at an address of read(), in the API's words. Optional. */
    void (*describe_address)(struct tsm_backend_state *state, uint64_t address, char *out, size_t size);

    /* Is this record one that options.look asks for? Then inspect() is called after it, when
     * everything up to it is complete and nothing behind has begun. Optional: no. */
    bool (*wants_inspection)(struct tsm_backend_state *state, const struct sbt_record *record);
    /* From the main thread. 1: there is nothing more to look at, the replay may end. */
    int (*inspect)(struct tsm_backend_state *state, const struct sbt_record *record);
    /* Files that inspect() has written. Together with inspect(). */
    uint64_t (*inspection_files)(struct tsm_backend_state *state);
    /* All that is replayed has been sent, and the host does nothing more: what waits for something that
     * the program has not done before it ended goes on without. Everything was submitted, nothing was
     * waited for. 1: there was something that waited, so that the state from now on is not one that the
     * program had. Optional. */
    int (*unblock_waiters)(struct tsm_backend_state *state);
    /* Nothing has moved for long: commands that wait for something that only the program can do go on.
     * From the main thread, while other functions run. Returns how many signals, events or the like
     * were set. Optional. */
    unsigned (*release)(struct tsm_backend_state *state);
    /* Nothing more will be sent, and everything is complete. Optional. */
    int (*ended)(struct tsm_backend_state *state);

    /* The last command of each stream, for the message about a hang: other functions may be
     * running. Optional. */
    void (*describe_last)(struct tsm_backend_state *state, char *out, size_t size);

    /* Is this the software GPU? Optional: no. */
    bool (*is_software)(struct tsm_backend_state *state);

    /* "NVIDIA H100 80GB HBM3, driver 580.82", into out. */
    void (*describe)(struct tsm_backend_state *state, char *out, size_t size);
};

/* Backends of this build, NULL-terminated (replay/backends.c). */
extern const struct tsm_backend *const tsm_backends[];

#endif
