/* SPDX-License-Identifier: Apache-2.0
 *
 * A call that others may notice before it returns has its place where it takes effect: what another
 * thread does because of it comes after it in the trace, also when that returns first.
 */
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include <pthread.h>

#define PATH "capture_order.sbt"

enum { SENT = 1, NOTICED, SENT_LATER };

static void *notice(void *unused)
{
    fake_launch(1, NOTICED, "waits for it");
    return NULL;
}

/* Sends like the wrapper of a submit. The driver has it, another thread sees that, and then it
 * returns. */
static void send(uint64_t value)
{
    struct tsm_call call;
    pthread_t other;

    if (!CHECK(tsm_call_begin(&call, SBT_TYPE(FAKE_API, FAKE_LAUNCH))))
        return;
    tsm_call_on_stream(&call, fake_stream(0), TSM_ENQUEUES);
    tsm_call_takes_effect();
    if (value == SENT) {
        pthread_create(&other, NULL, notice, NULL);
        pthread_join(other, NULL);
    }
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, value == SENT ? 1 : 2);
    tsm_call_slot(&call, value);
    tsm_call_string(&call, "is sent");
    tsm_call_bytes(&call, &value, sizeof(value));
    tsm_call_commit(&call);
}

static void program(void *unused)
{
    fake_stream(0);
    send(SENT);
    send(SENT_LATER);
    tsm_call_takes_effect(); /* in no call: nothing */
}

static void look(struct sbt_reader *reader, const struct sbt_record *r, void *user)
{
    uint64_t *next = user;

    CHECK_EQ_INT(r->slots[1], ++*next);
}

int main(void)
{
    struct sbt_reader *reader;
    uint64_t next = 0;

    fake_begin(PATH);
    fake_run(program, NULL);
    reader = fake_open(PATH);
    CHECK_EQ_INT(fake_each(reader, SBT_TYPE(FAKE_API, FAKE_LAUNCH), look, &next), 3);
    sbt_reader_destroy(reader);
    return check_result();
}
