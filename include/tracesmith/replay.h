/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends a trace's commands to a GPU again and says whether the same bytes come out.
 *
 * A replay is made, run once and destroyed. Objects are created again in recorded order; memory is
 * placed at its recorded addresses (addresses lie in structs, buffers and tables where no rewriting
 * can find them); each stream's commands are submitted by a thread of its own, ordered by the
 * recorded dependencies. Where an address cannot be had, what is known is translated and the result
 * says so.
 *
 * Threads: one thread calls in; `progress` and `on_difference` are called from it.
 */
#ifndef TRACESMITH_REPLAY_H
#define TRACESMITH_REPLAY_H

#include "tracesmith/reader.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tsm_pace {
    TSM_PACE_FAST,     /* as fast as the dependencies allow: the default */
    TSM_PACE_RECORDED, /* no command earlier than it was in the recording */
    TSM_PACE_STEPPED,  /* wait for the GPU after each command */
};

enum tsm_grain {
    TSM_GRAIN_READBACK, /* bytes that the program read back, and recorded checksums */
    TSM_GRAIN_SYNC,     /* and hashes of all live device memory at each synchronisation */
    TSM_GRAIN_COMMAND,  /* and after each command (serialises) */
};

/* Answers of tsreplay, tsdiff and --check; also their exit status. docs/verdict.md says which when.
 */
enum tsm_verdict {
    TSM_SAME = 0,
    TSM_DIFFERENT = 1,
    TSM_CANNOT_TELL =
        2, /* incomplete, tainted, not compared, translated addresses, ... `why` says */
    TSM_NOTHING_TO_COMPARE = 3, /* all was carried out, and no result of it was recorded */
};

/* One place where bytes differ. */
struct tsm_difference {
    uint64_t seq;         /* of the record whose bytes differ; for hashes of memory: of the sync */
    uint32_t stream;      /* of the command, or SBT_STREAM_NONE */
    uint64_t position;    /* of the command on its stream */
    const char *call;     /* the command's name; "" unknown */
    const char *function; /* GPU function of a launch; "" none */
    uint64_t buffer;      /* start of the allocation or host range */
    uint64_t buffer_size;
    uint64_t offset;                  /* first byte that differs, from the buffer's start */
    uint64_t byte_count;              /* how many differ; 0 when only hashes are known */
    uint8_t expected[16], actual[16]; /* bytes from `offset` on */
    uint32_t shown;                   /* how many of them are valid; 0 when only hashes are known */
    uint32_t stack;                   /* host stack of the command, 0 none */
    char place[128];                  /* what lies there, in the API's words: "VkDeviceMemory #3 +
                                         0x1000 (VkBuffer #5 + 0x0)"; "": the address says all */
};

/* Frames `first` to `last`, counted from 1: a frame ends with the call that presents it. */
struct tsm_frames {
    uint64_t first, last;
};

/* Code to be put in the place of other code. */
struct tsm_shader_replacement {
    const char
        *hash; /* the first 8 or more of the 32 digits of the XXH3-128 of the recorded bytes */
    const char *path; /* of a SPIR-V module */
};

/* A kernel of a file that takes the place of recorded ones; it must have parameters of the same
 * sizes at the same offsets. Variables and functions that it names and the recorded module has are
 * the module's, in PTX. */
struct tsm_kernel_replacement {
    const char *name; /* of the recorded kernel, as its module has it: "_Z3addPfi" */
    const char *path; /* PTX, or code for the device; HSA: a code object */
    const char *from; /* kernel in it; NULL: the one of the same name, or its only one */
};

/* Vulkan: what is to be inspected on the way. The replay ends with the last of it. Folders are
 * created where they are not there. */
struct tsm_inspect {
    const char *dump_directory; /* NULL: no dump. What the submit, or the command in a command
                                   buffer, with number dump_seq has to do with: docs/vulkan.md */
    uint64_t dump_seq;
    const char *screenshot_directory; /* NULL: none. frame-NNNNNN.png for each of `frames` */
    const struct tsm_frames *frames;
    size_t frame_count;
    bool present;             /* a window shows what was presented; the replay does not end */
    uint64_t present_hold_ns; /* so long it stays at the end */
};

/* When the device carried out a command, or a part of it, in one run of a replay. */
struct tsm_replay_time {
    uint64_t seq, position;                   /* of the command's record */
    uint32_t stream, part;                    /* part: a batch of a Vulkan submit, from 0 */
    uint32_t run;                             /* of those that are timed, from 0 */
    uint32_t flags;                           /* SBT_GPU_TIME_* */
    uint64_t start_ns, duration_ns, error_ns; /* start: about since the run began */
    uint64_t inner_ns; /* of a part: the sum of the times of commands inside of it */
    /* One command inside of the part, as a GPU_TIME record names it (docs/FORMAT.md 10): */
    uint32_t buffer, command; /* command: from 1; 0: the time is the whole part's */
    uint32_t of_type;         /* of the record that recorded it */
    uint64_t object;          /* id of what it ran; 0: not known */
};

struct tsm_replay_options {
    const char *backend;    /* NULL: by the trace's API */
    const char *device;     /* NULL: the first that fits; "emu": the software GPU; "1": by index */
    const char *device_map; /* CUDA: "0:1,1:0": device 1 stands for recorded device 0, ...; NULL: in
                               their order */
    const char *library;    /* path of the driver library; NULL: found as programs find it */
    struct sbt_filter filter; /* streams and seq range to submit; the rest only as far as needed */
    unsigned loop;            /* times to run the commands; 0 means 1 */
    /* Not 0: runs the commands so often, after warmup_runs runs, and times them on the device.
     * Results are compared in the first run of all alone. In place of `loop`. */
    unsigned timed_runs, warmup_runs;
    bool time_commands; /* Vulkan: also the commands inside of command buffers, each by itself */
    enum tsm_pace pace;
    enum tsm_grain grain;
    uint64_t permute;     /* not 0: another order of submission that keeps the recorded
                             dependencies; each number is another one */
    uint64_t delay;       /* not 0: pauses of random length before what is sent; the seed */
    const char *schedule; /* not NULL: a file that says in which order, and when, commands are sent
                             (docs/tools.md); its path lives as long as the replay */
    bool dry_run;         /* read, order, check that it could run; touch no GPU */
    bool lossy;           /* accept a trace that lost something */
    bool keep_going;      /* after the first difference */
    bool trust_code;      /* HSA on the software GPU: native code of the trace runs in this
                             process, with all that it may do; else in a sandbox, or not */
    bool validate;        /* Vulkan: run the validation layer, count its errors */
    bool no_spot_checks;  /* leave those of the trace out, and their waits */
    bool no_checkpoint;   /* run everything before the range instead of loading a checkpoint */
    uint64_t timeout_ns;  /* without progress (docs/verdict.md); 0: 60 s */
    uint8_t fresh_memory; /* byte that fresh device memory is filled with */
    const struct tsm_inspect *inspect; /* NULL: nothing is inspected */
    const struct tsm_shader_replacement *shaders;
    size_t shader_count;
    const struct tsm_kernel_replacement *kernels; /* CUDA, HSA */
    size_t kernel_count;
    void (*progress)(void *user, uint64_t done, uint64_t total);
    void (*on_difference)(void *user, const struct tsm_difference *difference);
    /* Gets the times of a run's commands after it, in no certain order. An error ends the replay.
     */
    int (*on_time)(void *user, const struct tsm_replay_time *time);
    void *user;
};

struct tsm_replay_result {
    enum tsm_verdict verdict;
    char why[256];              /* one sentence when verdict is not SAME */
    uint64_t command_count;     /* submitted */
    uint64_t hollow_count;      /* ... of them without their work, which no wanted stream needs */
    uint64_t skipped_count;     /* left out: filtered, failed in the recording */
    uint32_t checkpoint;        /* number of the one that it ran from; 0 none: from the beginning */
    uint64_t checkpoint_seq;    /* of its last record */
    uint64_t jumped_count;      /* commands before it, which were not sent */
    uint64_t interrupted_count; /* checkpoints that are not whole, and were not used */
    uint64_t stream_count;
    uint64_t checksum_count; /* comparisons made */
    uint64_t failure_count;  /* ... of them of commands that had failed in the recording */
    char failure[256];       /* the first of those that failed as recorded; "": there is none */
    bool fails_otherwise;    /* one did not: it is a difference */
    uint64_t difference_count;
    /* Spot checks that were compared, and of them those that differ. Where the trace has other
     * results of the part, they do not count in the verdict; else they are the results. */
    uint64_t spot_count, spot_difference_count;
    uint64_t uncompared_count; /* recorded results that could not be compared; with any, not SAME */
    uint64_t timed_count; /* results that differ where the GPU wrote times: those of nothing else
                             are no results, the others are uncompared */
    uint64_t unmodelled_count; /* calls that could not be replayed; tainting ones in */
    uint64_t tainted_count;
    uint64_t translated_count;      /* addresses that could not be had */
    uint64_t translated_word_count; /* words with such an address that were translated in bytes that
                                       the program sent */
    /* Values in kernels' arguments that look like such an address, but may be anything: left as
     * recorded. With any, the verdict is not SAME. */
    uint64_t untranslated_count;
    /* Writes of the program into memory that the GPU can read which were carried out before their
     * place in the order, because a command waited for them. */
    uint64_t early_count;
    /* With a schedule: commands and writes that carry bytes of the program and came before a result
     * that it had read by then, or before a command that read others in the same memory was
     * complete. With any, the verdict is not SAME. */
    uint64_t ahead_count;
    /* Kernels in whose place the program got others. With any, "same" says that these compute the
     * same bytes. */
    uint64_t replaced_count;
    uint64_t validation_count;   /* errors that the validation layer reported */
    uint64_t inspect_file_count; /* files that were written because of options.inspect */
    uint64_t elapsed_ns;         /* first submission to last completion */
    uint64_t recorded_ns;        /* the same span in the recording */
    unsigned loop_count;         /* options.loop > 1: loops that were timed; 0 else */
    bool loop_kept; /* between them memory and states were set back; else all was made again */
    uint64_t loop_min_ns, loop_median_ns, loop_max_ns; /* of the sorted times */
    unsigned timed_run_count; /* runs whose commands were timed: fewer than asked for when one of
                                 them differed, 0 where the device has no times */
    char clocks[256]; /* what is known of the device's clocks and power after them; "": nothing */
    bool is_software; /* the device is the software GPU, whose schedule can be chosen */
    char device[128];
    struct sbt_key digest; /* over every comparison's bytes, in order: equal digests, same run */
};

struct tsm_replay;

#define TSM_REPLAY_API_MAX 8

/* Names of the APIs that the trace holds commands of and that can be replayed; at most `max`. Each
 * is replayed by itself (options.backend); those that share objects are one, "together". Returns
 * their number; where there are no commands at all, the first API. Negative: the trace cannot be
 * read. */
int tsm_replay_apis(struct sbt_reader *reader, const char **names, size_t max);

/* Returns whether commands of the API of that name can be timed. */
bool tsm_replay_can_time(const char *api);

/* Returns whether kernels of the API of that name can be replaced. */
bool tsm_replay_can_replace_kernels(const char *api);

/* Opens the backend and makes the plan: everything that can be refused is refused here, before
 * anything runs: another API, kernels for a GPU that is not here, a lossy trace. The reader must
 * outlive the replay. */
int tsm_replay_create(struct tsm_replay **out, struct sbt_reader *reader,
                      const struct tsm_replay_options *options);
void tsm_replay_destroy(struct tsm_replay *replay);

/* 0 and *result, whatever the verdict; negative when the replay could not be carried through. */
int tsm_replay_run(struct tsm_replay *replay, struct tsm_replay_result *result);

/* ---- checking ------------------------------------------------------------------------------ */

/* Replays of one trace that differ in one thing each. Each is run twice: hashing all memory at each
 * synchronisation, for which the whole GPU is waited for; and comparing no more than what was
 * recorded, without any wait that the program did not make. The first run of either kind is
 * compared with the recording, all others with it. Further arms will be appended. */
enum tsm_arm {
    TSM_ARM_RECORDING = 0, /* the first run, and what was recorded */
    TSM_ARM_REPEAT = 1,    /* nothing changed */
    TSM_ARM_SCHEDULE = 2,  /* blocks, warps and streams in another order: software GPU only */
    TSM_ARM_SERIAL = 3,    /* the GPU is waited for after each command */
    TSM_ARM_POISON = 4,    /* other bytes in fresh memory; memory that still holds them is equal */
    TSM_ARM_PERMUTE = 5,   /* another order of submission that keeps the recorded dependencies */
    TSM_ARM_DELAY = 6,     /* pauses of random length before what is sent */
    TSM_ARM_COUNT
};

/* "repeat"; NULL when there is no such arm. */
const char *tsm_arm_name(enum tsm_arm arm);

struct tsm_arm_result {
    enum tsm_arm arm;
    unsigned run_count;
    enum tsm_verdict verdict;
    bool is_exact; /* the difference appears, too, when the GPU is waited for after each command:
                      `difference` names the one that made it. Else: one that may have. */
    char why[512]; /* what that means, when verdict is not SAME */
    uint64_t scratch_byte_count; /* at most, in a run: of memory that differs, and that no result
                                    depends on; they do not count */
    struct tsm_difference
        difference; /* when DIFFERENT; between two runs `expected` is the first's */
};

struct tsm_check_result {
    enum tsm_verdict verdict;
    char why[512];
    struct tsm_replay_result first; /* of the first run */
    struct tsm_arm_result arms[TSM_ARM_COUNT];
    unsigned arm_count;
    uint64_t scratch_byte_count; /* of the arm with the most */
};

/* Each run happens in a process of its own, forked from this one, so that nothing is left over from
 * the one before; nothing may have been replayed in this process yet, because drivers do not
 * survive a fork. `repeat_count`: how often all arms but SERIAL and POISON are run, at least 1.
 * `on_arm` (may be NULL) is called after each arm, from the calling thread. options->on_difference
 * is not called. What the arms compare is kept in files in TMPDIR without a name: the keys, and up
 * to 2 GiB of bytes. */
int tsm_check_run(struct tsm_check_result *out, struct sbt_reader *reader,
                  const struct tsm_replay_options *options, unsigned repeat_count,
                  void (*on_arm)(void *user, const struct tsm_arm_result *arm), void *user);

#ifdef __cplusplus
}
#endif
#endif
