#include "sys.h"

void *memcpy(void *to, const void *from, size_t n) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
    return to;
}

void *memset(void *to, int c, size_t n) {
    void *at = to;
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(c) : "memory");
    return to;
}

int memcmp(const void *a, const void *b, size_t n) {
    const uint8_t *x = a, *y = b;
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i])
            return x[i] - y[i];
    return 0;
}

size_t length(const char *s) {
    size_t n = 0;
    while (s[n])
        n++;
    return n;
}

int same(const char *a, const char *b) {
    size_t n = length(a);
    return n == length(b) && memcmp(a, b, n) == 0;
}

static void grow(struct text *t, size_t more) {
    if (t->n + more < t->room || t->bad)
        return;
    size_t room = t->room ? t->room : 4096;
    while (room <= t->n + more)
        room *= 2;
    long p = sys6(SYS_MMAP, 0, (long)room, 3, 0x22, -1, 0); // read and write; private, of no file
    if (p < 0 && p > -4096) {
        t->bad = 1;
        return;
    }
    if (t->b) {
        memcpy((void *)p, t->b, t->n);
        sys(SYS_MUNMAP, t->b, t->room, 0);
    }
    t->b = (char *)p;
    t->room = room;
}

void add(struct text *t, const void *b, size_t n) {
    grow(t, n + 1);
    if (t->bad)
        return;
    memcpy(t->b + t->n, b, n);
    t->n += n;
    t->b[t->n] = 0;
}

void put(struct text *t, const char *s) { add(t, s, length(s)); }

void number(struct text *t, long v) {
    char d[24];
    int i = sizeof d;
    unsigned long u = v < 0 ? -(unsigned long)v : (unsigned long)v;
    do {
        d[--i] = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (v < 0)
        d[--i] = '-';
    add(t, d + i, sizeof d - (size_t)i);
}

void quote(struct text *t, const char *s) {
    add(t, "\"", 1);
    for (; *s; s++) {
        uint8_t c = (uint8_t)*s;
        if (c == '"' || c == '\\')
            add(t, "\\", 1);
        if (c < 0x20) {
            char e[6] = {'\\', 'u', '0', '0', (char)('0' + (c >> 4)), "0123456789abcdef"[c & 15]};
            add(t, e, 6);
        } else {
            add(t, s, 1);
        }
    }
    add(t, "\"", 1);
}

static const char digits64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64(struct text *t, const uint8_t *b, size_t n) {
    grow(t, n / 3 * 4 + 8);
    if (t->bad)
        return;
    char *o = t->b + t->n;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t w = (uint32_t)b[i] << 16 | (i + 1 < n ? (uint32_t)b[i + 1] << 8 : 0) | (i + 2 < n ? b[i + 2] : 0);
        *o++ = digits64[w >> 18];
        *o++ = digits64[w >> 12 & 63];
        *o++ = i + 1 < n ? digits64[w >> 6 & 63] : '=';
        *o++ = i + 2 < n ? digits64[w & 63] : '=';
    }
    *o = 0;
    t->n = (size_t)(o - t->b);
}

void drop(struct text *t) {
    if (t->b)
        sys(SYS_MUNMAP, t->b, t->room, 0);
    memset(t, 0, sizeof *t);
}

static const char *space(const char *p) {
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')
        p++;
    return p;
}

static const char *behind_string(const char *p) {
    for (p++; *p && *p != '"'; p++)
        if (*p == '\\' && p[1])
            p++;
    return *p ? p + 1 : p;
}

// behind is where a value ends.
static const char *behind(const char *p) {
    int deep = 0;
    p = space(p);
    if (*p == '"')
        return behind_string(p);
    for (; *p; p++) {
        if (*p == '"') {
            p = behind_string(p) - 1;
        } else if (*p == '{' || *p == '[') {
            deep++;
        } else if (*p == '}' || *p == ']') {
            if (deep == 0)
                return p;
            if (--deep == 0)
                return p + 1;
        } else if (*p == ',' && deep == 0) {
            return p;
        }
    }
    return p;
}

const char *member(const char *p, const char *name) {
    size_t n = length(name);
    p = space(p);
    if (*p != '{')
        return NULL;
    for (p = space(p + 1); *p == '"';) {
        const char *key = p + 1;
        p = space(behind_string(p));
        if (*p != ':')
            return NULL;
        p = space(p + 1);
        size_t k = 0;
        while (k < n && key[k] == name[k])
            k++;
        if (k == n && key[k] == '"')
            return p;
        p = space(behind(p));
        if (*p == ',')
            p = space(p + 1);
    }
    return NULL;
}

const char *first(const char *p) {
    if (!p)
        return NULL;
    p = space(p);
    if (*p != '[')
        return NULL;
    p = space(p + 1);
    return *p && *p != ']' ? p : NULL;
}

const char *next(const char *p) {
    p = space(behind(p));
    return *p == ',' ? space(p + 1) : NULL;
}

long integer(const char *p, long otherwise) {
    int minus = 0;
    long v = 0;
    if (!p)
        return otherwise;
    if (*p == '-') {
        minus = 1;
        p++;
    }
    if (*p < '0' || *p > '9')
        return otherwise;
    for (; *p >= '0' && *p <= '9'; p++)
        v = v * 10 + (*p - '0');
    return minus ? -v : v;
}

int truth(const char *p) { return p && *p == 't'; }

static int hex(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

size_t string(const char *p, char *to, size_t room) {
    size_t n = 0;
    if (p && *p == '"')
        for (p++; *p && *p != '"' && n + 4 < room; p++) {
            if (*p != '\\') {
                to[n++] = *p;
                continue;
            }
            p++;
            if (*p == 'u' && p[1] && p[2] && p[3] && p[4]) {
                int c = hex(p[1]) << 12 | hex(p[2]) << 8 | hex(p[3]) << 4 | hex(p[4]);
                p += 4;
                if (c < 0x80) {
                    to[n++] = (char)c;
                } else if (c < 0x800) {
                    to[n++] = (char)(0xc0 | c >> 6);
                    to[n++] = (char)(0x80 | (c & 63));
                } else {
                    to[n++] = (char)(0xe0 | c >> 12);
                    to[n++] = (char)(0x80 | (c >> 6 & 63));
                    to[n++] = (char)(0x80 | (c & 63));
                }
            } else if (*p) {
                to[n++] = *p == 'n' ? '\n' : *p == 't' ? '\t' : *p == 'r' ? '\r' : *p;
            } else {
                break;
            }
        }
    to[n] = 0;
    return n;
}

static int value64(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

size_t unbase64(const char *p, uint8_t *to, size_t room) {
    size_t n = 0;
    uint32_t w = 0;
    int bits = 0;
    if (!p || *p != '"')
        return 0;
    for (p++; value64(*p) >= 0; p++) {
        w = w << 6 | (uint32_t)value64(*p);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            if (n == room)
                return 0;
            to[n++] = (uint8_t)(w >> bits);
        }
    }
    return n;
}
