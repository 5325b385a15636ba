/* SPDX-License-Identifier: Apache-2.0 */
#include "tracesmith/error.h"

#include "base/log.h"
#include "base/text.h"

#include <assert.h>
#include <stdarg.h>

/* Initial-exec: this is also linked into a preloaded library, where the default model may call
 * malloc from a thread's first access. Short for that library's sake, too: loaded late, into a
 * namespace of dlmopen(), it shares about 500 bytes of such memory with others. */
static __thread char last_message[384] __attribute__((tls_model("initial-exec")));

const char *tsm_strerror(int code)
{
    switch ((enum tsm_error)code) {
    case TSM_OK:
        return "success";
    case TSM_E_ARGUMENT:
        return "invalid argument";
    case TSM_E_MEMORY:
        return "out of memory";
    case TSM_E_IO:
        return "input/output error";
    case TSM_E_FORMAT:
        return "malformed trace";
    case TSM_E_VERSION:
        return "trace needs a newer TraceSmith";
    case TSM_E_NOT_FOUND:
        return "not found";
    case TSM_E_CHECKSUM:
        return "checksum mismatch";
    case TSM_E_LOSSY:
        return "trace is incomplete";
    case TSM_E_UNSUPPORTED:
        return "not supported here";
    case TSM_E_DEVICE:
        return "device error";
    case TSM_E_DIFFERENT:
        return "different";
    case TSM_E_STATE:
        return "called at the wrong time";
    case TSM_E_LIMIT:
        return "limit exceeded";
    }
    return "unknown error";
}

const char *tsm_error_message(void)
{
    return last_message;
}

int tsm_fail(int code, const char *format, ...)
{
    va_list ap;

    assert(code < 0);
    va_start(ap, format);
    tsm_vformat(last_message, sizeof(last_message), format, ap);
    va_end(ap);
    tsm_log(TSM_LOG_DEBUG, "%s (%s)", last_message, tsm_strerror(code));
    return code;
}
