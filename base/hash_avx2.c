/* SPDX-License-Identifier: Apache-2.0 */
#define HASH_NAME(name) name##_avx2
#include "base/hash_body.h"
