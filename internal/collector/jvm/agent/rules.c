#include "rules.h"

void read_rules(struct rules *to, const char *set) {
    memset(to, 0, sizeof *to);
    for (const char *v = first(member(set, "rules")); v; v = next(v)) {
        if (to->n == MAX_RULES) {
            to->bad = 1;
            return;
        }
        struct rule *r = &to->of[to->n++];
        char on[16];
        string(member(v, "on"), on, sizeof on);
        if (string(member(v, "glob"), r->glob, GLOB) + 8 >= GLOB)
            to->bad = 1;
        r->on = on[0] == 'n' ? 'n' : on[0] == 'u' ? 'u' : 'p';
        r->not = (char)truth(member(v, "not"));
        r->depth = integer(member(v, "depth"), 0) << 1 | truth(member(v, "given"));
    }
}

// like matches one part of a name, between separators, with one of a glob.
static int like(const char *g, const char *gend, const char *s, const char *send) {
    const char *star = NULL, *back = NULL;
    while (s < send) {
        if (g < gend && *g == '*') {
            star = ++g;
            back = s;
        } else if (g < gend && (*g == '?' || *g == *s)) {
            g++;
            s++;
        } else if (star) {
            g = star;
            s = ++back;
        } else {
            return 0;
        }
    }
    while (g < gend && *g == '*')
        g++;
    return g == gend;
}

int begins(const char *s, const char *with) {
    while (*with)
        if (*s++ != *with++)
            return 0;
    return 1;
}

// any_part tells whether a part of the glob, but its last, is like a part of the class's name.
static int any_part(const char *glob, const char *name) {
    const char *end = glob + length(glob), *last = end;
    while (last > glob && *last != '.')
        last--;
    const char *simple = name;
    for (const char *p = name; *p; p++)
        if (*p == '/')
            simple = p + 1;
    for (const char *g = glob; g < last;) {
        const char *ge = g;
        while (ge < last && *ge != '.')
            ge++;
        for (const char *s = simple;;) {
            const char *se = s;
            while (*se && *se != '$')
                se++;
            if (like(g, ge, s, se) || like(g, ge, simple, se))
                return 1;
            if (!*se)
                break;
            s = se + 1;
        }
        g = ge + 1;
    }
    return 0;
}

static int across(const char *glob) {
    for (; *glob; glob++)
        if (glob[0] == '*' && glob[1] == '*')
            return 1;
    return 0;
}

int of_system(const char *glob) {
    return begins(glob, "java.") || begins(glob, "javax.") || begins(glob, "jdk.") || begins(glob, "sun.") ||
           begins(glob, "com.sun.");
}

int wanted(const struct rules *r, const char *name, int system) {
    if (begins(name, "java/lang/Strobe"))
        return 0;
    for (int i = 0; i < r->n; i++) {
        const struct rule *one = &r->of[i];
        if (system && (one->on != 'n' || !of_system(one->glob)))
            continue;
        if (r->bad || one->on != 'n' || across(one->glob) || any_part(one->glob, name))
            return 1;
    }
    return 0;
}

static int has(const struct rules *all, const struct rule *one) {
    for (int i = 0; i < all->n; i++) {
        const struct rule *r = &all->of[i];
        if (r->on == one->on && r->not == one->not && r->depth == one->depth && same(r->glob, one->glob))
            return 1;
    }
    return 0;
}

void differing(struct rules *out, const struct rules *a, const struct rules *b) {
    memset(out, 0, sizeof *out);
    out->bad = a->bad || b->bad;
    const struct rules *both[2] = {a, b};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < both[k]->n; i++)
            if (!has(both[1 - k], &both[k]->of[i])) {
                if (out->n == MAX_RULES) {
                    out->bad = 1;
                    return;
                }
                out->of[out->n++] = both[k]->of[i];
            }
}

// globbed and named: docs/agentlink.md, Globs; internal/collector/jvm/names.go has the same.
static int globbed(const char *g, const char *s) {
    for (; *g; g++, s++) {
        if (g[0] == '*' && g[1] == '*') {
            if (g[2] == '.' && globbed(g + 3, s))
                return 1;
            for (;; s++) {
                if (globbed(g + 2, s))
                    return 1;
                if (!*s)
                    return 0;
            }
        }
        if (*g == '*') {
            for (;; s++) {
                if (globbed(g + 1, s))
                    return 1;
                if (!*s || *s == '.')
                    return 0;
            }
        }
        if (!*s || (*g != *s && (*g != '?' || *s == '.')))
            return 0;
    }
    return !*s;
}

int named(const char *glob, const char *name) {
    for (;;) {
        if (globbed(glob, name))
            return 1;
        while (*name && *name != '.')
            name++;
        if (!*name)
            return 0;
        const char *rest = ++name;
        while (*rest && *rest != '.')
            rest++;
        if (!*rest)
            return 0;
    }
}
