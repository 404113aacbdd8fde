/* SPDX-License-Identifier: GPL-3.0-or-later */
/* journal: opening, loading, looking up. The writer thread is in journal_writer.c. */
#include "run/journal_internal.h"

#include <errno.h>
#include <string.h>

static const char *const schema =
    "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS result(task INTEGER PRIMARY KEY, state INTEGER, generation INTEGER,"
    " crc32c INTEGER, flags INTEGER, at INTEGER, reason TEXT, error TEXT, content BLOB);"
    "CREATE TABLE IF NOT EXISTS node(task INTEGER, level INTEGER, idx INTEGER, generation INTEGER,"
    " crc32c INTEGER, PRIMARY KEY(task, level, idx)) WITHOUT ROWID;";

int journal_error(struct journal *journal, const char *doing, struct error *err)
{
    int code = sqlite3_errcode(journal->db);
    bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
    if (code == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM) {
        return error_memory(err, "the journal");
    }
    int number = code == SQLITE_CANTOPEN ? sqlite3_system_errno(journal->db) : 0;
    if (number == EMFILE || number == ENFILE) {
        char cause[ERROR_CAUSE_SIZE];
        error_cause(number, cause);
        return error_stop(err, EXIT_STATUS_TEMPORARY, "journal %s: %s: %s", journal->path, doing,
                          cause);
    }
    return error_stop(err, EXIT_STATUS_TEMPORARY,
                      "journal %s: %s: %s. %s the same command resumes.", journal->path, doing,
                      sqlite3_errmsg(journal->db),
                      damaged ? "Remove it: everything is compared with the bucket again when"
                              : "Free space or mend the folder;");
}

int journal_exec(struct journal *journal, const char *sql, struct error *err)
{
    if (sqlite3_exec(journal->db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        return journal_error(journal, "cannot write", err);
    }
    return 0;
}

static int prepare(struct journal *journal, const char *sql, sqlite3_stmt **ret_statement,
                   struct error *err)
{
    if (sqlite3_prepare_v3(journal->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret_statement, NULL) !=
        SQLITE_OK) {
        return journal_error(journal, "cannot prepare", err);
    }
    return 0;
}

static int open_database(struct journal *journal, struct error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
    if (sqlite3_open_v2(journal->path, &journal->db, flags, NULL) != SQLITE_OK) {
        return journal_error(journal, "cannot open", err);
    }
    /* The lock of the run folder keeps others away, so exclusive mode saves shared memory files. */
    if (journal_exec(journal,
                     "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;"
                     "PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=4000;",
                     err) != 0 ||
        journal_exec(journal, schema, err) != 0) {
        return -1;
    }
    if (prepare(journal, "INSERT OR REPLACE INTO result VALUES(?,?,?,?,?,?,?,?,?)",
                &journal->put_result, err) != 0 ||
        prepare(journal, "INSERT OR REPLACE INTO node VALUES(?,?,?,?,?)", &journal->put_node,
                err) != 0 ||
        prepare(journal, "INSERT OR REPLACE INTO meta VALUES(?,?)", &journal->put_meta, err) != 0 ||
        prepare(journal, "SELECT error, content FROM result WHERE task=?", &journal->get_detail,
                err) != 0) {
        return -1;
    }
    return 0;
}

struct journal *journal_open(const char *path, struct error *err)
{
    struct journal *journal = calloc(1, sizeof(*journal));
    if (journal == NULL || (journal->path = strdup(path)) == NULL) {
        free(journal);
        (void)error_memory(err, "the journal");
        return NULL;
    }
    (void)pthread_mutex_init(&journal->lock, NULL); /* default attributes cannot fail on Linux */
    (void)pthread_cond_init(&journal->wake, NULL);
    (void)pthread_cond_init(&journal->room, NULL);
    if (open_database(journal, err) != 0) {
        journal_close(journal);
        return NULL;
    }
    return journal;
}

void journal_close(struct journal *journal)
{
    if (journal == NULL) {
        return;
    }
    journal_writer_abandon(journal);
    (void)sqlite3_finalize(journal->put_result); /* errors of earlier steps only */
    (void)sqlite3_finalize(journal->put_node);
    (void)sqlite3_finalize(journal->put_meta);
    (void)sqlite3_finalize(journal->get_detail);
    (void)sqlite3_close(journal->db); /* an unclosed WAL is replayed at the next open */
    (void)pthread_mutex_destroy(&journal->lock);
    (void)pthread_cond_destroy(&journal->wake);
    (void)pthread_cond_destroy(&journal->room);
    free(journal->nodes);
    free(journal->path);
    free(journal);
}

int journal_put_meta(struct journal *journal, const char *key, const char *value, struct error *err)
{
    sqlite3_stmt *put = journal->put_meta;
    (void)sqlite3_reset(put); /* reports the last step's error again */
    int step = SQLITE_NOMEM;
    if (sqlite3_bind_text(put, 1, key, -1, SQLITE_TRANSIENT) == SQLITE_OK &&
        sqlite3_bind_text(put, 2, value, -1, SQLITE_TRANSIENT) == SQLITE_OK) {
        step = sqlite3_step(put);
    }
    (void)sqlite3_reset(put);
    return step == SQLITE_DONE ? 0 : journal_error(journal, "cannot write", err);
}

int journal_set(struct journal *journal, const char *key, const char *value, struct error *err)
{
    return journal_put_meta(journal, key, value, err);
}

int journal_get(struct journal *journal, const char *key, char **ret_value, struct error *err)
{
    sqlite3_stmt *get = NULL;
    *ret_value = NULL;
    if (sqlite3_prepare_v2(journal->db, "SELECT value FROM meta WHERE key=?", -1, &get, NULL) !=
        SQLITE_OK) {
        return journal_error(journal, "cannot read", err);
    }
    int result = 0;
    int step = SQLITE_NOMEM;
    if (sqlite3_bind_text(get, 1, key, -1, SQLITE_TRANSIENT) == SQLITE_OK) {
        step = sqlite3_step(get);
    }
    if (step == SQLITE_ROW && sqlite3_column_type(get, 0) != SQLITE_NULL) {
        const char *value = (const char *)sqlite3_column_text(get, 0);
        *ret_value = value != NULL ? strdup(value) : NULL;
        result = *ret_value != NULL ? 0 : error_memory(err, "the journal");
    } else if (step != SQLITE_ROW && step != SQLITE_DONE) {
        result = journal_error(journal, "cannot read", err);
    }
    (void)sqlite3_finalize(get); /* errors of earlier steps only */
    return result;
}

int journal_forget(struct journal *journal, struct error *err)
{
    return journal_exec(journal, "BEGIN; DELETE FROM result; DELETE FROM node; COMMIT", err);
}

/* An inline stream stands nowhere but here: damaged, it has to be read from the disk again. */
static bool content_is_whole(sqlite3_stmt *get, int column, uint32_t crc32c)
{
    const void *content = sqlite3_column_blob(get, column);
    size_t len = content != NULL ? (size_t)sqlite3_column_bytes(get, column) : 0;
    return crc32c_update(0, content, len) == crc32c;
}

static int load_results(struct journal *journal, struct ledger *ledger, uint64_t tasks,
                        void (*each)(void *self, uint64_t task, uint64_t done_utc_ms), void *self,
                        struct error *err)
{
    sqlite3_stmt *get = NULL;
    if (prepare(journal, "SELECT task, state, generation, crc32c, flags, at, content FROM result",
                &get, err) != 0) {
        return -1;
    }
    int step = 0;
    while ((step = sqlite3_step(get)) == SQLITE_ROW) {
        uint64_t task = (uint64_t)sqlite3_column_int64(get, 0);
        int state = sqlite3_column_int(get, 1);
        if (task >= tasks || (state != LEDGER_UPLOADED && state != LEDGER_INLINE)) {
            continue;
        }
        uint32_t crc32c = (uint32_t)sqlite3_column_int64(get, 3);
        if (state == LEDGER_INLINE && !content_is_whole(get, 6, crc32c)) {
            continue;
        }
        struct ledger_row *row = ledger_row(ledger, task);
        row->generation = (uint64_t)sqlite3_column_int64(get, 2);
        row->crc32c = crc32c;
        row->flags = (uint8_t)sqlite3_column_int(get, 4);
        row->state = (uint8_t)state;
        each(self, task, (uint64_t)sqlite3_column_int64(get, 5));
    }
    (void)sqlite3_finalize(get); /* the step's result is looked at below */
    return step == SQLITE_DONE ? 0 : journal_error(journal, "cannot read", err);
}

static int append_node(struct journal *journal, const struct journal_node *node, struct error *err)
{
    if (journal->node_count == journal->node_cap) {
        size_t cap = journal->node_cap == 0 ? 256 : journal->node_cap * 2;
        struct journal_node *nodes = realloc(journal->nodes, cap * sizeof(*nodes));
        if (nodes == NULL) {
            return error_memory(err, "the journal's nodes");
        }
        journal->nodes = nodes;
        journal->node_cap = cap;
    }
    journal->nodes[journal->node_count++] = *node;
    return 0;
}

static int load_nodes(struct journal *journal, struct ledger *ledger, uint64_t tasks,
                      struct error *err)
{
    sqlite3_stmt *get = NULL;
    if (prepare(journal, "SELECT task, level, idx, generation, crc32c FROM node ORDER BY task",
                &get, err) != 0) {
        return -1;
    }
    int step = 0;
    int result = 0;
    while (result == 0 && (step = sqlite3_step(get)) == SQLITE_ROW) {
        struct journal_node node = {
            .task = (uint64_t)sqlite3_column_int64(get, 0),
            .level = (unsigned)sqlite3_column_int(get, 1),
            .index = (uint32_t)sqlite3_column_int64(get, 2),
            .generation = (uint64_t)sqlite3_column_int64(get, 3),
            .crc32c = (uint32_t)sqlite3_column_int64(get, 4),
        };
        if (node.task < tasks && ledger_row(ledger, node.task)->state == LEDGER_OPEN) {
            result = append_node(journal, &node, err);
        }
    }
    (void)sqlite3_finalize(get); /* the step's result is looked at below */
    if (result == 0 && step != SQLITE_DONE) {
        result = journal_error(journal, "cannot read", err);
    }
    return result;
}

int journal_load(struct journal *journal, struct ledger *ledger, uint64_t tasks,
                 void (*each)(void *self, uint64_t task, uint64_t done_utc_ms), void *self,
                 struct error *err)
{
    if (load_results(journal, ledger, tasks, each, self, err) != 0) {
        return -1;
    }
    return load_nodes(journal, ledger, tasks, err);
}

size_t journal_hint(const struct journal *journal, uint64_t task,
                    struct upload_composite *composite)
{
    size_t low = 0;
    size_t high = journal->node_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (journal->nodes[middle].task < task) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t told = 0;
    for (; low < journal->node_count && journal->nodes[low].task == task; low++, told++) {
        const struct journal_node *node = &journal->nodes[low];
        upload_composite_hint(composite, node->level, node->index, node->generation, node->crc32c);
    }
    return told;
}

int journal_detail(struct journal *journal, uint64_t task, const char **ret_error,
                   const void **ret_content, size_t *ret_len, struct error *err)
{
    sqlite3_stmt *get = journal->get_detail;
    (void)sqlite3_reset(get); /* reports the last step's error again */
    (void)sqlite3_bind_int64(get, 1, (sqlite3_int64)task);
    *ret_error = "";
    *ret_content = NULL;
    *ret_len = 0;
    int step = sqlite3_step(get);
    if (step == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(get, 0);
        const void *content = sqlite3_column_blob(get, 1);
        bool lost = (text == NULL && sqlite3_column_type(get, 0) != SQLITE_NULL) ||
                    (content == NULL && sqlite3_column_bytes(get, 1) > 0);
        if (lost) {
            return error_memory(err, "the journal");
        }
        *ret_error = text != NULL ? text : "";
        *ret_content = content;
        *ret_len = (size_t)sqlite3_column_bytes(get, 1);
        return 0;
    }
    return step == SQLITE_DONE ? 0 : journal_error(journal, "cannot read", err);
}
