/* See intrin.h; what kernels call, where there is no such header. */
#pragma once
#ifdef _WIN32
#include <stddef.h>
void *memchr(const void *, int, size_t);
int memcmp(const void *, const void *, size_t);
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
int strcmp(const char *, const char *);
#else
#include_next <string.h>
#endif
