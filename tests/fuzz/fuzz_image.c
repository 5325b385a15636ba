/* SPDX-License-Identifier: Apache-2.0
 *
 * Code objects for NVIDIA's GPUs as an enemy writes them: fatbins, cubins, PTX. What is looked for
 * in them lies inside; what a replay gives a driver, which is told no size, can be read as far as
 * it says of itself; and so can a file that the software GPU loads. PTX is also taken apart and put
 * together.
 */
#include "api/cuda/image.h"
#include "api/cuda/ptx_splice.h"
#include "api/cuda/view/kernel_facts.h"
#include "emu/cuda/module/fatbin.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum;

static void look(void *user, const struct cuda_signature *s)
{
    for (size_t i = 0; i < s->name_size; i++)
        sum += (unsigned char)s->name[i];
    for (uint32_t i = 0; i < s->count; i++)
        sum += s->params[i].offset + s->params[i].size;
}

static void look_at_member(void *user, const struct cuda_member *member)
{
    struct cuda_code_facts facts;

    if (cuda_code_facts_read(&facts, member) == 0)
        for (size_t i = 0; i < facts.count; i++)
            sum += facts.kernels[i].registers + strlen(facts.kernels[i].name);
    cuda_code_facts_finish(&facts);
}

/* Takes the bytes as a module's text into which a kernel is put, and as the text of a kernel that
 * is put into a module. */
static void splice(const char *text, size_t size)
{
    static const char module[] = ".version 7.0\n.target sm_70\n.global .u32 a;\n.const .u8 b[4];\n"
                                 ".func f() { ret; }\n.entry k(.param .u64 p) { ret; }\n";
    const struct cuda_splice into = {"k", "k", "module", module, sizeof(module) - 1};
    const struct cuda_splice from = {"k", "k", "text", text, size};
    char *out;

    if (cuda_ptx_splice(&out, text, size, &into, 1) == 0)
        sum += strlen(out);
    free(out);
    if (cuda_ptx_splice(&out, module, sizeof(module) - 1, &from, 1) == 0)
        sum += strlen(out);
    free(out);
    sum += (unsigned)cuda_ptx_needs_module(&from, module, sizeof(module) - 1);
}

static void look_at_name(void *user, const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sum += (unsigned char)name[i];
}

/* Loads as the software GPU's loader does. */
static void load(const uint8_t *image)
{
    char line[256] = "";
    struct ptx_log log = {.text = line, .size = sizeof(line)};
    struct emu_text text;

    if (emu_image_text(&text, image, 90, &log))
        return;
    for (size_t i = 0; i < text.size; i++)
        sum += (unsigned char)text.text[i];
    emu_text_finish(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = calloc(1, size + 16), *exact = realloc(NULL, size + 1);
    struct cuda_image image;

    memcpy(copy, data, size);
    memcpy(exact, data, size);
    exact[size] = 0; /* as replay has it */
    cuda_image_functions(data, size, look, NULL);
    cuda_image_variables(data, size, look_at_name, NULL);
    cuda_image_members(data, size, look_at_member, NULL);
    splice((const char *)exact, strnlen((const char *)exact, size));
    if (cuda_image_is_whole(exact, size)) {
        if (size >= 3 && cuda_image_measure(exact, &image) && image.size > size + 1)
            abort();
        load(exact);
    }
    if (emu_image_fits(copy, size)) /* as of a file */
        load(copy);
    free(copy);
    free(exact);
    return 0;
}
