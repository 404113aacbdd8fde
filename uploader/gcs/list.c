/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists objects, page after page. What a page says is checked before anybody sees it.
 */
#include "gcs_internal.h"

#include <string.h>

/* An escaped NUL would end a name early and make it another object's. */
static void replace_escaped_nul(char *json, size_t len)
{
    for (size_t i = 0; i + 1 < len; i++) {
        if (json[i] != '\\') {
            continue;
        }
        if (len - i >= 6 && memcmp(json + i, "\\u0000", 6) == 0) {
            memcpy(json + i + 2, "ffff", 4);
        }
        i++;
    }
}

/* It will say the same the next time. */
static int unusable(struct error *err, const char *what, const char *name)
{
    CLEANUP_TEXT struct text shown = TEXT_INIT(8192);
    text_add_shown(&shown, name, strlen(name), 300);
    return error_stop(err, EXIT_STATUS_DESTINATION,
                      "the server's listing cannot be used: %s%s%s; this server departs from the "
                      "Storage JSON API there",
                      what, name[0] != '\0' ? ", in the item " : "", text_str(&shown));
}

static int hand_items(const cJSON *items, const struct gcs_listing *listing, struct error *err)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, items)
    {
        struct gcs_object object;
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "name"));
        if (name == NULL || name[0] == '\0') {
            return unusable(err, "an item has no \"name\"", "");
        }
        const char *field = gcs_object_from_json(item, &object);
        if (field != NULL) {
            char what[100];
            (void)snprintf(what, sizeof(what),
                           "no \"%s\" that is a whole number (as a string, or below 2^53)", field);
            return unusable(err, what, name);
        }
        if (listing->object != NULL && listing->object(listing->self, name, &object, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int hand_folders(const cJSON *prefixes, const struct gcs_listing *listing, struct error *err)
{
    const cJSON *prefix;
    cJSON_ArrayForEach(prefix, prefixes)
    {
        const char *name = cJSON_GetStringValue(prefix);
        if (name == NULL) {
            return unusable(err, "one of its \"prefixes\" is not a string", "");
        }
        if (listing->folder != NULL && listing->folder(listing->self, name, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int hand_page(const cJSON *root, const struct gcs_listing *listing, struct text *ret_token,
                     struct error *err)
{
    const cJSON *items = cJSON_GetObjectItemCaseSensitive(root, "items");
    const cJSON *prefixes = cJSON_GetObjectItemCaseSensitive(root, "prefixes");
    const cJSON *next = cJSON_GetObjectItemCaseSensitive(root, "nextPageToken");
    const char *token = cJSON_GetStringValue(next);
    if (items != NULL && !cJSON_IsArray(items)) {
        return unusable(err, "\"items\" is not an array", "");
    }
    if (prefixes != NULL && !cJSON_IsArray(prefixes)) {
        return unusable(err, "\"prefixes\" is not an array", "");
    }
    if (next != NULL && token == NULL) {
        return unusable(err, "\"nextPageToken\" is not a string", "");
    }
    if (hand_items(items, listing, err) != 0 || hand_folders(prefixes, listing, err) != 0) {
        return -1;
    }
    text_reset(ret_token);
    text_add(ret_token, token != NULL ? token : "");
    return ret_token->failed ? error_memory(err, "a page token") : 0;
}

int gcs_list_page(char *json, size_t len, const struct gcs_listing *listing, struct text *ret_token,
                  struct error *err)
{
    replace_escaped_nul(json, len);
    struct error cause = {0};
    cJSON *root = gcs_json_parse(json, len, &cause);
    int status;
    if (cause.kind != ERROR_NONE) {
        status = error_memory(err, "a page of the listing");
    } else if (!cJSON_IsObject(root)) {
        status = error_retry(err, "the server's reply is not a listing");
    } else {
        status = hand_page(root, listing, ret_token, err);
    }
    cJSON_Delete(root);
    return status;
}

static enum gcs_answer fetch_page(struct gcs_client *client, const struct gcs_listing *listing,
                                  struct text *token, struct error *err)
{
    gcs_url_begin(client, "/storage/v1", "/o", NULL);
    gcs_url_query_u64(client, "?maxResults=", GCS_LIST_PAGE);
    text_add(&client->url, "&fields=items(name," GCS_FIELDS_OBJECT "),prefixes,nextPageToken");
    gcs_url_query(client, "&prefix=", listing->prefix != NULL ? listing->prefix : "");
    if (listing->delimiter != NULL) {
        gcs_url_query(client, "&delimiter=", listing->delimiter);
    }
    if (listing->start_offset != NULL) {
        gcs_url_query(client, "&startOffset=", listing->start_offset);
    }
    if (token->len > 0) {
        gcs_url_query(client, "&pageToken=", text_str(token));
    }
    if (gcs_url_end(client, err) != 0) {
        return GCS_ERROR;
    }
    struct gcs_exchange exchange = {
        .call = GCS_CALL_LIST,
        .method = "GET",
        .reply_timeout_ms = GCS_INSERT_TIMEOUT_MS,
        .reply_limit = GCS_LIST_REPLY_LIMIT,
    };
    struct http_reply reply;
    enum gcs_answer answer = gcs_exchange_run(client, &exchange, &reply, err);
    if (answer == GCS_DONE &&
        gcs_list_page(reply.body.data, reply.body.len, listing, token, err) != 0) {
        answer = GCS_ERROR;
    }
    http_reply_clear(&reply);
    return answer;
}

enum gcs_answer gcs_list(struct gcs_client *client, const struct gcs_listing *listing,
                         struct error *err)
{
    CLEANUP_TEXT struct text token = TEXT_INIT(GCS_URL_LIMIT / 4);
    CLEANUP_TEXT struct text previous = TEXT_INIT(GCS_URL_LIMIT / 4);
    for (;;) {
        enum gcs_answer answer = fetch_page(client, listing, &token, err);
        if (answer != GCS_DONE || token.len == 0) {
            return answer;
        }
        if (previous.len == token.len && memcmp(previous.data, token.data, token.len) == 0) {
            (void)error_retry(err, "list gs://%s: the server gives the same page again and again",
                              client->settings.bucket);
            return GCS_ERROR;
        }
        text_reset(&previous);
        text_add_bytes(&previous, token.data, token.len);
        if (previous.failed) {
            (void)error_memory(err, "a page token");
            return GCS_ERROR;
        }
    }
}
