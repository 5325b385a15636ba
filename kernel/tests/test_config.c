// SPDX-License-Identifier: GPL-2.0
/* The file `config` takes what it should, as a whole, and refuses the rest without a change. */
#include "grtrace_session.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const bad[] = {
	"levle 1",	 "level",	     "level 4",		     "level -1",
	"level x",	 "sample 0",	     "sample 2000000",	     "max_events_per_sec 0x",
	"rate_limiter_mode fast",	     "backpressure_threshold 101",
	"adaptive_sampling 2",		     "filter_ring_id -2",    "filter_ring_id 65536",
	"pid_allow=1,x", "pid_allow=1,,2",   "pid_allow=4294967296", "ring_deny=70000",
	"overwrite 2",	 "subbuf_size 4097", "subbuf_size 1024",     "subbuf_count 1",
	"subbuf_size 4194304\nsubbuf_count 1024", "reset_stats 2",
	"level 1\nsample 0", /* the first line is good */
	"ctx_allow=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,"
	"30,31,32,33",
};

int main(void)
{
	char *before;
	size_t refused = 0, count = sizeof(bad) / sizeof(bad[0]);

	session_defaults();
	before = strdup(session_read("config"));
	tap_ok(strstr(before, "level 2\n") && strstr(before, "filter_ring_id -1\n"),
	       "settings are readable");
	for (size_t i = 0; i < count; i++) {
		if (session_write("config", bad[i]) == -EINVAL)
			refused++;
		else
			tap_note("taken: %s", bad[i]);
	}
	tap_ok(refused == count, "%zu of %zu bad settings are refused", refused, count);
	tap_ok(!strcmp(before, session_read("config")), "and change nothing");
	tap_ok(session_write("config", "level=3\nsample 5\npid_deny=1,2\n"
				       "rate_limiter_mode token_bucket") == 0 &&
		       session_number("config", "level") == 3 &&
		       session_number("config", "sample") == 5 &&
		       strstr(session_read("config"), "pid_deny 1,2\n"),
	       "good ones are taken together");
	session_start();
	tap_ok(session_write("config", "subbuf_size 4096") == -EBUSY,
	       "buffers cannot change while a session runs");
	tap_ok(session_write("config", "level 1") == 0, "others can");
	tap_ok(session_start() == -EALREADY, "there is one session at a time");
	session_stop();
	session_defaults();
	tap_ok(!strcmp(before, session_read("config")), "and all can be taken back");
	tap_ok(session_write("control", "go") == -EINVAL &&
		       session_write("emit", "type=1") == -EINVAL &&
		       session_write("emit", "type=6 what=1") == -EINVAL &&
		       (!session_of_module() || session_write("rules", "t_what 1") == -EINVAL) &&
		       session_write("stats", "x") < 0,
	       "other files refuse nonsense, too");
	free(before);
	return tap_finish();
}
