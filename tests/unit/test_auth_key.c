/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Service-account keys: good and bad files, and the assertion as the token endpoint sees it. */
#include "auth/auth.h"
#include "scripted_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <string.h>
#include <strings.h>

static EVP_PKEY *key; /* made once: that takes a while */
static char *key_pem; /* private */
static char folder[] = "/tmp/winch-test-auth-XXXXXX";
static char path[sizeof(folder) + 16];

static char *to_pem(EVP_PKEY *pkey, const EVP_CIPHER *cipher)
{
    unsigned char password[] = "password";
    BIO *bio = BIO_new(BIO_s_mem());
    char *bytes = NULL;
    assert_int_equal(PEM_write_bio_PrivateKey(bio, pkey, cipher, cipher == NULL ? NULL : password,
                                              cipher == NULL ? 0 : 8, NULL, NULL),
                     1);
    long len = BIO_get_mem_data(bio, &bytes);
    char *pem = malloc((size_t)len + 1);
    assert_non_null(pem);
    memcpy(pem, bytes, (size_t)len); /* OpenSSL's bytes end without a NUL */
    pem[len] = '\0';
    BIO_free(bio);
    return pem;
}

static int make_key(void **state)
{
    (void)state;
    key = EVP_RSA_gen(2048);
    key_pem = key == NULL ? NULL : to_pem(key, NULL);
    if (key_pem == NULL || mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof(path), "%s/key.json", folder);
    return 0;
}

static int drop_key(void **state)
{
    (void)state;
    (void)unlink(path);
    (void)rmdir(folder);
    free(key_pem);
    EVP_PKEY_free(key);
    return 0;
}

/* Write a key file; `private_key` NULL: without one. */
static void write_key_file(const char *type, const char *token_uri, const char *private_key)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "type", type);
    cJSON_AddStringToObject(json, "client_email", "loader@p.iam.gserviceaccount.com");
    cJSON_AddStringToObject(json, "private_key_id", "0123abcd");
    if (private_key != NULL) {
        cJSON_AddStringToObject(json, "private_key", private_key);
    }
    cJSON_AddStringToObject(json, "token_uri", token_uri);
    char *text = cJSON_Print(json);
    struct error err = {0};
    assert_int_equal(file_write(path, text, strlen(text), 0600, &err), 0);
    free(text);
    cJSON_Delete(json);
}

/* Decode one part of an assertion, which ends at '.' or the string's end. */
static uint8_t *decode_part(const char *part, size_t len, size_t *ret_len)
{
    char text[8192];
    assert_true(len + 4 < sizeof(text));
    for (size_t i = 0; i < len; i++) {
        assert_true(part[i] != '=' && part[i] != '+' && part[i] != '/');
        text[i] = part[i] == '-' ? '+' : part[i] == '_' ? '/' : part[i];
    }
    while (len % 4 != 0) {
        text[len++] = '=';
    }
    uint8_t *bytes = NULL;
    assert_int_equal(base64_decode(text, len, &bytes, ret_len), 0);
    return bytes;
}

static cJSON *decode_json(const char *part, size_t len)
{
    size_t count = 0;
    uint8_t *bytes = decode_part(part, len, &count);
    cJSON *json = cJSON_ParseWithLength((const char *)bytes, count);
    assert_non_null(json);
    free(bytes);
    return json;
}

static const char *string_of(const cJSON *json, const char *name)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, name));
    assert_non_null(value);
    return value;
}

static void check_assertion(const char *assertion, const char *token_uri)
{
    const char *first = strchr(assertion, '.');
    assert_non_null(first);
    const char *second = strchr(first + 1, '.');
    assert_non_null(second);

    cJSON *header = decode_json(assertion, (size_t)(first - assertion));
    assert_string_equal(string_of(header, "alg"), "RS256");
    assert_string_equal(string_of(header, "typ"), "JWT");
    assert_string_equal(string_of(header, "kid"), "0123abcd");
    cJSON_Delete(header);

    cJSON *claims = decode_json(first + 1, (size_t)(second - first - 1));
    assert_string_equal(string_of(claims, "iss"), "loader@p.iam.gserviceaccount.com");
    assert_string_equal(string_of(claims, "scope"),
                        "https://www.googleapis.com/auth/devstorage.read_write");
    assert_string_equal(string_of(claims, "aud"), token_uri);
    double issued = cJSON_GetObjectItemCaseSensitive(claims, "iat")->valuedouble;
    double expires = cJSON_GetObjectItemCaseSensitive(claims, "exp")->valuedouble;
    double now = (double)clock_utc_ns() / 1e9;
    assert_true(issued <= now && issued > now - 60);
    assert_true(expires == issued + 3600);
    cJSON_Delete(claims);

    size_t len = 0;
    uint8_t *signature = decode_part(second + 1, strlen(second + 1), &len);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key), 1);
    assert_int_equal(EVP_DigestVerify(context, signature, len, (const uint8_t *)assertion,
                                      (size_t)(second - assertion)),
                     1);
    EVP_MD_CTX_free(context);
    free(signature);
}

static void the_assertion_is_signed_and_exchanged(void **state)
{
    (void)state;
    static const char reply[] = "HTTP/1.1 200 OK\r\n\r\n"
                                "{\"access_token\":\"tok\",\"expires_in\":3599}";
    const struct scripted_step steps[] = {{.reply = "HTTP/1.1 503 U\r\nContent-Length: 0\r\n\r\n"},
                                          {.reply = reply, .end = SCRIPTED_CLOSE}};
    struct scripted_server *server = scripted_server_start(steps, ARRAY_LEN(steps));
    const char *token_uri = scripted_server_url(server, "/token");
    write_key_file("service_account", token_uri, key_pem);
    struct error err = {0};
    const struct auth_settings settings = {.credentials_file = path};
    struct auth *auth = auth_new(&settings, &err);
    assert_string_equal(err.message, "");
    assert_non_null(auth);
    char value[100];
    struct http_credentials credentials = auth_credentials(auth);
    assert_int_equal(credentials.authorization(credentials.self, false, value, sizeof(value), &err),
                     0);
    assert_string_equal(value, "Bearer tok");
    const struct scripted_request *request = scripted_server_request(server, 1);
    assert_non_null(
        strcasestr(request->head, "\r\nContent-Type: application/x-www-form-urlencoded\r\n"));
    static const char start[] =
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    assert_memory_equal(request->body, start, strlen(start));
    check_assertion(request->body + strlen(start), token_uri);
    auth_free(auth);
    scripted_server_free(server);
}

static void a_refusal_says_why(void **state)
{
    (void)state;
    static const char reply[] =
        "HTTP/1.1 400 Bad\r\n\r\n"
        "{\"error\":\"invalid_grant\",\"error_description\":\"Invalid\\u001bsignature\"}";
    const struct scripted_step steps[] = {{.reply = reply, .end = SCRIPTED_CLOSE}};
    struct scripted_server *server = scripted_server_start(steps, ARRAY_LEN(steps));
    write_key_file("service_account", scripted_server_url(server, "/token"), key_pem);
    struct error err = {0};
    const struct auth_settings settings = {.credentials_file = path};
    struct auth *auth = auth_new(&settings, &err);
    assert_non_null(auth);
    char value[100];
    struct http_credentials credentials = auth_credentials(auth);
    assert_int_equal(credentials.authorization(credentials.self, false, value, sizeof(value), &err),
                     -1);
    assert_int_equal(err.kind, ERROR_STOP_RUN);
    assert_int_equal(err.exit_status, EXIT_STATUS_RIGHTS);
    assert_non_null(strstr(err.message, "invalid_grant"));
    assert_non_null(strstr(err.message, path));
    assert_null(strchr(err.message, '\x1b'));
    auth_free(auth);
    scripted_server_free(server);
}

static void refused(const char *says)
{
    struct error err = {0};
    const struct auth_settings settings = {.credentials_file = path};
    assert_null(auth_new(&settings, &err));
    print_message("%s\n", err.message);
    assert_int_equal(err.kind, ERROR_STOP_RUN);
    assert_int_equal(err.exit_status, EXIT_STATUS_RIGHTS);
    assert_non_null(strstr(err.message, path));
    assert_non_null(strstr(err.message, says));
    assert_null(strstr(err.message, "PRIVATE KEY"));
}

static void bad_key_files_are_named(void **state)
{
    (void)state;
    static const char good_uri[] = "https://oauth2.googleapis.com/token";
    (void)unlink(path);
    refused("GOOGLE_APPLICATION_CREDENTIALS");

    struct error err = {0};
    static const char *const texts[] = {"", "not json", "[1]", "{\"type\":"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_int_equal(file_write(path, texts[i], strlen(texts[i]), 0600, &err), 0);
        refused("not JSON");
    }
    assert_int_equal(file_write(path, "{}", 2, 0600, &err), 0);
    refused("no \"type\"");
    assert_int_equal(file_write(path, "{\"type\":\"service_account\"}", 26, 0600, &err), 0);
    refused("client_email");

    write_key_file("authorized_user", good_uri, key_pem);
    refused("authorized_user are not supported yet");
    write_key_file("external_account", good_uri, key_pem);
    refused("external_account are not supported yet");
    write_key_file("\x1b[2J", good_uri, key_pem);
    refused("unknown type");

    write_key_file("service_account", "", key_pem);
    refused("token_uri");
    write_key_file("service_account", "http://example.com/token", key_pem);
    refused("neither an https URL");
    write_key_file("service_account", "http://127.0.0.1@example.com/", key_pem);
    refused("neither an https URL");

    write_key_file("service_account", good_uri, NULL);
    refused("private_key");
    write_key_file("service_account", good_uri, "-----BEGIN PRIVATE KEY-----\nMIIE\n");
    refused("PEM");
}

static void keys_of_other_kinds_are_refused(void **state)
{
    (void)state;
    static const char good_uri[] = "https://oauth2.googleapis.com/token";
    char *encrypted = to_pem(key, EVP_aes_128_cbc());
    write_key_file("service_account", good_uri, encrypted);
    refused("unencrypted");
    free(encrypted);

    EVP_PKEY *curve = EVP_EC_gen("P-256");
    char *pem = to_pem(curve, NULL);
    write_key_file("service_account", good_uri, pem);
    refused("not a usable RSA key");
    free(pem);
    EVP_PKEY_free(curve);

    write_key_file("service_account", good_uri, key_pem);
    struct error err = {0};
    const struct auth_settings settings = {.credentials_file = path};
    struct auth *auth = auth_new(&settings, &err);
    assert_non_null(auth);
    auth_free(auth);
    auth_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_assertion_is_signed_and_exchanged),
        cmocka_unit_test(a_refusal_says_why),
        cmocka_unit_test(bad_key_files_are_named),
        cmocka_unit_test(keys_of_other_kinds_are_refused),
    };
    struct error err = {0};
    if (http_global_init(&err) != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, make_key, drop_key);
}
