/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the descriptions of an API's records (schemas, structs, value tables) into the trace. For
 * an API that counts the structs it uses, a description is written just before its first use: the
 * whole of them would be larger than many a trace. All descriptions lie in a file beside the trace
 * until the end, for the recovery of lanes after a crash.
 *
 * For the drain thread alone.
 */
#ifndef CAPTURE_CALL_DECLARE_H
#define CAPTURE_CALL_DECLARE_H

#include "capture/capture.h"
#include "tracesmith/writer.h"

/* How the file is called: the trace's path and this. */
#define TSM_DECLARE_SUFFIX ".types"

struct tsm_declare;

/* NULL: no memory. The description stays. */
struct tsm_declare *tsm_declare_create(const struct tsm_api_description *api);
void tsm_declare_destroy(struct tsm_declare *d);

/* Does it do without the whole description? */
bool tsm_declare_is_lazy(const struct tsm_api_description *api);

/* All of an API. */
int tsm_declare_all(struct sbt_writer *w, const struct tsm_api_description *api);

/* A record of this type is about to be written. What is not the API's is none of its business. */
int tsm_declare_type(struct tsm_declare *d, struct sbt_writer *w, uint32_t type);

/* Structs that came into use (tsm_api_description.used) since the last time. */
int tsm_declare_used(struct tsm_declare *d, struct sbt_writer *w);

#endif
