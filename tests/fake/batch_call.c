/* SPDX-License-Identifier: GPL-3.0-or-later */
/* batch_call: takes one part of a batch apart. Lines end in CRLF or in LF. */
#include <string.h>

#include "batch.h"

/* The next line without its end, which becomes a NUL; NULL at the end of the text. */
static char *next_line(char **rest)
{
    char *line = *rest;
    if (line == NULL || *line == '\0') {
        return NULL;
    }
    (void)strsep(rest, "\n");
    size_t len = strlen(line);
    if (len > 0 && line[len - 1] == '\r') {
        line[len - 1] = '\0';
    }
    return line;
}

static char *header_value(char *line, const char *name)
{
    size_t len = strlen(name);
    if (strncasecmp(line, name, len) != 0 || line[len] != ':') {
        return NULL;
    }
    char *value = line + len + 1;
    return value + strspn(value, " \t");
}

/* "<id>" as Google's clients write it, or the bare id. */
static char *without_brackets(char *value)
{
    size_t len = strlen(value);
    if (len >= 2 && value[0] == '<' && value[len - 1] == '>') {
        value[len - 1] = '\0';
        return value + 1;
    }
    return value;
}

/* Lines up to the empty one. -1 when the text ends before it. */
static int skip_headers(char **rest, const char **ret_id)
{
    char *line;
    while ((line = next_line(rest)) != NULL && line[0] != '\0') {
        char *id = header_value(line, "Content-ID");
        if (id != NULL && ret_id != NULL) {
            *ret_id = without_brackets(id);
        }
    }
    return line == NULL ? -1 : 0;
}

int batch_parse_call(char *part, size_t len, struct batch_call *ret)
{
    char *rest = part;
    struct batch_call call = {0};
    if (strlen(part) != len || skip_headers(&rest, &call.id) != 0) {
        return -1;
    }
    char *line = next_line(&rest);
    if (line == NULL) {
        return -1;
    }
    call.method = strsep(&line, " ");
    call.target = strsep(&line, " ");
    if (call.target == NULL || (call.target[0] != '/' && strstr(call.target, "://") == NULL)) {
        return -1;
    }
    /* A call without a body may end with its headers. */
    call.body = skip_headers(&rest, NULL) == 0 && rest != NULL ? rest : "";
    call.body_len = strlen(call.body);
    while (call.body_len > 0 && strchr("\r\n", call.body[call.body_len - 1]) != NULL) {
        call.body_len--; /* the line end before the next boundary is not the call's */
    }
    *ret = call;
    return 0;
}
