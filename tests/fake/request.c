/* SPDX-License-Identifier: GPL-3.0-or-later */
/* request: splits the target before unescaping it, and reads what every operation needs from it. */
#include "request.h"

#include <string.h>

#include "reply.h"
#include "rights.h"

/* Bucket names are shorter in truth; 222 is the longest that Cloud Storage takes. */
#define BUCKET_NAME_MAX 222

/* Paths of ours that are not /BUCKET/OBJECT. */
static const struct {
    const char *prefix;
    bool storage;
} known_paths[] = {
    {"storage/v1/", true},
    {"upload/storage/v1/", true},
    {"resumable/upload/storage/v1/", true},
    {"download/storage/v1/", true},
    {"batch/storage/v1", true},
    {"_fake/", false},
    {"computeMetadata/", false},
    {"token", false},
    {"v1/", false},
};

static bool unescape(struct request *request, char *string, bool plus)
{
    if (!match_unescape(string, plus)) {
        request->malformed = true;
        return false;
    }
    return true;
}

static void split_path(struct request *request, char *path)
{
    for (char *next = path; next != NULL;) {
        char *segment = strsep(&next, "/");
        if (request->segment_count == REQUEST_MAX_SEGMENTS) {
            request->malformed = true;
            return;
        }
        (void)unescape(request, segment, false); /* remembered in the request */
        request->segments[request->segment_count++] = segment;
    }
}

/* /BUCKET/OBJECT, where the object may contain slashes as they are. */
static void split_xml_path(struct request *request, char *path)
{
    char *bucket = strsep(&path, "/");
    (void)unescape(request, bucket, false);
    request->bucket = bucket;
    if (path != NULL && path[0] != '\0') {
        (void)unescape(request, path, false);
        request->object = path;
    }
}

static void split_query(struct request *request, char *query)
{
    while (query != NULL) {
        char *value = strsep(&query, "&");
        char *name = strsep(&value, "=");
        if (request->param_count == REQUEST_MAX_PARAMS) {
            request->malformed = true;
            return;
        }
        value = value == NULL ? name + strlen(name) : value;
        (void)unescape(request, name, true);
        (void)unescape(request, value, true);
        request->params[request->param_count++] = (struct param){.name = name, .value = value};
    }
}

static void split_target(struct request *request)
{
    char *query = request->split;
    char *path = strsep(&query, "?");
    char *host = strstr(path, "://"); /* the absolute form that proxies are sent */
    if (host != NULL && path[0] != '/') {
        path = host + strlen("://");
        path += strcspn(path, "/");
    }
    path += path[0] == '/' ? 1 : 0;
    request->xml = true;
    request->storage = true;
    for (size_t i = 0; i < ARRAY_LEN(known_paths); i++) {
        if (strncmp(path, known_paths[i].prefix, strlen(known_paths[i].prefix)) == 0) {
            request->xml = false;
            request->storage = known_paths[i].storage;
        }
    }
    if (request->xml) {
        split_xml_path(request, path);
    } else {
        split_path(request, path);
    }
    split_query(request, query);
}

struct request *request_new(struct server *server, struct MHD_Connection *connection,
                            const char *target)
{
    struct request *request = calloc(1, sizeof(*request));
    if (request == NULL) {
        return NULL;
    }
    request->server = server;
    request->connection = connection;
    request->body = TEXT_INIT(REQUEST_MAX_SMALL_BODY);
    request->target = strdup(target);
    request->split = strdup(target);
    if (request->target == NULL || request->split == NULL) {
        request_free(request);
        return NULL;
    }
    split_target(request);
    return request;
}

void request_free(struct request *request)
{
    if (request == NULL) {
        return;
    }
    if (request->operation != NULL && request->operation->clear != NULL && request->state != NULL) {
        request->operation->clear(request);
    }
    if (request->response != NULL) {
        MHD_destroy_response(request->response);
    }
    gunzip_free(request->gunzip);
    text_free(&request->body);
    free(request->target);
    free(request->split);
    free(request);
}

const char *request_param(const struct request *request, const char *name)
{
    for (size_t i = 0; i < request->param_count; i++) {
        if (strcmp(request->params[i].name, name) == 0) {
            return request->params[i].value;
        }
    }
    return NULL;
}

bool request_param_is(const struct request *request, const char *name, const char *value)
{
    const char *actual = request_param(request, name);
    return actual != NULL && strcmp(actual, value) == 0;
}

const char *request_header(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

int request_number(struct request *request, const char *name, bool *ret_given, uint64_t *ret)
{
    const char *value = request_param(request, name);
    *ret_given = value != NULL;
    *ret = 0;
    if (value != NULL && parse_u64(value, ret) != 0) {
        reply_error(request, 400, "invalid", "Invalid value for %s", name);
        return -1;
    }
    return 0;
}

int request_conditions(struct request *request, const char *infix, struct conditions *ret)
{
    *ret = (struct conditions){0};
    for (int i = 0; i < CONDITION_COUNT; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "if%s%s", infix,
                       condition_name((enum condition)i) + strlen("if"));
        if (request_number(request, name, &ret->given[i], &ret->values[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

int request_header_conditions(struct request *request, struct conditions *ret)
{
    static const struct {
        const char *header;
        enum condition condition;
    } headers[] = {
        {"x-goog-if-generation-match", CONDITION_GENERATION},
        {"x-goog-if-generation-not-match", CONDITION_NOT_GENERATION},
        {"x-goog-if-metageneration-match", CONDITION_METAGENERATION},
        {"x-goog-if-metageneration-not-match", CONDITION_NOT_METAGENERATION},
    };
    *ret = (struct conditions){0};
    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        const char *value = request_header(request, headers[i].header);
        if (value == NULL) {
            continue;
        }
        ret->given[headers[i].condition] = true;
        if (parse_u64(value, &ret->values[headers[i].condition]) != 0) {
            reply_error(request, 400, "invalid", "Invalid value for %s", headers[i].header);
            return -1;
        }
    }
    return 0;
}

int request_need_right(struct request *request, enum right right)
{
    if ((request->server->options->rights & right) != 0) {
        return 0;
    }
    const char *permission = right_permission(right);
    reply_error(request, 403, "forbidden",
                "winch-test@fake-gcs.iam.gserviceaccount.com does not have %s access to the Google "
                "Cloud Storage %s. Permission '%s' denied on resource (or it may not exist).",
                permission, right == RIGHT_BUCKETS_GET ? "bucket" : "object", permission);
    return -1;
}

/* billing.requesterPays: whoever asks says which project pays. */
static int need_payer(struct request *request)
{
    const cJSON *billing =
        cJSON_GetObjectItemCaseSensitive(request->server->bucket_json, "billing");
    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(billing, "requesterPays")) ||
        request_param(request, "userProject") != NULL ||
        request_header(request, "x-goog-user-project") != NULL) {
        return 0;
    }
    reply_error(request, 400, "userProjectMissing",
                "Bucket is a requester pays bucket but no user project provided.");
    return -1;
}

int request_need_bucket(struct request *request)
{
    static const char missing[] = "missing-";
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-_.";
    const char *name = request->bucket;
    size_t len = strlen(name);
    if (len == 0 || len > BUCKET_NAME_MAX || strspn(name, allowed) != len) {
        reply_error(request, 400, "invalid", "Invalid bucket name");
        return -1;
    }
    if (strncmp(name, missing, strlen(missing)) == 0) {
        reply_error(request, 404, "notFound", "The specified bucket does not exist.");
        return -1;
    }
    return need_payer(request);
}

int request_need_name(struct request *request)
{
    if (request->object == NULL) {
        reply_error(request, 400, "required", "Required parameter: name");
        return -1;
    }
    const char *problem = object_name_problem(request->object);
    if (problem != NULL) {
        reply_error(request, 400, "invalid", "%s.", problem);
        return -1;
    }
    return 0;
}

void request_add_origin(const struct request *request, struct text *out)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-.:[]";
    const char *host = request_header(request, "Host");
    text_add(out, request->server->options->tls_cert_file != NULL ? "https://" : "http://");
    if (host != NULL && host[0] != '\0' && strspn(host, allowed) == strlen(host)) {
        text_add(out, host);
    } else {
        text_printf(out, "127.0.0.1:%u", request->server->port);
    }
}

cJSON *request_parse_json(struct request *request, const char *bytes, size_t len)
{
    if (len == 0) {
        return cJSON_CreateObject();
    }
    cJSON *json = cJSON_ParseWithLength(bytes, len);
    if (cJSON_IsNull(json)) { /* Go's client sends that for "no resource" */
        cJSON_Delete(json);
        return cJSON_CreateObject();
    }
    if (!cJSON_IsObject(json)) {
        cJSON_Delete(json);
        reply_error(request, 400, "parseError", "Parse Error");
        return NULL;
    }
    return json;
}
