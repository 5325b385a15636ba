// SPDX-License-Identifier: GPL-2.0
/* Loading and unloading. */
#include <linux/module.h>

#include "core.h"

static int __init grtrace_init(void)
{
	int error = grtrace_config_init();

	if (error)
		return error;
	grtrace_leave();
	grtrace_reader_init();
	error = grtrace_jobs_init();
	if (error)
		goto no_jobs;
	error = grtrace_files_init();
	if (error)
		goto no_files;
	error = grtrace_attach_init();
	if (error)
		goto no_attach;
	return 0;

no_attach:
	grtrace_files_finish();
no_files:
	grtrace_jobs_finish();
no_jobs:
	grtrace_config_finish();
	return error;
}

static void __exit grtrace_exit(void)
{
	grtrace_shutdown();
	grtrace_attach_finish();
	grtrace_close(); /* its files lie in the folder that goes next */
	grtrace_files_finish();
	grtrace_jobs_finish();
	grtrace_config_finish();
}

module_init(grtrace_init);
module_exit(grtrace_exit);

MODULE_DESCRIPTION("Times at which GPU rings took and completed jobs");
MODULE_AUTHOR("TraceSmith");
MODULE_LICENSE("GPL");
MODULE_VERSION(GRTRACE_MODULE_VERSION);
