// SPDX-License-Identifier: GPL-2.0
/* Jobs on all rings: 32 of them, and on for so many seconds. */
#include "mock_client.h"
#include "tap.h"

#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);
	int fd = mock_open();
	bool good = fd >= 0;

	do
		good = good && mock_traffic(fd, 32, 100);
	while (good && time(NULL) < end);
	tap_ok(good, "traffic");
	return tap_finish();
}
