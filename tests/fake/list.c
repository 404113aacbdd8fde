/* SPDX-License-Identifier: GPL-3.0-or-later */
/* list: GET /storage/v1/b/B/o, one page at a time. */
#include <string.h>

#include "object_json.h"
#include "reply.h"
#include "route.h"

#define PAGE_MAX 1000
#define PAGE_TEXT_MAX ((size_t)256 << 20)

static void begin(struct request *request)
{
    if (request_need_bucket(request) == 0) {
        (void)request_need_right(request, RIGHT_LIST); /* answers if it is missing */
    }
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = c == '\0' ? NULL : strchr(digits, c);
    return found == NULL ? -1 : (int)(found - digits);
}

/* A token is 'n' (after this name) or 'p' (after this common prefix), then the name in hex. */
static int parse_token(const char *token, char name[OBJECT_NAME_MAX + 1], bool *ret_is_prefix)
{
    size_t len = strlen(token);
    if (len % 2 != 1 || len / 2 > OBJECT_NAME_MAX || (token[0] != 'n' && token[0] != 'p')) {
        return -1;
    }
    for (size_t i = 0; i < len / 2; i++) {
        int high = hex_digit(token[1 + 2 * i]);
        int low = hex_digit(token[2 + 2 * i]);
        if (high < 0 || low < 0 || high + low == 0) {
            return -1;
        }
        name[i] = (char)(high * 16 + low);
    }
    name[len / 2] = '\0';
    *ret_is_prefix = token[0] == 'p';
    return 0;
}

static const char *param_or_empty(const struct request *request, const char *name)
{
    const char *value = request_param(request, name);
    return value == NULL ? "" : value;
}

/* -1 after having answered. `after` is where the name in the token goes. */
static int read_query(struct request *request, struct store_query *query,
                      char after[OBJECT_NAME_MAX + 1])
{
    uint64_t max = 0;
    bool max_given = false;
    *query = (struct store_query){
        .bucket = request->bucket,
        .prefix = param_or_empty(request, "prefix"),
        .delimiter = param_or_empty(request, "delimiter"),
        .start = param_or_empty(request, "startOffset"),
        .end = param_or_empty(request, "endOffset"),
        .max_results = PAGE_MAX,
    };
    if (request_number(request, "maxResults", &max_given, &max) != 0) {
        return -1;
    }
    if (max_given && max > 0 && max < PAGE_MAX) {
        query->max_results = (size_t)max;
    }
    const char *token = param_or_empty(request, "pageToken");
    if (token[0] == '\0') {
        return 0;
    }
    bool is_prefix = false;
    if (parse_token(token, after, &is_prefix) != 0) {
        reply_error(request, 400, "invalid", "Invalid page token");
        return -1;
    }
    query->start = after; /* not before startOffset: the pages before started there */
    query->start_excluded = !is_prefix;
    query->skip_start_group = is_prefix;
    return 0;
}

static bool wants(const char *fields, const char *word)
{
    return fields == NULL || strchr(fields, '*') != NULL || strstr(fields, word) != NULL;
}

static void add_items(struct request *request, const struct store_page *page, struct text *body)
{
    struct text origin CLEANUP_TEXT = TEXT_INIT(4096);
    request_add_origin(request, &origin);
    const struct object_view view = {
        .origin = text_str(&origin),
        .fields = object_fields(request_param(request, "fields")),
        .wrong_crc = request->fault.action == FAULT_WRONG_CRC,
    };
    text_add(body, ",\"items\":[");
    for (size_t i = 0; i < page->object_count; i++) {
        text_add(body, i == 0 ? "" : ",");
        object_add_json(body, page->objects[i], &view);
    }
    text_add_char(body, ']');
}

static void add_page(struct request *request, const struct store_page *page, struct text *body)
{
    const char *fields = request_param(request, "fields");
    text_add(body, "{\"kind\":\"storage#objects\"");
    if (page->more && wants(fields, "nextPageToken")) {
        text_printf(body, ",\"nextPageToken\":\"%c", page->last_is_prefix ? 'p' : 'n');
        text_add_hex(body, page->last, strlen(page->last));
        text_add_char(body, '"');
    }
    if (page->prefix_count > 0 && wants(fields, "prefixes")) {
        text_add(body, ",\"prefixes\":[");
        for (size_t i = 0; i < page->prefix_count; i++) {
            text_add(body, i == 0 ? "" : ",");
            text_add_json(body, page->prefixes[i], strlen(page->prefixes[i]));
        }
        text_add_char(body, ']');
    }
    if (page->object_count > 0 && wants(fields, "items")) {
        add_items(request, page, body);
    }
    text_add_char(body, '}');
}

static void finish(struct request *request)
{
    char after[OBJECT_NAME_MAX + 1];
    struct store_query query;
    struct store_page page = {0};
    stats_add(&request->server->stats.lists, 1);
    if (read_query(request, &query, after) != 0) {
        return;
    }
    bool deleted_ones = request_param_is(request, "softDeleted", "true"); /* there are none */
    if (!deleted_ones && store_list(request->server->store, &query, &page) != 0) {
        reply_memory(request);
        return;
    }
    struct text body CLEANUP_TEXT = TEXT_INIT(PAGE_TEXT_MAX);
    add_page(request, &page, &body);
    store_page_clear(&page);
    reply_text(request, 200, "application/json; charset=UTF-8", &body);
}

const struct operation list_operation = {begin, NULL, finish, NULL};
