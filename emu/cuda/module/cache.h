/* SPDX-License-Identifier: Apache-2.0
 *
 * Cache of PTX that was loaded before, by its hash: in this process, and on disk for others
 * (TS_EMU_CACHE). With it a module is loaded without decoding what is not used; see
 * emu/ptx/parse/record.h for why what is remembered need not be trusted.
 *
 * A file of the folder: "TSPTXREC", a version (u32), 4 bytes of zero, the key (16 bytes), size and
 * XXH3-64 of the record (u64 each), the record. Numbers are little-endian. Files appear whole, by
 * rename. TS_LOG=emu_cache:debug tells for each module where it came from.
 *
 * Threads: any.
 */
#ifndef EMU_CACHE_H
#define EMU_CACHE_H

#include "base/buffer.h"
#include "base/hash.h"
#include "emu/ptx/ptx.h"

/* Loads a module like ptx_module_create(). `key_out` is zero when nothing is remembered of such a
 * text. */
int emu_cache_load(struct ptx_module **out, struct sbt_key *key_out, const char *text, size_t size,
                   unsigned target, struct ptx_log *log);

/* Forgets the entry of this key, which is wrong. Zero: no entry. */
void emu_cache_forget(const struct sbt_key *key);

/* cache_file.c: the folder. `setting`: TS_EMU_CACHE, NULL for the user's folder. Whatever goes
 * wrong is the same as a file that is not there. */
bool emu_cache_file_read(const char *setting, const struct sbt_key *key, struct tsm_buffer *record);
void emu_cache_file_write(const char *setting, uint64_t size_max, const struct sbt_key *key,
                          const struct tsm_buffer *record);
void emu_cache_file_remove(const char *setting, const struct sbt_key *key);

#endif
