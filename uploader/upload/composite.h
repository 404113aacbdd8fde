/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tree of a composite upload. One mutex guards everything that changes; it is never held during
 * I/O or while a caller's function runs. composite_tree.c has the arithmetic, the counters and the
 * states; composite_part.c sends or proves a part; composite_join.c composes; composite_prove.c
 * settles nodes that an earlier session left unproven; composite_survey.c finds them;
 * composite_zeros.c leaves out zeros that others stand for.
 */
#ifndef WINCH_UPLOAD_COMPOSITE_H
#define WINCH_UPLOAD_COMPOSITE_H

#include "upload_internal.h"

#define COMPOSITE_FAN GCS_COMPOSE_MAX
#define COMPOSITE_FAN_BITS 5
/* 32^5 parts of 1 MiB exceed the largest object. */
#define COMPOSITE_LEVELS 7
#define COMPOSITE_PARTS_MAX (1U << 25)
#define COMPOSITE_NONE UINT32_MAX

enum node_state {
    NODE_MISSING, /* has to be sent or composed; below a FOUND node a part has to be read */
    NODE_FOUND,   /* stands on the server with the right size, content unproven */
    NODE_READ,    /* a part below a FOUND node: read, waits for the others */
    NODE_DONE,    /* stands on the server, proven */
    NODE_COVERED, /* below a DONE node, or a repeat: nothing to do */
};

struct node {
    uint64_t generation;   /* on the server under the node's name; 0: none known */
    uint32_t crc32c;       /* as the server states it; of a READ part: as read */
    uint32_t known_crc32c; /* what a journal says about these bytes, when has_known */
    uint32_t pending;      /* MISSING: children not DONE; FOUND: parts below not READ */
    uint32_t next_ready;   /* in the list of nodes to compose */
    uint8_t state;         /* enum node_state */
    uint8_t losses;        /* how often sources of it were gone when it was to be composed */
    bool is_claimed;       /* parts only */
    bool is_again;         /* parts only: was claimed before, has to be sent after all */
    bool has_known;
    bool is_repeat;    /* COVERED: zeros that the compose takes from a model beside or above it */
    bool is_model;     /* zeros that stand for the repeats beside it, too */
    bool is_uncertain; /* a write ended without an answer: something may be there */
};
_Static_assert(sizeof(struct node) <= 64, "a node is promised to be small");

struct upload_composite {
    struct upload_engine *engine;
    char *parts_prefix;
    struct upload_object object; /* with copies of its strings */
    uint64_t size_bytes;
    uint64_t part_size;
    uint64_t cookie;
    unsigned top; /* level of the object itself */
    uint32_t counts[COMPOSITE_LEVELS];
    struct node *levels[COMPOSITE_LEVELS];

    pthread_mutex_t lock;
    /* All below, and the nodes, under lock. */
    uint32_t cursor;                  /* no part before it can be claimed */
    uint32_t again_count;             /* parts with is_again that nobody has claimed */
    uint32_t ready[COMPOSITE_LEVELS]; /* heads of the lists of nodes to compose */
    uint32_t outstanding;             /* claimed parts whose call has not returned */
    uint64_t if_generation;           /* guard of the last compose */
    bool has_ticket; /* nothing to claim, but something to finish: the next claim gets part 0 */
    bool is_failed;
    bool is_reported;
    bool sent_something;
    bool replaces;
    bool was_present; /* the object was found, not made */
    struct error first_error;
};

struct upload_span {
    uint64_t offset;
    uint64_t length;
    uint32_t first_part;
    uint32_t part_count;
};

/* ---- composite_tree.c; functions named ..._locked want the lock held ---- */

struct upload_span composite_span(const struct upload_composite *composite, unsigned level,
                                  uint32_t index);
/* `out` has GCS_NAME_MAX + 1 bytes. The top node's name is the object's. */
void composite_name(const struct upload_composite *composite, unsigned level, uint32_t index,
                    char *out);
void composite_leftover_name(const struct upload_composite *composite, unsigned level,
                             uint64_t offset, uint64_t length, char *out);
static inline struct node *composite_node(const struct upload_composite *composite, unsigned level,
                                          uint32_t index)
{
    return &composite->levels[level][index];
}
/* The children of a node: index of the first, and how many. */
uint32_t composite_children(const struct upload_composite *composite, unsigned level,
                            uint32_t index, uint32_t *ret_first);
/* Counters, ready lists, cursor and ticket, computed afresh from the states. */
void composite_recount_locked(struct upload_composite *composite);
/* A node is DONE: its parent waits for one less. */
void composite_mark_done_locked(struct upload_composite *composite, unsigned level, uint32_t index,
                                uint64_t generation, uint32_t crc32c);
/* The node and all below become MISSING, and their parts are handed out again. */
void composite_reset_locked(struct upload_composite *composite, unsigned level, uint32_t index);
bool composite_take_ready_locked(struct upload_composite *composite, unsigned *ret_level,
                                 uint32_t *ret_index);
bool composite_take_again_locked(struct upload_composite *composite, uint32_t *ret_index);
static inline void composite_lock(struct upload_composite *composite)
{
    (void)pthread_mutex_lock(&composite->lock);
}
static inline void composite_unlock(struct upload_composite *composite)
{
    (void)pthread_mutex_unlock(&composite->lock);
}
/* Tell the journal. Without the lock. */
void composite_report_node(const struct upload_composite *composite, unsigned level, uint32_t index,
                           uint64_t generation, uint32_t crc32c);

/* ---- composite_zeros.c ---- */

/* Which of `count` nodes from `first` stands for the repeats among them; COMPOSITE_NONE. */
uint32_t composite_model(const struct upload_composite *composite, unsigned level, uint32_t first,
                         uint32_t count);
/* The server takes no source twice: the repeats among the children of a node are handed out like
 * all others. Returns how many there were. */
uint32_t composite_unrepeat_locked(struct upload_composite *composite, unsigned level,
                                   uint32_t index);

/* ---- composite_join.c ---- */

/* Compose a node whose children are all DONE. Returns 0 also when sources turned out to be gone and
 * are handed out again. */
int composite_join(struct uploader *uploader, struct upload_composite *composite, unsigned level,
                   uint32_t index, struct error *err) WARN_UNUSED;
/* Delete all that is known to be on the server below the top, as far as that goes. */
void composite_remove(struct uploader *uploader, struct upload_composite *composite);

/* ---- composite_prove.c ---- */

/* All parts below a FOUND node are read: is it what they are? */
int composite_settle(struct uploader *uploader, struct upload_composite *composite, unsigned level,
                     uint32_t index, struct error *err) WARN_UNUSED;
/* Take note of a destination that is there, before anything is read or sent. `nodes_found`: an
 * earlier session sent parts. */
int composite_note_destination(struct upload_composite *composite, const struct upload_seen *seen,
                               bool nodes_found, struct error *err) WARN_UNUSED;

#endif
