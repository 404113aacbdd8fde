/* SPDX-License-Identifier: GPL-3.0-or-later */
/* media: the bytes of an object, whole or one range, by the JSON and by the XML API. */
#include <inttypes.h>
#include <string.h>

#include "reply.h"
#include "route.h"
#include "xml_object.h"

struct range {
    uint64_t first;
    uint64_t len;
};

enum range_result { RANGE_NONE, RANGE_GOOD, RANGE_BAD };

static bool take_number(const char **cursor, uint64_t *ret)
{
    char digits[24];
    size_t len = strspn(*cursor, "0123456789");
    if (len == 0 || len >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, *cursor, len);
    digits[len] = '\0';
    *cursor += len;
    return parse_u64(digits, ret) == 0;
}

/* One range of "bytes="; several, or anything not understood, count as no range at all. */
static enum range_result parse_range(const char *header, uint64_t size, struct range *ret)
{
    static const char unit[] = "bytes=";
    if (header == NULL || strncmp(header, unit, strlen(unit)) != 0) {
        return RANGE_NONE;
    }
    const char *cursor = header + strlen(unit);
    uint64_t first = 0;
    uint64_t last = 0;
    if (*cursor == '-') { /* the last so many bytes */
        cursor++;
        if (!take_number(&cursor, &last) || *cursor != '\0') {
            return RANGE_NONE;
        }
        first = last < size ? size - last : 0;
        *ret = (struct range){first, size - first};
        return last == 0 || size == 0 ? RANGE_BAD : RANGE_GOOD;
    }
    if (!take_number(&cursor, &first) || *cursor != '-') {
        return RANGE_NONE;
    }
    cursor++;
    if (*cursor == '\0') {
        last = UINT64_MAX;
    } else if (!take_number(&cursor, &last) || *cursor != '\0' || last < first) {
        return RANGE_NONE;
    }
    if (first >= size) {
        return RANGE_BAD;
    }
    last = last >= size ? size - 1 : last;
    *ret = (struct range){first, last - first + 1};
    return RANGE_GOOD;
}

static void begin(struct request *request)
{
    if (request_need_bucket(request) == 0) {
        (void)request_need_right(request, RIGHT_GET); /* answers if it is missing */
    }
}

static void reply_range(struct request *request, struct object *object)
{
    struct range range = {0};
    char text[80];
    uint64_t size = object->digest.size_bytes;
    enum range_result result = parse_range(request_header(request, "Range"), size, &range);
    if (result == RANGE_BAD) {
        reply_error(request, 416, "requestedRangeNotSatisfiable", "Request range not satisfiable");
        (void)snprintf(text, sizeof(text), "bytes */%" PRIu64, size);
        reply_header(request, "Content-Range", text);
        return;
    }
    if (object->blob == NULL && size > 0 && strcmp(request->method, "HEAD") != 0) {
        reply_error(request, 501, "notImplemented",
                    "fake-gcs runs with --discard: it keeps no bytes to read");
        return;
    }
    if (result == RANGE_NONE) {
        range.len = size;
    }
    reply_media(request, result == RANGE_GOOD ? 206 : 200, object, range.first, range.len);
    if (result == RANGE_GOOD) {
        (void)snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, range.first,
                       range.first + range.len - 1, size);
        reply_header(request, "Content-Range", text);
    }
    reply_header(request, "Accept-Ranges", "bytes");
    xml_add_object_headers(request, object);
}

static void finish(struct request *request)
{
    struct conditions conditions;
    uint64_t generation = 0;
    bool given = false;
    stats_add(&request->server->stats.gets, 1);
    int read = request->xml ? request_header_conditions(request, &conditions)
                            : request_conditions(request, "", &conditions);
    if (read != 0 || request_number(request, "generation", &given, &generation) != 0) {
        return;
    }
    struct object *object CLEANUP(object_cleanup) =
        store_get(request->server->store, request->bucket, request->object, generation);
    if (object == NULL) {
        reply_not_found(request, request->object);
        return;
    }
    enum condition failed = CONDITION_COUNT;
    if (conditions_met(&conditions, object->generation, object->metageneration, &failed)) {
        reply_range(request, object);
    } else if (failed == CONDITION_NOT_GENERATION || failed == CONDITION_NOT_METAGENERATION) {
        reply_empty(request, 304);
    } else {
        reply_store_result(request, STORE_CONDITION, failed);
    }
}

const struct operation media_get_operation = {begin, NULL, finish, NULL};
