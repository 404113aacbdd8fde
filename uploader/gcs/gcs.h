/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gcs: spells and reads the Storage JSON API, one call per function. Decides nothing: what a 412
 * means is upload's business. Types: the v1 discovery document of the Storage API.
 */
#ifndef WINCH_GCS_H
#define WINCH_GCS_H

#include "base/base.h"
#include "http/http.h"

#define GCS_NAME_MAX 1024           /* bytes of an object name */
#define GCS_COMPOSE_MAX 32          /* sources of one compose */
#define GCS_OBJECT_MAX (5ULL << 40) /* bytes of one object */
#define GCS_METADATA_MAX 8192       /* bytes of custom metadata, keys and values */
#define GCS_KMS_KEY_MAX 512         /* bytes of a key's name that are taken here */

/* Where the API is. STORAGE_EMULATOR_HOST (scheme optional; never gets a token), else
 * CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE (any path is cut), else https://storage.googleapis.com.
 */
struct gcs_endpoint {
    char url[512]; /* scheme://host[:port], no final slash */
    bool is_emulator;
    bool is_google; /* a host of Cloud Storage itself: *.googleapis.com */
};
int gcs_endpoint_from_environment(struct gcs_endpoint *ret_endpoint, struct error *err) WARN_UNUSED;

/* "gs://bucket[/prefix]" into its parts. The prefix loses slashes at both ends and may be empty.
 * Bucket rules: 3–222 characters of a-z 0-9 - _ . ; errors say what is wrong (exit 2). */
struct gcs_url {
    char bucket[256];
    char prefix[GCS_NAME_MAX + 1];
};
int gcs_url_parse(const char *url, struct gcs_url *ret_url, struct error *err) WARN_UNUSED;

/* 1–1024 bytes of valid UTF-8, no CR or LF, not "." or "..", not .well-known/acme-challenge/…: can
 * the server take this name? */
bool gcs_name_is_legal(const char *name, size_t len);

/* projects/P/locations/L/keyRings/R/cryptoKeys/K: the full name of a key of Cloud KMS, without a
 * version (the server takes none). At most GCS_KMS_KEY_MAX bytes. */
bool gcs_kms_key_is_legal(const char *key);

struct gcs_settings {
    struct gcs_endpoint endpoint;
    const char *bucket;
    const char *billing_project; /* userProject, or NULL */
    struct http_settings http;   /* credentials.authorization NULL for an emulator */
};

/* How a call ended. Everything but GCS_DONE fills `err` with a sentence fit for a report. */
enum gcs_answer {
    GCS_DONE,
    GCS_EXISTS,    /* precondition failed (412), or the 403 that names storage.objects.delete on an
                      insert or compose: the name is taken. Also after a 2xx whose body is no
                      object resource, when something is there: it may or may not be this call's */
    GCS_NOT_FOUND, /* 404 for an object (a missing bucket is GCS_ERROR) */
    GCS_CHECKSUM,  /* the server computed another checksum than the one sent: read and send again */
    GCS_DENIED,    /* a right is missing for this call; err->message names it */
    GCS_UNSUPPORTED, /* this server does not know an optional call (rights, bucket), or answers it
                        with something else; err says what, and nothing is wrong otherwise */
    GCS_REFUSED,     /* this object is refused for good (400, 413, retention, hold);
                      err is FAIL_ENTRY "upload-refused" */
    GCS_ERROR,       /* err->kind RETRY, STOP_RUN (bucket missing: exit 5; denied on create: exit 4;
                      billing or KMS: exit 5) or CANCELLED, or what a body source said */
};

struct gcs_object {
    uint64_t generation;
    uint64_t size_bytes;
    uint32_t crc32c;
    bool has_crc32c;
    uint32_t component_count; /* 0: not composite */
    char winch_run[40];       /* custom metadata key winch-run, or "" */
};

/* One client per thread. */
struct gcs_client;
struct gcs_client *gcs_client_new(const struct gcs_settings *settings, struct error *err);
void gcs_client_free(struct gcs_client *client);

struct gcs_write {
    const char *name;
    const char *content_type;  /* NULL: application/octet-stream */
    const char *metadata_json; /* custom metadata as a JSON object, or NULL */
    const char *storage_class; /* or NULL */
    const char *cache_control; /* or NULL */
    const char *custom_time;   /* RFC 3339, or NULL */
    const char *kms_key;       /* gcs_kms_key_is_legal(), or NULL: the bucket's own */
    uint64_t if_generation;    /* always sent; 0 = must not exist */
    bool has_crc32c;           /* state it, so that the server refuses anything else */
    uint32_t crc32c;
};

/* uploadType=multipart: metadata and media in one multipart/related request, media streamed from
 * `body` (its size_bytes is the media's). A GCS_EXISTS may be this call's own earlier success whose
 * reply was lost: look before calling it a conflict. */
enum gcs_answer gcs_insert(struct gcs_client *client, const struct gcs_write *write,
                           struct http_body *body, struct gcs_object *ret_object,
                           struct error *err) WARN_UNUSED;
/* uploadType=media: no metadata; for parts. content_type is sent; metadata_json, cache_control and
 * custom_time are ignored. */
enum gcs_answer gcs_insert_media(struct gcs_client *client, const struct gcs_write *write,
                                 struct http_body *body, struct gcs_object *ret_object,
                                 struct error *err) WARN_UNUSED;

/* Did an earlier try of this client's last call get no reply, so that its effect may have taken
 * place? Then a GCS_EXISTS or GCS_NOT_FOUND can be the call's own doing. */
bool gcs_earlier_try_unanswered(const struct gcs_client *client);

struct gcs_source {
    const char *name;
    uint64_t generation;
};
/* At most GCS_COMPOSE_MAX sources, each pinned to its generation. Waits up to 300 s for the reply.
 * `delete_sources` asks the server to delete them with the compose, for good: also where deleted
 * objects are kept and where a class has a least duration ("deleteSourceObjects", 2026). A server
 * that does not know it does not say so: look whether one is gone. */
enum gcs_answer gcs_compose(struct gcs_client *client, const struct gcs_write *write,
                            const struct gcs_source *sources, size_t count, bool delete_sources,
                            struct gcs_object *ret_object, struct error *err) WARN_UNUSED;

/* Deletes exactly that generation. 404 is GCS_NOT_FOUND; after a lost reply it counts as done. */
enum gcs_answer gcs_delete(struct gcs_client *client, const char *name, uint64_t generation,
                           struct error *err) WARN_UNUSED;

/* What stands under that name now. */
enum gcs_answer gcs_get(struct gcs_client *client, const char *name, struct gcs_object *ret_object,
                        struct error *err) WARN_UNUSED;

/* The bytes [offset, offset+length) of one generation (0 = live) to `sink`; length 0 = to the end.
 */
enum gcs_answer gcs_read(struct gcs_client *client, const char *name, uint64_t generation,
                         uint64_t offset, uint64_t length,
                         int (*sink)(void *self, const void *bytes, size_t len, struct error *err),
                         void (*sink_restart)(void *self), void *self,
                         struct error *err) WARN_UNUSED;

/* All objects under `prefix`, page after page, in name order. `object` is called for each item,
 * `folder` (may be NULL) for each common prefix when `delimiter` is not NULL; -1 from either stops
 * with that error. Replies are parsed with bounds; a page of at most 1,000 items. */
struct gcs_listing {
    const char *prefix;
    const char *delimiter;    /* or NULL */
    const char *start_offset; /* or NULL */
    int (*object)(void *self, const char *name, const struct gcs_object *object, struct error *err);
    int (*folder)(void *self, const char *name, struct error *err);
    void *self;
};
enum gcs_answer gcs_list(struct gcs_client *client, const struct gcs_listing *listing,
                         struct error *err) WARN_UNUSED;

/* What the bucket says about itself; needs storage.buckets.get (else GCS_DENIED). Optional: may be
 * GCS_UNSUPPORTED. */
struct gcs_bucket {
    char location[64];
    char storage_class[32];
    uint64_t soft_delete_seconds; /* 0: off */
    uint64_t retention_seconds;   /* 0: none */
    bool versioning;
    bool hierarchical;
    bool default_event_hold;
};
enum gcs_answer gcs_get_bucket(struct gcs_client *client, struct gcs_bucket *ret_bucket,
                               struct error *err) WARN_UNUSED;

/* Which of these this identity has (iam/testPermissions). Optional: may be GCS_UNSUPPORTED. */
enum gcs_right {
    GCS_RIGHT_CREATE = 1,
    GCS_RIGHT_GET = 2,
    GCS_RIGHT_DELETE = 4,
    GCS_RIGHT_LIST = 8,
    GCS_RIGHT_BUCKET_GET = 16,
};
enum gcs_answer gcs_test_rights(struct gcs_client *client, unsigned *ret_rights,
                                struct error *err) WARN_UNUSED;

#endif
