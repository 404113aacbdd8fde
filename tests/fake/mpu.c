/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpu: start, part, complete, abort and list of the XML API's multipart uploads. */
#include "mpu.h"

#include <inttypes.h>
#include <string.h>

#include "mpu_table.h"
#include "reply.h"
#include "route.h"
#include "xml_object.h"

#define XML_TYPE "application/xml; charset=UTF-8"
#define XML_HEAD "<?xml version='1.0' encoding='UTF-8'?>"
#define XML_SPACE " xmlns='http://s3.amazonaws.com/doc/2006-03-01/'"

static void add_escaped(struct text *out, const char *string)
{
    for (; *string != '\0'; string++) {
        if (*string == '<' || *string == '&' || *string == '>' || *string == '\'' ||
            (unsigned char)*string < 0x20) {
            text_printf(out, "&#%d;", *string);
        } else {
            text_add_char(out, *string);
        }
    }
}

/* ---- start ------------------------------------------------------------------------------- */

static void begin_start(struct request *request)
{
    if (insert_check_access(request) == 0) {
        (void)request_need_name(request); /* answers if it is not allowed */
    }
}

static void finish_start(struct request *request)
{
    struct insert filled = {0};
    const char *type = request_header(request, "Content-Type");
    struct upload *upload CLEANUP(upload_cleanup) = NULL;
    if (xml_fill_insert(request, &filled) == 0) {
        if (attribute_set(&filled.attributes, ATTRIBUTE_CONTENT_TYPE, type) == 0) {
            upload = upload_new(request->server->uploads, request->bucket, request->object,
                                &filled.attributes);
        }
        if (upload == NULL) {
            reply_error(request, 503, "ServiceUnavailable", "Too many multipart uploads");
        }
    }
    insert_clear(&filled);
    if (upload == NULL) {
        return;
    }
    struct text body CLEANUP_TEXT = TEXT_INIT(REQUEST_MAX_SMALL_BODY);
    text_printf(&body, XML_HEAD "<InitiateMultipartUploadResult" XML_SPACE "><Bucket>%s</Bucket>",
                request->bucket);
    text_add(&body, "<Key>");
    add_escaped(&body, request->object);
    text_printf(&body, "</Key><UploadId>%s</UploadId></InitiateMultipartUploadResult>", upload->id);
    reply_text(request, 200, XML_TYPE, &body);
}

const struct operation mpu_start_operation = {begin_start, NULL, finish_start, NULL};

/* ---- part -------------------------------------------------------------------------------- */

struct part_put {
    struct upload *upload;
    struct insert insert;
    unsigned number;
};

static struct upload *find_upload(struct request *request)
{
    struct upload *upload = upload_find(request->server->uploads, request->bucket, request->object,
                                        request_param(request, "uploadId"));
    if (upload == NULL) {
        reply_error(request, 404, "NoSuchUpload", "The requested upload was not found.");
    }
    return upload;
}

static void begin_part(struct request *request)
{
    struct part_put *put = calloc(1, sizeof(*put));
    uint64_t number = 0;
    bool given = false;
    request->state = put;
    if (put == NULL) {
        reply_memory(request);
        return;
    }
    if (insert_check_access(request) != 0 ||
        request_number(request, "partNumber", &given, &number) != 0) {
        return;
    }
    if (number < 1 || number > MPU_PARTS_MAX) {
        reply_error(request, 400, "InvalidArgument", "The part number is not in 1 to 10000");
        return;
    }
    put->number = (unsigned)number;
    put->upload = find_upload(request);
    if (put->upload != NULL && insert_expect_headers(request, &put->insert) == 0) {
        (void)insert_open(request, &put->insert); /* has answered if it fails */
    }
}

static void take_part(struct request *request, const char *bytes, size_t len)
{
    struct part_put *put = request->state;
    insert_take(&put->insert, bytes, len);
}

static void make_etag(const struct insert *insert, unsigned number, char etag[40])
{
    struct text text CLEANUP_TEXT = TEXT_INIT(39);
    text_add_char(&text, '"');
    if (insert->digest.has_md5) {
        text_add_hex(&text, insert->digest.md5, sizeof(insert->digest.md5));
    } else { /* MD5 costs more than all the rest, and no client may rely on it */
        text_printf(&text, "%08" PRIx32 "-%" PRIx64 "-%u", insert->digest.crc32c,
                    insert->digest.size_bytes, number);
    }
    text_add_char(&text, '"');
    memcpy(etag, text_str(&text), text.len + 1);
}

static void finish_part(struct request *request)
{
    struct part_put *put = request->state;
    struct insert *insert = &put->insert;
    blob_seal(insert->blob);
    if (insert_check_digest(request, insert) != 0) {
        return;
    }
    if (insert->digest.size_bytes > MPU_PART_MAX) {
        reply_error(request, 400, "EntityTooLarge", "A part is at most 5 GiB");
        return;
    }
    struct part part = {.number = put->number, .digest = insert->digest, .blob = insert->blob};
    make_etag(insert, put->number, part.etag);
    (void)pthread_mutex_lock(&put->upload->lock);
    bool dead = put->upload->dead;
    int result = dead ? 0 : upload_set_part(put->upload, &part);
    (void)pthread_mutex_unlock(&put->upload->lock);
    if (dead) {
        reply_error(request, 404, "NoSuchUpload", "The requested upload was not found.");
    } else if (result != 0) {
        reply_memory(request);
    } else {
        char crc[9];
        char hash[24];
        crc32c_to_base64(part.digest.crc32c ^ (request->fault.action == FAULT_WRONG_CRC ? 1 : 0),
                         crc);
        (void)snprintf(hash, sizeof(hash), "crc32c=%s", crc);
        reply_empty(request, 200);
        reply_header(request, "ETag", part.etag);
        reply_header(request, "x-goog-hash", hash);
    }
}

static void clear_part(struct request *request)
{
    struct part_put *put = request->state;
    insert_clear(&put->insert);
    upload_release(put->upload);
    free(put);
}

const struct operation mpu_part_operation = {begin_part, take_part, finish_part, clear_part};

/* ---- complete ---------------------------------------------------------------------------- */

/* The text between <TAG> and </TAG> after *cursor, which moves past it; false if there is none. */
static bool next_element(const char **cursor, const char *tag, const char **ret, size_t *ret_len)
{
    char open[32];
    char closing[32];
    (void)snprintf(open, sizeof(open), "<%s>", tag);
    (void)snprintf(closing, sizeof(closing), "</%s>", tag);
    const char *start = strstr(*cursor, open);
    if (start == NULL) {
        return false;
    }
    start += strlen(open);
    const char *end = strstr(start, closing);
    if (end == NULL) {
        return false;
    }
    *ret = start;
    *ret_len = (size_t)(end - start);
    *cursor = end + strlen(closing);
    return true;
}

/* Is the part's ETag the one between `text` and its end, with or without quotes or &quot;? */
static bool same_etag(const char *etag, const char *text, size_t len)
{
    size_t bare_len = strlen(etag) - 2;
    const char *found = memmem(text, len, etag + 1, bare_len);
    return found != NULL && len <= bare_len + 2 * strlen("&quot;");
}

/* The next part of the list; NULL after having answered. */
static const struct part *listed_part(struct request *request, const struct upload *upload,
                                      const char *element, unsigned last_number)
{
    const char *value = NULL;
    const char *etag = NULL;
    const char *cursor = element;
    size_t len = 0;
    size_t etag_len = 0;
    char digits[8] = "";
    uint64_t number = 0;
    if (next_element(&cursor, "PartNumber", &value, &len) && len < sizeof(digits)) {
        memcpy(digits, value, len);
    }
    cursor = element;
    if (parse_u64(digits, &number) != 0 || number > MPU_PARTS_MAX ||
        !next_element(&cursor, "ETag", &etag, &etag_len)) {
        reply_error(request, 400, "MalformedCompleteMultipartUploadRequest", "Malformed list");
        return NULL;
    }
    if (number <= last_number) {
        reply_error(request, 400, "InvalidPartOrder", "The parts are not in ascending order");
        return NULL;
    }
    const struct part *part = upload_find_part(upload, (unsigned)number);
    if (part == NULL || !same_etag(part->etag, etag, etag_len)) {
        reply_error(request, 400, "InvalidPart", "Part %" PRIu64 " was not found", number);
        return NULL;
    }
    return part;
}

/* Join the listed parts into the insert. Upload's lock held. -1 after having answered. */
static int join_parts(struct request *request, const struct upload *upload, struct insert *insert)
{
    const char *cursor = text_str(&request->body);
    const char *element = NULL;
    size_t len = 0;
    const struct part *last = NULL;
    while (next_element(&cursor, "Part", &element, &len)) {
        char *copy CLEANUP_FREE = strndup(element, len);
        const struct part *part =
            copy == NULL ? NULL
                         : listed_part(request, upload, copy, last == NULL ? 0 : last->number);
        if (part != NULL && last != NULL && last->digest.size_bytes < MPU_PART_MIN) {
            reply_error(request, 400, "EntityTooSmall", "Part %u is smaller than 5 MiB",
                        last->number);
            return -1;
        }
        if (part == NULL || blob_append_blob(insert->blob, part->blob) != 0) {
            reply_memory(request); /* unless it is answered */
            return -1;
        }
        last = part;
        insert->digest.crc32c =
            crc32c_combine(insert->digest.crc32c, last->digest.crc32c, last->digest.size_bytes);
        insert->digest.size_bytes += last->digest.size_bytes;
    }
    if (last == NULL) {
        reply_error(request, 400, "MalformedCompleteMultipartUploadRequest", "No parts are listed");
        return -1;
    }
    return 0;
}

static void reply_complete(struct request *request, const struct object *object)
{
    struct text body CLEANUP_TEXT = TEXT_INIT(REQUEST_MAX_SMALL_BODY);
    text_printf(&body, XML_HEAD "<CompleteMultipartUploadResult" XML_SPACE "><Bucket>%s</Bucket>",
                object->bucket);
    text_add(&body, "<Key>");
    add_escaped(&body, object->name);
    text_printf(&body, "</Key><ETag>\"%" PRIx64 "\"</ETag></CompleteMultipartUploadResult>",
                object->generation);
    reply_text(request, 200, XML_TYPE, &body);
    xml_add_object_headers(request, object);
    reply_header(request, "Content-Type", XML_TYPE);
}

static void begin_complete(struct request *request)
{
    (void)insert_check_access(request); /* answers if there is none */
}

static void finish_complete(struct request *request)
{
    struct upload *upload CLEANUP(upload_cleanup) = find_upload(request);
    struct insert insert = {0};
    if (upload == NULL || insert_open(request, &insert) != 0) {
        insert_clear(&insert);
        return;
    }
    EVP_MD_CTX_free(TAKE(insert.md5)); /* like a composite object, it has none */
    struct object *object CLEANUP(object_cleanup) = NULL;
    (void)pthread_mutex_lock(&upload->lock);
    if (upload->dead) {
        reply_error(request, 404, "NoSuchUpload", "The requested upload was not found.");
    } else if (join_parts(request, upload, &insert) == 0 &&
               attributes_copy(&insert.attributes, &upload->attributes) == 0) {
        object = insert_put(request, &insert);
        upload->dead = object != NULL;
    }
    (void)pthread_mutex_unlock(&upload->lock);
    if (object != NULL) {
        upload_remove(request->server->uploads, upload);
        reply_complete(request, object);
    }
    reply_memory(request); /* unless it is answered */
    insert_clear(&insert);
}

const struct operation mpu_complete_operation = {begin_complete, NULL, finish_complete, NULL};

/* ---- abort, list ------------------------------------------------------------------------- */

static void finish_abort(struct request *request)
{
    struct upload *upload CLEANUP(upload_cleanup) = find_upload(request);
    if (upload == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&upload->lock);
    upload->dead = true;
    (void)pthread_mutex_unlock(&upload->lock);
    upload_remove(request->server->uploads, upload);
    reply_empty(request, 204);
}

const struct operation mpu_abort_operation = {begin_complete, NULL, finish_abort, NULL};

static void begin_list(struct request *request)
{
    if (request_need_bucket(request) == 0) {
        (void)request_need_right(request, RIGHT_LIST); /* answers if it is missing */
    }
}

static void add_upload(void *self, const struct upload *upload)
{
    struct text *body = self;
    text_add(body, "<Upload><Key>");
    add_escaped(body, upload->name);
    text_printf(body, "</Key><UploadId>%s</UploadId></Upload>", upload->id);
}

static void finish_list(struct request *request)
{
    struct text body CLEANUP_TEXT = TEXT_INIT((size_t)64 << 20);
    text_printf(&body, XML_HEAD "<ListMultipartUploadsResult" XML_SPACE "><Bucket>%s</Bucket>",
                request->bucket);
    text_add(&body, "<IsTruncated>false</IsTruncated>");
    uploads_visit(request->server->uploads, request->bucket, add_upload, &body);
    text_add(&body, "</ListMultipartUploadsResult>");
    reply_text(request, 200, XML_TYPE, &body);
}

const struct operation mpu_list_operation = {begin_list, NULL, finish_list, NULL};
