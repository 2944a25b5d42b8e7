// Direct system calls and the few functions of a C library that the agent needs. It is loaded into programs of any C
// library, and uses none.
#ifndef STROBE_SYS_H
#define STROBE_SYS_H
#include <stddef.h>
#include <stdint.h>

static inline long sys6(long n, long a, long b, long c, long d, long e, long f) {
    long r;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return r;
}
#define sys(n, a, b, c) sys6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)

enum {
    SYS_READ = 0, SYS_WRITE = 1, SYS_OPEN = 2, SYS_CLOSE = 3, SYS_MMAP = 9, SYS_MUNMAP = 11, SYS_ACCESS = 21,
    SYS_NANOSLEEP = 35, SYS_GETPID = 39, SYS_SOCKET = 41, SYS_CONNECT = 42, SYS_SENDTO = 44, SYS_SHUTDOWN = 48,
    SYS_FCNTL = 72, SYS_RENAME = 82, SYS_UNLINK = 87, SYS_READLINK = 89, SYS_GETPPID = 110,
    SYS_GETTID = 186, SYS_FUTEX = 202,
    SYS_CLOCK_GETTIME = 228, SYS_FALLOCATE = 285, SYS_GETRANDOM = 318,
};
enum { EINTR_ = 4, EAGAIN_ = 11 };

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t length(const char *s);
int same(const char *a, const char *b);

// Memory that grows, and is never too small: a text that is being made. It is of whole pages, from the kernel.
struct text {
    char *b;
    size_t n, room;
    int bad; // no memory: what is in it is not all
};
void add(struct text *t, const void *b, size_t n);
void put(struct text *t, const char *s);
void number(struct text *t, long v);
void quote(struct text *t, const char *s);
void base64(struct text *t, const uint8_t *b, size_t n);
void drop(struct text *t);

// Values in a line of JSON, which is well formed as far as is believed: p points into it, and no call leaves it.
const char *member(const char *object, const char *name); // its value; NULL: there is none
const char *first(const char *array);                     // of its elements; NULL: it has none
const char *next(const char *value);                      // behind a value of an array; NULL: none
long integer(const char *value, long otherwise);
int truth(const char *value);
size_t string(const char *value, char *to, size_t room);  // decoded, cut to the room, ended by zero
size_t unbase64(const char *value, uint8_t *to, size_t room);
#endif
