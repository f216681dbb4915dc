/* What pyx/compiler.h takes from this header of Visual Studio, so that another compiler can take its way. */
#pragma once

static inline unsigned long long __umulh(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
