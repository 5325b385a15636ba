/* SPDX-License-Identifier: Apache-2.0 */
#define HASH_NAME(name) name##_avx512
#include "base/hash_body.h"
