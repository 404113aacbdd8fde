/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Content type by extension: what a browser should do with the object. */
#include "plan/plan_internal.h"

#include <string.h>

enum { EXTENSION_MAX = 15 };

struct type {
    const char *extension;
    const char *name;
};

/* Sorted by extension, as bsearch() needs it. Scripts and sources are plain text, so that nobody's
 * browser runs them. */
static const struct type types[] = {
    {"7z", "application/x-7z-compressed"},
    {"aac", "audio/aac"},
    {"accdb", "application/vnd.ms-access"},
    {"ai", "application/postscript"},
    {"aif", "audio/aiff"},
    {"aiff", "audio/aiff"},
    {"apk", "application/vnd.android.package-archive"},
    {"asf", "video/x-ms-asf"},
    {"asp", "text/plain"},
    {"aspx", "text/plain"},
    {"avi", "video/x-msvideo"},
    {"avif", "image/avif"},
    {"bat", "text/plain"},
    {"bin", "application/octet-stream"},
    {"bmp", "image/bmp"},
    {"bz2", "application/x-bzip2"},
    {"c", "text/x-c"},
    {"cab", "application/vnd.ms-cab-compressed"},
    {"cer", "application/pkix-cert"},
    {"cfg", "text/plain"},
    {"chm", "application/vnd.ms-htmlhelp"},
    {"class", "application/java-vm"},
    {"cmd", "text/plain"},
    {"conf", "text/plain"},
    {"cpp", "text/x-c"},
    {"cs", "text/plain"},
    {"css", "text/css"},
    {"csv", "text/csv"},
    {"dll", "application/vnd.microsoft.portable-executable"},
    {"doc", "application/msword"},
    {"docm", "application/vnd.ms-word.document.macroEnabled.12"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"dot", "application/msword"},
    {"dotx", "application/vnd.openxmlformats-officedocument.wordprocessingml.template"},
    {"dwg", "image/vnd.dwg"},
    {"dxf", "image/vnd.dxf"},
    {"emf", "image/emf"},
    {"eml", "message/rfc822"},
    {"eot", "application/vnd.ms-fontobject"},
    {"eps", "application/postscript"},
    {"epub", "application/epub+zip"},
    {"exe", "application/vnd.microsoft.portable-executable"},
    {"flac", "audio/flac"},
    {"flv", "video/x-flv"},
    {"gif", "image/gif"},
    {"go", "text/plain"},
    {"gz", "application/gzip"},
    {"h", "text/x-c"},
    {"heic", "image/heic"},
    {"heif", "image/heif"},
    {"hpp", "text/x-c"},
    {"htm", "text/html"},
    {"html", "text/html"},
    {"ico", "image/vnd.microsoft.icon"},
    {"ics", "text/calendar"},
    {"inf", "text/plain"},
    {"ini", "text/plain"},
    {"iso", "application/x-iso9660-image"},
    {"jar", "application/java-archive"},
    {"java", "text/x-java-source"},
    {"jfif", "image/jpeg"},
    {"jpe", "image/jpeg"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript"},
    {"json", "application/json"},
    {"jsonl", "application/jsonl"},
    {"jxl", "image/jxl"},
    {"kml", "application/vnd.google-earth.kml+xml"},
    {"kmz", "application/vnd.google-earth.kmz"},
    {"log", "text/plain"},
    {"lz4", "application/x-lz4"},
    {"m3u", "audio/x-mpegurl"},
    {"m4a", "audio/mp4"},
    {"m4v", "video/x-m4v"},
    {"md", "text/markdown"},
    {"mdb", "application/vnd.ms-access"},
    {"mht", "message/rfc822"},
    {"mhtml", "message/rfc822"},
    {"mid", "audio/midi"},
    {"midi", "audio/midi"},
    {"mjs", "text/javascript"},
    {"mka", "audio/x-matroska"},
    {"mkv", "video/x-matroska"},
    {"mov", "video/quicktime"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"mpeg", "video/mpeg"},
    {"mpg", "video/mpeg"},
    {"mpp", "application/vnd.ms-project"},
    {"msg", "application/vnd.ms-outlook"},
    {"msi", "application/x-msi"},
    {"mts", "video/mp2t"},
    {"odp", "application/vnd.oasis.opendocument.presentation"},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"oga", "audio/ogg"},
    {"ogg", "audio/ogg"},
    {"ogv", "video/ogg"},
    {"one", "application/onenote"},
    {"opus", "audio/ogg"},
    {"otf", "font/otf"},
    {"p12", "application/x-pkcs12"},
    {"parquet", "application/vnd.apache.parquet"},
    {"pdf", "application/pdf"},
    {"pem", "application/x-pem-file"},
    {"pfx", "application/x-pkcs12"},
    {"php", "text/plain"},
    {"pl", "text/plain"},
    {"png", "image/png"},
    {"potx", "application/vnd.openxmlformats-officedocument.presentationml.template"},
    {"pps", "application/vnd.ms-powerpoint"},
    {"ppsx", "application/vnd.openxmlformats-officedocument.presentationml.slideshow"},
    {"ppt", "application/vnd.ms-powerpoint"},
    {"pptm", "application/vnd.ms-powerpoint.presentation.macroEnabled.12"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"ps", "application/postscript"},
    {"ps1", "text/plain"},
    {"psd", "image/vnd.adobe.photoshop"},
    {"pst", "application/vnd.ms-outlook-pst"},
    {"pub", "application/vnd.ms-publisher"},
    {"py", "text/x-python"},
    {"rar", "application/vnd.rar"},
    {"reg", "text/plain"},
    {"rtf", "application/rtf"},
    {"sh", "application/x-sh"},
    {"sql", "application/sql"},
    {"sqlite", "application/vnd.sqlite3"},
    {"svg", "image/svg+xml"},
    {"swf", "application/x-shockwave-flash"},
    {"tar", "application/x-tar"},
    {"tgz", "application/gzip"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"toml", "application/toml"},
    {"tsv", "text/tab-separated-values"},
    {"ttf", "font/ttf"},
    {"txt", "text/plain"},
    {"vbs", "text/plain"},
    {"vcf", "text/vcard"},
    {"vsd", "application/vnd.visio"},
    {"vsdx", "application/vnd.ms-visio.drawing"},
    {"wasm", "application/wasm"},
    {"wav", "audio/wav"},
    {"webm", "video/webm"},
    {"webp", "image/webp"},
    {"wma", "audio/x-ms-wma"},
    {"wmf", "image/wmf"},
    {"wmv", "video/x-ms-wmv"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"xht", "application/xhtml+xml"},
    {"xhtml", "application/xhtml+xml"},
    {"xls", "application/vnd.ms-excel"},
    {"xlsb", "application/vnd.ms-excel.sheet.binary.macroEnabled.12"},
    {"xlsm", "application/vnd.ms-excel.sheet.macroEnabled.12"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xltx", "application/vnd.openxmlformats-officedocument.spreadsheetml.template"},
    {"xml", "application/xml"},
    {"xps", "application/vnd.ms-xpsdocument"},
    {"xsl", "application/xml"},
    {"xz", "application/x-xz"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zip", "application/zip"},
    {"zst", "application/zstd"},
};

static int compare(const void *key, const void *type);

const char *plan_content_type(const char *name, size_t len)
{
    size_t dot = len;
    while (dot > 0 && name[dot - 1] != '.' && name[dot - 1] != '/') {
        dot--;
    }
    bool has_stem = dot >= 2 && name[dot - 1] == '.' && name[dot - 2] != '/';
    size_t extension_len = len - dot;
    char extension[EXTENSION_MAX + 1];
    if (!has_stem || extension_len == 0 || extension_len > EXTENSION_MAX) {
        return PLAN_TYPE_UNKNOWN;
    }
    for (size_t i = 0; i < extension_len; i++) {
        char c = name[dot + i];
        extension[i] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
    extension[extension_len] = '\0';
    const struct type *type =
        bsearch(extension, types, ARRAY_LEN(types), sizeof(types[0]), compare);
    return type == NULL ? PLAN_TYPE_UNKNOWN : type->name;
}

static int compare(const void *key, const void *type)
{
    return strcmp(key, ((const struct type *)type)->extension);
}
