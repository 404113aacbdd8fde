/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gunzip: ISA-L, one member. */
#include "gunzip.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>

#define PIECE ((size_t)64 << 10)

struct gunzip {
    struct inflate_state state;
    uint8_t piece[PIECE];
};

struct gunzip *gunzip_new(void)
{
    struct gunzip *gunzip = malloc(sizeof(*gunzip));
    if (gunzip != NULL) {
        isal_inflate_init(&gunzip->state);
        gunzip->state.crc_flag = ISAL_GZIP; /* header and trailer, which is compared */
    }
    return gunzip;
}

void gunzip_free(struct gunzip *gunzip)
{
    free(gunzip);
}

int gunzip_take(struct gunzip *gunzip, const char *bytes, size_t len, gunzip_give_fn give,
                void *self)
{
    struct inflate_state *state = &gunzip->state;
    state->next_in = (uint8_t *)(uintptr_t)bytes; /* ISA-L does not write there */
    state->avail_in = (uint32_t)len;
    do {
        if (gunzip_is_whole(gunzip)) {
            return state->avail_in > 0 ? -1 : 0;
        }
        state->next_out = gunzip->piece;
        state->avail_out = (uint32_t)PIECE;
        if (isal_inflate(state) != ISAL_DECOMP_OK) {
            return -1;
        }
        if (state->avail_out < PIECE) {
            give(self, (const char *)gunzip->piece, PIECE - state->avail_out);
        }
    } while (state->avail_out == 0 || state->avail_in > 0);
    return 0;
}

bool gunzip_is_whole(const struct gunzip *gunzip)
{
    return gunzip->state.block_state == ISAL_BLOCK_FINISH;
}
