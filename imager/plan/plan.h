/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * plan: decides for every entry and stream of a catalog: object name, how to read it, how to send
 * it, or why not. Reads nothing from the disk, sends nothing. The same catalog and settings give
 * the same plan, task by task: a resumed run depends on that.
 */
#ifndef WINCH_PLAN_H
#define WINCH_PLAN_H

#include "base/base.h"
#include "catalog/catalog.h"

/* Reason codes: docs/manifest.md. Never reuse one for something else. */
#define REASON_DEDUP "dedup"
#define REASON_CLOUD "cloud-placeholder"
#define REASON_EFS "efs"
#define REASON_WOF "wof-bad-chunk"
#define REASON_REPARSE "reparse-unsupported"
#define REASON_BAD_RECORD "bad-record"
#define REASON_CROSS_LINKED "cross-linked"
#define REASON_BAD_SECTOR "bad-sector"
#define REASON_STALE "stale-reference"
#define REASON_CONFLICT "conflict"
#define REASON_PRESENT_UNVERIFIED "present-unverified"
#define REASON_TOO_LARGE "too-large"
#define REASON_NAME "name"
#define REASON_UPLOAD_REFUSED "upload-refused"
#define REASON_EXCLUDED "excluded"
#define REASON_SYSTEM "system"

#define PLAN_INLINE_MAX 4096      /* alternate streams up to this stand in the manifest */
#define PLAN_SMALL_MAX (1U << 20) /* batch */
#define PLAN_WHOLE_MAX (64ULL << 20)
#define PLAN_OBJECT_MAX (5ULL << 40)
#define PLAN_GROUP_SPAN (1U << 20) /* bytes of disk that one read of a batch covers */
#define PLAN_GROUP_MAX 64          /* tasks of one batch */

/* Deduplicated files. AUTO: read through the chunk store, whose files are planned as spare tasks,
 * for when that fails. The others read none, and each fails as "dedup"; with RAW the files of the
 * store are ordinary tasks. */
enum plan_dedup { PLAN_DEDUP_AUTO, PLAN_DEDUP_FAIL, PLAN_DEDUP_RAW };
enum plan_streams { PLAN_STREAMS_AUTO, PLAN_STREAMS_OBJECTS, PLAN_STREAMS_NONE };

/* A file with several names: one object, to which the other names point in the manifest; or an
 * object under each name that is not left out. */
enum plan_hard_links { PLAN_HARD_LINKS_ONCE, PLAN_HARD_LINKS_COPY };

/* ---- the paths of --files-from ------------------------------------------------------------- */

/* Paths to take, as a list names them: below the root of the volume, with '/' or '\\', a drive
 * letter in front does not count; as on the disk or as in the manifest; without regard to case. A
 * folder stands for all below. One list serves all volumes of a run. Thread: one at a time. */
struct plan_paths;
struct plan_paths *plan_paths_new(void); /* NULL: out of memory */
void plan_paths_free(struct plan_paths *paths);
/* 0, also for one that is there already; -1: out of memory; -2: not UTF-8, or names nothing. */
int plan_paths_add(struct plan_paths *paths, const char *line, size_t len) WARN_UNUSED;
size_t plan_paths_count(const struct plan_paths *paths);
/* After plan_build() for all volumes: those that were met nowhere, as they were given. Start with
 * *index 0; NULL when there are no more. */
const char *plan_paths_missing(const struct plan_paths *paths, size_t *index);
/* SHA-256 that tells lists apart, whatever the order. -1: out of memory. */
int plan_paths_digest(const struct plan_paths *paths, uint8_t ret_sha256[32]) WARN_UNUSED;

struct plan_settings {
    const char *prefix;      /* of the destination, "" or without a final slash */
    const char *volume_name; /* folder of this volume under the prefix, or "" */
    const char *run;         /* run id, for the metadata of objects */
    enum plan_streams streams;
    enum plan_dedup dedup;
    enum plan_hard_links hard_links;
    bool efs_raw;          /* encrypted streams go as ciphertext; else they fail */
    bool default_excludes; /* at the root: pagefile.sys, hiberfil.sys, swapfile.sys, and
                                 $RECYCLE.BIN, System Volume Information with all below */
    /* Globs over the path with '/', case-insensitive: * within a component, ** across, ?, [abc].
     * A pattern without '/' matches any component; an excluded directory excludes all below. With
     * includes, a file must match one (or lie below a directory that does). Exclude wins. A file
     * with several names is left out only if each of them would be. */
    const char *const *includes;
    size_t include_count;
    const char *const *excludes;
    size_t exclude_count;
    struct plan_paths *paths; /* or NULL; instead of includes: what it names is taken, and marked */
    uint64_t min_size_bytes, max_size_bytes; /* files outside are excluded; max 0 = none */
    /* Custom metadata beside our own, as members of a JSON object, each with a comma behind it; or
     * NULL. Borrowed. */
    const char *metadata;
    bool composites; /* rights and bucket allow them; else large streams go whole */
};

enum plan_state {
    PLAN_SEND, /* has at least its unnamed stream to send (or to keep inline) */
    PLAN_DIRECTORY,
    PLAN_LINK, /* reparse point without data */
    PLAN_EXCLUDED,
    PLAN_FAILED,
};

/* What a reparse point is, before anything is read (by tag; docs/manifest.md has the table). */
enum plan_reparse {
    PLAN_REPARSE_NONE,
    PLAN_REPARSE_LINK, /* name surrogates: symlink, junction, mount point, LX symlink; sockets
                                and devices of WSL. One with data of its own is sent all the same */
    PLAN_REPARSE_WOF,
    PLAN_REPARSE_DEDUP,
    PLAN_REPARSE_CLOUD, /* 0x9000?01A, 0x80000021: data may be here or not */
    PLAN_REPARSE_OTHER, /* SIS, HSM, WCI, AppExec, unknown: uploaded only if data stand here */
};
enum plan_reparse plan_classify_reparse(uint32_t tag);

struct plan_decision {
    enum plan_state state;
    const char *reason;   /* code, or NULL */
    const char *sentence; /* for people, or NULL; static, or of the view that was given */
};

enum plan_way {
    PLAN_INLINE, /* read and kept in the manifest line of its entry */
    PLAN_BATCH,  /* small: read together with neighbours, one request each */
    PLAN_WHOLE,  /* one streamed request */
    PLAN_PARTS,  /* composite */
};

/* One stream that becomes an object, or an inline value. 32 bytes. With PLAN_HARD_LINKS_COPY the
 * unnamed stream has one for each name. */
struct plan_task {
    uint64_t position; /* first byte on the disk, or of its record when resident */
    uint64_t size_bytes;
    uint32_t entry;
    uint16_t stream;     /* index into the entry's streams */
    uint16_t name;       /* the entry's name that the object is called by; 0: the first */
    uint8_t way;         /* enum plan_way */
    bool through_reader; /* LZNT1, CompactOS, dedup, or extents not to be trusted */
    bool resident;
    bool renamed;         /* another task had the same object name: this one got a suffix */
    bool spare : 1;       /* of a chunk store: only worked on when one of its files failed */
    bool rehydrated : 1;  /* needs the chunk store: catalog_find_stores() */
    bool raw;             /* ciphertext of EFS, in the form of volume_efs_raw_bytes() */
    bool contiguous;      /* all bytes stand on the disk from `position` on: plan_group() */
    uint8_t rename_round; /* 0, or how often a suffix had to be tried: part of the object name */
};

/* Every count by itself, none from another. */
struct plan_totals {
    uint64_t tasks, objects, inlines, bytes;
    uint64_t entries_send, entries_directory, entries_link, entries_excluded, entries_failed;
    uint64_t streams_failed;
    uint64_t names;               /* further hard-link names, of entries that are not excluded */
    uint64_t orphans;             /* entries placed under .winch/orphans */
    uint64_t raw;                 /* tasks that are ciphertext */
    uint64_t renamed;             /* names that needed an escape, a cut or a suffix */
    uint64_t batch, whole, parts; /* tasks by way */
    uint64_t rehydrated;          /* tasks that need the chunk store */
    uint64_t dedup_failed;        /* deduplicated streams that are no task */
    uint64_t spares, spare_bytes; /* in no other number here but entries_excluded */
    uint64_t requests;            /* estimate */
};

struct plan;

/* Decide everything. `catalog` and `volume` must outlive the plan; settings are copied. */
struct plan *plan_build(const struct catalog *catalog, const struct volume *volume,
                        const struct plan_settings *settings, struct error *err);
void plan_free(struct plan *plan);
const struct plan_totals *plan_get_totals(const struct plan *plan);
/* Changes when any task or object name changes. */
uint32_t plan_checksum(const struct plan *plan);

/* Is it a file of a chunk store, kept as .winch/dedup/PATH? */
bool plan_is_store(const struct plan *plan, uint32_t entry);

/* Tasks in the order to work on them: by position on the disk, spare ones last. */
uint64_t plan_task_count(const struct plan *plan);
const struct plan_task *plan_get_task(const struct plan *plan, uint64_t number);
/* How many tasks from `first` on one read serves: neighbours of way BATCH or INLINE that lie within
 * PLAN_GROUP_SPAN, either all resident or all plain in one extent each; at least 1. */
size_t plan_group(const struct plan *plan, uint64_t first);

struct plan_decision plan_entry_decision(const struct plan *plan, uint32_t entry);
/* The same, with the sentence that names what only the decoded entry knows. */
struct plan_decision plan_view_decision(const struct plan *plan, const struct catalog_view *view);
/* For a stream that is no task: why (state PLAN_FAILED or PLAN_EXCLUDED); for one that is:
 * PLAN_SEND. PLAN_EXCLUDED without a reason: it is the stored form of the entry's content, and
 * nothing of its own (WofCompressedData). `view` is the decoded entry. */
struct plan_decision plan_stream_decision(const struct plan *plan, const struct catalog_view *view,
                                          unsigned stream);
/* "plain", "lznt1"… */
const char *plan_form_name(const struct catalog_view *view, unsigned stream);

/* ---- names: one namer per thread ----------------------------------------------------------- */

/* Caches the last directory. NULL: out of memory. */
struct plan_namer;
struct plan_namer *plan_namer_new(const struct plan *plan);
void plan_namer_free(struct plan_namer *namer);

/* The path below the prefix, with '/', escaped as docs/manifest.md says ("dir/a.txt"; volume folder
 * first when there is one; orphans under .winch/orphans/RECORD-SEQUENCE of the missing parent).
 * `name` counts hard-link names. ret_exact: unescaping gives the UTF-16 names back exactly. The
 * text stays valid until the next call. NULL: out of memory. */
const char *plan_path(struct plan_namer *namer, uint32_t entry, unsigned name, size_t *ret_len,
                      bool *ret_exact);
/* Object name of a task (at most 1,024 bytes, unique in the plan); valid until the next call.
 * NULL: out of memory. */
const char *plan_object_name(struct plan_namer *namer, const struct plan_task *task,
                             const struct catalog_view *view, size_t *ret_len);
/* Name of an alternate stream, escaped like a path component. */
void plan_stream_name(const struct volume_stream *stream, struct text *text);
/* "PREFIX/.winch/parts/RUN/RECORD-SEQUENCE-STREAM/"; with a volume folder, that after RUN; for a
 * further name, ".NAME" behind STREAM. */
void plan_parts_prefix(const struct plan *plan, const struct plan_task *task,
                       const struct catalog_view *view, struct text *text);
/* By extension; PLAN_TYPE_UNKNOWN when that says nothing. */
#define PLAN_TYPE_UNKNOWN "application/octet-stream"
const char *plan_content_type(const char *name, size_t len);
/* By a look at the first bytes of a stream, PLAN_LOOK_BYTES or all of them: marks of well-known
 * formats, else "text/html" or "text/plain" for UTF-8 text; NULL when they say nothing. */
#define PLAN_LOOK_BYTES 4096
const char *plan_content_look(const uint8_t *bytes, size_t len);
/* Custom metadata of a task's object as a JSON object: goog-reserved-file-mtime (seconds since
 * 1970), winch-run, winch-record, winch-mtime (100 ns), and what the settings add. */
void plan_metadata(const struct plan *plan, const struct plan_task *task,
                   const struct catalog_view *view, struct text *text);
/* The most that those keys and their values take of it. */
#define PLAN_METADATA_OWN_MAX 256
/* The time of the last change of an entry's data as an object can state it (customTime), RFC 3339;
 * false, and nothing added, for one without or before 1970 or behind 9999. */
bool plan_custom_time(const struct catalog_view *view, struct text *text);

#endif
