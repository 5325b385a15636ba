/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/rerun/message.h"

#include <errno.h>
#include <sys/socket.h>

bool tsm_message_pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
}

bool tsm_message_send(int socket, const void *message, size_t size)
{
    for (const char *at = message; size;) {
        ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

bool tsm_message_receive(int socket, void *message, size_t size)
{
    for (char *at = message; size;) {
        ssize_t got = recv(socket, at, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}
