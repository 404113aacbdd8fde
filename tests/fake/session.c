/* SPDX-License-Identifier: GPL-3.0-or-later */
/* session: the table of resumable uploads and how their bytes are kept. */
#include "session.h"

#include <string.h>

#include "reply.h"

#define SESSIONS_MAX 10000
#define CHAINS 256

struct sessions {
    pthread_mutex_t lock; /* guards the chains and counts; never taken with a session's lock held */
    struct session *chains[CHAINS];
    size_t count;
    _Atomic uint64_t next_owner;
};

struct sessions *sessions_new(void)
{
    struct sessions *sessions = calloc(1, sizeof(*sessions));
    if (sessions != NULL) {
        (void)pthread_mutex_init(&sessions->lock, NULL); /* cannot fail on Linux */
    }
    return sessions;
}

void session_release(struct session *session)
{
    if (session == NULL || atomic_fetch_sub(&session->references, 1) != 1) {
        return;
    }
    insert_clear(&session->insert);
    object_release(session->done);
    (void)pthread_mutex_destroy(&session->lock);
    free(session->tail);
    free(session);
}

void sessions_free(struct sessions *sessions)
{
    if (sessions == NULL) {
        return;
    }
    for (size_t i = 0; i < CHAINS; i++) {
        while (sessions->chains[i] != NULL) {
            struct session *session = sessions->chains[i];
            sessions->chains[i] = session->next;
            session_release(session);
        }
    }
    (void)pthread_mutex_destroy(&sessions->lock);
    free(sessions);
}

static bool is_open(struct session *session)
{
    (void)pthread_mutex_lock(&session->lock);
    bool open = session->done == NULL && !session->dead;
    (void)pthread_mutex_unlock(&session->lock);
    return open;
}

uint64_t sessions_count_open(struct sessions *sessions)
{
    uint64_t count = 0;
    (void)pthread_mutex_lock(&sessions->lock);
    for (size_t i = 0; i < CHAINS; i++) {
        for (struct session *session = sessions->chains[i]; session != NULL;
             session = session->next) {
            count += is_open(session) ? 1 : 0;
        }
    }
    (void)pthread_mutex_unlock(&sessions->lock);
    return count;
}

static struct session **chain_of(struct sessions *sessions, const char *id)
{
    unsigned char first = (unsigned char)id[0];
    unsigned char second = id[0] == '\0' ? 0 : (unsigned char)id[1];
    return &sessions->chains[(first * 16u + second) % CHAINS];
}

/* Make room by forgetting sessions that are over. Table's lock held. */
static void forget_closed(struct sessions *sessions)
{
    for (size_t i = 0; i < CHAINS; i++) {
        for (struct session **link = &sessions->chains[i]; *link != NULL;) {
            struct session *session = *link;
            if (is_open(session)) {
                link = &session->next;
            } else {
                *link = session->next;
                sessions->count--;
                session_release(session);
            }
        }
    }
}

struct session *session_new(struct sessions *sessions)
{
    struct session *session = calloc(1, sizeof(*session));
    if (session == NULL) {
        return NULL;
    }
    struct text id CLEANUP_TEXT = TEXT_INIT(sizeof(session->id) - 1);
    uint8_t bytes[16];
    random_bytes(bytes, sizeof(bytes));
    text_add_hex(&id, bytes, sizeof(bytes));
    memcpy(session->id, text_str(&id), id.len + 1);
    atomic_init(&session->references, 2);
    (void)pthread_mutex_init(&session->lock, NULL); /* cannot fail on Linux */

    (void)pthread_mutex_lock(&sessions->lock);
    if (sessions->count >= SESSIONS_MAX) {
        forget_closed(sessions);
    }
    bool room = sessions->count < SESSIONS_MAX && !id.failed;
    if (room) {
        struct session **chain = chain_of(sessions, session->id);
        session->next = *chain;
        *chain = session;
        sessions->count++;
    }
    (void)pthread_mutex_unlock(&sessions->lock);
    if (!room) {
        atomic_store(&session->references, 1);
        session_release(session);
        return NULL;
    }
    return session;
}

struct session *session_find(struct sessions *sessions, const char *id)
{
    (void)pthread_mutex_lock(&sessions->lock);
    struct session *session = *chain_of(sessions, id);
    while (session != NULL && strcmp(session->id, id) != 0) {
        session = session->next;
    }
    if (session != NULL) {
        atomic_fetch_add(&session->references, 1);
    }
    (void)pthread_mutex_unlock(&sessions->lock);
    return session;
}

void session_remove(struct sessions *sessions, struct session *session)
{
    bool found = false;
    (void)pthread_mutex_lock(&sessions->lock);
    struct session **link = chain_of(sessions, session->id);
    while (*link != NULL && *link != session) {
        link = &(*link)->next;
    }
    if (*link == session) {
        *link = session->next;
        sessions->count--;
        found = true;
    }
    (void)pthread_mutex_unlock(&sessions->lock);
    if (found) {
        session_release(session);
    }
}

uint64_t session_take_over(struct sessions *sessions, struct session *session)
{
    session->owner = atomic_fetch_add(&sessions->next_owner, 1) + 1;
    session->tail_len = 0;
    return session->owner;
}

int session_add(struct session *session, const char *bytes, size_t len)
{
    if (session->tail == NULL) {
        session->tail = malloc(SESSION_GRANULE);
        if (session->tail == NULL) {
            return -1;
        }
    }
    while (len > 0) {
        size_t room = SESSION_GRANULE - session->tail_len;
        size_t count = len < room ? len : room;
        memcpy(session->tail + session->tail_len, bytes, count);
        session->tail_len += count;
        bytes += count;
        len -= count;
        if (session->tail_len == SESSION_GRANULE) {
            session_keep_tail(session);
        }
    }
    return 0;
}

void session_keep_tail(struct session *session)
{
    insert_take(&session->insert, session->tail, session->tail_len);
    session->tail_len = 0;
}
