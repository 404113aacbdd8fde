/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpu: multipart uploads of the XML API, and the table of those that are open. */
#ifndef FAKE_MPU_H
#define FAKE_MPU_H

#include "base/base.h"

struct uploads;

struct uploads *uploads_new(void);
void uploads_free(struct uploads *uploads); /* NULL is fine; nothing is served any more */
/* Uploads that are neither complete nor aborted. */
uint64_t uploads_count_open(struct uploads *uploads);

#endif
