// SPDX-License-Identifier: GPL-2.0
/*
 * A stand-in for NVIDIA's open kernel module where no such hardware is: functions of the same names
 * and parameters, structs with members of the same names, at places of our own. Writing to its
 * parameter `run` goes through the life of some channel groups, always the same.
 */
#include <linux/module.h>
#include <linux/slab.h>

/* Callers keep to what the function takes, as callers in other files do. */
#define NOIPA __attribute__((noipa))

struct OBJGPU {
	u32 gpuInstance;
};

struct KernelChannelGroup {
	void *vtable[13];
	u32 grpID;
	u32 runlistId;
	u32 chanCount;
	u32 engineType;
	struct OBJVASPACE *pVAS;
	u32 gfid;
	u32 *pInterleaveLevel;
	u8 bRunlistAssigned;
	u64 timesliceUs;
};

struct KernelChannelGroupApi {
	void *vtable[7];
	struct KernelChannelGroup *pKernelChannelGroup;
};

struct KernelChannel {
	void *vtable[9];
	struct KernelChannelGroupApi *pKernelChannelGroupApi;
	u16 nvKernelTimesliceId;
	u32 ChID;
};

struct schedule_params {
	u8 bEnable, bSkipSubmit, bSkipEnable;
};

struct timeslice_params {
	u64 timesliceUs;
};

/* Empty in the real module, too. */
NOIPA u32 kchangrpConstruct_IMPL(struct KernelChannelGroup *group)
{
	barrier();
	return 0;
}

NOIPA u32 kchangrpInit_IMPL(struct OBJGPU *gpu, struct KernelChannelGroup *group,
			    struct OBJVASPACE *vas, u32 gfid)
{
	if (gfid)
		return 0x51; /* no memory */
	group->pInterleaveLevel = kcalloc(8, sizeof(u32), GFP_KERNEL);
	if (!group->pInterleaveLevel)
		return 0x51;
	group->timesliceUs = 1024;
	group->grpID = group->gfid; /* where the scenario put the number to give */
	return 0;
}

NOIPA u32 kchangrpSetInterleaveLevel_IMPL(struct OBJGPU *gpu, struct KernelChannelGroup *group,
					  u32 value)
{
	group->pInterleaveLevel[0] = value;
	return 0;
}

NOIPA u32 kchangrpapiCtrlCmdSetTimeslice_IMPL(struct KernelChannelGroupApi *api,
					      struct timeslice_params *params)
{
	api->pKernelChannelGroup->timesliceUs = params->timesliceUs;
	return 0;
}

NOIPA u32 kchangrpapiCtrlCmdGpFifoSchedule_IMPL(struct KernelChannelGroupApi *api,
						struct schedule_params *params)
{
	api->pKernelChannelGroup->bRunlistAssigned = params->bEnable;
	return 0;
}

NOIPA u32 kchannelNotifyWorkSubmitToken_IMPL(struct OBJGPU *gpu, struct KernelChannel *channel,
					     u32 token)
{
	barrier();
	return 0;
}

NOIPA u32 kchangrpDestroy_IMPL(struct OBJGPU *gpu, struct KernelChannelGroup *group)
{
	kfree(group->pInterleaveLevel);
	group->pInterleaveLevel = NULL;
	return 0;
}

/* ---- the scenario ------------------------------------------------------------------------ */

static struct OBJGPU gpu;

static void live(u32 runlist, u32 number, u32 engine, u32 tokens)
{
	struct KernelChannelGroup group = {
		.runlistId = runlist, .engineType = engine, .gfid = number};
	struct KernelChannelGroupApi api = {.pKernelChannelGroup = &group};
	struct KernelChannel channel = {.pKernelChannelGroupApi = &api};
	struct schedule_params schedule = {.bEnable = 1};
	struct timeslice_params timeslice = {.timesliceUs = 2048};

	kchangrpConstruct_IMPL(&group);
	if (kchangrpInit_IMPL(&gpu, &group, NULL, 0))
		return;
	kchangrpSetInterleaveLevel_IMPL(&gpu, &group, 2);
	group.chanCount = 2;
	if (engine == 1)
		kchangrpapiCtrlCmdSetTimeslice_IMPL(&api, &timeslice);
	kchangrpapiCtrlCmdGpFifoSchedule_IMPL(&api, &schedule);
	for (u32 i = 0; i < tokens; i++) {
		channel.ChID = 7 + i % 2;
		kchannelNotifyWorkSubmitToken_IMPL(&gpu, &channel, runlist << 16 | channel.ChID);
	}
	schedule.bEnable = 0;
	kchangrpapiCtrlCmdGpFifoSchedule_IMPL(&api, &schedule);
	kchangrpDestroy_IMPL(&gpu, &group);
}

static int run(const char *text, const struct kernel_param *param)
{
	struct KernelChannelGroup failing = {.runlistId = 13};

	live(13, 1, 1, 3);
	live(0, 1, 9, 1);
	live(13, 1, 1, 0); /* the number is used again */
	kchangrpInit_IMPL(&gpu, &failing, NULL, 1);
	return 0;
}

static const struct kernel_param_ops run_ops = {.set = run};
module_param_cb(run, &run_ops, NULL, 0200);

static int __init standin_init(void)
{
	return 0;
}

static void __exit standin_exit(void)
{
}

module_init(standin_init);
module_exit(standin_exit);

MODULE_DESCRIPTION("Stand-in for NVIDIA's module, for tests");
MODULE_AUTHOR("TraceSmith");
MODULE_LICENSE("GPL");
