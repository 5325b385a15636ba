/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/timeline/chrome_out.h"

#include <inttypes.h>

void tsm_chrome_begin(struct tsm_json *j)
{
    tsm_json_open(j, '{');
    tsm_json_put_string(j, "displayTimeUnit", "ns");
    tsm_json_name(j, "traceEvents");
    tsm_json_open(j, '[');
}

void tsm_chrome_end(struct tsm_json *j)
{
    tsm_json_close(j, ']');
    tsm_json_end(j);
}

void tsm_chrome_open(struct tsm_json *j, const char *phase, const char *name, uint64_t process,
                     uint64_t thread)
{
    tsm_json_open(j, '{');
    tsm_json_put_string(j, "ph", phase);
    tsm_json_put_string(j, "name", name);
    tsm_json_put_u64(j, "pid", process);
    tsm_json_put_u64(j, "tid", thread);
}

/* Ours are exact to the nanosecond. */
void tsm_chrome_time(struct tsm_json *j, const char *name, uint64_t ns)
{
    tsm_json_name(j, name);
    fprintf(j->out, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
    j->comma = true;
}

void tsm_chrome_slice(struct tsm_json *j, const char *name, uint64_t process, uint64_t thread,
                      uint64_t from_ns, uint64_t to_ns)
{
    tsm_chrome_open(j, "X", name, process, thread);
    tsm_chrome_time(j, "ts", from_ns);
    tsm_chrome_time(j, "dur", to_ns > from_ns ? to_ns - from_ns : 0);
}

void tsm_chrome_name(struct tsm_json *j, const char *what, uint64_t process, uint64_t thread,
                     const char *name)
{
    tsm_chrome_open(j, "M", what, process, thread);
    tsm_json_name(j, "args");
    tsm_json_open(j, '{');
    tsm_json_put_string(j, "name", name);
    tsm_json_close(j, '}');
    tsm_json_close(j, '}');
}
