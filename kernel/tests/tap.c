// SPDX-License-Identifier: GPL-2.0
#include "tap.h"

#include <stdarg.h>
#include <stdio.h>

static int count, failures;

bool tap_ok(bool good, const char *format, ...)
{
	va_list list;

	printf("%sok %d - ", good ? "" : "not ", ++count);
	va_start(list, format);
	vprintf(format, list);
	va_end(list);
	printf("\n");
	fflush(stdout);
	failures += !good;
	return good;
}

void tap_note(const char *format, ...)
{
	va_list list;

	printf("# ");
	va_start(list, format);
	vprintf(format, list);
	va_end(list);
	printf("\n");
	fflush(stdout);
}

int tap_finish(void)
{
	printf("1..%d\n", count);
	return failures ? 1 : 0;
}
