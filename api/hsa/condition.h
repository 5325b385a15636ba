/* SPDX-License-Identifier: Apache-2.0
 *
 * The conditions under which a wait for a signal is over (HSA runtime specification 1.2, 2.4).
 */
#ifndef API_HSA_CONDITION_H
#define API_HSA_CONDITION_H

#include "api/hsa/types.h"

/* Tests whether a signal of that value ends the wait. */
static inline bool hsa_condition_holds(hsa_signal_value_t value, uint32_t condition,
                                       hsa_signal_value_t compare)
{
    switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ:
        return value == compare;
    case HSA_SIGNAL_CONDITION_NE:
        return value != compare;
    case HSA_SIGNAL_CONDITION_LT:
        return value < compare;
    default:
        return value >= compare;
    }
}

#endif
