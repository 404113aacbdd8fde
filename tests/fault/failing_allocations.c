/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Link-time wraps (-Wl,--wrap=malloc and so on): allocations that winch's own code asks for fail as
 * fault_plan.h says; those of libraries do not. Unlike LD_PRELOAD this lives with the sanitizers.
 */
#include <errno.h>
#include <stddef.h>

#include "fault_plan.h"

void *__real_malloc(size_t len);
void *__real_calloc(size_t count, size_t len);
void *__real_realloc(void *old, size_t len);
void *__real_reallocarray(void *old, size_t count, size_t len);
void *__real_aligned_alloc(size_t alignment, size_t len);
char *__real_strdup(const char *string);
char *__real_strndup(const char *string, size_t max);
void *__wrap_malloc(size_t len);
void *__wrap_calloc(size_t count, size_t len);
void *__wrap_realloc(void *old, size_t len);
void *__wrap_reallocarray(void *old, size_t count, size_t len);
void *__wrap_aligned_alloc(size_t alignment, size_t len);
char *__wrap_strdup(const char *string);
char *__wrap_strndup(const char *string, size_t max);

void *__wrap_malloc(size_t len)
{
    return fault_now(FAULT_ALLOC) ? NULL : __real_malloc(len);
}

void *__wrap_calloc(size_t count, size_t len)
{
    return fault_now(FAULT_ALLOC) ? NULL : __real_calloc(count, len);
}

void *__wrap_realloc(void *old, size_t len)
{
    return fault_now(FAULT_ALLOC) ? NULL : __real_realloc(old, len);
}

void *__wrap_reallocarray(void *old, size_t count, size_t len)
{
    return fault_now(FAULT_ALLOC) ? NULL : __real_reallocarray(old, count, len);
}

void *__wrap_aligned_alloc(size_t alignment, size_t len)
{
    return fault_now(FAULT_ALLOC) ? NULL : __real_aligned_alloc(alignment, len);
}

char *__wrap_strdup(const char *string)
{
    return fault_now(FAULT_ALLOC) ? NULL : __real_strdup(string);
}

char *__wrap_strndup(const char *string, size_t max)
{
    return fault_now(FAULT_ALLOC) ? NULL : __real_strndup(string, max);
}
