/* SPDX-License-Identifier: GPL-3.0-or-later */
/* control: what tests ask of the fake itself, under /_fake/. */
#include <inttypes.h>
#include <string.h>

#include "mpu.h"
#include "reply.h"
#include "resumable.h"
#include "route.h"

#define LISTING_MAX ((size_t)4 << 30)

static void begin(struct request *request)
{
    (void)request; /* nothing to look at before the end */
}

static void add_count(struct text *body, const char *name, uint64_t value)
{
    text_printf(body, "%s\"%s\":%" PRIu64, body->len > 1 ? "," : "", name, value);
}

static void add_statuses(struct server *server, struct text *body, uint64_t *ret_rejected)
{
    bool first = true;
    *ret_rejected = 0;
    text_add(body, ",\"by_status\":{");
    for (unsigned status = 0; status < STATS_STATUS_COUNT; status++) {
        uint64_t count = stats_read(&server->stats.by_status[status]);
        if (count == 0) {
            continue;
        }
        text_printf(body, "%s\"%u\":%" PRIu64, first ? "" : ",", status, count);
        first = false;
        /* 412 has a counter of its own, and 499 is the good answer to a cancelled session. */
        if (status >= 400 && status < 500 && status != 412 && status != 499) {
            *ret_rejected += count;
        }
    }
    text_add_char(body, '}');
}

static void finish_stats(struct request *request)
{
    struct server *server = request->server;
    struct stats *stats = &server->stats;
    struct store_numbers numbers;
    uint64_t rejected = 0;
    struct text body CLEANUP_TEXT = TEXT_INIT(REQUEST_MAX_SMALL_BODY);
    store_count(server->store, &numbers);
    text_add_char(&body, '{');
    add_count(&body, "objects", numbers.objects);
    add_count(&body, "bytes", numbers.bytes);
    add_count(&body, "parts_left",
              numbers.part_objects + sessions_count_open(server->sessions) +
                  uploads_count_open(server->uploads));
    add_count(&body, "requests", stats_read(&stats->requests));
    add_count(&body, "received_bytes", stats_read(&stats->received_bytes));
    add_count(&body, "inserts", stats_read(&stats->inserts));
    add_count(&body, "composes", stats_read(&stats->composes));
    add_count(&body, "copies", stats_read(&stats->copies));
    add_count(&body, "deletes", stats_read(&stats->deletes));
    add_count(&body, "gets", stats_read(&stats->gets));
    add_count(&body, "lists", stats_read(&stats->lists));
    add_count(&body, "precondition_failed", stats_read(&stats->by_status[412]));
    add_count(&body, "max_inserts_per_object", numbers.max_inserts_per_object);
    add_count(&body, "soft_deleted", numbers.soft_deleted);
    add_count(&body, "soft_deleted_bytes", numbers.soft_deleted_bytes);
    add_count(&body, "authorized", stats_read(&stats->authorized));
    add_count(&body, "tokens", stats_read(&stats->tokens));
    add_count(&body, "faults", stats_read(&stats->faults));
    add_count(&body, "held", waits_count_held(server->waits));
    add_statuses(server, &body, &rejected);
    add_count(&body, "rejected", rejected);
    text_add(&body, "}\n");
    reply_text(request, 200, "application/json", &body);
}

const struct operation fake_stats_operation = {begin, NULL, finish_stats, NULL};

static void add_object_line(void *self, const struct object *object, uint64_t inserts)
{
    struct text *body = self;
    char crc[9];
    crc32c_to_base64(object->digest.crc32c, crc);
    text_add(body, "{\"bucket\":");
    text_add_json(body, object->bucket, strlen(object->bucket));
    text_add(body, ",\"name\":");
    text_add_json(body, object->name, strlen(object->name));
    text_printf(body,
                ",\"size\":%" PRIu64 ",\"crc32c\":\"%s\",\"generation\":\"%" PRIu64
                "\",\"inserts\":%" PRIu64 "}\n",
                object->digest.size_bytes, crc, object->generation, inserts);
}

static void finish_objects(struct request *request)
{
    struct text body CLEANUP_TEXT = TEXT_INIT(LISTING_MAX);
    if (store_visit(request->server->store, request_param(request, "bucket"), add_object_line,
                    &body) != 0) {
        reply_memory(request);
        return;
    }
    reply_text(request, 200, "application/jsonl", &body);
}

const struct operation fake_objects_operation = {begin, NULL, finish_objects, NULL};

static void reply_done(struct request *request, int result, const struct error *err)
{
    struct text body CLEANUP_TEXT = TEXT_INIT(REQUEST_MAX_SMALL_BODY);
    if (result != 0) {
        reply_error(request, 400, "invalid", "%s", err->message);
        return;
    }
    text_add(&body, "{}\n");
    reply_text(request, 200, "application/json", &body);
}

static void finish_hold(struct request *request)
{
    struct error err = {0};
    cJSON *json = request_parse_json(request, text_str(&request->body), request->body.len);
    if (json != NULL) {
        reply_done(request, holds_arm(request->server->holds, json, &err), &err);
        cJSON_Delete(json);
    }
}

static void finish_disarm(struct request *request)
{
    holds_disarm(request->server->holds);
    reply_done(request, 0, NULL);
}

static void finish_release(struct request *request)
{
    waits_release_held(request->server->waits);
    reply_done(request, 0, NULL);
}

const struct operation fake_hold_operation = {begin, NULL, finish_hold, NULL};
const struct operation fake_disarm_operation = {begin, NULL, finish_disarm, NULL};
const struct operation fake_release_operation = {begin, NULL, finish_release, NULL};

/* POST adds faults, DELETE takes all away. */
static void finish_faults(struct request *request)
{
    struct faults *faults = request->server->faults;
    struct error err = {0};
    int result = 0;
    if (strcmp(request->method, "DELETE") == 0) {
        faults_disarm(faults);
    } else {
        result = faults_add_lines(faults, text_str(&request->body), &err);
    }
    reply_done(request, result, &err);
}

const struct operation fake_faults_operation = {begin, NULL, finish_faults, NULL};
