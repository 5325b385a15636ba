/* SPDX-License-Identifier: Apache-2.0
 *
 * The TS_* variables: defaults, values, bad values; the output path.
 */
#include "capture/settings.h"
#include "tests/unit/check.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static const char *name, *value;

static const char *lookup(const char *wanted)
{
    return name && strcmp(name, wanted) == 0 ? value : NULL;
}

static struct tsm_settings with(const char *variable, const char *text)
{
    struct tsm_settings s;

    name = variable;
    value = text;
    tsm_settings_parse(&s, lookup);
    return s;
}

static void test_values(void)
{
    struct tsm_settings s = with(NULL, NULL);

    CHECK(s.enabled && s.follow_children && !s.start_paused);
    CHECK_EQ_STR(s.output, "trace.sbt");
    CHECK_EQ_INT(s.lane_size, 2 << 20);
    CHECK_EQ_INT(s.stacks, TSM_STACKS_COMMANDS);
    CHECK_EQ_INT(s.full, TSM_FULL_BLOCK);
    CHECK_EQ_INT(with("TS_CAPTURE", "0").enabled, false);
    CHECK_EQ_INT(with("TS_LANE_SIZE", "1M").lane_size, 1 << 20);
    CHECK_EQ_INT(with("TS_LEVEL", "-5").level, -5);
    CHECK_EQ_INT(with("TS_KEEP", "2.25").keep_ns, 2250000000);
    CHECK_EQ_INT(with("TS_STACKS", "off").stacks, TSM_STACKS_OFF);
    s = with("TS_STREAMS", "0,2,11");
    CHECK_EQ_INT(s.stream_count, 3);
    CHECK_EQ_INT(s.streams[2], 11);
}

static void test_apis(void)
{
    static const char *const bad[] = {"nonsense",    ",",         ",,",
                                      "cuda,vulcan", "cuda, drm", "cuda:drm"};

    CHECK_EQ_STR(with("TS_APIS", "hip,hsa").apis, "hip,hsa");
    CHECK_EQ_STR(with("TS_APIS", "drm,").apis, "drm,");
    CHECK_EQ_STR(with("TS_APIS", "cuda,nvtx").apis, "cuda,nvtx");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK_EQ_STR(with("TS_APIS", bad[i]).apis, "");
        CHECK(tsm_settings_want_api(bad[i], "vulkan"));
    }
    CHECK(tsm_settings_want_api(NULL, "vulkan"));
    CHECK(tsm_settings_want_api("", "vulkan"));
    CHECK(tsm_settings_want_api("cuda,vulkan", "vulkan"));
    CHECK(!tsm_settings_want_api("cuda,drm", "vulkan"));
}

/* The default is used, and one line says so. */
static void test_bad_values(void)
{
    CHECK_EQ_INT(with("TS_LANE_SIZE", "3M").lane_size, 2 << 20);
    CHECK_EQ_INT(with("TS_LANE_SIZE", "1").lane_size, 2 << 20);
    CHECK_EQ_INT(with("TS_LEVEL", "20").level, 0);
    CHECK_EQ_INT(with("TS_THREADS", "18446744073709551617").threads, 1);
    CHECK_EQ_INT(with("TS_STREAMS", "1,x").stream_count, 0);
    CHECK_EQ_INT(with("TS_CAPTURE", "yes").enabled, true);
    CHECK_EQ_STR(with("TS_OUTPUT", "").output, "trace.sbt");
    CHECK_EQ_STR(with("TS_LOG", "info,lane:debug").log, "info,lane:debug");
    CHECK_EQ_STR(with("TS_LOG", "").log, "");
    CHECK_EQ_STR(with("TS_LOG", "verbose").log, "warn");
    CHECK_EQ_STR(with("TS_LOG", "info,lane:all").log, "warn");
    CHECK_EQ_STR(with("TS_LOG", ",").log, "warn");
}

static void test_checkpoint(void)
{
    CHECK_EQ_INT(with("TS_CHECKPOINT", "0").checkpoint_commands, 0);
    CHECK_EQ_INT(with("TS_CHECKPOINT", "500").checkpoint_commands, 500);
    CHECK_EQ_INT(with("TS_CHECKPOINT", "64K").checkpoint_commands, 65536);
    CHECK_EQ_INT(with("TS_CHECKPOINT", "500").checkpoint_ns, 0);
    CHECK_EQ_INT(with("TS_CHECKPOINT", "250ms").checkpoint_ns, 250000000);
    CHECK_EQ_INT(with("TS_CHECKPOINT", "10s").checkpoint_ns, 10000000000);
    CHECK_EQ_INT(with("TS_CHECKPOINT", "2m").checkpoint_ns, 120000000000);
    CHECK_EQ_INT(with("TS_CHECKPOINT", "10s").checkpoint_commands, 0);
    CHECK_EQ_INT(with("TS_CHECKPOINT", "s").checkpoint_ns, 0);
    CHECK_EQ_INT(with("TS_CHECKPOINT", "10h").checkpoint_ns, 0);
    CHECK_EQ_INT(with("TS_CHECKPOINT", "99999999999999999999s").checkpoint_ns, 0);
    CHECK_EQ_INT(with("TS_CHECKPOINT_PATIENCE", "2s").checkpoint_patience_ns, 2000000000);
    CHECK_EQ_INT(with("TS_CHECKPOINT_PATIENCE", "0ms").checkpoint_patience_ns, 0);
    CHECK_EQ_INT(with("TS_CHECKPOINT_PATIENCE", "500").checkpoint_patience_ns, 50000000);
    CHECK_EQ_INT(with("TS_CHECKSUM", "auto").checksum, TSM_CHECKSUM_OFF);
    CHECK(with("TS_CHECKSUM", "auto").spot_checks);
    CHECK(with("TS_CHECKSUM", "nonsense").spot_checks); /* the default */
    for (int i = 0; i < 5; i++) {
        static const char *const others[] = {"off", "0", "sync", "command", "submit"};
        static const enum tsm_checksum_mode modes[] = {TSM_CHECKSUM_OFF, TSM_CHECKSUM_OFF,
                                                       TSM_CHECKSUM_SYNC, TSM_CHECKSUM_COMMAND,
                                                       TSM_CHECKSUM_COMMAND};
        CHECK_EQ_INT(with("TS_CHECKSUM", others[i]).checksum, modes[i]);
        CHECK(!with("TS_CHECKSUM", others[i]).spot_checks);
    }
    CHECK_EQ_INT(with("TS_START_SIGNAL", "USR2").start_signal, SIGUSR2);
    CHECK_EQ_INT(with("TS_START_SIGNAL", "KILL").start_signal, 0);
}

static void test_path(void)
{
    char path[64], wanted[64], small[8];

    CHECK(tsm_output_path(path, sizeof(path), "a.b/t.sbt", 0));
    CHECK_EQ_STR(path, "a.b/t.sbt");
    CHECK(tsm_output_path(path, sizeof(path), "a.b/t.sbt", 2));
    CHECK_EQ_STR(path, "a.b/t.2.sbt");
    CHECK(tsm_output_path(path, sizeof(path), "a.b/t", 1));
    CHECK_EQ_STR(path, "a.b/t.1");
    setenv("RANK", "3", 1);
    CHECK(tsm_output_path(path, sizeof(path), "r%r-%p%%.sbt", 0));
    snprintf(wanted, sizeof(wanted), "r3-%d%%.sbt", (int)getpid());
    CHECK_EQ_STR(path, wanted);
    CHECK(!tsm_output_path(small, sizeof(small), "12345678", 0));
    CHECK(tsm_output_path(small, sizeof(small), "1234567", 0));
}

int main(void)
{
    test_values();
    test_apis();
    test_bad_values();
    test_checkpoint();
    test_path();
    return check_result();
}
