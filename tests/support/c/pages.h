/* Pages of the system, the last of which cannot be read. */
#include <stddef.h>

#ifdef _WIN32
#include <windows.h>

static size_t page_size(void) { return 4096; }

static void *guarded_pages(size_t n_bytes)
{
    DWORD before;
    char *pages = VirtualAlloc(NULL, n_bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    return pages && VirtualProtect(pages + n_bytes - page_size(), page_size(), PAGE_NOACCESS, &before) ? pages : NULL;
}

static void free_pages(void *pages, size_t n_bytes) { (void)n_bytes, VirtualFree(pages, 0, MEM_RELEASE); }
#else
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static void *guarded_pages(size_t n_bytes)
{
    char *pages = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages != MAP_FAILED && !mprotect(pages + n_bytes - page_size(), page_size(), PROT_NONE) ? pages : NULL;
}

static void free_pages(void *pages, size_t n_bytes) { munmap(pages, n_bytes); }
#endif
