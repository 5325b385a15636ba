/* SPDX-License-Identifier: Apache-2.0
 *
 * Which device of the replay stands for each recorded one: those from a given one on, in their
 * order, or as a map says.
 */
#include "api/cuda/replay/state.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char emu_remedy[] = "; TS_EMU_DEVICES sets how many the software GPU has";

int cuda_device_of(const struct cuda_replay *replay, int64_t recorded)
{
    const struct cuda_device_map *map = &replay->devices;
    int64_t device = recorded >= 0 && recorded < INT32_MAX ? map->first + recorded : -1;

    if (map->count)
        device = -1;
    for (size_t i = 0; i < map->count; i++)
        if (map->pairs[i].recorded == recorded)
            device = map->pairs[i].device;
    return device < replay->device_count ? (int)device : -1;
}

int cuda_device_main(const struct cuda_replay *replay)
{
    return replay->devices.count ? replay->devices.pairs[0].device : replay->devices.first;
}

int cuda_device_missing(const struct cuda_replay *replay, int64_t recorded)
{
    if (replay->devices.count)
        return tsm_fail(TSM_E_UNSUPPORTED, "wants device %lld; --device-map names none for it",
                        (long long)recorded);
    return tsm_fail(TSM_E_UNSUPPORTED, "wants device %lld; there are %d%s", (long long)recorded,
                    replay->device_count - replay->devices.first,
                    replay->library.is_emu ? emu_remedy : "");
}

/* Returns -1 where no number is, or one that no device has. */
static int read_number(const char **text)
{
    char *end;
    const long number = **text >= '0' && **text <= '9' ? strtol(*text, &end, 10) : -1;

    if (number < 0 || number > INT32_MAX)
        return -1;
    *text = end;
    return (int)number;
}

static int add_pair(struct cuda_replay *replay, int recorded, int device)
{
    struct cuda_device_map *map = &replay->devices;

    if (map->count == CUDA_DEVICE_PAIRS_MAX)
        return tsm_fail(TSM_E_ARGUMENT, "--device-map: more than %u devices",
                        CUDA_DEVICE_PAIRS_MAX);
    if (device >= replay->device_count)
        return tsm_fail(TSM_E_NOT_FOUND, "--device-map: no device %d: %s has %d%s", device,
                        replay->library.path, replay->device_count,
                        replay->library.is_emu ? emu_remedy : "");
    for (size_t i = 0; i < map->count; i++)
        if (map->pairs[i].recorded == recorded || map->pairs[i].device == device)
            return tsm_fail(TSM_E_ARGUMENT, "--device-map: device %d is named twice",
                            map->pairs[i].recorded == recorded ? recorded : device);
    map->pairs[map->count++] = (struct cuda_device_pair){recorded, device};
    return 0;
}

/* Reads "0:1,1:0". */
static int read_map(struct cuda_replay *replay, const char *text)
{
    const char *at = text;
    int error;

    do {
        const int recorded = read_number(&at);
        const int device = recorded >= 0 && *at == ':' ? (at++, read_number(&at)) : -1;

        if (device < 0 || (*at && *at != ','))
            return tsm_fail(TSM_E_ARGUMENT,
                            "--device-map: \"%s\" is no map: RECORDED:DEVICE,..., as in 0:1,1:0",
                            text);
        error = add_pair(replay, recorded, device);
    } while (!error && *at++ == ',');
    return error;
}

/* Reads "1": recorded device 0 is device 1 here. */
static int read_first(struct cuda_replay *replay, const char *text)
{
    const char *at = text;
    const int first = read_number(&at);

    if (first < 0 || *at)
        return tsm_fail(TSM_E_ARGUMENT, "no device \"%s\": a number, or \"emu\"", text);
    if (first >= replay->device_count)
        return tsm_fail(TSM_E_NOT_FOUND, "no device %d: %s has %d", first, replay->library.path,
                        replay->device_count);
    replay->devices.first = first;
    return 0;
}

int cuda_devices_choose(struct cuda_replay *replay)
{
    const struct tsm_replay_options *options = replay->options;
    const bool has_number = options->device && strcmp(options->device, "emu") != 0;
    CUresult result = replay->library.calls.cuDeviceGetCount(&replay->device_count);

    if (result != CUDA_SUCCESS)
        return cuda_fail(&replay->library.calls, "cuDeviceGetCount", result);
    if (has_number && options->device_map)
        return tsm_fail(TSM_E_ARGUMENT, "--device=%s and --device-map=%s: give one of them",
                        options->device, options->device_map);
    if (has_number)
        return read_first(replay, options->device);
    return options->device_map ? read_map(replay, options->device_map) : 0;
}
