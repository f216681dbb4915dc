/* Counts the calls of a program that change files, and at the n-th of them kills it, interrupts it or lets the call fail.
 *
 * Preloaded before the C library. Nothing is counted until `writing_arm` is called, which a forked child does. A write that is
 * killed writes half of its bytes first. Every counted call is also written down, with the path that its descriptor has. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { OPEN = 1, WRITE = 2, SYNC = 4, RENAME = 8, LINK = 16, REMOVE = 32, MAKE = 64, OTHER = 128 };
enum { COUNT, KILL, INTERRUPT, FAIL };

static volatile int armed, wanted_kinds, wanted_at, wanted_action, wanted_errno, seen;
static char text[1 << 20];
static volatile int used;

void writing_arm(int kinds, int at, int action, int code) {
    wanted_kinds = kinds, wanted_at = at, wanted_action = action, wanted_errno = code, seen = 0, used = 0, armed = 1;
}
int writing_disarm(void) { armed = 0; return seen; }
const char *writing_text(void) { text[used < (int)sizeof text ? used : (int)sizeof text - 1] = 0; return text; }

static void note(const char *name, const char *one, const char *other) {
    char line[9000];
    int length = snprintf(line, sizeof line, "%s\t%s\t%s\n", name, one ? one : "", other ? other : "");
    int at = __atomic_fetch_add(&used, length, __ATOMIC_SEQ_CST);
    if (at + length < (int)sizeof text) memcpy(text + at, line, length);
}

/* Whether the call shall fail; errno is set then. */
static int counted(int kind, const char *name, const char *one, const char *other) {
    if (!armed || !(kind & wanted_kinds)) return 0;
    int at = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
    note(name, one, other);
    if (at != wanted_at) return 0;
    if (wanted_action == KILL) kill(getpid(), SIGKILL);
    if (wanted_action == INTERRUPT) kill(getpid(), SIGINT);
    if (wanted_action != FAIL) return 0;
    errno = wanted_errno;
    return 1;
}

static const char *path_of(int fd, char *buffer, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, buffer, size - 1);
    buffer[length > 0 ? length : 0] = 0;
    return buffer;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

#define BY_PATH(kind, type, name, parameters, arguments, one, other, ...) \
    type name parameters { \
        REAL(type, name, __VA_ARGS__); \
        return counted(kind, #name, one, other) ? -1 : real arguments; \
    }
#define BY_FD(kind, type, name, parameters, arguments, fd, ...) \
    type name parameters { \
        REAL(type, name, __VA_ARGS__); \
        char path[4200]; \
        if (!armed || fd < 3) return real arguments; \
        return counted(kind, #name, path_of(fd, path, sizeof path), 0) ? -1 : real arguments; \
    }

BY_PATH(RENAME, int, rename, (const char *a, const char *b), (a, b), a, b, const char *, const char *)
BY_PATH(RENAME, int, renameat, (int i, const char *a, int j, const char *b), (i, a, j, b), a, b, int, const char *, int, const char *)
BY_PATH(RENAME, int, renameat2, (int i, const char *a, int j, const char *b, unsigned f), (i, a, j, b, f), a, b, int, const char *, int, const char *, unsigned)
BY_PATH(LINK, int, link, (const char *a, const char *b), (a, b), a, b, const char *, const char *)
BY_PATH(LINK, int, linkat, (int i, const char *a, int j, const char *b, int f), (i, a, j, b, f), a, b, int, const char *, int, const char *, int)
BY_PATH(REMOVE, int, unlink, (const char *a), (a), a, 0, const char *)
BY_PATH(REMOVE, int, unlinkat, (int i, const char *a, int f), (i, a, f), a, 0, int, const char *, int)
BY_PATH(REMOVE, int, rmdir, (const char *a), (a), a, 0, const char *)
BY_PATH(MAKE, int, mkdir, (const char *a, mode_t m), (a, m), a, 0, const char *, mode_t)
BY_PATH(MAKE, int, mkdirat, (int i, const char *a, mode_t m), (i, a, m), a, 0, int, const char *, mode_t)
BY_PATH(OTHER, int, chmod, (const char *a, mode_t m), (a, m), a, 0, const char *, mode_t)
BY_PATH(OTHER, int, chown, (const char *a, uid_t u, gid_t g), (a, u, g), a, 0, const char *, uid_t, gid_t)
BY_FD(OTHER, int, fchmod, (int fd, mode_t m), (fd, m), fd, int, mode_t)
BY_FD(OTHER, int, fchown, (int fd, uid_t u, gid_t g), (fd, u, g), fd, int, uid_t, gid_t)
BY_FD(OTHER, int, flock, (int fd, int how), (fd, how), fd, int, int)
BY_FD(OTHER, int, close, (int fd), (fd), fd, int)
BY_FD(OTHER, int, ftruncate, (int fd, off_t n), (fd, n), fd, int, off_t)
BY_FD(OTHER, int, ftruncate64, (int fd, off64_t n), (fd, n), fd, int, off64_t)
BY_FD(SYNC, int, fsync, (int fd), (fd), fd, int)
BY_FD(SYNC, int, fdatasync, (int fd), (fd), fd, int)
BY_FD(WRITE, ssize_t, pwrite, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at), fd, int, const void *, size_t, off_t)
BY_FD(WRITE, ssize_t, pwrite64, (int fd, const void *p, size_t n, off64_t at), (fd, p, n, at), fd, int, const void *, size_t, off64_t)

ssize_t write(int fd, const void *data, size_t n) {
    REAL(ssize_t, write, int, const void *, size_t);
    char path[4200];
    if (!armed || fd < 3) return real(fd, data, n);
    if ((wanted_kinds & WRITE) && seen + 1 == wanted_at && wanted_action == KILL && n > 1) real(fd, data, n / 2);
    return counted(WRITE, "write", path_of(fd, path, sizeof path), 0) ? -1 : real(fd, data, n);
}

#define OPENING(name) \
    int name(const char *path, int flags, ...) { \
        REAL(int, name, const char *, int, ...); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        return (flags & (O_CREAT | O_WRONLY | O_RDWR)) && counted(OPEN, "open", path, 0) ? -1 : real(path, flags, mode); \
    }
#define OPENING_AT(name) \
    int name(int at, const char *path, int flags, ...) { \
        REAL(int, name, int, const char *, int, ...); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        return (flags & (O_CREAT | O_WRONLY | O_RDWR)) && counted(OPEN, "open", path, 0) ? -1 : real(at, path, flags, mode); \
    }
OPENING(open)
OPENING(open64)
OPENING_AT(openat)
OPENING_AT(openat64)
