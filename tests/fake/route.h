/* SPDX-License-Identifier: GPL-3.0-or-later */
/* route: which operation serves a request. */
#ifndef FAKE_ROUTE_H
#define FAKE_ROUTE_H

#include "request.h"

/* Sets request->operation, bucket and object; answers 400, 404 or 405 when nothing serves it. */
void route_request(struct request *request);

/* The operations, by the file that defines them. */
extern const struct operation insert_media_operation;     /* insert_media.c */
extern const struct operation insert_multipart_operation; /* insert_multipart.c */
extern const struct operation resumable_start_operation;  /* resumable.c */
extern const struct operation resumable_chunk_operation;
extern const struct operation resumable_cancel_operation;
extern const struct operation compose_operation; /* compose.c */
extern const struct operation rewrite_operation; /* copy.c */
extern const struct operation copy_operation;
extern const struct operation batch_operation;      /* batch.c */
extern const struct operation object_get_operation; /* object_calls.c */
extern const struct operation object_delete_operation;
extern const struct operation object_patch_operation;
extern const struct operation object_update_operation;
extern const struct operation media_get_operation;   /* media.c */
extern const struct operation list_operation;        /* list.c */
extern const struct operation bucket_list_operation; /* bucket.c */
extern const struct operation bucket_create_operation;
extern const struct operation bucket_get_operation;
extern const struct operation bucket_permissions_operation;
extern const struct operation bucket_layout_operation;
extern const struct operation mpu_start_operation; /* mpu.c */
extern const struct operation mpu_part_operation;
extern const struct operation mpu_complete_operation;
extern const struct operation mpu_abort_operation;
extern const struct operation mpu_list_operation;
extern const struct operation fake_stats_operation; /* control.c */
extern const struct operation fake_objects_operation;
extern const struct operation fake_hold_operation;
extern const struct operation fake_release_operation;
extern const struct operation fake_disarm_operation;
extern const struct operation fake_faults_operation;
extern const struct operation metadata_operation; /* token.c */
extern const struct operation token_operation;
extern const struct operation impersonation_operation;

#endif
