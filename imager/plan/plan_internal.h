/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to plan: what its files share. */
#ifndef WINCH_PLAN_INTERNAL_H
#define WINCH_PLAN_INTERNAL_H

#include "plan/escape.h"
#include "plan/plan.h"
#include "plan/rules.h"

#define PLAN_ROOT_RECORD 5
#define PLAN_SYSTEM_RECORDS 24
#define PLAN_OBJECT_NAME_MAX 1024
/* Prefix and volume folder together: what winch puts behind them has to fit into an object name. */
#define PLAN_BASE_MAX 768
#define PLAN_PATH_MAX (4U << 20) /* CATALOG_DEPTH_MAX names, each unit of them escaped */

/* What was decided, in one byte per entry. decide.c has the table with reasons and sentences. */
enum plan_code {
    PLAN_CODE_SEND,
    PLAN_CODE_DIRECTORY,
    PLAN_CODE_DIRECTORY_BARE, /* no include matches: kept as a folder, its streams are left out */
    PLAN_CODE_LINK,
    PLAN_CODE_SYSTEM,
    PLAN_CODE_LEFT_BY_DEFAULT,
    PLAN_CODE_LEFT_BY_PATTERN,
    PLAN_CODE_NOT_INCLUDED,
    PLAN_CODE_OTHER_SIZE,
    PLAN_CODE_NO_STREAMS,
    PLAN_CODE_BAD_RECORD,
    PLAN_CODE_NO_DATA,
    PLAN_CODE_LOST_DATA,
    PLAN_CODE_LOST_REPARSE,
    PLAN_CODE_DIRECTORY_DATA,
    PLAN_CODE_TOO_MANY_STREAMS,
    PLAN_CODE_WOF,        /* decoded from its stream WofCompressedData */
    PLAN_CODE_WOF_STORED, /* that stream */
    PLAN_CODE_WOF_UNKNOWN,
    PLAN_CODE_WOF_LOST,
    PLAN_CODE_DEDUP,
    PLAN_CODE_DEDUP_LEFT, /* --dedup fail, raw */
    PLAN_CODE_REHYDRATED, /* read through the chunk store */
    PLAN_CODE_STORE,      /* a file of the chunk store */
    PLAN_CODE_CLOUD,
    PLAN_CODE_SIS,
    PLAN_CODE_REPARSE,
    PLAN_CODE_EFS,
    PLAN_CODE_EFS_RAW,  /* sent as ciphertext */
    PLAN_CODE_EFS_TORN, /* cannot be */
    PLAN_CODE_TOO_LARGE,
    PLAN_CODE_CROSSED_DATA,   /* this stream, or the entry for its unnamed one */
    PLAN_CODE_CROSSED_VALUE,  /* the entry; its streams are sent all the same */
    PLAN_CODE_LOST_VALUE,     /* likewise */
    PLAN_CODE_CROSSED_RECORD, /* the entry and all of its streams */
    PLAN_CODE_COUNT,
};

struct plan {
    const struct catalog *catalog; /* borrowed */
    const struct volume *volume;   /* borrowed */
    char *prefix;
    char *volume_name;
    char *run;
    const char *metadata; /* borrowed; or NULL */
    enum plan_streams streams;
    enum plan_dedup dedup;
    enum plan_hard_links hard_links;
    bool efs_raw;
    bool composites;
    uint64_t min_size_bytes, max_size_bytes;
    struct plan_rules rules;
    uint64_t cluster_bytes;
    uint64_t record_bytes;
    uint8_t *codes; /* enum plan_code by entry */
    struct plan_task *tasks;
    size_t task_count, task_cap;
    struct plan_totals totals;
    uint32_t checksum;
};

/* ---- decide.c, reparse.c ------------------------------------------------------------------ */

/* What is known of an entry beside itself. */
struct plan_surroundings {
    bool system;
    bool store; /* below System Volume Information/Dedup */
    enum plan_exclusion exclusion;
    bool included;
};
enum plan_code plan_decide_entry(const struct plan *plan, const struct volume_entry *entry,
                                 const struct plan_surroundings *around);
/* `code` is the entry's. */
enum plan_code plan_decide_stream(const struct plan *plan, enum plan_code code,
                                  const struct volume_entry *entry, size_t stream);
struct plan_decision plan_decision_of(enum plan_code code);

/* Is the content of a tagged file here, as a whole? In doubt no: zeros must never pass for data. */
bool plan_data_present(const struct volume_entry *entry, const struct volume_stream *stream,
                       uint64_t cluster_bytes);
/* Is there any content at all? */
bool plan_data_any(const struct volume_stream *stream);

/* ---- paths.c ------------------------------------------------------------------------------- */

/* Is this path, in its escaped form, on the list? Marks it as met. */
bool plan_paths_look(struct plan_paths *paths, const char *path, size_t len);
/* Was there no memory for a look? Then what was not found means nothing. */
bool plan_paths_failed(const struct plan_paths *paths);

/* ---- task.c ---------------------------------------------------------------------------------- */

struct plan_task plan_task_of(const struct plan *plan, uint32_t entry_index,
                              const struct volume_entry *entry, size_t stream);
/* An estimate of requests, with deletes. */
uint64_t plan_task_requests(const struct plan_task *task);
void plan_sort_tasks(struct plan *plan);

/* ---- build.c ------------------------------------------------------------------------------- */

int plan_decide_all(struct plan *plan, struct error *err) WARN_UNUSED;

/* ---- directory.c, namer.c, object_name.c --------------------------------------------------- */

/* A directory whose path is known; in the cache by its entry. */
struct plan_directory {
    uint32_t entry; /* UINT32_MAX: free */
    uint32_t len, cap;
    char *path;
    uint16_t depth; /* components of its path */
    bool rooted;    /* false: no path here, its children take the long way */
    bool exact, escaped, included;
    enum plan_exclusion exclusion;
};

/* Where a name stands. Paths begin below the volume's folder. */
struct plan_place {
    struct text path;
    size_t component; /* where the last one begins */
    unsigned depth;
    enum catalog_root root;
    bool in_tree; /* not among the orphans */
    bool exact, escaped, included;
    enum plan_exclusion exclusion;
};

struct plan_namer {
    const struct plan *plan;
    bool with_rules; /* else exclusion and included are not looked at */
    struct plan_directory *directories;
    size_t directory_count;
    struct plan_place place;
    struct plan_component component; /* work space */
    struct text path;                /* what plan_path returned */
    struct text object;
    uint32_t chain[CATALOG_DEPTH_MAX];
};

struct plan_namer *plan_namer_make(const struct plan *plan, size_t directory_count,
                                   bool with_rules);
/* Fill `place`; -1: out of memory. */
int plan_namer_locate(struct plan_namer *namer, uint32_t entry, unsigned name) WARN_UNUSED;

/* An empty place below the root. */
void plan_place_start(struct plan_namer *namer);
/* Go down by one name. */
void plan_place_append(struct plan_namer *namer, const struct catalog_name *name, bool directory);
/* Set the place to the directory that `parent_ref` means. False: it has no path from the root. */
bool plan_place_enter(struct plan_namer *namer, uint64_t parent_ref);

/* Which stream of which entry; for object names while tasks are still being made. */
struct plan_naming {
    uint64_t record;
    uint16_t sequence;
    uint16_t stream;
    const struct volume_stream *data;
    bool store;           /* plan_is_store() */
    uint8_t rename_round; /* 0: its own name */
};
/* The object name in namer->object, from namer->place. `ret_changed`: escaped, cut or with
 * suffix. */
int plan_object_name_make(struct plan_namer *namer, const struct plan_naming *naming,
                          bool *ret_changed) WARN_UNUSED;

#endif
