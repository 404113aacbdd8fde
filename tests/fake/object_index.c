/* SPDX-License-Identifier: GPL-3.0-or-later */
/* object_index: the log behind --dir and its replay. A torn last line, from a kill, is left out. */
#include "object_index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "store.h"
#include "tree.h"

#define LINE_MAX_BYTES ((size_t)1 << 20)

struct object_index {
    int fd;
    char *path;
    char *tree_folder; /* NULL without --tree */
    struct text line;  /* guarded by the store's lock */
};

static char *join(const char *folder, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

int object_index_open(const char *folder, bool tree, struct blob_storage *storage,
                      struct object_index **ret, struct error *err)
{
    struct object_index *index = calloc(1, sizeof(*index));
    if (index == NULL) {
        return error_memory(err, "the index");
    }
    index->fd = -1;
    index->line = TEXT_INIT(LINE_MAX_BYTES);
    index->path = join(folder, "index.jsonl");
    index->tree_folder = tree ? join(folder, "tree") : NULL;
    storage->data_folder = join(folder, "data");
    /* Files of an earlier process have smaller numbers, as long as the clock does not go back. */
    atomic_store(&storage->next_file, clock_utc_ns() / 1000);
    *ret = index;
    if (index->path == NULL || storage->data_folder == NULL ||
        (tree && index->tree_folder == NULL)) {
        return error_memory(err, "the index");
    }
    if (file_make_folders(storage->data_folder, 0755, err) != 0) {
        return -1;
    }
    index->fd = open(index->path, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0644);
    if (index->fd < 0) {
        return error_stop(err, EXIT_STATUS_FAILED, "%s: %s", index->path, strerror(errno));
    }
    return 0;
}

void object_index_close(struct object_index *index)
{
    if (index != NULL) {
        cleanup_close(&index->fd);
        text_free(&index->line);
        free(index->path);
        free(index->tree_folder);
        free(index);
    }
}

static void add_string(struct text *line, const char *name, const char *value)
{
    text_printf(line, ",\"%s\":", name);
    text_add_json(line, value, strlen(value));
}

static int write_line(struct object_index *index)
{
    text_add(&index->line, "}\n");
    if (index->line.failed) {
        return -1;
    }
    ssize_t count = write(index->fd, text_str(&index->line), index->line.len);
    return count == (ssize_t)index->line.len ? 0 : -1;
}

static void start_line(struct object_index *index, const char *change, const struct object *object)
{
    text_reset(&index->line);
    text_printf(&index->line, "{\"change\":\"%s\"", change);
    add_string(&index->line, "bucket", object->bucket);
    add_string(&index->line, "name", object->name);
}

int object_index_write_put(struct object_index *index, const struct object *object)
{
    if (index == NULL) {
        return 0;
    }
    struct text *line = &index->line;
    start_line(index, "put", object);
    text_printf(line, ",\"generation\":\"%" PRIu64 "\",\"metageneration\":\"%" PRIu64 "\"",
                object->generation, object->metageneration);
    text_printf(line, ",\"size\":\"%" PRIu64 "\",\"crc32c\":\"%" PRIu32 "\",\"components\":\"%u\"",
                object->digest.size_bytes, object->digest.crc32c, object->component_count);
    text_printf(line, ",\"created_ns\":\"%" PRIu64 "\",\"updated_ns\":\"%" PRIu64 "\"",
                object->created_ns, object->updated_ns);
    if (object->digest.has_md5) {
        text_add(line, ",\"md5\":\"");
        text_add_base64(line, object->digest.md5, sizeof(object->digest.md5));
        text_add_char(line, '"');
    }
    add_string(line, "file", blob_file(object->blob));
    for (int i = 0; i < ATTRIBUTE_COUNT; i++) {
        const char *value = object->attributes.values[i];
        if (value != NULL && i == ATTRIBUTE_METADATA) {
            text_printf(line, ",\"metadata\":%s", value);
        } else if (value != NULL) {
            add_string(line, attribute_name((enum attribute)i), value);
        }
    }
    if (write_line(index) != 0) {
        return -1;
    }
    if (index->tree_folder != NULL) {
        tree_add(index->tree_folder, object);
    }
    return 0;
}

int object_index_write_delete(struct object_index *index, const struct object *object)
{
    if (index == NULL) {
        return 0;
    }
    start_line(index, "delete", object);
    if (write_line(index) != 0) {
        return -1;
    }
    if (index->tree_folder != NULL) {
        tree_remove(index->tree_folder, object);
    }
    return 0;
}

static const char *string_of(const cJSON *json, const char *name)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, name));
    return value == NULL ? "" : value;
}

static uint64_t number_of(const cJSON *json, const char *name)
{
    uint64_t value = 0;
    return parse_u64(string_of(json, name), &value) == 0 ? value : 0;
}

static void read_md5(const cJSON *json, struct digest *digest)
{
    const char *base64 = string_of(json, "md5");
    uint8_t *bytes CLEANUP_FREE = NULL;
    size_t len = 0;
    if (base64_decode(base64, strlen(base64), &bytes, &len) == 0 && len == sizeof(digest->md5)) {
        memcpy(digest->md5, bytes, len);
        digest->has_md5 = true;
    }
}

/* The blob of a line's file. A line that only changed metadata names the file of the line before,
 * and shares its blob: two blobs of one file would remove it from under each other. */
static struct blob *blob_of_line(struct blob_storage *storage, struct store *store,
                                 const cJSON *json, uint64_t size_bytes)
{
    const char *file = string_of(json, "file");
    struct object *live CLEANUP(object_cleanup) =
        store_get(store, string_of(json, "bucket"), string_of(json, "name"), 0);
    if (live != NULL && strcmp(blob_file(live->blob), file) == 0) {
        return blob_retain(live->blob);
    }
    return blob_open_existing(storage, file, size_bytes);
}

/* One put of the log; an object whose file is gone is left out. */
static void replay_put(struct blob_storage *storage, struct store *store, const cJSON *json)
{
    struct digest digest = {.size_bytes = number_of(json, "size"),
                            .crc32c = (uint32_t)number_of(json, "crc32c")};
    read_md5(json, &digest);
    struct attributes attributes = {0};
    struct text problem CLEANUP_TEXT = TEXT_INIT(LINE_MAX_BYTES);
    struct blob *blob CLEANUP(blob_cleanup) = blob_of_line(storage, store, json, digest.size_bytes);
    if (blob == NULL || attributes_from_json(&attributes, json, &problem) != 0) {
        attributes_clear(&attributes);
        return;
    }
    struct object *object CLEANUP(object_cleanup) = object_new(&attributes, &digest, blob);
    attributes_clear(&attributes);
    if (object == NULL) {
        return;
    }
    object->generation = number_of(json, "generation");
    object->metageneration = number_of(json, "metageneration");
    object->component_count = (uint32_t)number_of(json, "components");
    object->created_ns = number_of(json, "created_ns");
    object->updated_ns = number_of(json, "updated_ns");
    (void)store_restore(store, string_of(json, "bucket"), string_of(json, "name"), object);
}

static void replay_line(struct blob_storage *storage, struct store *store, const char *line)
{
    cJSON *json = cJSON_Parse(line);
    if (json == NULL) {
        return;
    }
    const char *name = string_of(json, "name");
    if (strcmp(string_of(json, "change"), "put") == 0 && object_name_problem(name) == NULL) {
        replay_put(storage, store, json);
    } else if (strcmp(string_of(json, "change"), "delete") == 0) {
        store_restore_delete(store, string_of(json, "bucket"), name);
    }
    cJSON_Delete(json);
}

struct file_set {
    char **names;
    size_t count;
    size_t cap;
    bool failed;
};

static void add_file(void *self, const struct object *object, uint64_t inserts)
{
    struct file_set *set = self;
    (void)inserts;
    if (set->count == set->cap) {
        size_t cap = set->cap == 0 ? 256 : set->cap * 2;
        char **names = reallocarray(set->names, cap, sizeof(*names));
        if (names == NULL) {
            set->failed = true;
            return;
        }
        set->names = names;
        set->cap = cap;
    }
    set->names[set->count] = strdup(blob_file(object->blob));
    set->failed = set->failed || set->names[set->count] == NULL;
    set->count += set->failed ? 0 : 1;
}

static int compare_names(const void *a, const void *b)
{
    const char *const *left = a;
    const char *const *right = b;
    return strcmp(*left, *right);
}

/* Files of uploads that a kill cut short. */
static void remove_strangers(const struct blob_storage *storage, struct store *store)
{
    struct file_set set = {0};
    int visited = store_visit(store, NULL, add_file, &set);
    DIR *folder = visited != 0 || set.failed ? NULL : opendir(storage->data_folder);
    if (folder != NULL) {
        if (set.count > 0) {
            qsort(set.names, set.count, sizeof(char *), compare_names);
        }
        struct dirent *entry = NULL;
        while ((entry = readdir(folder)) != NULL) {
            const char *name = entry->d_name;
            bool known = set.count > 0 && bsearch(&name, set.names, set.count, sizeof(char *),
                                                  compare_names) != NULL;
            if (!known && entry->d_type == DT_REG) {
                (void)unlinkat(dirfd(folder), name, 0); /* only costs space if it stays */
            }
        }
        (void)closedir(folder);
    }
    for (size_t i = 0; i < set.count; i++) {
        free(set.names[i]);
    }
    free(set.names);
}

/* So that the next line does not continue a torn one. */
static int finish_torn_line(struct object_index *index, bool torn)
{
    return torn && write(index->fd, "\n", 1) != 1 ? -1 : 0;
}

int object_index_replay(struct object_index *index, struct blob_storage *storage,
                        struct store *store, struct error *err)
{
    FILE *file CLEANUP_FILE = fopen(index->path, "re");
    if (file == NULL) {
        return error_stop(err, EXIT_STATUS_FAILED, "%s: %s", index->path, strerror(errno));
    }
    char *line CLEANUP_FREE = NULL;
    size_t cap = 0;
    ssize_t len = 0;
    bool torn = false;
    while ((len = getline(&line, &cap, file)) > 0) {
        torn = line[len - 1] != '\n';
        if (!torn) {
            replay_line(storage, store, line);
        }
    }
    if (finish_torn_line(index, torn) != 0) {
        return error_stop(err, EXIT_STATUS_FAILED, "%s: %s", index->path, strerror(errno));
    }
    remove_strangers(storage, store);
    return 0;
}
