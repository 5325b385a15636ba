/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON writer: commas, numbers, escapes of each style, text that is cut within a character.
 */
#include "base/json.h"
#include "tests/unit/check.h"

#include <stdlib.h>

static struct tsm_buffer text;

static struct tsm_json begin(unsigned style)
{
    tsm_buffer_clear(&text);
    return (struct tsm_json){.buffer = &text, .style = style};
}

/* Returns what was written since begin(). */
static const char *written(void)
{
    tsm_buffer_add_u8(&text, 0);
    return (const char *)text.data;
}

static void test_commas(void)
{
    struct tsm_json j = begin(0);

    tsm_json_open(&j, '{');
    tsm_json_put_u64(&j, "a", 1);
    tsm_json_put_open(&j, "b", '[');
    tsm_json_close(&j, ']');
    tsm_json_put_open(&j, "c", '[');
    tsm_json_put_bool(&j, NULL, true);
    tsm_json_put_string(&j, NULL, NULL);
    tsm_json_open(&j, '{');
    tsm_json_close(&j, '}');
    tsm_json_raw(&j, "7", 1);
    tsm_json_close(&j, ']');
    tsm_json_close(&j, '}');
    CHECK_EQ_STR(written(), "{\"a\":1,\"b\":[],\"c\":[true,null,{},7]}");
    j = begin(TSM_JSON_LINES);
    tsm_json_open(&j, '[');
    tsm_json_bool(&j, false);
    tsm_json_bool(&j, true);
    tsm_json_close(&j, ']');
    CHECK_EQ_STR(written(), "[false,\ntrue]");
}

static void test_numbers(void)
{
    struct tsm_json j = begin(0);

    tsm_json_open(&j, '[');
    tsm_json_u64(&j, 0);
    tsm_json_u64(&j, UINT64_MAX);
    tsm_json_i64(&j, -1);
    tsm_json_i64(&j, INT64_MIN);
    tsm_json_i64(&j, INT64_MAX);
    tsm_json_hex(&j, 0x1f);
    tsm_json_bytes(&j, (const uint8_t *)"\x00\xff\x7a", 3);
    tsm_json_put_bytes(&j, NULL, NULL, 0);
    tsm_json_close(&j, ']');
    CHECK_EQ_STR(written(), "[0,18446744073709551615,-1,-9223372036854775808,9223372036854775807,"
                            "\"0x1f\",\"00ff7a\",\"\"]");
}

/* Quotes, a control character with a letter and one without, U+007F, U+0080, U+00E9, and a byte
 * that is no UTF-8. */
static void test_escapes(void)
{
    static const char odd[] = "\"\\ \n \x01 \x7f \xc2\x80 \xc3\xa9 \xff";
    struct tsm_json j = begin(0);

    tsm_json_string(&j, odd);
    CHECK_EQ_STR(written(), "\"\\\"\\\\ \\u000a \\u0001 \\u007f \\u0080 \xc3\xa9 \\ufffd\"");
    j = begin(TSM_JSON_LETTERS);
    tsm_json_string(&j, odd);
    CHECK_EQ_STR(written(), "\"\\\"\\\\ \\n \\u0001 \\u007f \\u0080 \xc3\xa9 \\ufffd\"");
    j = begin(TSM_JSON_UTF8);
    tsm_json_string(&j, odd);
    CHECK_EQ_STR(written(), "\"\\\"\\\\ \\u000a \\u0001 \x7f \xc2\x80 \xc3\xa9 \xef\xbf\xbd\"");
    j = begin(TSM_JSON_LETTERS);
    tsm_json_string(&j, "\b\f\n\r\t");
    CHECK_EQ_STR(written(), "\"\\b\\f\\n\\r\\t\"");
}

/* Sizes count, not terminators: a zero byte is a character, and what follows is not read. */
static void test_sizes(void)
{
    struct tsm_json j = begin(0);

    tsm_json_open(&j, '[');
    tsm_json_text(&j, "a\0b", 3);
    tsm_json_text(&j, "\xe2\x82\xac", 2); /* the beginning of U+20AC */
    tsm_json_text(&j, "\xe2\x82\xac", 3);
    tsm_json_text(&j, "\xed\xa0\x80", 3); /* a surrogate */
    tsm_json_text(&j, "", 0);
    tsm_json_close(&j, ']');
    CHECK_EQ_STR(written(), "[\"a\\u0000b\",\"\\ufffd\\ufffd\",\"\xe2\x82\xac\","
                            "\"\\ufffd\\ufffd\\ufffd\",\"\"]");
}

static void test_parts(void)
{
    struct tsm_json j = begin(0);

    tsm_json_open(&j, '{');
    tsm_json_name(&j, "a\"");
    tsm_json_text_begin(&j);
    tsm_json_text_add(&j, "x\"");
    tsm_json_text_add(&j, "|");
    tsm_json_text_add(&j, "y");
    tsm_json_text_end(&j);
    tsm_json_put_hex(&j, "b", 0);
    tsm_json_close(&j, '}');
    CHECK_EQ_STR(written(), "{\"a\\\"\":\"x\\\"|y\",\"b\":\"0x0\"}");
}

/* A file gets the same bytes. */
static void test_file(void)
{
    char *bytes = NULL;
    size_t size = 0;
    struct tsm_json j = {.out = open_memstream(&bytes, &size)};

    if (!CHECK(j.out != NULL))
        return;
    tsm_json_open(&j, '[');
    tsm_json_string(&j, "\x01z");
    tsm_json_u64(&j, 5);
    tsm_json_close(&j, ']');
    fclose(j.out);
    CHECK_EQ_STR(bytes, "[\"\\u0001z\",5]");
    CHECK(!tsm_json_is_on_stdout());
    free(bytes);
}

int main(void)
{
    test_commas();
    test_numbers();
    test_escapes();
    test_sizes();
    test_parts();
    test_file();
    tsm_buffer_finish(&text);
    return check_result();
}
