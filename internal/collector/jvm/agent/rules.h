// Which classes may have methods that are to be traced: those that are asked for of strobe, which knows it exactly.
#ifndef STROBE_RULES_H
#define STROBE_RULES_H
#include "sys.h"

enum { MAX_RULES = 256, GLOB = 256 };

struct rule {
    char glob[GLOB];
    char on;  // n: names, p: files, u: the user's own
    char not; // takes out
    long depth;
};

struct rules {
    int n;
    int bad; // there are more than fit: every class is asked for
    struct rule of[MAX_RULES];
};

void read_rules(struct rules *to, const char *set);
// wanted: name is of the class, with slashes; system tells that it is one of the JDK's.
int wanted(const struct rules *r, const char *name, int system);
// differing puts into out what is in only one of both.
void differing(struct rules *out, const struct rules *a, const struct rules *b);
int begins(const char *s, const char *with);
int of_system(const char *glob); // it begins as names of the JDK's do
int named(const char *glob, const char *name);
#endif
