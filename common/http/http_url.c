/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a URL points: scheme, host, whether that is this machine, and the part of it that may
 * appear in messages.
 */
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "http/http_internal.h"

static bool is_loopback(const char *host, size_t len);
static bool is_authority_char(char c);

int http_url_split(const char *url, struct http_origin *ret_origin)
{
    struct http_origin origin = {0};
    if (strncasecmp(url, "https://", 8) == 0) {
        origin.https = true;
        origin.shown = url + 8;
    } else if (strncasecmp(url, "http://", 7) == 0) {
        origin.shown = url + 7;
    } else {
        return -1;
    }
    for (const char *p = origin.shown; *p != '\0'; p++) {
        if ((unsigned char)*p <= ' ' || *p == 0x7f || *p == '\\') {
            return -1;
        }
    }
    size_t authority_len = strcspn(origin.shown, "/?#");
    for (size_t i = 0; i < authority_len; i++) {
        if (!is_authority_char(origin.shown[i])) {
            return -1;
        }
    }
    origin.shown_len = strcspn(origin.shown, "?#");
    origin.host = origin.shown;
    origin.host_len = authority_len;
    if (authority_len > 0 && origin.host[0] == '[') {
        const char *end = memchr(origin.host, ']', authority_len);
        if (end == NULL) {
            return -1;
        }
        origin.host++;
        origin.host_len = (size_t)(end - origin.host);
    } else {
        const char *colon = memchr(origin.host, ':', authority_len);
        if (colon != NULL) {
            origin.host_len = (size_t)(colon - origin.host);
        }
    }
    if (origin.host_len == 0) {
        return -1;
    }
    origin.loopback = is_loopback(origin.host, origin.host_len);
    *ret_origin = origin;
    return 0;
}

bool http_url_is_safe(const char *url)
{
    struct http_origin origin;
    return http_url_split(url, &origin) == 0 && (origin.https || origin.loopback);
}

static bool is_loopback(const char *host, size_t len)
{
    char name[INET6_ADDRSTRLEN];
    if (len >= sizeof(name)) {
        return false;
    }
    memcpy(name, host, len);
    name[len] = '\0';
    if (strcasecmp(name, "localhost") == 0) {
        return true;
    }
    struct in_addr v4;
    if (inet_pton(AF_INET, name, &v4) == 1) {
        return ntohl(v4.s_addr) >> 24 == 127;
    }
    struct in6_addr v6;
    return inet_pton(AF_INET6, name, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static bool is_authority_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("._-:[]", c) != NULL);
}
