/* SPDX-License-Identifier: Apache-2.0
 *
 * Host stacks of calls (capture/call/stack.c).
 */
#ifndef CAPTURE_CALL_STACK_H
#define CAPTURE_CALL_STACK_H

#include "capture/session.h"

uint32_t tsm_stack_capture(struct tsm_session *session, struct tsm_lane *lane,
                           const void *return_address, const void *sp);

void tsm_stack_forget(struct tsm_lane *lane);

const char *tsm_stack_method(void);

#endif
