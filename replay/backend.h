/* SPDX-License-Identifier: Apache-2.0
 *
 * A backend sends records of one API to a GPU: api/X/replay/. The engine (replay/player.c) knows
 * order, streams, verification and time; the backend knows calls. They share a struct
 * tsm_backend: the core that every backend has, and tables for what only some APIs have. A table
 * that is NULL is one that the backend lacks; in a table, and in the core, only functions that are
 * marked optional may be NULL.
 *
 * Common to all functions:
 * `state` comes from open(). `record` and its schema stay valid until the function returns.
 * Addresses are those of the recorded program, sizes count bytes, positions count a stream's
 * commands as recorded. Pointers that are handed in stay the caller's; pointers that are handed
 * out stay the backend's, for as long as is said there. Functions that return int give 0, or a
 * negative enum tsm_error described with tsm_fail(), which ends the replay.
 *
 * Threads: submit, submit_sync_only and wait are called from the thread of the stream that they
 * name, several at once for different streams; host, fast_forward, sync, reached and wait for the
 * whole device from one more thread, from which everything is called where host_runs_behind and
 * there is one stream only; all others from the engine's main thread. While host, regions or read
 * run, nothing else does. Functions that may run at the same time as others say so.
 */
#ifndef REPLAY_BACKEND_H
#define REPLAY_BACKEND_H

#include "api/api.h"
#include "replay/save.h"
#include "replay/schedule_order.h"
#include "tracesmith/replay.h"

/* An allocation of device-visible memory of the replay, under its recorded address. */
struct tsm_region {
    uint64_t address; /* as recorded */
    uint64_t actual;  /* as placed: equal unless it had to be translated */
    uint64_t size;
    uint64_t made_seq; /* the record that made it */
    bool is_host;      /* host memory that the device can read: mapped, registered */
};

/* A command's use of an event. */
struct tsm_event_use {
    uint64_t id;    /* as recorded */
    bool is_signal; /* else it waits for it */
};
typedef int (*tsm_event_user)(void *user, const struct tsm_event_use *use);

struct tsm_backend_state; /* the backend's own */

/* Waits of the recorded program that wait() for a stream can only exceed. Without this table wait()
 * is called for all of them. */
struct tsm_backend_sync {
    /* Carries out a recorded synchronisation as it was: an event's, say. What it waits for has been
     * submitted. TSM_E_NOT_FOUND: the backend has nothing finer for this record than wait(). */
    int (*sync)(struct tsm_backend_state *state, const struct sbt_record *record,
                const struct sbt_schema *schema);
    /* Returns whether this record, of kind sync (on no stream) or query, is a wait that only sync()
     * can carry out: waiting for the whole device in its place might never end. Optional: none is.
     */
    bool (*owns)(struct tsm_backend_state *state, const struct sbt_record *record);
    /* Waits until the command that a COMPLETE record names is complete, and for nothing that was
     * sent after it. All earlier records have been submitted. Optional: nothing is waited for. */
    int (*reached)(struct tsm_backend_state *state, const struct sbt_record *record,
                   const struct sbt_schema *schema);
};

/* Commands that wait for one another, or for the host, in ways that their records do not show.
 * Without this table there are none. */
struct tsm_backend_waits {
    /* Lets what waits for something that the program had not done before it ended go on without.
     * All that is replayed has been sent, nothing was waited for, and the host does nothing more.
     * 1: there was something that waited, so that the state from now on is not one that the program
     * had. After an error it is called from a thread of its own, before close(). */
    int (*unblock)(struct tsm_backend_state *state);
    /* Returns whether this command can stay incomplete until another one is sent, or the host
     * writes what it waits for: then its stream is waited for only where the program waited.
     * Optional: none can. */
    bool (*may_stay)(struct tsm_backend_state *state, const struct sbt_record *record);
    /* Returns whether something that was sent waits for what the host has not done yet: then
     * nothing is waited for but what the program waited for. The host's work and all submissions
     * are done. Optional: nothing does. */
    bool (*is_stuck)(struct tsm_backend_state *state);
    /* Reports each event that the command signals or waits for though its record names none: those
     * of the nodes of a graph. Ends with report()'s first error. Optional: none. */
    int (*each_event)(struct tsm_backend_state *state, const struct sbt_record *record,
                      tsm_event_user report, void *user);
    /* Lets commands go on that wait for something that only the program can do, because nothing has
     * moved for long. Returns how many signals, events or the like were set. Other functions may be
     * running. Optional: 0. */
    unsigned (*release)(struct tsm_backend_state *state);
    /* Returns a number that grows while commands that were sent carry out work, though none of them
     * ends. Other functions may be running. Optional: it is not known. */
    uint64_t (*executed)(struct tsm_backend_state *state);
    /* Writes the last command of each stream into out[size], for the message about a hang. Other
     * functions may be running. Optional. */
    void (*describe_last)(struct tsm_backend_state *state, char *out, size_t size);
};

/* A failure of a command on the device, which ends all that it belongs to: a context. */
struct tsm_device_failure {
    int64_t result;   /* of the calls that say so */
    char name[64];    /* its name */
    bool has_command; /* it is known which command that was */
    uint64_t seq;     /* ... of its record */
};

/* Failures of commands. Without this table an error ends the replay. Called by any thread, also
 * while other functions run. */
struct tsm_backend_failures {
    /* Returns whether the function that this thread called last belongs to the same as the stream.
     */
    bool (*is_here)(struct tsm_backend_state *state, uint32_t stream);
    /* Returns whether calls give an error for all that the stream belongs to: a command has failed,
     * if the error is one that says so (tsm_result_says_failure()). */
    bool (*find)(struct tsm_backend_state *state, uint32_t stream, struct tsm_device_failure *out);
};

/* State from which a part of a trace can be replayed. Without this table a replay's state cannot be
 * saved. */
struct tsm_backend_checkpoint {
    /* Hands over what a checkpoint at this moment would hold, during the call. Everything has been
     * waited for. TSM_E_UNSUPPORTED: something cannot be saved. */
    int (*save)(struct tsm_backend_state *state, const struct tsm_saver *saver);
    /* Follows a record before the checkpoint that the replay starts from. Works like host(), but
     * sends no commands: it notes what a command leaves besides memory (a signalled fence, an
     * image's layout). The checkpoint's own records, which go to host(), make that so. Optional:
     * without it commands before a checkpoint are skipped, and all else goes to host(). */
    int (*fast_forward)(struct tsm_backend_state *state, const struct sbt_record *record,
                        const struct sbt_schema *schema);
};

/* Loops over a part of the trace with the same objects. Without this table each loop begins with a
 * new state. Everything has been waited for when one of these is called. */
struct tsm_backend_loop {
    /* Returns whether a record of the part can be carried out again after restore(). Called for
     * each that is no core record, in order, before anything runs. */
    bool (*can_repeat)(struct tsm_backend_state *state, const struct sbt_record *record);
    /* Saves what a checkpoint would hold, where the part begins; close() frees it.
     * TSM_E_UNSUPPORTED: it cannot be saved, each loop begins with a new state. */
    int (*snapshot)(struct tsm_backend_state *state);
    /* Brings back what snapshot() saved. */
    int (*restore)(struct tsm_backend_state *state);
};

typedef int (*tsm_time_user)(void *user, const struct tsm_replay_time *time);

/* Times of commands on the device. Without this table there are none. */
struct tsm_backend_timing {
    /* From now on the commands of records from `seq_first` on are timed, until report(). Nothing
     * was sent yet, or everything has been waited for. */
    int (*start)(struct tsm_backend_state *state, uint64_t seq_first);
    /* Reports each command that could be timed since start(), as run 0, and forgets it. Everything
     * has been waited for. Ends with report()'s first error. */
    int (*report)(struct tsm_backend_state *state, tsm_time_user report, void *user);
    /* Writes what is known of the device's clocks and power into out[size]; "": nothing. Optional.
     */
    void (*clocks)(struct tsm_backend_state *state, char *out, size_t size);
};

/* Commands that a schedule (replay/schedule.h) moves. Without this table schedules are refused. */
struct tsm_backend_schedule {
    /* The next command that is submitted is sent at `ns` since the run began, by the device's
     * virtual time. Returns false where time is real: then who calls waits until then. */
    bool (*send_at)(struct tsm_backend_state *state, uint64_t ns);
    /* The next command that is submitted goes to stream `on` of the replay's own, which is made
     * with the first one of its context, behind the ends of the commands of these records, which
     * went to such streams. Optional: schedules that want it are refused. */
    int (*place)(struct tsm_backend_state *state, uint32_t on, const uint64_t *after, size_t count);
    /* await() waits for the ends of these, on the host's thread. */
    void (*await_next)(struct tsm_backend_state *state, const uint64_t *after, size_t count);
    int (*await)(struct tsm_backend_state *state);
    /* Keeps what later records change and this command, which is submitted behind them, must not
     * see. Nothing else runs. */
    int (*leave)(struct tsm_backend_state *state, const struct sbt_record *record);
    /* Returns whether a record that is no command may come before a command that was sent before
     * it. One that creates, asks or waits may. Optional: no other may. */
    bool (*commutes)(struct tsm_backend_state *state, const struct sbt_record *record);
    /* Says what a command may have to do with memory of the host, and where. All records were
     * planned. Optional: nothing. */
    enum tsm_host_use (*host_use)(struct tsm_backend_state *state, const struct sbt_record *record,
                                  const struct sbt_schema *schema, struct tsm_host_span *span);
};

/* Pictures and resources that are written on the way (struct tsm_replay_options). Without this
 * table options that ask for them, and other shaders, are refused. */
struct tsm_backend_inspect {
    /* Returns whether this record is one that the options ask for: then write() is called after it.
     */
    bool (*wants)(struct tsm_backend_state *state, const struct sbt_record *record);
    /* Writes the files. All up to the record is complete, and nothing after it has begun. 1: there
     * is nothing more to write, the replay may end. */
    int (*write)(struct tsm_backend_state *state, const struct sbt_record *record);
    /* Returns how many files were written so far. */
    uint64_t (*file_count)(struct tsm_backend_state *state);
    /* Ends what is shown, and fails where a shader to be replaced was not there. Nothing more will
     * be sent, and everything is complete. Called with or without such options. */
    int (*finish)(struct tsm_backend_state *state);
};

/* Recorded bytes that another run need not give. Without this table all must be equal. */
struct tsm_backend_compare {
    /* Returns what the recorded program itself last left in bytes that readback() gives: where they
     * still hold that, no command has written. NULL: it is not known. Valid until the next host()
     * call. Optional: it never is. */
    const uint8_t *(*last_host_bytes)(struct tsm_backend_state *state, uint64_t address,
                                      uint64_t size);
    /* Zeroes those of the bytes, read from `address`, that are others in each run by their nature:
     * times that the device wrote. Adds their number to *times. Returns whether the bytes can
     * differ from the recorded ones without a mistake of the device. Optional: they cannot. */
    bool (*ignore_timestamps)(struct tsm_backend_state *state, uint64_t address, uint8_t *bytes,
                              uint64_t size, uint64_t *times);
    /* Returns how many bytes of a result, from its beginning, are the recorded ones, or this
     * replay's addresses in place of recorded ones, whose memory lies elsewhere. With
     * `has_more` up to 7 bytes at the end, which may be part of an address, are left out. With it a
     * difference of bytes is none of addresses, unless report->doubtful says so. Optional. */
    uint64_t (*match_moved)(struct tsm_backend_state *state, const uint8_t *recorded,
                            const uint8_t *actual, uint64_t size, bool has_more);
    /* Counts recorded results that cannot be distinguished from the program's own writes, so that
     * they replaced this device's results; everything is complete. Optional: 0. */
    uint64_t (*uncompared)(struct tsm_backend_state *state);
    /* Counts writes of the host until now that may have been the device's, half done perhaps, and
     * that were carried out where this device had left something else. Optional: 0. */
    uint64_t (*mixed)(struct tsm_backend_state *state);
    /* Writes into out[size] what lies at an address of read(), in the API's words. Optional. */
    void (*describe_address)(struct tsm_backend_state *state, uint64_t address, char *out,
                             size_t size);
};

/* A command's use of a semaphore of another API. */
struct tsm_semaphore_use {
    uint64_t id;     /* as recorded */
    uint64_t value;  /* of a timeline */
    uint32_t stream; /* of the command */
    bool is_signal;  /* else it waits for it */
};

/* Questions of a backend to those of other APIs that are replayed together with it. */
struct tsm_peers {
    void *user;
    /* Gives a new descriptor of what an object of another API stands for, in this replay; whoever
     * asked closes it. All earlier records have been carried out. */
    int (*give)(void *user, uint32_t api, enum tsm_shared kind, uint64_t id, int *fd);
    /* A command is about to be sent to `stream` that signals a semaphore of another API, or waits
     * for it. */
    int (*use)(void *user, uint32_t api, const struct tsm_semaphore_use *use);
};

/* Counts for the result, apart from the comparison, up to now. Without this table all are 0. */
struct tsm_backend_report {
    /* Counts recorded addresses that could not be had and were translated. */
    uint64_t (*translated)(struct tsm_backend_state *state);
    /* Counts words with such an address that were translated in bytes that the program sent.
     * Optional: 0. */
    uint64_t (*translated_words)(struct tsm_backend_state *state);
    /* Counts what looks like such an address, in bytes that the program sent, and was left as it
     * is. Optional: 0. */
    uint64_t (*doubtful)(struct tsm_backend_state *state);
    /* Counts values in arguments of kernels that are, or look like, recorded addresses of memory
     * that lies elsewhere, in places of which nothing says that they hold addresses: they were left
     * as they are. Where there are any, the first is described in out[size]. Optional: 0. */
    uint64_t (*untranslated)(struct tsm_backend_state *state, char *out, size_t size);
    /* Counts kernels in whose place the program was given others, which options ask for. Optional:
     * such options are refused. */
    uint64_t (*replaced)(struct tsm_backend_state *state);
    /* Counts errors that a validation layer has reported. Optional: 0. */
    uint64_t (*validation)(struct tsm_backend_state *state);
};

struct tsm_backend {
    const struct tsm_api_description *description;

    /* The engine may go on reading while host() and sync() run. They are still called in recorded
     * order, and everything else waits for them; only an error is seen later. For APIs with many
     * small records that are no commands. */
    bool host_runs_behind;
    /* A result comes after the record of a wait, or of a query, that showed that its command was
     * complete. To do the same is enough: its stream may wait for the host by now. */
    bool waits_show_results;

    /* Creates the backend's state, without touching a driver: a dry run goes no further than plan.
     * On failure nothing stays open. `options` and the reader outlive the state. */
    int (*open)(struct tsm_backend_state **out, struct sbt_reader *reader,
                const struct tsm_replay_options *options);
    /* Frees the state and all that the replay created. */
    void (*close)(struct tsm_backend_state *state);

    /* Takes each record once, in order, before anything runs: collects the address ranges to
     * reserve, the functions needed, unknown calls. Optional. */
    int (*plan)(struct tsm_backend_state *state, const struct sbt_record *record,
                const struct sbt_schema *schema);
    /* Opens driver and device after the last plan call, reserves addresses, checks that the trace's
     * code can run there. Optional. */
    int (*prepare)(struct tsm_backend_state *state);

    /* Carries out a record that is no command: init, create, destroy, state, query, host writes.
     * All earlier records have been submitted. */
    int (*host)(struct tsm_backend_state *state, const struct sbt_record *record,
                const struct sbt_schema *schema);
    /* Submits a command, signal or wait on its stream. Must not wait for the GPU, except for a call
     * that itself does. Bytes that the device gives back go to memory of the backend, to be asked
     * for with readback(). */
    int (*submit)(struct tsm_backend_state *state, const struct sbt_record *record,
                  const struct sbt_schema *schema);
    /* Submits only what the command waits for and signals: what it computes nobody wants. Optional:
     * then all is submitted. */
    int (*submit_sync_only)(struct tsm_backend_state *state, const struct sbt_record *record,
                            const struct sbt_schema *schema);
    /* Waits until everything submitted to `stream` is complete; SBT_STREAM_NONE: the whole device.
     */
    int (*wait)(struct tsm_backend_state *state, uint32_t stream);
    /* The same for all of one API, where the backend stands for several. Optional: it is of one. */
    int (*wait_for_api)(struct tsm_backend_state *state, uint32_t api);

    /* The backend is one of several of a trace whose APIs share objects: before prepare(). `peers`
     * lives as long as the state. Optional. */
    void (*meet)(struct tsm_backend_state *state, const struct tsm_peers *peers);
    /* Implement struct tsm_peers; use() may run beside others. Optional, both or none: the API
     * gives nothing away. */
    int (*give)(struct tsm_backend_state *state, enum tsm_shared kind, uint64_t id, int *fd);
    int (*use)(struct tsm_backend_state *state, const struct tsm_semaphore_use *use);

    /* Gives the bytes that the command at (stream, position) gave back, packed like the recorded
     * READBACK; where it gives back several, those for `address`. The stream has been waited for.
     * *data is valid until the next readback of that stream. *size is at first that of what was
     * recorded. TSM_E_NOT_FOUND: that command gives none back. */
    int (*readback)(struct tsm_backend_state *state, uint32_t stream, uint64_t position,
                    uint64_t address, const uint8_t **data, uint64_t *size);

    /* Gives the live regions in order of address; valid until the next host() call. */
    int (*regions)(struct tsm_backend_state *state, const struct tsm_region **regions,
                   size_t *count);
    /* Copies memory of a region out. The device has been waited for. */
    int (*read)(struct tsm_backend_state *state, uint64_t address, void *out, uint64_t size);
    /* Gives the address at which [address, address + size) of the recorded program lies now, in
     * memory of the host that the device can read; it stays there until close(). False: it is not
     * there, or may go. Other functions may be running. Optional: nothing is written early
     * (replay/stall.h). */
    bool (*shared)(struct tsm_backend_state *state, uint64_t address, uint64_t size,
                   uint64_t *actual);

    /* Returns whether this is the software GPU. Optional: it is not. */
    bool (*is_software)(struct tsm_backend_state *state);
    /* Writes "NVIDIA H100 80GB HBM3, driver 580.82" into out[size]. Optional. */
    void (*describe)(struct tsm_backend_state *state, char *out, size_t size);

    const struct tsm_backend_sync *sync;
    const struct tsm_backend_waits *waits;
    const struct tsm_backend_failures *failures;
    const struct tsm_backend_checkpoint *checkpoint;
    const struct tsm_backend_loop *loop;
    const struct tsm_backend_timing *timing;
    const struct tsm_backend_schedule *schedule;
    const struct tsm_backend_inspect *inspect;
    const struct tsm_backend_compare *compare;
    const struct tsm_backend_report *report;
};

/* Backends of this build, NULL-terminated (replay/backends.c). */
extern const struct tsm_backend *const tsm_backends[];

#endif
