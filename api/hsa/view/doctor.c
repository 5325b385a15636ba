/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks an HSA runtime for its agents. Runs in a child process, like every probe of a driver.
 */
#include "tools/doctor/doctor.h"

#include "api/hsa/types.h"
#include "base/text.h"

#include <dlfcn.h>

#define RUNTIME "libhsa-runtime64.so.1"

struct agents {
    __typeof__(&hsa_agent_get_info) ask;
    char *out;
    size_t size, used;
};

static hsa_status_t say_agent(hsa_agent_t agent, void *data)
{
    struct agents *agents = data;
    char name[65] = "";

    if (agents->used < agents->size &&
        agents->ask(agent, HSA_AGENT_INFO_NAME, name) == HSA_STATUS_SUCCESS)
        agents->used += tsm_format(agents->out + agents->used, agents->size - agents->used, "%s%s",
                                   agents->used ? "; " : "", name);
    return HSA_STATUS_SUCCESS;
}

static void probe_hsa(const char *library, char *out, size_t size)
{
    void *runtime = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    __typeof__(&hsa_init) init = runtime ? (__typeof__(init))dlsym(runtime, "hsa_init") : NULL;
    __typeof__(&hsa_iterate_agents) iterate =
        runtime ? (__typeof__(iterate))dlsym(runtime, "hsa_iterate_agents") : NULL;
    struct agents agents = {.out = out + 1, .size = size - 1};
    hsa_status_t status;

    if (!runtime) {
        tsm_format(out, size, "-%s", dlerror());
        return;
    }
    agents.ask = (__typeof__(agents.ask))dlsym(runtime, "hsa_agent_get_info");
    if (!init || !iterate || !agents.ask)
        tsm_format(out, size, "-%s is no HSA runtime", library);
    else if ((status = init()) != HSA_STATUS_SUCCESS)
        tsm_format(out, size, "-the runtime does not start (0x%x): is /dev/kfd there?", status);
    else if (tsm_format(out, size, "+"), iterate(say_agent, &agents), !agents.used)
        tsm_format(out, size, "-the runtime knows no agent");
}

void tsm_doctor_hsa(struct tsm_finding *out)
{
    char said[400];

    if (tsm_probe(probe_hsa, RUNTIME, said, sizeof(said)))
        tsm_found(out, TSM_HEALTH_OK, "", "%s", said + 1);
    else
        tsm_found(out, TSM_HEALTH_WARN,
                  "with an AMD GPU: install its runtime (Debian: libhsa-runtime64-1); without: use "
                  "the software GPU",
                  "no HSA agent: %s", said[0] ? said + 1 : "no answer");
}
