/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * volume: an NTFS volume, read-only. libntfs-3g mounts it through our own device operations and
 * reads the streams that need more than extents; records are parsed by our own bounds-checked
 * scanner. The only folder that includes ntfs-3g headers. Everything that comes from the disk is
 * hostile.
 */
#ifndef WINCH_VOLUME_H
#define WINCH_VOLUME_H

#include "base/base.h"
#include "disk/disk.h"

/* One NTFS volume inside a disk. The disk must outlive it. Thread: volume_open, _free and _scan
 * on one thread; the functions marked so from any. */
struct volume;

/* Errors: STOP_RUN exit 6 with a sentence: no NTFS boot sector, corrupt boot sector (which
 * field), larger than its partition or device (truncated image: by how much), mount refused
 * (what libntfs-3g says in words). A $MFTMirr that differs from $MFT is not an error: reads of
 * the mirror are answered from $MFT, and info.mirror_differs says so. */
struct volume *volume_open(struct disk *disk, uint64_t offset_bytes, uint64_t size_bytes,
                           struct error *err);
void volume_free(struct volume *volume);

struct volume_info {
    uint64_t serial;
    char label[256]; /* UTF-8 */
    uint32_t sector_bytes;
    uint32_t cluster_bytes;
    uint32_t record_bytes;
    uint64_t cluster_count;
    uint64_t mft_records; /* records in $MFT, used or not */
    uint8_t version_major, version_minor;
    bool dirty;      /* the dirty flag: was not unmounted cleanly */
    bool hibernated; /* hiberfil.sys of a sleeping Windows */
    bool log_clean;  /* $LogFile says: cleanly unmounted */
    bool log_cached; /* restart page 2.0 with open client: metadata kept in Windows cache */
    bool mirror_differs;
    uint64_t log_lsn; /* current LSN of the newest restart area, 0 if unreadable */
};
const struct volume_info *volume_get_info(const struct volume *volume);

/* ---- the scan ---------------------------------------------------------------------------- */

#define VOLUME_HOLE UINT64_MAX
#define VOLUME_REF_RECORD(ref) ((ref)&0xFFFFFFFFFFFFULL)
#define VOLUME_REF_SEQUENCE(ref) ((uint16_t)((ref) >> 48))

struct volume_extent {
    uint64_t cluster;  /* first cluster on the volume, or VOLUME_HOLE */
    uint64_t clusters; /* length */
};

enum volume_form {
    VOLUME_RESIDENT,
    VOLUME_PLAIN,  /* extents without a hole */
    VOLUME_SPARSE, /* extents with holes */
    VOLUME_LZNT1,  /* compressed: through volume_reader */
    VOLUME_EFS,    /* encrypted attribute flag */
};

struct volume_stream {
    const uint16_t *name; /* host order, not terminated; length 0: the unnamed data */
    uint8_t name_len;
    enum volume_form form;
    uint16_t attribute_flags;
    uint64_t size_bytes;
    uint64_t valid_bytes;                /* ≤ size_bytes; behind it the stream reads as zeros */
    uint64_t allocated_bytes;            /* on disk */
    uint64_t record;                     /* record that holds a resident stream */
    const struct volume_extent *extents; /* NULL for resident */
    size_t extent_count;
    const char *problem; /* NULL, or why the extents cannot be trusted: do not read by them */
    /* With a problem: pieces are missing, or there twice, or a size is impossible. libntfs-3g would
     * give something, but not what the file held: do not ask it. */
    bool lost;
    /* With a problem: the list of extents is damaged, and `extents` is what could be decoded. */
    bool doubtful;
    /* NULL, or a sentence: clusters of it are claimed by others too, or are free. Left NULL by the
     * scan; the catalog fills it in. */
    const char *crossed;
};

struct volume_name {
    uint64_t parent_ref; /* record and sequence */
    const uint16_t *units;
    uint8_t len;
    uint8_t space; /* 0 POSIX, 1 Win32, 2 DOS, 3 Win32 and DOS */
};

/* One base record in use, its extension records merged in. Valid during the callback only. */
struct volume_entry {
    uint64_t record;
    uint16_t sequence;
    bool directory;
    /* Why the record cannot be trusted as a whole ("bad-record"), or NULL. What could be read is
     * filled in all the same, so that it can be named. */
    const char *problem;
    const struct volume_name *names; /* Win32, POSIX and DOS names, each hard link once */
    size_t name_count;
    const struct volume_stream *streams; /* $DATA attributes, by name */
    size_t stream_count;
    bool has_standard;
    uint64_t created, modified, changed, accessed; /* 100 ns since 1601, UTC */
    uint32_t file_attributes;                      /* FILE_ATTRIBUTE_* of $STANDARD_INFORMATION */
    uint32_t security_id, owner_id;
    uint64_t usn;
    uint64_t lsn;
    uint16_t link_count;
    bool case_sensitive;
    uint32_t reparse_tag;   /* 0: no $REPARSE_POINT */
    const uint8_t *reparse; /* whole attribute value, header included; at most 16 KiB */
    size_t reparse_len;
    const uint8_t *object_id; /* 16 bytes or NULL */
    const uint8_t *ea;        /* $EA value or NULL; at most 64 KiB */
    size_t ea_len;
    const uint8_t *security; /* $SECURITY_DESCRIPTOR of the record itself (NTFS 1.2), or NULL */
    size_t security_len;
    const uint8_t *efs; /* $EFS value of $LOGGED_UTILITY_STREAM, or NULL */
    size_t efs_len;
    /* NULL, or which of the values above is damaged and so left out: a sentence part. */
    const char *lost_value;
    uint64_t unnamed_directory_index_bytes; /* size of $I30, for reports; 0 if none */
    /* As volume_stream.crossed, for what is no stream: the attribute list or the reparse data,
     * without which nothing of the entry can be trusted, and any other value above. */
    const char *crossed_record;
    const char *crossed_value;
};

/* Numbers of a scan; each counted where it is seen, none derived from another. */
struct volume_scan_totals {
    uint64_t records;        /* looked at */
    uint64_t records_in_use; /* header flag or $MFT:$BITMAP */
    uint64_t bases;          /* handed to `entry` */
    uint64_t extensions;     /* in use, named by their base's attribute list */
    uint64_t stray;          /* handed to `stray` */
    uint32_t mft_crc32c;     /* of all record bytes as they stand on the disk */
};

struct volume_visitor {
    /* A base record. -1 stops the scan with that error. */
    int (*entry)(void *self, const struct volume_entry *entry, struct error *err);
    /* A record in use that is no good as a base nor as an extension: torn (BAAD), no FILE
     * signature, header and bitmap disagree, an extension that no attribute list names. `base`
     * is what it claims as its base or 0. `why` is a sentence part. */
    int (*stray)(void *self, uint64_t record, uint16_t sequence, uint64_t base, const char *why,
                 struct error *err);
    /* Progress; may be NULL. */
    void (*progress)(void *self, uint64_t records_done, uint64_t records_total);
    void *self;
    struct volume_claims *claims;   /* filled by the scan; NULL: nobody wants to know */
    struct volume_indexes *indexes; /* likewise */
};

/* One pass over $MFT in blocks of 1 MiB, then a second look at base records with an attribute
 * list. An extension counts only if its base's $ATTRIBUTE_LIST names it with the same record,
 * sequence, type, name and first VCN, and the pieces tile the stream without gap or overlap.
 * Bases come in record order, those with attribute lists after the others. Records 0–23 are
 * handed over like all others (their $DATA extents too); a record in use in the bitmap only, or
 * in the header only, is a stray, except records 12–23 which Windows reserves: they are handed
 * over as bases with no names. */
int volume_scan(struct volume *volume, const struct volume_visitor *visitor,
                struct volume_scan_totals *ret_totals, struct error *err) WARN_UNUSED;

/* ---- who claims which cluster ------------------------------------------------------------ */

/* New, for one scan; borrows the volume and `folder`, where it keeps evictable files without a
 * name. Thread: that of the scan. */
struct volume_claims *volume_claims_new(struct volume *volume, const char *folder,
                                        struct error *err);
void volume_claims_free(struct volume_claims *claims);

struct volume_claims_totals {
    uint64_t twice;             /* clusters with more than one claim */
    uint64_t free;              /* claimed clusters that are free by $Bitmap */
    uint64_t unknown;           /* claimed clusters of which $Bitmap does not tell */
    const char *bitmap_problem; /* NULL, or why $Bitmap tells nothing at all: a sentence part */
};
/* After the scan. All zero is the common case: then there is nothing more to ask. */
const struct volume_claims_totals *volume_claims_totals(const struct volume_claims *claims);
/* The first cluster, in the order of the extents, that speaks against them; false when there is
 * none. `doubtful` as in volume_stream. */
bool volume_claims_crossed(const struct volume_claims *claims, const struct volume_extent *extents,
                           size_t count, bool doubtful, uint64_t *ret_cluster);
bool volume_claims_is_free(const struct volume_claims *claims, uint64_t cluster);
/* Does the scan take the clusters of that stream into account? */
bool volume_claims_counts(const struct volume_stream *stream);

/* What an attribute that is no $DATA means to its entry. */
enum volume_claim_use {
    VOLUME_CLAIM_UNUSED, /* nothing is read from it: directory indexes, bitmaps */
    VOLUME_CLAIM_VALUE,  /* extended attributes and the like */
    VOLUME_CLAIM_RECORD, /* attribute list, reparse data: without it nothing can be trusted */
};
struct volume_claim {
    uint64_t record; /* the base */
    struct volume_extent extent;
    uint32_t type;
    uint8_t use; /* enum volume_claim_use */
    bool doubtful;
};
/* Claims that are no $DATA, and $MFT's own extents when its record does not have them. */
size_t volume_claims_other_count(const struct volume_claims *claims);
const struct volume_claim *volume_claims_other(const struct volume_claims *claims, size_t index);

/* ---- directory indexes: a check, never the truth ------------------------------------------ */

/* New, for one scan; borrows the volume, keeps evictable files in `folder`. */
struct volume_indexes *volume_indexes_new(struct volume *volume, const char *folder,
                                          struct error *err);
void volume_indexes_free(struct volume_indexes *indexes);

#define VOLUME_DIFFERENCE_UNITS 31

/* A name that stands in an index only, or in the records only. */
struct volume_difference {
    uint64_t file_ref;
    uint64_t parent_ref;
    bool in_index;
    uint8_t len;                             /* of the whole name */
    uint16_t units[VOLUME_DIFFERENCE_UNITS]; /* its beginning, host order */
};

struct volume_indexes_totals {
    uint64_t directories; /* that have an index */
    uint64_t blocks;      /* read */
    uint64_t torn;        /* directories with an index block that is torn or cannot be read */
    uint64_t unchecked;   /* directories for which the time did not last */
    uint64_t different;   /* the rest of them where names differ */
    bool is_cut;          /* so many that not all of those were looked into */
};

/* After the scan: read the index blocks, on several threads and for at most VOLUME_INDEXES_MS, and
 * compare. When directories differ, scans $MFT again for their names and hands over each difference
 * (in the order of the directories' hashes). Damage of the indexes is no error. */
#define VOLUME_INDEXES_MS 30000
int volume_indexes_check(struct volume_indexes *indexes,
                         void (*each)(void *self, const struct volume_difference *difference),
                         void *self, struct volume_indexes_totals *ret_totals,
                         struct error *err) WARN_UNUSED;
/* The next record from `from` on whose index is torn; -1 when there is none. */
int64_t volume_indexes_torn(const struct volume_indexes *indexes, uint64_t from);

/* Distinct security descriptors from $Secure:$SDS: id and self-relative binary. A damaged entry is
 * skipped and counted. */
int volume_read_security(struct volume *volume,
                         int (*each)(void *self, uint32_t id, const uint8_t *bytes, size_t len,
                                     struct error *err),
                         void *self, uint64_t *ret_damaged, struct error *err) WARN_UNUSED;

/* A self-relative security descriptor as SDDL, appended to `text`: parsed, it gives the same owner,
 * group, entries and flags again; that parts were set by default is not in it. False, and nothing
 * is appended, when the text could not say all of it (conditional entries, resource attributes,
 * kinds that are not known) or the descriptor is damaged. Thread: any. */
bool volume_sddl(const uint8_t *descriptor, size_t len, struct text *text) WARN_UNUSED;

/* ---- reading contents -------------------------------------------------------------------- */

/* Byte position on the disk (not the volume) of an extent or of a record: for ordering. */
uint64_t volume_cluster_position(const struct volume *volume, uint64_t cluster);
uint64_t volume_record_position(const struct volume *volume, uint64_t record);

/* `count` records from `first`, as they stand on the disk, into buf (count × record_bytes). Records
 * need not be neighbours on the disk. Thread: any. */
int volume_read_records(struct volume *volume, uint64_t first, size_t count, void *buf,
                        struct error *err) WARN_UNUSED;

/* Undo the fix-ups of one raw record in place, once; then find any number of resident $DATA
 * streams in it. `ret_bytes` points into `record`. Both fail as FAIL_ENTRY "bad-record" if the
 * record is torn or the stream is not there. Thread: any. */
int volume_record_fix_up(const struct volume *volume, void *record, uint64_t number,
                         struct error *err) WARN_UNUSED;
int volume_record_resident(const struct volume *volume, const void *record, const uint16_t *name,
                           uint8_t name_len, const uint8_t **ret_bytes, uint32_t *ret_len,
                           struct error *err) WARN_UNUSED;

/* The extents of one stream, ready for reads at any offset. Zeroed at first; release with
 * volume_extent_map_clear(). Used by one thread. */
struct volume_extent_map {
    const struct volume_extent *extents; /* borrowed */
    size_t count;
    uint32_t cluster_bytes;
    uint64_t *starts; /* first byte of each extent in the stream; kept between streams */
    size_t cap;
    size_t cursor; /* extent of the last read: makes sequential reads cheap */
};
/* Point it at extents, which must live as long as it is used and cover `need_bytes`: FAIL_ENTRY
 * "bad-record" otherwise, naming `record`. */
int volume_extent_map_set(struct volume_extent_map *map, uint32_t cluster_bytes,
                          const struct volume_extent *extents, size_t count, uint64_t need_bytes,
                          uint64_t record, struct error *err) WARN_UNUSED;
void volume_extent_map_clear(struct volume_extent_map *map);
/* The extent that holds `offset`, which must lie before the end of the last one. */
size_t volume_extent_map_find(struct volume_extent_map *map, uint64_t offset);
/* Exactly `len` bytes of the stream from `offset`, holes as zeros; the caller sees to it that the
 * extents cover them. Errors: of disk_read(). */
int volume_extent_map_read(struct volume_extent_map *map, const struct volume *volume,
                           struct disk *disk, uint64_t offset, void *buf, size_t len,
                           struct error *err) WARN_UNUSED;

/* The stream that holds the compressed content of a CompactOS (WOF) file, or NULL; and whether its
 * reparse data are of a kind that winch can decode. */
const struct volume_stream *volume_wof_stream(const struct volume_entry *entry);
bool volume_wof_is_known(const struct volume_entry *entry);

/* What EFS keeps of an encrypted stream, as a restore needs it: the ciphertext in whole sectors of
 * 512 bytes, and behind it, in two bytes (little-endian), how many of those bytes are behind the
 * end of the file. It is what ntfs-3g mounted with efs_raw reads and writes (its documentation;
 * tried with 2022.10.3). */
#define VOLUME_EFS_SECTOR_BYTES 512
#define VOLUME_EFS_TRAILER_BYTES 2
/* Can it be had in that form? Not when it has holes, an end that was never written (Windows shows
 * zeros there, but zeros do not decrypt to zeros), untrusted extents, or no key data. */
bool volume_efs_is_whole(const struct volume_entry *entry, const struct volume_stream *stream,
                         uint32_t cluster_bytes);
/* Bytes of the ciphertext; of the whole form with the trailer. */
uint64_t volume_efs_cipher_bytes(const struct volume_stream *stream);
uint64_t volume_efs_raw_bytes(const struct volume_stream *stream);
/* The trailer. */
void volume_efs_trailer(const struct volume_stream *stream,
                        uint8_t ret_bytes[VOLUME_EFS_TRAILER_BYTES]);

/* ---- Windows Data Deduplication -------------------------------------------------------------
 * The content of such a file stands in chunk stores of the same volume, whose containers are
 * ordinary files (dedup.h says how they are found and checked). */

#define VOLUME_DEDUP_TAG UINT32_C(0x80000013)
#define VOLUME_DEDUP_STORE_BYTES 16

enum volume_dedup_kind { VOLUME_DEDUP_STREAM, VOLUME_DEDUP_DATA }; /* maps, chunks */

/* Parse the name of a store's folder, "{GUID}.ddp", or of a container, "ID.GENERATION.ccc"; units
 * in little endian, not aligned. */
bool volume_dedup_store_name(const uint8_t *units_le, size_t len,
                             uint8_t ret_store[VOLUME_DEDUP_STORE_BYTES]);
bool volume_dedup_container_name(const uint8_t *units_le, size_t len, uint32_t *ret_id,
                                 uint32_t *ret_generation);

/* Which containers a volume has. Filled by one thread, then handed to the volume, which owns it
 * from then on; after that any thread may read. */
struct volume_dedup;
struct volume_dedup *volume_dedup_new(struct error *err);
void volume_dedup_free(struct volume_dedup *dedup); /* accepts NULL */
/* A store that has a folder; and one container of it, by its unnamed stream (NULL: it has none),
 * which is copied. Errors: STOP_RUN without memory. */
int volume_dedup_add_store(struct volume_dedup *dedup,
                           const uint8_t store[VOLUME_DEDUP_STORE_BYTES],
                           struct error *err) WARN_UNUSED;
int volume_dedup_add(struct volume_dedup *dedup, const struct volume *volume,
                     const uint8_t store[VOLUME_DEDUP_STORE_BYTES], enum volume_dedup_kind kind,
                     uint32_t id, uint32_t generation, const struct volume_entry *entry,
                     struct error *err) WARN_UNUSED;
/* Before any reader looks. Without, files say that the volume has no chunk store. */
void volume_set_dedup(struct volume *volume, struct volume_dedup *dedup);

/* ---- readers ------------------------------------------------------------------------------ */

/* One thread's own way to streams that are more than their extents: compressed ones (LZNT1, and
 * CompactOS through WofCompressedData) and deduplicated ones, which winch decodes itself, and those
 * whose extents are not trusted, which libntfs-3g reads (mounted at the first use). */
struct volume_reader;
struct volume_reader *volume_reader_new(struct volume *volume, struct error *err);
void volume_reader_free(struct volume_reader *reader);
/* Point it at a stream of `entry`, which must live as long as it is read. Opening the stream that
 * libntfs-3g has open costs nothing. FAIL_ENTRY "bad-record" (the library says no, or the extents
 * do not fit), "stale-reference" (the record has another sequence), "bad-sector", for CompactOS
 * "wof-bad-chunk", "reparse-unsupported", and "dedup". */
int volume_reader_open(struct volume_reader *reader, const struct volume_entry *entry,
                       size_t stream, struct error *err) WARN_UNUSED;
/* Between 1 and len bytes at an offset below the size, or -1: FAIL_ENTRY "bad-record",
 * "wof-bad-chunk", "dedup", "bad-sector". Every unit is decoded once when reads are multiples of
 * 64 KiB, aligned. */
ssize_t volume_reader_read(struct volume_reader *reader, uint64_t offset, void *buf, size_t len,
                           struct error *err) WARN_UNUSED;

#endif
