/* SPDX-License-Identifier: GPL-3.0-or-later */
/* route: method and path to operation. */
#include "route.h"

#include <string.h>

#include "reply.h"

static bool is_method(const struct request *request, const char *method)
{
    return strcmp(request->method, method) == 0;
}

static bool is_segment(const struct request *request, size_t i, const char *value)
{
    return i < request->segment_count && strcmp(request->segments[i], value) == 0;
}

static const struct operation *route_upload(struct request *request)
{
    bool post = is_method(request, "POST");
    request->object = request_param(request, "name");
    if (request_param(request, "upload_id") != NULL) {
        if (is_method(request, "DELETE")) {
            return &resumable_cancel_operation;
        }
        return post || is_method(request, "PUT") ? &resumable_chunk_operation : NULL;
    }
    if (post && request_param_is(request, "uploadType", "media")) {
        return &insert_media_operation;
    }
    if (post && request_param_is(request, "uploadType", "multipart")) {
        return &insert_multipart_operation;
    }
    if (post && request_param_is(request, "uploadType", "resumable")) {
        return &resumable_start_operation;
    }
    return NULL;
}

static const struct operation *route_object(struct request *request, bool download)
{
    if (is_method(request, "GET") || is_method(request, "HEAD")) {
        bool media = download || request_param_is(request, "alt", "media");
        return media ? &media_get_operation : &object_get_operation;
    }
    if (is_method(request, "DELETE")) {
        return &object_delete_operation;
    }
    if (is_method(request, "PATCH")) {
        return &object_patch_operation;
    }
    return is_method(request, "PUT") ? &object_update_operation : NULL;
}

/* Segments from `at` on: "b" BUCKET "iam" "testPermissions", "b" BUCKET "storageLayout". */
static const struct operation *route_bucket(struct request *request, size_t at)
{
    size_t count = request->segment_count - at;
    bool get = is_method(request, "GET");
    if (count == 2) {
        return get || is_method(request, "PATCH") ? &bucket_get_operation : NULL;
    }
    if (get && count == 4 && is_segment(request, at + 2, "iam") &&
        is_segment(request, at + 3, "testPermissions")) {
        return &bucket_permissions_operation;
    }
    return get && count == 3 && is_segment(request, at + 2, "storageLayout")
               ? &bucket_layout_operation
               : NULL;
}

static const struct operation *route_object_verb(struct request *request, size_t at)
{
    size_t count = request->segment_count - at;
    if (!is_method(request, "POST")) {
        return NULL;
    }
    if (count == 5 && is_segment(request, at + 4, "compose")) {
        return &compose_operation;
    }
    if (count == 9 && is_segment(request, at + 5, "b") && is_segment(request, at + 7, "o")) {
        if (is_segment(request, at + 4, "rewriteTo")) {
            return &rewrite_operation;
        }
        return is_segment(request, at + 4, "copyTo") ? &copy_operation : NULL;
    }
    return NULL;
}

/* Everything under /storage/v1, whose first segment after that is number `at`. */
static const struct operation *route_json(struct request *request, size_t at, bool upload,
                                          bool download)
{
    size_t count = request->segment_count - at;
    if (!is_segment(request, at, "b")) {
        return NULL;
    }
    if (count == 1) {
        return is_method(request, "POST") ? &bucket_create_operation : &bucket_list_operation;
    }
    request->bucket = request->segments[at + 1];
    if (!is_segment(request, at + 2, "o")) {
        return route_bucket(request, at);
    }
    if (count == 3) {
        if (upload) {
            return route_upload(request);
        }
        return is_method(request, "GET") ? &list_operation : NULL;
    }
    request->object = request->segments[at + 3];
    return count == 4 ? route_object(request, download) : route_object_verb(request, at);
}

static const struct operation *route_xml(struct request *request)
{
    bool get = is_method(request, "GET");
    if (request->object == NULL) {
        return get && request_param(request, "uploads") != NULL ? &mpu_list_operation : NULL;
    }
    if (request_param(request, "uploads") != NULL && is_method(request, "POST")) {
        return &mpu_start_operation;
    }
    if (request_param(request, "uploadId") != NULL) {
        if (is_method(request, "PUT")) {
            return &mpu_part_operation;
        }
        if (is_method(request, "POST")) {
            return &mpu_complete_operation;
        }
        return is_method(request, "DELETE") ? &mpu_abort_operation : NULL;
    }
    if (get || is_method(request, "HEAD")) {
        return &media_get_operation;
    }
    if (is_method(request, "PUT")) {
        return &insert_media_operation;
    }
    return is_method(request, "DELETE") ? &object_delete_operation : NULL;
}

static const struct operation *route_control(struct request *request)
{
    static const struct {
        const char *method;
        const char *name;
        const struct operation *operation;
    } calls[] = {
        {"GET", "stats", &fake_stats_operation},      {"GET", "objects", &fake_objects_operation},
        {"POST", "hold", &fake_hold_operation},       {"DELETE", "hold", &fake_disarm_operation},
        {"POST", "faults", &fake_faults_operation},   {"DELETE", "faults", &fake_faults_operation},
        {"POST", "release", &fake_release_operation},
    };
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        if (is_method(request, calls[i].method) && is_segment(request, 1, calls[i].name) &&
            request->segment_count == 2) {
            return calls[i].operation;
        }
    }
    return NULL;
}

static const struct operation *route_token(struct request *request)
{
    size_t count = request->segment_count;
    const char *last = count == 0 ? "" : request->segments[count - 1];
    if (is_segment(request, 0, "computeMetadata")) {
        return is_method(request, "GET") ? &metadata_operation : NULL;
    }
    if (!is_method(request, "POST")) {
        return NULL;
    }
    if (strcmp(last, "token") == 0) {
        return &token_operation;
    }
    const char *verb = strrchr(last, ':');
    return verb != NULL && strcmp(verb, ":generateAccessToken") == 0 ? &impersonation_operation
                                                                     : NULL;
}

void route_request(struct request *request)
{
    if (request->malformed) {
        reply_error(request, 400, "invalid", "Malformed request target");
        return;
    }
    if (request->xml) {
        request->operation = route_xml(request);
    } else if (is_segment(request, 0, "storage")) {
        request->operation = route_json(request, 2, false, false);
    } else if (is_segment(request, 0, "upload")) {
        request->operation = route_json(request, 3, true, false);
    } else if (is_segment(request, 0, "resumable")) {
        request->operation = route_json(request, 4, true, false);
    } else if (is_segment(request, 0, "download")) {
        request->operation = route_json(request, 3, false, true);
    } else if (is_segment(request, 0, "batch")) {
        request->operation = is_method(request, "POST") ? &batch_operation : NULL;
    } else if (is_segment(request, 0, "_fake")) {
        request->operation = route_control(request);
    } else {
        request->operation = route_token(request);
    }
    if (request->operation == NULL) {
        reply_error(request, 404, "notFound", "fake-gcs does not serve this path and method");
    }
}
