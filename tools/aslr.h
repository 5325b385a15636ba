/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_ASLR_H
#define TOOLS_ASLR_H

/* Run this process again without address randomisation, so that where our own libraries and stack
 * lie is the same each time, and away from most recorded addresses. Returns when that is so, or
 * cannot be had (then a recorded address may be taken, which replay tells). Call it before anything
 * else: the process starts over. */
void tsm_aslr_disable(void);

#endif
