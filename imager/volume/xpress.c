/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plain LZ77: 32 flag bits, highest first, then a literal byte or a copy for each. A copy has 13
 * bits of distance and 3 of length; longer lengths go on in half a byte (two copies share one), a
 * byte, two bytes or four.
 */
#include "volume/xpress.h"

#include <string.h>

#define FLAG_BITS 32
#define LENGTH_BITS 3
#define LENGTH_MASK 7U
#define LENGTH_BIAS 3
#define HALF_MASK 15U
#define BYTE_MASK 255U

struct input {
    const uint8_t *at, *end;
    const uint8_t *half; /* the byte whose upper half the next long copy takes; or NULL */
};

static const char cut[] = "its compressed data end too early";
static const char malformed[] = "its compressed data have a malformed length";

static const char *read_length(struct input *in, unsigned token, size_t *ret_length);

const char *xpress_decode(const uint8_t *from, size_t from_len, uint8_t *to, size_t to_len)
{
    struct input in = {.at = from, .end = from + from_len};
    uint32_t flags = 0;
    unsigned flag_count = 0;
    size_t out = 0;

    while (out < to_len) {
        if (flag_count == 0) {
            if (in.end - in.at < 4) {
                return cut;
            }
            flags = read_le32(in.at);
            in.at += 4;
            flag_count = FLAG_BITS;
        }
        flag_count--;
        if ((flags >> flag_count & 1) == 0) {
            if (in.at == in.end) {
                return cut;
            }
            to[out++] = *in.at++;
            continue;
        }
        if (in.end - in.at < 2) {
            return cut;
        }
        unsigned token = read_le16(in.at);
        in.at += 2;
        size_t distance = (token >> LENGTH_BITS) + 1;
        size_t length = 0;
        const char *problem = read_length(&in, token & LENGTH_MASK, &length);
        if (problem != NULL) {
            return problem;
        }
        if (distance > out) {
            return "its compressed data refer to bytes before their start";
        }
        if (length > to_len - out) {
            return "its compressed data decode to more than they may";
        }
        if (distance >= length) {
            memcpy(to + out, to + out - distance, length);
            out += length;
            continue;
        }
        for (size_t end = out + length; out < end; out++) {
            to[out] = to[out - distance];
        }
    }
    return NULL;
}

static const char *read_length(struct input *in, unsigned token, size_t *ret_length)
{
    uint64_t length = token;

    if (token == LENGTH_MASK) {
        unsigned more;
        if (in->half != NULL) {
            more = *in->half >> 4;
            in->half = NULL;
        } else {
            if (in->at == in->end) {
                return cut;
            }
            in->half = in->at;
            more = *in->at++ & HALF_MASK;
        }
        length += more;
        if (more == HALF_MASK) {
            if (in->at == in->end) {
                return cut;
            }
            unsigned byte = *in->at++;
            length += byte;
            if (byte == BYTE_MASK) {
                if (in->end - in->at < 2) {
                    return cut;
                }
                length = read_le16(in->at);
                in->at += 2;
                if (length == 0) {
                    if (in->end - in->at < 4) {
                        return cut;
                    }
                    length = read_le32(in->at);
                    in->at += 4;
                }
                if (length < LENGTH_MASK + HALF_MASK) {
                    return malformed;
                }
            }
        }
    }
    *ret_length = (size_t)(length + LENGTH_BIAS);
    return NULL;
}
