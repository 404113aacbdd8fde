/* SPDX-License-Identifier: GPL-3.0-or-later */
/* insert: checks, checksums and the put that all ways of sending an object share. */
#include "insert.h"

#include <string.h>

#include "bucket.h"
#include "reply.h"

int insert_check_access(struct request *request)
{
    return request_need_bucket(request) != 0 || request_need_right(request, RIGHT_CREATE) != 0 ? -1
                                                                                               : 0;
}

int insert_expect(struct request *request, struct insert *insert, const char *kind,
                  const char *base64)
{
    uint8_t *bytes CLEANUP_FREE = NULL;
    size_t len = 0;
    if (strcmp(kind, "crc32c") == 0 && crc32c_from_base64(base64, &insert->expected_crc32c) == 0) {
        insert->expects_crc32c = true;
        return 0;
    }
    if (strcmp(kind, "md5") == 0 && base64_decode(base64, strlen(base64), &bytes, &len) == 0 &&
        len == sizeof(insert->expected_md5)) {
        memcpy(insert->expected_md5, bytes, len);
        insert->expects_md5 = true;
        return 0;
    }
    reply_error(request, 400, "invalid", "Invalid value for %s: \"%s\"", kind, base64);
    return -1;
}

struct hash_headers {
    struct request *request;
    struct insert *insert;
    int result;
};

static void take_hash_header(struct hash_headers *headers, const char *value)
{
    char buf[256];
    if (strlen(value) >= sizeof(buf)) {
        reply_error(headers->request, 400, "invalid", "Invalid X-Goog-Hash header");
        headers->result = -1;
        return;
    }
    memcpy(buf, value, strlen(value) + 1);
    char *rest = buf;
    while (rest != NULL && headers->result == 0) {
        char *hash = strsep(&rest, ",");
        hash += strspn(hash, " ");
        char *kind = strsep(&hash, "=");
        headers->result =
            insert_expect(headers->request, headers->insert, kind, hash == NULL ? "" : hash);
    }
}

static enum MHD_Result on_header(void *self, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    struct hash_headers *headers = self;
    (void)kind;
    if (strcasecmp(name, "X-Goog-Hash") == 0 && value != NULL) {
        take_hash_header(headers, value);
    } else if (strcasecmp(name, "Content-MD5") == 0 && value != NULL) {
        headers->result = insert_expect(headers->request, headers->insert, "md5", value);
    }
    return headers->result == 0 ? MHD_YES : MHD_NO;
}

int insert_expect_headers(struct request *request, struct insert *insert)
{
    struct hash_headers headers = {.request = request, .insert = insert};
    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, on_header, &headers);
    return headers.result;
}

int insert_take_metadata(struct request *request, struct insert *insert, const cJSON *json,
                         const char **ret_name)
{
    static const struct {
        const char *member;
        const char *kind;
    } hashes[] = {{"crc32c", "crc32c"}, {"md5Hash", "md5"}};
    struct text problem CLEANUP_TEXT = TEXT_INIT(REQUEST_MAX_SMALL_BODY);
    if (attributes_from_json(&insert->attributes, json, &problem) != 0) {
        reply_error(request, 400, "invalid", "%s.", text_str(&problem));
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(hashes); i++) {
        const char *value = match_string(json, hashes[i].member);
        if (value != NULL && insert_expect(request, insert, hashes[i].kind, value) != 0) {
            return -1;
        }
    }
    *ret_name = match_string(json, "name");
    return 0;
}

int insert_open(struct request *request, struct insert *insert)
{
    struct server *server = request->server;
    if (request_need_name(request) != 0) {
        return -1;
    }
    insert->server = server;
    insert->bucket = strdup(request->bucket);
    insert->name = strdup(request->object);
    if (insert->bucket == NULL || insert->name == NULL ||
        blob_new(&server->storage, insert->bucket, insert->name, &insert->blob) != 0) {
        reply_memory(request);
        return -1;
    }
    if (server->options->md5 || insert->expects_md5) {
        insert->md5 = EVP_MD_CTX_new();
        if (insert->md5 == NULL || EVP_DigestInit_ex(insert->md5, EVP_md5(), NULL) != 1) {
            reply_memory(request);
            return -1;
        }
    }
    return 0;
}

void insert_take(struct insert *insert, const void *bytes, size_t len)
{
    insert->digest.crc32c = crc32c_update(insert->digest.crc32c, bytes, len);
    insert->digest.size_bytes += len;
    if (insert->md5 != NULL && EVP_DigestUpdate(insert->md5, bytes, len) != 1) {
        insert->failed = true;
    }
    if (blob_append(insert->blob, bytes, len) != 0) {
        insert->failed = true;
    }
}

static struct store_put put_of(const struct insert *insert)
{
    return (struct store_put){
        .bucket = insert->bucket,
        .name = insert->name,
        .conditions = &insert->conditions,
        .may_replace = (insert->server->options->rights & RIGHT_DELETE) != 0,
        .kind = PUT_INSERT,
    };
}

int insert_check_put(struct request *request, struct insert *insert)
{
    const struct store_put put = put_of(insert);
    enum condition failed = CONDITION_COUNT;
    enum store_result result = store_check_put(insert->server->store, &put, &failed);
    if (result != STORE_OK) {
        reply_store_result(request, result, failed);
        return -1;
    }
    return 0;
}

static int finish_md5(struct insert *insert)
{
    unsigned len = 0;
    if (insert->md5 == NULL) {
        return 0;
    }
    if (EVP_DigestFinal_ex(insert->md5, insert->digest.md5, &len) != 1) {
        return -1;
    }
    insert->digest.has_md5 = true;
    return 0;
}

int insert_check_digest(struct request *request, struct insert *insert)
{
    const struct digest *digest = &insert->digest;
    if (insert->failed || finish_md5(insert) != 0) {
        reply_memory(request);
        return -1;
    }
    if (digest->size_bytes > OBJECT_SIZE_MAX) {
        reply_error(request, 400, "invalid", "The object is larger than 5 TiB");
        return -1;
    }
    if (insert->expects_crc32c && insert->expected_crc32c != digest->crc32c) {
        char stated[9];
        char computed[9];
        crc32c_to_base64(insert->expected_crc32c, stated);
        crc32c_to_base64(digest->crc32c, computed);
        reply_error(request, 400, "invalid",
                    "Provided CRC32C \"%s\" doesn't match calculated CRC32C \"%s\".", stated,
                    computed);
        return -1;
    }
    if (insert->expects_md5 &&
        memcmp(insert->expected_md5, digest->md5, sizeof(digest->md5)) != 0) {
        reply_error(request, 400, "invalid",
                    "Provided MD5 hash doesn't match the calculated MD5 hash.");
        return -1;
    }
    return 0;
}

static int set_defaults(struct insert *insert)
{
    struct attributes *attributes = &insert->attributes;
    if (attributes->values[ATTRIBUTE_STORAGE_CLASS] == NULL &&
        attribute_set(attributes, ATTRIBUTE_STORAGE_CLASS, bucket_storage_class(insert->server)) !=
            0) {
        return -1;
    }
    return attributes->values[ATTRIBUTE_CONTENT_TYPE] == NULL
               ? attribute_set(attributes, ATTRIBUTE_CONTENT_TYPE, "application/octet-stream")
               : 0;
}

struct object *insert_put(struct request *request, struct insert *insert)
{
    blob_seal(insert->blob);
    if (insert_check_digest(request, insert) != 0) {
        return NULL;
    }
    insert->digest.has_md5 = insert->digest.has_md5 && insert->server->options->md5;
    struct object *object CLEANUP(object_cleanup) =
        set_defaults(insert) != 0 ? NULL
                                  : object_new(&insert->attributes, &insert->digest, insert->blob);
    if (object == NULL) {
        reply_memory(request);
        return NULL;
    }
    const struct store_put put = put_of(insert);
    enum condition failed = CONDITION_COUNT;
    enum store_result result = store_put(insert->server->store, &put, object, &failed);
    if (result != STORE_OK) {
        reply_store_result(request, result, failed);
        return NULL;
    }
    stats_add(&insert->server->stats.inserts, 1);
    return TAKE(object);
}

void insert_clear(struct insert *insert)
{
    attributes_clear(&insert->attributes);
    blob_release(insert->blob);
    EVP_MD_CTX_free(insert->md5);
    free(insert->bucket);
    free(insert->name);
    *insert = (struct insert){0};
}
