/* See intrin.h; the rest is the machine's own, where there is one. */
#pragma once
#ifndef _WIN32
#include_next <stdlib.h>
#endif
#define _byteswap_uint64(number) __builtin_bswap64(number)
