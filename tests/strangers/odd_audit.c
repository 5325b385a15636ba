/* SPDX-License-Identifier: Apache-2.0 -- an LD_AUDIT library that looks and changes nothing. */
#include <link.h>

__attribute__((visibility("default"))) unsigned la_version(unsigned version)
{
    return version;
}

__attribute__((visibility("default"))) unsigned la_objopen(struct link_map *map, Lmid_t lmid,
                                                           uintptr_t *cookie)
{
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
