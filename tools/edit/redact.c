/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/edit/redact.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"
#include "format/values/contents.h"
#include "format/events/record.h"
#include "kernel/include/grtrace.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"contents", "command", "host",   "user",
                                    "paths",    "names",   "values", "hashes"};
#define NAME_COUNT (sizeof(names) / sizeof(*names))
#define ALL        ((1u << NAME_COUNT) - 1)

/* The set with the name that a list begins with; 0: it is none. */
static unsigned parse_name(const char *list, size_t size)
{
    for (size_t i = 0; i < NAME_COUNT; i++)
        if (strlen(names[i]) == size && memcmp(names[i], list, size) == 0)
            return 1u << i;
    return size == 3 && memcmp(list, "all", 3) == 0 ? ALL : 0;
}

bool tsm_redact_parse(unsigned *what, const char *list)
{
    *what = 0;
    for (;;) {
        size_t size = strcspn(list, ",");
        unsigned named = parse_name(list, size);

        if (!named)
            return false;
        *what |= named;
        if (!list[size])
            break;
        list += size + 1;
    }
    if (*what & TSM_REDACT_HASHES)
        *what |= TSM_REDACT_CONTENTS; /* bytes lie under their hashes */
    return true;
}

void tsm_redact_list(char *out, size_t size, unsigned what)
{
    size_t used = 0;

    *out = '\0';
    for (size_t i = 0; i < NAME_COUNT; i++)
        if (what & 1u << i)
            used += tsm_format(out + used, size - used, "%s%s", used ? "," : "", names[i]);
}

unsigned tsm_redacted(const struct sbt_reader *reader)
{
    const char *list = sbt_reader_metadata_find(reader, SBT_METADATA_REDACTED);
    unsigned what;

    return list && tsm_redact_parse(&what, list) ? what : 0;
}

/* ---- words ------------------------------------------------------------------------------------
 */

/* Letters of no meaning in place of `size` ones: the number of the word, counted from the first one
 * on.
 */
static bool mask(struct tsm_redact *r, char *at, size_t size)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    bool is_new = false;
    uint64_t *number = size ? tsm_map_insert(&r->words, tsm_hash64(at, size), &is_new) : NULL;

    if (!size)
        return true;
    if (!number)
        return false;
    if (is_new)
        *number = r->words.count - 1;
    memset(at, 'x', size);
    for (uint64_t left = *number, i = size; i-- > 0 && left; left /= 36)
        at[i] = digits[left % 36];
    return true;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* Secrets that are words of their own. */
static bool mask_secrets(struct tsm_redact *r, char *text, size_t size)
{
    for (size_t s = 0; s < r->secret_count; s++) {
        size_t length = strlen(r->secrets[s]);
        for (size_t i = 0; i + length <= size; i++) {
            if (memcmp(text + i, r->secrets[s], length) != 0 || (i > 0 && is_word(text[i - 1])) ||
                (i + length < size && is_word(text[i + length])))
                continue;
            if (!mask(r, text + i, length))
                return false;
        }
    }
    return true;
}

/* ---- paths ------------------------------------------------------------------------------------
 */

static bool has_parent(const char *path, size_t size)
{
    for (size_t i = 0; i + 3 <= size; i++)
        if (memcmp(path + i, "/..", 3) == 0 && (i + 3 == size || path[i + 3] == '/'))
            return true;
    return false;
}

static bool is_in_folder(const char *path, size_t size, const char *const *folders, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(folders[i]);
        if (size >= length && memcmp(path, folders[i], length) == 0 &&
            (size == length || path[length] == '/'))
            return true;
    }
    return false;
}

/* Folders that say which distribution it is, and nothing of who uses it. In some of /dev programs
 * make files of any name. */
static bool is_of_system(const char *path, size_t size)
{
    static const char *const folders[] = {"/usr/lib", "/usr/bin", "/usr/libexec", "/usr/share",
                                          "/lib",     "/lib32",   "/lib64",       "/bin",
                                          "/dev",     "/sys"};
    static const char *const of_programs[] = {"/dev/shm", "/dev/mqueue", "/dev/hugepages"};

    return is_in_folder(path, size, folders, sizeof(folders) / sizeof(*folders)) &&
           !is_in_folder(path, size, of_programs, sizeof(of_programs) / sizeof(*of_programs)) &&
           !has_parent(path, size);
}

/* Folder by folder, so that what lies in one folder still does. */
static bool mask_path(struct tsm_redact *r, char *path, size_t size)
{
    for (size_t at = 0, end; at < size; at = end + 1) {
        bool is_kept;

        for (end = at; end < size && path[end] != '/'; end++)
            ;
        is_kept = end - at == 0 || (end - at == 1 && path[at] == '.') ||
                  (end - at == 2 && path[at] == '.' && path[at + 1] == '.');
        if (!is_kept && !mask(r, path + at, end - at))
            return false;
    }
    return true;
}

static bool is_in_path(char c)
{
    return c && !strchr(" \t\n\r\"'`;,()<>|&=[]{}:", c);
}

/* Returns the begin of the path in the word [at, end) of a text: from the root, from the folder
 * that a program is in or that an option names (-I/data, -Lbuild/x), or, after such a path,
 * anything: a name with a space continues there. Returns `end` if the word has no path. */
static size_t path_begin(const char *text, size_t at, size_t end, bool is_behind_path)
{
    const char *slash = memchr(text + at, '/', end - at);

    if (!slash || end - at < 2)
        return end;
    if (text[at] == '-') {
        while (at < end && text[at] == '-')
            at++;
        return text + at == slash ? at : at + 1; /* after the option's letter */
    }
    if (slash == text + at || is_behind_path || text[at] == '~')
        return at;
    if (text[at] == '.' && (text[at + 1] == '/' || text[at + 1] == '.'))
        return at;
    return end;
}

/* Paths wherever they are in a text, with the words between the parts of one that has spaces. */
static bool mask_paths(struct tsm_redact *r, char *text, size_t size)
{
    size_t path_end = 0; /* after the path that may go on; 0: none does */

    for (size_t at = 0, end; at < size; at = end + 1) {
        for (end = at; end < size && is_in_path(text[end]); end++)
            ;
        at = path_begin(text, at, end, path_end != 0);
        if (at < end && !is_of_system(text + at, end - at)) {
            bool goes_on = path_end && text[at] != '/' && at > path_end + 1;
            if ((goes_on && !mask(r, text + path_end + 1, at - path_end - 2)) ||
                !mask_path(r, text + at, end - at))
                return false;
            path_end = end;
        }
        if (end < size && strchr(":;,\n\"", text[end]))
            path_end = 0;
    }
    return true;
}

/* ---- secrets ----------------------------------------------------------------------------------
 */

static bool add_secret(struct tsm_redact *r, const char *text, size_t size)
{
    for (size_t i = 0; i < r->secret_count; i++)
        if (strlen(r->secrets[i]) == size && memcmp(r->secrets[i], text, size) == 0)
            return true;
    if (size == 0)
        return true;
    if (r->secret_count == 256) {
        r->has_too_many = true;
        return true;
    }
    if (!TSM_ARRAY_RESIZE(r->secrets, r->secret_count + 1))
        return false;
    r->secrets[r->secret_count] = strndup(text, size);
    return r->secrets[r->secret_count++] != NULL;
}

/* The name of each home folder in a text. */
static bool add_users(struct tsm_redact *r, const char *text)
{
    static const char folder[] = "/home";

    for (const char *at = text; (at = strstr(at, folder)); at += sizeof(folder) - 1) {
        const char *name = at + sizeof(folder);
        size_t size = 0;

        if (name[-1] != '/')
            continue;
        while (is_in_path(name[size]) && name[size] != '/')
            size++;
        if (!add_secret(r, name, size))
            return false;
    }
    return true;
}

/* The name of each home folder in a text. */
static bool mask_homes(struct tsm_redact *r, char *text, size_t size)
{
    static const char folder[] = "/home";
    const size_t length = sizeof(folder); /* and a slash */

    for (size_t at = 0, end; at + length < size; at++) {
        if (memcmp(text + at, folder, length - 1) != 0 || text[at + length - 1] != '/')
            continue;
        for (end = at + length; end < size && is_in_path(text[end]) && text[end] != '/'; end++)
            ;
        if (!mask(r, text + at + length, end - at - length))
            return false;
    }
    return true;
}

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory to redact a trace");
}

void tsm_redact_finish(struct tsm_redact *r)
{
    for (size_t i = 0; i < r->secret_count; i++)
        free(r->secrets[i]);
    free(r->secrets);
    tsm_map_finish(&r->words);
    tsm_map_finish(&r->keys);
    tsm_map_finish(&r->strings);
    tsm_buffer_finish(&r->text);
    tsm_buffer_finish(&r->data);
    tsm_buffer_finish(&r->value);
}

/* ---- texts ------------------------------------------------------------------------------------
 */

enum text_kind { TEXT_ANY, TEXT_PATH, TEXT_NAME, TEXT_PROCESS, TEXT_CODE, TEXT_SECRET };

/* Redacts a text in place. A secret is removed as a whole. */
static bool redact_text(struct tsm_redact *r, char *text, size_t size, enum text_kind kind)
{
    if (kind == TEXT_SECRET || (kind == TEXT_NAME && r->what & TSM_REDACT_NAMES) ||
        (kind == TEXT_PROCESS && r->what & TSM_REDACT_COMMAND) ||
        (kind == TEXT_CODE && r->what & (TSM_REDACT_CONTENTS | TSM_REDACT_NAMES)))
        return mask(r, text, size);
    if (r->what & TSM_REDACT_PATHS && kind == TEXT_PATH && !is_of_system(text, size))
        return mask_path(r, text, size);
    if (r->what & TSM_REDACT_PATHS && kind != TEXT_PATH && !mask_paths(r, text, size))
        return false;
    if (r->what & TSM_REDACT_USER && !mask_homes(r, text, size))
        return false;
    return mask_secrets(r, text, size);
}

static const char *redacted(struct tsm_redact *r, const char *text, enum text_kind kind)
{
    size_t size = strlen(text);

    tsm_buffer_clear(&r->text);
    tsm_buffer_add(&r->text, text, size + 1);
    if (r->text.failed || !redact_text(r, (char *)r->text.data, size, kind))
        return NULL;
    return (const char *)r->text.data;
}

const char *tsm_redact_metadata(struct tsm_redact *r, const char *name, const char *value)
{
    enum text_kind kind = TEXT_ANY;

    if (strcmp(name, "process.command") == 0 && r->what & TSM_REDACT_COMMAND)
        kind = TEXT_SECRET;
    if (r->what & TSM_REDACT_HOST &&
        (strcmp(name, "host.name") == 0 || tsm_text_ends_with(name, ".uuid") ||
         tsm_text_ends_with(name, ".serial")))
        kind = TEXT_SECRET;
    if (strcmp(name, "process.executable") == 0 || strcmp(name, "setting.TS_OUTPUT") == 0)
        kind = TEXT_PATH;
    if (strcmp(name, "setting.TS_KERNELS") == 0)
        kind = TEXT_NAME;
    if (strcmp(name, "setting.TS_THREAD_NAMES") == 0)
        kind = TEXT_PROCESS;
    return redacted(r, value, kind);
}

const char *tsm_redact_path(struct tsm_redact *r, const char *path)
{
    return redacted(r, path, *path == '/' ? TEXT_PATH : TEXT_ANY);
}

static enum text_kind string_kind(uint32_t type, const struct sbt_field *field)
{
    static const char *const paths[] = {"fname", "fileName", "filename", "path", "trace"};

    if (type == SBT_TYPE(SBT_API_CORE, SBT_CORE_THREAD))
        return TEXT_PROCESS;
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        if (strcmp(field->name, paths[i]) == 0)
            return TEXT_PATH;
    return strcmp(field->name, "src") == 0 ? TEXT_CODE : TEXT_NAME; /* a program's source in HIP */
}

/* ---- records ----------------------------------------------------------------------------------
 */

/* Replaces a hash by its number, in the order in which hashes occur. */
static bool number_hash(struct tsm_redact *r, uint8_t *at, size_t size)
{
    bool is_new = false;
    uint64_t *number = tsm_map_insert(&r->keys, tsm_hash64(at, size), &is_new), left;

    if (!number)
        return false;
    if (is_new)
        *number = r->keys.count;
    left = *number;
    for (size_t i = size; i-- > 0; left >>= 8)
        at[i] = (uint8_t)left;
    return true;
}

static bool put_key(struct tsm_redact *r, struct sbt_key key)
{
    if (r->what & TSM_REDACT_HASHES && !tsm_key_is_zero(&key) &&
        !number_hash(r, key.bytes, sizeof(key.bytes)))
        return false;
    tsm_buffer_add(&r->data, key.bytes, sizeof(key.bytes));
    return true;
}

/* Bytes that the trace has without their contents are their hash already. */
static bool hide_bytes(struct tsm_redact *r, uint8_t *at, size_t size)
{
    bool is_hidden = r->has_no_contents;

    for (size_t i = sizeof(struct sbt_key); i < size; i++)
        is_hidden &= at[i] == 0;
    if (!is_hidden)
        sbt_hide_bytes(at, size);
    return !(r->what & TSM_REDACT_HASHES) || number_hash(r, at, size);
}

static int put_blob(struct tsm_redact *r, const struct sbt_blob *blob)
{
    uint64_t count = blob->bytes ? 1 : blob->piece_count;

    tsm_buffer_add_u64(&r->data, blob->size);
    for (uint64_t i = 0; i < count; i++)
        if (!put_key(r, sbt_blob_key(blob, i)))
            return no_memory();
    return 0;
}

/* deviceUUID, driverUUID, deviceLUID, uuid, luid: which machine it was. */
static bool is_serial(const char *name)
{
    return tsm_text_ends_with(name, "UUID") || tsm_text_ends_with(name, "LUID") ||
           tsm_text_ends_with(name, "uuid") || tsm_text_ends_with(name, "luid");
}

/* Redacts [at, at + size) of a value, one step of it. */
static bool redact_step(struct tsm_redact *r, const struct sbt_step *step, uint8_t *at, size_t size)
{
    const bool has_contents = !(r->what & TSM_REDACT_CONTENTS);
    enum sbt_part part = sbt_step_part(step);

    if (step->kind == SBT_STEP_VALUE && step->member && step->member->type == SBT_FIELD_STRING)
        return redact_text(r, (char *)at, size, TEXT_NAME);
    if (part == SBT_PART_BYTES && r->what & TSM_REDACT_HOST && step->member &&
        step->kind == SBT_STEP_VALUE && is_serial(step->member->name))
        memset(at, 0, size);
    else if (part == SBT_PART_BYTES && !has_contents)
        return hide_bytes(r, at, size);
    else if (part == SBT_PART_WORD && !has_contents && !r->has_no_contents)
        sbt_hide_word(at, size);
    return true;
}

/* Bytes, and texts, of a structured value, in place. */
static int redact_value(struct tsm_redact *r, const char *detail, uint8_t *value, size_t size)
{
    struct sbt_walk walk;
    struct sbt_step step;
    const uint8_t *before;
    int error = sbt_walk_begin(&walk, r->reader, detail, value, size);

    if (error)
        return error;
    while (before = walk.at, (error = sbt_walk_next(&walk, &step)) == 1) {
        const uint8_t *at = step.data ? step.data : before;
        size_t own = step.data ? step.size : (size_t)(walk.at - before);

        if (own && !step.none && !redact_step(r, &step, value + (at - value), own))
            return no_memory();
    }
    return error;
}

/* A value that cannot be read as what it ought to be is left out whole. */
static int put_struct(struct tsm_redact *r, struct sbt_writer *writer, const struct sbt_record *in,
                      uint32_t index, const char *detail)
{
    struct sbt_value value;
    const uint8_t *own;
    size_t own_size;
    struct sbt_blob blob;
    int kept = sbt_record_struct(in, index, &own, &own_size, &blob);
    int error = sbt_reader_value(r->reader, in, index, &value);
    uint8_t *reference;

    tsm_buffer_clear(&r->value);
    if (error == 1)
        tsm_buffer_add(&r->value, value.data, value.size);
    sbt_value_finish(&value);
    if (r->value.failed)
        return no_memory();
    if (error == 0)
        return 0;
    if (error != 1 || redact_value(r, detail, r->value.data, r->value.size) < 0) {
        r->missing_count++;
        return 0;
    }
    tsm_buffer_add_u8(&r->data, kept == 2);
    if (kept == 1) {
        tsm_buffer_add(&r->data, r->value.data, r->value.size);
        return 0;
    }
    if (!writer)
        return 0;
    reference = tsm_buffer_reserve(&r->data, SBT_BLOB_ENCODED_SIZE(r->value.size));
    if (!reference)
        return no_memory();
    r->data.size += SBT_BLOB_ENCODED_SIZE(r->value.size);
    return sbt_writer_blob(writer, r->value.data, r->value.size, reference);
}

static int put_bytes(struct tsm_redact *r, const struct sbt_record *in, uint32_t index,
                     const struct sbt_field *field)
{
    const bool is_hash = in->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKSUM);
    const uint8_t *data;
    size_t size, at = r->data.size;
    struct sbt_key key;

    if (!sbt_record_bytes(in, index, &data, &size))
        return 0;
    if (is_hash && size == sizeof(key.bytes)) {
        memcpy(key.bytes, data, size);
        return put_key(r, key) ? 0 : no_memory();
    }
    tsm_buffer_add(&r->data, data, size);
    if (r->data.failed || is_hash || !size)
        return 0;
    if (r->what & TSM_REDACT_VALUES || (r->what & TSM_REDACT_HOST && is_serial(field->name)))
        memset(r->data.data + at, 0, size);
    else if (r->what & TSM_REDACT_CONTENTS && sbt_field_is_memory(field) &&
             !hide_bytes(r, r->data.data + at, size))
        return no_memory();
    return 0;
}

/* Writes a text. One text can be a path in one place and a name in another, so it has a number for
 * each kind. */
static int put_string(struct tsm_redact *r, struct sbt_writer *writer, uint64_t *slot,
                      enum text_kind kind)
{
    const char *text =
        *slot && *slot <= UINT32_MAX ? sbt_reader_string(r->reader, (uint32_t)*slot) : NULL;
    uint64_t *id;
    bool is_new;

    r->missing_count += *slot && !text;
    if (!text) {
        *slot = 0;
        return 0;
    }
    id = tsm_map_insert(&r->strings, *slot << 8 | kind, &is_new);
    if (!id)
        return no_memory();
    if (is_new)
        *id = r->strings.count;
    *slot = *id;
    if (!is_new)
        return 0;
    text = redacted(r, text, kind);
    if (!text)
        return no_memory();
    return writer ? sbt_writer_string(writer, (uint32_t)*slot, text, strlen(text)) : 0;
}

static int put_field(struct tsm_redact *r, struct sbt_writer *writer, const struct sbt_record *in,
                     uint32_t index, const struct sbt_field *field)
{
    struct sbt_blob blob;
    const uint8_t *data;
    size_t size;

    switch (field->type) {
    case SBT_FIELD_BYTES:
        return put_bytes(r, in, index, field);
    case SBT_FIELD_STRUCT:
        return put_struct(r, writer, in, index, field->detail);
    case SBT_FIELD_BLOB:
        if (!sbt_record_bytes(in, index, &data, &size) || !sbt_record_blob(in, index, &blob))
            return 0;
        if (size && r->what & (TSM_REDACT_CONTENTS | TSM_REDACT_HASHES))
            return put_blob(r, &blob);
        tsm_buffer_add(&r->data, data, size);
        return 0;
    default:
        return 0;
    }
}

int tsm_redact_record(struct tsm_redact *r, struct sbt_writer *writer,
                      const struct sbt_schema *schema, const struct sbt_record *in,
                      struct sbt_record *out)
{
    int error = 0;

    *out = *in;
    memcpy(r->slots, in->slots, in->slot_count * sizeof(*r->slots));
    tsm_buffer_clear(&r->data);
    for (uint32_t i = 0; i < in->slot_count && i < schema->field_count && !error; i++) {
        enum sbt_field_type type = schema->fields[i].type;
        size_t at = r->data.size;

        if (type == SBT_FIELD_STRING)
            error = put_string(r, writer, &r->slots[i], string_kind(in->type, &schema->fields[i]));
        if (type != SBT_FIELD_BYTES && type != SBT_FIELD_BLOB && type != SBT_FIELD_STRUCT)
            continue;
        error = put_field(r, writer, in, i, &schema->fields[i]);
        r->slots[i] = (uint64_t)at << 32 | (uint64_t)(r->data.size - at);
    }
    if (!error && r->data.failed)
        error = no_memory();
    out->slots = r->slots;
    out->data = r->data.data;
    out->data_size = (uint32_t)r->data.size;
    return error;
}

/* ---- begin ------------------------------------------------------------------------------------
 */

static bool add_secrets(struct tsm_redact *r)
{
    const char *host = sbt_reader_metadata_find(r->reader, "host.name"), *name, *value;
    bool fits = true;

    if (host && r->what & TSM_REDACT_HOST)
        fits = add_secret(r, host, strlen(host)) && add_secret(r, host, strcspn(host, "."));
    if (!(r->what & TSM_REDACT_USER))
        return fits;
    for (size_t i = 0; i < sbt_reader_metadata_count(r->reader) && fits; i++) {
        sbt_reader_metadata(r->reader, i, &name, &value);
        fits = add_users(r, value);
    }
    for (size_t i = 0; i < sbt_reader_mapping_count(r->reader) && fits; i++)
        fits = add_users(r, sbt_reader_mapping(r->reader, i)->path);
    return fits;
}

/* Words of records have their numbers before those of metadata, so that two traces of one program
 * have the same ones, wherever it ran. */
int tsm_redact_begin(struct tsm_redact *r)
{
    const struct sbt_record *record;
    struct sbt_record out;
    struct sbt_cursor *cursor = NULL;
    int error = add_secrets(r) ? 0 : no_memory();

    r->has_no_contents =
        (sbt_reader_session(r->reader)->optional_features & SBT_OPTIONAL_NO_CONTENTS) != 0;
    if (!error && r->has_too_many)
        error = tsm_fail(TSM_E_LIMIT, "%s: names over %zu folders of /home; remove paths, too",
                         sbt_reader_name(r->reader), r->secret_count);
    if (!error)
        error = sbt_cursor_create(&cursor, r->reader, NULL, 1);
    while (error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1) {
        const struct sbt_schema *schema = sbt_reader_schema(r->reader, record->type);
        if (schema)
            error = tsm_redact_record(r, NULL, schema, record, &out);
    }
    sbt_cursor_destroy(cursor);
    tsm_map_finish(&r->strings);
    r->missing_count = 0;
    return error < 0 ? error : 0;
}

/* ---- kernel records ---------------------------------------------------------------------------
 */

/* Redacts a text of `size` bytes in the body of a record, as far as the body reaches, and clears
 * the bytes after its terminator. */
static void redact_kernel_text(struct tsm_redact *r, uint8_t *record, size_t own, size_t from,
                               size_t size, enum text_kind kind)
{
    char *text = (char *)record + from;
    size_t length;

    if (from >= own)
        return;
    length = strnlen(text, own - from < size ? own - from : size);
    memset(text + length, 0, own - from - length);
    redact_text(r, text, length, kind);
}

void tsm_redact_kernel(struct tsm_redact *r, uint8_t *records, size_t size)
{
    const size_t head = GRTRACE_RECORD_SIZE;

    for (size_t at = 0, own; at < size; at += own) {
        uint8_t *record = records + at, type = record[offsetof(struct grtrace_record, type)];

        own = tsm_get_u16(record);
        if (type == GRTRACE_CPU_SWITCH || type == GRTRACE_CPU_WAKEUP)
            redact_kernel_text(r, record, own, head, GRTRACE_CPU_NAME_SIZE, TEXT_PROCESS);
        else if (type == GRTRACE_CHANNEL_GROUP)
            redact_kernel_text(r, record, own, head + offsetof(struct grtrace_channel_group, comm),
                               GRTRACE_CPU_NAME_SIZE, TEXT_PROCESS);
        else if (type == GRTRACE_METADATA)
            redact_kernel_text(r, record, own, head + offsetof(struct grtrace_metadata, text),
                               GRTRACE_TEXT_SIZE, TEXT_ANY);
        else if (type == GRTRACE_CPU_IRQ_ENTER)
            redact_kernel_text(r, record, own, head, GRTRACE_CPU_NAME_SIZE, TEXT_ANY);
        else if ((type >= GRTRACE_TYPE_END && type < GRTRACE_CPU_SWITCH) ||
                 type >= GRTRACE_CPU_TYPE_END) /* of a later version: nobody knows what it tells */
            memset(record + head, 0, own - head);
    }
}
