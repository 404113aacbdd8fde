/* SPDX-License-Identifier: GPL-3.0-or-later */
/* identity: fingerprint, options, and their JSON. */
#include "run/identity.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include <cjson/cJSON.h>

static void hash_hex(const struct text *text, char out[65])
{
    uint8_t hash[32];
    sha256_bytes(text_str(text), text->len, hash);
    for (size_t i = 0; i < sizeof(hash); i++) {
        (void)snprintf(out + 2 * i, 3, "%02x", hash[i]);
    }
}

static void add_list(struct text *text, const char *key, const char *const *list, size_t count)
{
    text_printf(text, "%s=", key);
    for (size_t i = 0; i < count; i++) {
        text_add_json(text, list[i], strlen(list[i]));
    }
    text_add_char(text, ';');
}

/* Nothing for what was not given, so that runs of older versions can be continued. */
static void add_option(struct text *text, const char *key, const char *value)
{
    if (value != NULL) {
        add_list(text, key, &value, 1);
    }
}

static void compute_options(struct run *run, struct text *text)
{
    const struct run_settings *settings = run->settings;
    text_printf(
        text, "streams=%d;dedup=%d;default=%d;min=%llu;max=%llu;part=%llu;class=%s;exists=%d;",
        (int)settings->streams, (int)settings->dedup, settings->default_excludes,
        (unsigned long long)settings->min_size_bytes, (unsigned long long)settings->max_size_bytes,
        (unsigned long long)settings->part_size_bytes,
        settings->storage_class != NULL ? settings->storage_class : "", (int)settings->if_exists);
    if (settings->hard_links != PLAN_HARD_LINKS_ONCE) { /* so that older runs can be continued */
        text_printf(text, "links=%d;", (int)settings->hard_links);
    }
    if (settings->efs_raw) {
        text_add(text, "efs=raw;");
    }
    add_option(text, "key", settings->kms_key);
    add_option(text, "cache", settings->cache_control);
    add_option(text, "metadata", settings->metadata);
    add_option(text, "time", settings->custom_time ? "mtime" : NULL);
    if (settings->paths != NULL) {
        uint8_t digest[32];
        text->failed = text->failed || plan_paths_digest(settings->paths, digest) != 0;
        text_add(text, "paths=");
        text_add_hex(text, digest, sizeof(digest));
        text_add_char(text, ';');
    }
    add_list(text, "include", settings->includes, settings->include_count);
    add_list(text, "exclude", settings->excludes, settings->exclude_count);
    for (size_t i = 0; i < run->volume_count; i++) {
        text_printf(text, "volume=%s>", run->volumes[i].id);
        text_add_json(text, run->volumes[i].folder, strlen(run->volumes[i].folder));
    }
}

int identity_compute(struct run *run, struct error *err)
{
    struct identity *identity = &run->identity;
    (void)snprintf(identity->destination, sizeof(identity->destination), "gs://%s/%s",
                   run->url.bucket, run->url.prefix);
    CLEANUP_TEXT struct text state = TEXT_INIT(1 << 20);
    CLEANUP_TEXT struct text serials = TEXT_INIT(sizeof(identity->serials) - 1);
    CLEANUP_TEXT struct text options = TEXT_INIT(16 << 20);
    for (size_t i = 0; i < run->volume_count; i++) {
        const struct run_volume *volume = &run->volumes[i];
        const struct volume_info *info = volume_get_info(volume->volume);
        const struct volume_scan_totals *totals = catalog_totals(volume->catalog);
        text_printf(&state, "%llu+%llu:%016llx:%08x:%llu;",
                    (unsigned long long)volume->partition.offset_bytes,
                    (unsigned long long)volume->partition.size_bytes,
                    (unsigned long long)info->serial, totals->mft_crc32c,
                    (unsigned long long)info->log_lsn);
        text_printf(&serials, "%s%016llx", i > 0 ? "," : "", (unsigned long long)info->serial);
    }
    compute_options(run, &options);
    if (state.failed || serials.failed || options.failed) {
        return error_memory(err, "the run's identity");
    }
    hash_hex(&state, identity->fingerprint);
    hash_hex(&options, identity->options);
    (void)snprintf(identity->serials, sizeof(identity->serials), "%s", text_str(&serials));
    return 0;
}

void identity_new_run(struct identity *identity)
{
    char stamp[32];
    uint32_t chance = 0;
    identity->begun_utc_ns = clock_utc_ns();
    clock_format_compact(identity->begun_utc_ns, stamp);
    random_bytes(&chance, sizeof(chance));
    (void)snprintf(identity->run, sizeof(identity->run), "%.16s-%08x", stamp, chance);
}

bool identity_run_is_legal(const char *run)
{
    /* 20261129T220312Z-7f3a9c01 */
    static const char form[] = "ddddddddTddddddZ-xxxxxxxx";
    if (strlen(run) != sizeof(form) - 1) {
        return false;
    }
    for (size_t i = 0; form[i] != '\0'; i++) {
        bool digit = run[i] >= '0' && run[i] <= '9';
        bool hex = digit || (run[i] >= 'a' && run[i] <= 'f');
        if ((form[i] == 'd' && !digit) || (form[i] == 'x' && !hex) ||
            (form[i] != 'd' && form[i] != 'x' && form[i] != run[i])) {
            return false;
        }
    }
    return true;
}

/* The begin stands in the run id, so that a resumed run says the same as the first session did. */
static uint64_t begun_of(const char *run)
{
    struct tm begun = {0};
    time_t seconds = strptime(run, "%Y%m%dT%H%M%SZ", &begun) != NULL ? timegm(&begun) : 0;
    return seconds > 0 ? (uint64_t)seconds * 1000000000ULL : 0;
}

void identity_write(const struct identity *identity, struct text *text)
{
    char begun[32];
    clock_format_utc(identity->begun_utc_ns, begun);
    text_printf(text,
                "{\"schema\":\"winch-manifest/1\",\"run\":\"%s\",\"destination\":", identity->run);
    text_add_json(text, identity->destination, strlen(identity->destination));
    text_printf(text,
                ",\"fingerprint\":\"%s\",\"options\":\"%s\",\"serials\":\"%s\",\"begun\":\"%s\"}",
                identity->fingerprint, identity->options, identity->serials, begun);
}

static int copy_string(const cJSON *object, const char *key, char *out, size_t size)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsString(value) || strlen(value->valuestring) >= size) {
        return -1;
    }
    memcpy(out, value->valuestring, strlen(value->valuestring) + 1);
    return 0;
}

/* Nothing but hexadecimal digits, and what stands between numbers: these go into JSON again. */
static bool is_hex_list(const char *string, const char *between)
{
    for (const char *c = string; *c != '\0'; c++) {
        bool hex = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'f');
        if (!hex && strchr(between, *c) == NULL) {
            return false;
        }
    }
    return true;
}

int identity_read(const char *json, size_t len, struct identity *ret_identity, struct error *err)
{
    struct identity identity = {0};
    errno = 0;
    cJSON *object = cJSON_ParseWithLength(json, len);
    if (object == NULL && errno == ENOMEM) {
        return error_memory(err, "the identity of a run");
    }
    char schema[32] = "";
    int bad =
        copy_string(object, "schema", schema, sizeof(schema)) |
        copy_string(object, "run", identity.run, sizeof(identity.run)) |
        copy_string(object, "destination", identity.destination, sizeof(identity.destination)) |
        copy_string(object, "fingerprint", identity.fingerprint, sizeof(identity.fingerprint)) |
        copy_string(object, "options", identity.options, sizeof(identity.options)) |
        copy_string(object, "serials", identity.serials, sizeof(identity.serials));
    cJSON_Delete(object);
    if (bad != 0 || strcmp(schema, "winch-manifest/1") != 0 ||
        !identity_run_is_legal(identity.run) ||
        !utf_valid_utf8(identity.destination, strlen(identity.destination)) ||
        !is_hex_list(identity.fingerprint, "") || !is_hex_list(identity.options, "") ||
        !is_hex_list(identity.serials, ",")) {
        return error_entry(err, NULL, "not the identity of a run");
    }
    identity.begun_utc_ns = begun_of(identity.run);
    *ret_identity = identity;
    return 0;
}

enum identity_relation identity_compare(const struct identity *mine, const struct identity *other)
{
    if (strcmp(mine->destination, other->destination) != 0 ||
        strcmp(mine->serials, other->serials) != 0) {
        return IDENTITY_OTHER;
    }
    if (strcmp(mine->fingerprint, other->fingerprint) != 0) {
        return IDENTITY_SUPERSEDED;
    }
    return strcmp(mine->options, other->options) == 0 ? IDENTITY_SAME : IDENTITY_OTHER;
}
