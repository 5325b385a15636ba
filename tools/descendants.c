/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/descendants.h"

#include "base/array.h"
#include "base/text.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct process {
    unsigned pid, parent;
};

struct process_list {
    struct process *at;
    size_t count, room;
};

/* Reads the parent from /proc/PID/stat: "PID (NAME) STATE PARENT ...", NAME may hold anything. */
static bool read_parent(unsigned *parent, unsigned pid)
{
    char path[32], line[512];
    const char *end;
    FILE *file;

    tsm_format(path, sizeof(path), "/proc/%u/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    line[fread(line, 1, sizeof(line) - 1, file)] = '\0';
    fclose(file);
    end = strrchr(line, ')');
    return end && sscanf(end, ") %*c %u", parent) == 1;
}

static bool add(struct process_list *list, unsigned pid)
{
    unsigned parent;

    if (!read_parent(&parent, pid))
        return true; /* it has ended */
    return TSM_ARRAY_PUSH(list->at, list->count, list->room, (struct process){pid, parent});
}

static void read_processes(struct process_list *list)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        char *end;
        unsigned long pid = strtoul(entry->d_name, &end, 10);
        if (pid && !*end && !add(list, (unsigned)pid))
            break;
    }
    if (folder)
        closedir(folder);
}

size_t tsm_descendants(unsigned *out, size_t max, unsigned root)
{
    struct process_list list = {0};
    size_t count = 0;

    read_processes(&list);
    if (list.count && max)
        out[count++] = root;
    for (size_t next = 0; next < count; next++)
        for (size_t i = 0; i < list.count && count < max; i++)
            if (list.at[i].parent == out[next] && list.at[i].pid != root)
                out[count++] = list.at[i].pid;
    free(list.at);
    return count;
}
