// SPDX-License-Identifier: GPL-2.0
/*
 * Are the tracepoints and structs of the running kernel those of the headers that this was built
 * with? /sys/kernel/btf tells; nothing in it is believed further than its own length.
 */
#include <linux/bitops.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <uapi/linux/btf.h>

#include "core.h"

#define BLOB_SIZE_MAX (64 << 20)
#define DEPTH_MAX     8

/* Types of one file: ids first .. first + count - 1, names from string_base on. */
struct blob {
	u8 *data;
	const u8 *types;
	const char *strings;
	u32 types_size, strings_size, string_base;
	u32 first, count;
	u32 *at; /* in types, of each */
};

struct grtrace_btf {
	struct blob base; /* vmlinux */
	struct blob own;  /* the module's, or nothing */
};

/* Bytes after struct btf_type; -1 for a kind that is not known. */
static int tail_size(u32 kind, u32 length)
{
	switch (kind) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case BTF_KIND_ENUM64:
		return length * 12;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return length * 8;
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	default:
		return -1;
	}
}

/* Fills `at` if it is there, and counts. */
static int walk(struct blob *blob)
{
	u32 offset = 0;

	blob->count = 0;
	while (offset + sizeof(struct btf_type) <= blob->types_size) {
		const struct btf_type *type = (const void *)(blob->types + offset);
		int tail = tail_size(BTF_INFO_KIND(type->info), BTF_INFO_VLEN(type->info));

		if (tail < 0 || tail > blob->types_size - offset - sizeof(*type))
			return -EINVAL;
		if (blob->at)
			blob->at[blob->count] = offset;
		blob->count++;
		offset += sizeof(*type) + tail;
	}
	return 0;
}

static int parse(struct blob *blob, size_t size)
{
	const struct btf_header *head = (const void *)blob->data;
	u64 end;

	if (size < sizeof(*head) || head->magic != BTF_MAGIC || head->hdr_len > size)
		return -EINVAL;
	size -= head->hdr_len;
	end = max((u64)head->type_off + head->type_len, (u64)head->str_off + head->str_len);
	if (end > size || !head->str_len)
		return -EINVAL;
	blob->types = blob->data + head->hdr_len + head->type_off;
	blob->types_size = head->type_len;
	blob->strings = (const char *)blob->data + head->hdr_len + head->str_off;
	blob->strings_size = head->str_len;
	if (blob->strings[blob->strings_size - 1] || walk(blob))
		return -EINVAL;
	blob->at = kvmalloc_array(blob->count, sizeof(*blob->at), GFP_KERNEL);
	return blob->at ? walk(blob) : -ENOMEM;
}

/* Not by kernel_read_file(): security modules want to know what that is for. */
static int load(struct blob *blob, const char *name)
{
	char path[32 + MODULE_NAME_LEN];
	struct file *file;
	int error = -EINVAL;
	loff_t at = 0;
	u64 size;

	scnprintf(path, sizeof(path), "/sys/kernel/btf/%s", name);
	file = filp_open(path, O_RDONLY, 0);
	if (IS_ERR(file))
		return PTR_ERR(file);
	size = i_size_read(file_inode(file));
	if (size && size <= BLOB_SIZE_MAX)
		blob->data = vmalloc(size);
	while (blob->data && at < size) {
		ssize_t got = kernel_read(file, blob->data + at, size - at, &at);

		if (got <= 0)
			break;
	}
	if (blob->data && at == size)
		error = parse(blob, size);
	fput(file);
	return error;
}

static void drop(struct blob *blob)
{
	vfree(blob->data);
	kvfree(blob->at);
}

void grtrace_btf_close(struct grtrace_btf *btf)
{
	if (!btf)
		return;
	drop(&btf->base);
	drop(&btf->own);
	kfree(btf);
}

struct grtrace_btf *grtrace_btf_open(const char *module)
{
	struct grtrace_btf *btf = kzalloc(sizeof(*btf), GFP_KERNEL);

	if (!btf)
		return NULL;
	btf->base.first = 1;
	if (load(&btf->base, "vmlinux"))
		goto none;
	btf->own.first = btf->base.count + 1;
	btf->own.string_base = btf->base.strings_size;
	if (module && load(&btf->own, module))
		goto none;
	return btf;
none:
	grtrace_btf_close(btf);
	return NULL;
}

/* ---- types ------------------------------------------------------------------------------- */

static const struct btf_type *type_at(const struct grtrace_btf *btf, u32 id)
{
	const struct blob *blob = id >= btf->own.first ? &btf->own : &btf->base;

	if (!id || id - blob->first >= blob->count)
		return NULL;
	return (const void *)(blob->types + blob->at[id - blob->first]);
}

static const char *name_at(const struct grtrace_btf *btf, u32 offset)
{
	const struct blob *blob = &btf->base;

	if (btf->own.strings && offset >= btf->own.string_base) {
		blob = &btf->own;
		offset -= blob->string_base;
	}
	return offset < blob->strings_size ? blob->strings + offset : "";
}

static u32 find_in(const struct grtrace_btf *btf, const struct blob *blob, u32 kind,
		   const char *name)
{
	for (u32 i = 0; i < blob->count; i++) {
		const struct btf_type *type = (const void *)(blob->types + blob->at[i]);

		if (BTF_INFO_KIND(type->info) == kind && !strcmp(name_at(btf, type->name_off), name))
			return blob->first + i;
	}
	return 0;
}

static const struct btf_type *find(const struct grtrace_btf *btf, u32 kind, const char *name)
{
	u32 id = find_in(btf, &btf->own, kind, name) ?: find_in(btf, &btf->base, kind, name);

	return type_at(btf, id);
}

/* Writes a type roughly as C does: "struct x *", "const char *", "u32". */
static int type_text(const struct grtrace_btf *btf, u32 id, char *out, size_t size, int depth)
{
	const struct btf_type *type = type_at(btf, id);
	u32 kind = type ? BTF_INFO_KIND(type->info) : BTF_KIND_UNKN;
	const char *star = "";
	int used;

	if (!id)
		return scnprintf(out, size, "void");
	if (!type || depth == DEPTH_MAX)
		return scnprintf(out, size, "?");
	switch (kind) {
	case BTF_KIND_PTR:
		used = type_text(btf, type->type, out, size, depth + 1);
		star = used && out[used - 1] == '*' ? "*" : " *";
		return used + scnprintf(out + used, size - used, "%s", star);
	case BTF_KIND_CONST:
		used = scnprintf(out, size, "const ");
		return used + type_text(btf, type->type, out + used, size - used, depth + 1);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_FWD:
	case BTF_KIND_ENUM:
		return scnprintf(out, size, "%s %s",
				 kind == BTF_KIND_ENUM ? "enum" :
				 kind == BTF_KIND_UNION ? "union" : "struct",
				 name_at(btf, type->name_off));
	default:
		return scnprintf(out, size, "%s", name_at(btf, type->name_off));
	}
}

/* ---- checks ------------------------------------------------------------------------------ */

/* The parameters of typedef btf_trace_NAME after the first, which is the probe's own. */
static bool prototype_text(const struct grtrace_btf *btf, const char *name, char *out, size_t size)
{
	char alias[96];
	const struct btf_type *type;
	const struct btf_param *params;
	int used = 0;

	scnprintf(alias, sizeof(alias), "btf_trace_%s", name);
	type = find(btf, BTF_KIND_TYPEDEF, alias);
	type = type ? type_at(btf, type->type) : NULL;
	type = type && BTF_INFO_KIND(type->info) == BTF_KIND_PTR ? type_at(btf, type->type) : NULL;
	if (!type || BTF_INFO_KIND(type->info) != BTF_KIND_FUNC_PROTO)
		return false;
	params = (const void *)(type + 1);
	out[0] = 0;
	for (u32 i = 1; i < BTF_INFO_VLEN(type->info); i++) {
		used += scnprintf(out + used, size - used, "%s", i > 1 ? "," : "");
		used += type_text(btf, params[i].type, out + used, size - used, 0);
	}
	return true;
}

static u32 member_offset(const struct btf_type *type, const struct btf_member *member)
{
	u32 bits = BTF_INFO_KFLAG(type->info) ? BTF_MEMBER_BIT_OFFSET(member->offset)
					      : member->offset;

	return bits / 8;
}

/* A struct that the BTF does not have proves nothing. */
static bool member_moved(const struct grtrace_btf *btf, const struct grtrace_member *wanted)
{
	const struct btf_type *type = find(btf, BTF_KIND_STRUCT, wanted->structure);
	const struct btf_member *members = (const void *)(type + 1);

	for (u32 i = 0; type && i < BTF_INFO_VLEN(type->info); i++) {
		if (!strcmp(name_at(btf, members[i].name_off), wanted->name))
			return member_offset(type, &members[i]) != wanted->offset;
	}
	return type != NULL;
}

static bool begins_with(const struct grtrace_btf *btf, const char *outer, const char *first)
{
	const struct btf_type *type = find(btf, BTF_KIND_STRUCT, outer);
	const struct btf_member *members = (const void *)(type + 1);

	if (!type || !BTF_INFO_VLEN(type->info) || member_offset(type, members))
		return false;
	type = type_at(btf, members[0].type);
	return type && BTF_INFO_KIND(type->info) == BTF_KIND_STRUCT &&
	       !strcmp(name_at(btf, type->name_off), first);
}

enum grtrace_check grtrace_btf_check(const struct grtrace_btf *btf,
				     const struct grtrace_probe *probe, char *found, size_t size)
{
	found[0] = 0;
	if (!btf || !prototype_text(btf, probe->name, found, size))
		return GRTRACE_CHECK_UNKNOWN;
	if (strcmp(found, probe->prototype))
		return GRTRACE_CHECK_DIFFERS;
	for (const struct grtrace_member *m = probe->members; m && m->structure; m++) {
		if (member_moved(btf, m)) {
			scnprintf(found, size, "%s.%s elsewhere", m->structure, m->name);
			return GRTRACE_CHECK_DIFFERS;
		}
	}
	if (probe->outer && !begins_with(btf, probe->outer, probe->first)) {
		scnprintf(found, size, "%s does not begin with %s", probe->outer, probe->first);
		return GRTRACE_CHECK_DIFFERS;
	}
	found[0] = 0;
	return GRTRACE_CHECK_SAME;
}
