/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the parts that a session consists of. Each returns NULL when there is no memory.
 */
#ifndef CAPTURE_PARTS_H
#define CAPTURE_PARTS_H

#include "capture/session.h"

struct tsm_pieces *tsm_pieces_create(void);
struct tsm_intern *tsm_intern_create(void);
struct tsm_stacks *tsm_stacks_create(void);
struct tsm_mappings *tsm_mappings_create(void);
struct tsm_handles *tsm_handles_create(void);
struct tsm_streams *tsm_streams_create(void);
struct tsm_readbacks *tsm_readbacks_create(void);
struct tsm_hostmem *tsm_hostmem_create(void);
struct tsm_values *tsm_values_create(void);
struct tsm_filter *tsm_filter_create(const struct tsm_settings *settings);
struct tsm_notes *tsm_notes_create(void);

#endif
