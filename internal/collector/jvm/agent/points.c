// Breakpoints and logpoints: what they are, and where they are in the classes that are loaded.
#include "agent.h"

enum { SPOTS = 4096, NO_LINE = 1 << 30 };
static struct lock pointing;
static struct point points[POINTS], next_points[POINTS];
static int count;
static long best[POINTS]; // the first line with code from the wanted one on, in what is loaded

struct spot {
    jmethodID m;
    jlocation at;
    uint64_t of; // points, by their bits
};
static struct spot spots[SPOTS], found[SPOTS];
static int spot_count, found_count, overflow;

static int same_point(const struct point *a, const struct point *b) {
    return same(a->id, b->id) && same(a->function, b->function) && same(a->file, b->file) && a->line == b->line &&
           same(a->condition, b->condition) && same(a->message, b->message) && a->count == b->count && a->tid == b->tid;
}

static void bound(struct point *p, size_t n, size_t room, const char *what) {
    if (n + 4 < room)
        return;
    struct text t = {0};
    put(&t, what);
    put(&t, " is too long: at most ");
    number(&t, (long)room - 5);
    put(&t, " bytes");
    memcpy(p->error, t.b, t.n + 1);
    drop(&t);
}

static const char late[] = "a JVM pauses threads only where the agent was in it from its start: launch the program";

static void read_point(JNIEnv *jni, struct point *p, const char *v) {
    memset(p, 0, sizeof *p);
    string(member(v, "id"), p->id, sizeof p->id);
    bound(p, string(member(v, "function"), p->function, sizeof p->function), sizeof p->function, "its function's name");
    bound(p, string(member(v, "file"), p->file, sizeof p->file), sizeof p->file, "its file's name");
    bound(p, string(member(v, "condition"), p->condition, EXPRESSION), EXPRESSION, "its condition");
    bound(p, string(member(v, "message"), p->message, EXPRESSION), EXPRESSION, "its message");
    p->line = integer(member(v, "line"), 0);
    p->count = integer(member(v, "hitCount"), 0);
    p->tid = integer(member(v, "tid"), 0);
    p->exceptions = same(p->function, "@uncaught") ? 'u' : same(p->function, "@exceptions") ? 'a' : 0;
    if (!agent.stops)
        memcpy(p->error, late, sizeof late);
    else if (!p->error[0] && p->condition[0])
        wrong(jni, p->condition, 0, p->error, sizeof p->error);
    if (!p->error[0] && p->message[0])
        wrong(jni, p->message, 1, p->error, sizeof p->error);
}

static void listen_for(jvmtiEvent event, int on) {
    (*agent.ti)->SetEventNotificationMode(agent.ti, on ? JVMTI_ENABLE : JVMTI_DISABLE, event, NULL);
}

void take_points(JNIEnv *jni, const char *set) {
    int n = 0, exceptions = 0;
    for (const char *v = first(member(set, "points")); v && n < POINTS - 1; v = next(v))
        read_point(jni, &next_points[n++], v);
    lock(&pointing);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < count; k++)
            if (same_point(&next_points[i], &points[k])) {
                next_points[i].met = points[k].met;
                next_points[i].hits = points[k].hits;
                next_points[i].failed = points[k].failed;
            }
    for (int k = 0; k < count; k++)
        if (points[k].once && n < POINTS)
            next_points[n++] = points[k];
    memcpy(points, next_points, (size_t)n * sizeof *points);
    count = n;
    for (int i = 0; i < n; i++)
        exceptions |= points[i].exceptions != 0;
    unlock(&pointing);
    if (agent.stops) {
        listen_for(JVMTI_EVENT_CLASS_PREPARE, n > 0);
        listen_for(JVMTI_EVENT_BREAKPOINT, n > 0);
        listen_for(JVMTI_EVENT_EXCEPTION, exceptions);
    }
}

// ends_with: one of two paths is the end of the other, from a folder on.
static int ends_with(const char *a, const char *b) {
    size_t n = length(a), m = length(b);
    if (m > n)
        return ends_with(b, a);
    return same(a + n - m, b) && (n == m || a[n - m - 1] == '/');
}

static const char *base_of(const char *path) {
    const char *base = path;
    for (; *path; path++)
        if (*path == '/')
            base = path + 1;
    return base;
}

// is_source: Java's files stand in folders that are named as packages, others' need not.
static int is_source(const char *wanted, const char *sign, const char *file) {
    struct text t = {0};
    source_path(&t, sign, file);
    size_t n = length(file);
    int java = n > 5 && same(file + n - 5, ".java");
    int is = !t.bad && (ends_with(wanted, t.b) || (!java && same(base_of(wanted), file)));
    drop(&t);
    return is;
}

static void note_spot(jmethodID m, jlocation at, int point) {
    for (int i = 0; i < found_count; i++)
        if (found[i].m == m && found[i].at == at) {
            found[i].of |= 1ull << point;
            return;
        }
    if (found_count == SPOTS) {
        overflow = 1;
        return;
    }
    found[found_count++] = (struct spot){m, at, 1ull << point};
}

// own_begin is where a method's own code begins, behind what was woven in: there its first line is told again.
jlocation own_begin(jmethodID m) {
    jint n = 0;
    jlocation at = 0;
    unsigned char *code = NULL;
    jvmtiLineNumberEntry *t = NULL;
    if ((*agent.ti)->GetBytecodes(agent.ti, m, &n, &code) == JVMTI_ERROR_NONE && n > 8 && code[3] == 0xb8 &&
        (code[0] == 0x11 || code[0] == 0x13) && method_woven(m) &&
        (*agent.ti)->GetLineNumberTable(agent.ti, m, &n, &t) == JVMTI_ERROR_NONE) {
        for (jint i = 0; i + 1 < n && !at; i++)
            if (t[i].start_location == 0 && t[i + 1].line_number == t[i].line_number)
                at = t[i + 1].start_location;
        (*agent.ti)->Deallocate(agent.ti, (unsigned char *)t);
    }
    (*agent.ti)->Deallocate(agent.ti, code);
    return at;
}

// lines notes where a method's code of a line begins, or what line is the first from it on.
static void lines(jmethodID m, int point, int only_best) {
    jint n = 0;
    jvmtiLineNumberEntry *t = NULL;
    if ((*agent.ti)->GetLineNumberTable(agent.ti, m, &n, &t) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < n; i++) {
        long line = t[i].line_number;
        if (only_best) {
            if (line >= points[point].line && line < best[point])
                best[point] = line;
        } else if (line == best[point] && (i == 0 || t[i - 1].line_number != line)) {
            jlocation at = t[i].start_location;
            note_spot(m, at ? at : own_begin(m), point);
        }
    }
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)t);
}

// entry is where a method's own code begins, behind what was woven in.
static void entry(jmethodID m, int point) {
    jint n = 0;
    jlocation at = -1, end = -1;
    jvmtiLineNumberEntry *t = NULL;
    if ((*agent.ti)->GetMethodLocation(agent.ti, m, &at, &end) != JVMTI_ERROR_NONE || end < 0)
        return; // abstract, or native
    if ((*agent.ti)->GetLineNumberTable(agent.ti, m, &n, &t) == JVMTI_ERROR_NONE) {
        for (jint i = 0; i < n; i++)
            if (i == 0 || t[i].start_location < at)
                at = t[i].start_location;
        (*agent.ti)->Deallocate(agent.ti, (unsigned char *)t);
    }
    note_spot(m, at ? at : own_begin(m), point);
}

static void method_points(jmethodID m, const char *sign, int system, const uint64_t *files, int only_best) {
    char *name = NULL;
    jint access = 0;
    jvmtiEnv *ti = agent.ti;
    struct text whole = {0};
    if ((*ti)->GetMethodName(ti, m, &name, NULL, NULL) != JVMTI_ERROR_NONE ||
        (*ti)->GetMethodModifiers(ti, m, &access) != JVMTI_ERROR_NONE)
        return;
    shown_class(&whole, sign);
    put(&whole, ".");
    shown_method(&whole, name);
    int source = !(access & 0x40) && (!(access & 0x1000) || begins(name, "lambda$")); // no bridge, nor what javac added
    for (int i = 0; source && i < count; i++) {
        struct point *p = &points[i];
        if (*files >> i & 1)
            lines(m, i, only_best);
        if (!only_best && p->function[0] && !p->exceptions && !p->error[0] && (!system || of_system(p->function)) &&
            named(p->function, whole.b))
            entry(m, i);
    }
    (*ti)->Deallocate(ti, (unsigned char *)name);
    drop(&whole);
}

// class_points looks at one class: only for which lines have code, or for places. The lock is held.
static void class_points(JNIEnv *jni, jclass c, int only_best) {
    char *sign = NULL, *file = NULL;
    jvmtiEnv *ti = agent.ti;
    jint n = 0;
    jmethodID *methods = NULL;
    uint64_t files = 0;
    int functions = 0;
    if ((*ti)->GetClassSignature(ti, c, &sign, NULL) != JVMTI_ERROR_NONE || sign[0] != 'L' ||
        begins(sign, "Ljava/lang/Strobe"))
        goto out;
    jobject loader = loader_of(c);
    int system = is_system(jni, loader);
    (*jni)->DeleteLocalRef(jni, loader);
    int has_file = (*ti)->GetSourceFileName(ti, c, &file) == JVMTI_ERROR_NONE;
    for (int i = 0; i < count; i++) {
        struct point *p = &points[i];
        if (has_file && p->file[0] && !p->error[0] && is_source(p->file, sign, file))
            files |= 1ull << i;
        functions |= p->function[0] && !p->exceptions && (!system || of_system(p->function));
    }
    if ((files || (functions && !only_best)) && (*ti)->GetClassMethods(ti, c, &n, &methods) == JVMTI_ERROR_NONE)
        for (jint i = 0; i < n; i++)
            method_points(methods[i], sign, system, &files, only_best);
out:
    (*ti)->Deallocate(ti, (unsigned char *)sign);
    (*ti)->Deallocate(ti, (unsigned char *)file);
    (*ti)->Deallocate(ti, (unsigned char *)methods);
}

static int any_line(void) {
    int any = 0;
    for (int i = 0; i < count; i++)
        any |= points[i].file[0] != 0;
    return any;
}

// put_spots makes what was found what is. The lock is held.
static void put_spots(void) {
    for (int i = 0; i < spot_count; i++) {
        int still = 0;
        for (int k = 0; k < found_count && !still; k++)
            still = found[k].m == spots[i].m && found[k].at == spots[i].at;
        if (!still)
            (*agent.ti)->ClearBreakpoint(agent.ti, spots[i].m, spots[i].at);
    }
    memcpy(spots, found, (size_t)found_count * sizeof *spots);
    spot_count = found_count;
    for (int i = 0; i < spot_count; i++)
        (*agent.ti)->SetBreakpoint(agent.ti, spots[i].m, spots[i].at); // one that is there stays
}

void place_points(JNIEnv *jni) {
    jint n = 0;
    jclass *classes = NULL;
    if (!agent.stops)
        return;
    lock(&pointing);
    if ((count || spot_count) && (*agent.ti)->GetLoadedClasses(agent.ti, &n, &classes) == JVMTI_ERROR_NONE) {
        for (int i = 0; i < POINTS; i++)
            best[i] = NO_LINE;
        found_count = overflow = 0;
        for (int pass = any_line() ? 0 : 1; pass < 2; pass++)
            for (jint i = 0; count && i < n; i++)
                class_points(jni, classes[i], pass == 0);
        put_spots();
        for (jint i = 0; i < n; i++)
            (*jni)->DeleteLocalRef(jni, classes[i]);
        (*agent.ti)->Deallocate(agent.ti, (unsigned char *)classes);
    }
    unlock(&pointing);
}

void JNICALL prepared(jvmtiEnv *ti, JNIEnv *jni, jthread thread, jclass c);
void JNICALL prepared(jvmtiEnv *ti, JNIEnv *jni, jthread thread, jclass c) {
    (void)ti, (void)thread;
    long before[POINTS];
    int nearer = 0;
    if (agent.closed)
        return;
    lock(&pointing);
    memcpy(before, best, sizeof before);
    if (any_line())
        class_points(jni, c, 1);
    for (int i = 0; i < count; i++)
        nearer |= best[i] != before[i] && before[i] != NO_LINE;
    if (!nearer) {
        memcpy(found, spots, (size_t)spot_count * sizeof *spots);
        found_count = spot_count;
        class_points(jni, c, 0);
        if (found_count != spot_count)
            put_spots();
    }
    unlock(&pointing);
    if (nearer)
        place_points(jni);
}

uint64_t points_at(jmethodID m, jlocation at) {
    uint64_t of = 0;
    lock(&pointing);
    for (int i = 0; i < spot_count && !of; i++)
        if (spots[i].m == m && spots[i].at == at)
            of = spots[i].of;
    unlock(&pointing);
    return of;
}

uint64_t points_of_exceptions(char kind) {
    uint64_t of = 0;
    lock(&pointing);
    for (int i = 0; i < count; i++)
        if (points[i].exceptions == kind && !points[i].error[0])
            of |= 1ull << i;
    unlock(&pointing);
    return of;
}

int point_now(int i, struct point *copy) {
    lock(&pointing);
    int is = i < count;
    if (is)
        memcpy(copy, &points[i], sizeof *copy);
    unlock(&pointing);
    return is;
}

long met(int i, const char *id, const struct point *p, int *hit) {
    long n = 0;
    *hit = 0;
    lock(&pointing);
    if (i < count && same(points[i].id, id)) {
        n = ++points[i].met;
        *hit = !p->count || n == p->count;
        points[i].hits += *hit;
    }
    unlock(&pointing);
    return n;
}

void point_failed(int i, const char *id) {
    lock(&pointing);
    if (i < count && same(points[i].id, id))
        points[i].failed = 1;
    unlock(&pointing);
}

void say_points(JNIEnv *jni, struct text *t) {
    lock(&pointing);
    put(t, ",\"points\":[");
    for (int i = 0, said = 0; i < count; i++) {
        struct point *p = &points[i];
        if (p->once)
            continue;
        put(t, said++ ? ",{\"id\":" : "{\"id\":");
        quote(t, p->id);
        put(t, ",\"hits\":");
        number(t, p->hits);
        if (p->error[0]) {
            put(t, ",\"error\":");
            quote(t, p->error);
        }
        if (overflow)
            put(t, ",\"note\":\"of all points only 4,096 places are set\"");
        else if (p->file[0] && best[i] != NO_LINE && best[i] != p->line)
            put(t, ",\"note\":\"the line has no code: it is set where there is some next\"");
        put(t, ",\"locations\":[");
        for (int k = 0, places = 0; k < spot_count && places < 20; k++) {
            struct place at;
            if (!(spots[k].of >> i & 1))
                continue;
            if (place_of(jni, spots[k].m, spots[k].at, &at)) {
                put(t, places++ ? ",{" : "{");
                say_place(t, &at);
                put(t, "}");
            }
            drop_place(&at);
        }
        put(t, "]}");
    }
    put(t, "]");
    unlock(&pointing);
}

int until_line(JNIEnv *jni, const char *id, const char *file, long line, long tid) {
    lock(&pointing);
    int i = count;
    if (i < POINTS) {
        struct point *p = &points[count++];
        memset(p, 0, sizeof *p);
        memcpy(p->id, id, length(id) + 1);
        size_t n = length(file);
        memcpy(p->file, file, (n < sizeof p->file ? n : 0) + 1);
        p->line = line;
        p->tid = tid;
        p->once = 1;
    }
    unlock(&pointing);
    if (i == POINTS)
        return 0;
    listen_for(JVMTI_EVENT_CLASS_PREPARE, 1);
    listen_for(JVMTI_EVENT_BREAKPOINT, 1);
    place_points(jni);
    int there = 0;
    lock(&pointing);
    for (int k = 0; k < spot_count; k++)
        there |= (spots[k].of >> i & 1) != 0;
    unlock(&pointing);
    if (!there)
        forget_until(jni, id);
    return there;
}

void forget_until(JNIEnv *jni, const char *id) {
    lock(&pointing);
    int was = count;
    for (int i = 0; i < count; i++)
        if (points[i].once && same(points[i].id, id)) {
            for (int k = i; k + 1 < count; k++)
                memcpy(&points[k], &points[k + 1], sizeof *points);
            count--;
            i--;
        }
    unlock(&pointing);
    if (count != was)
        place_points(jni);
}

void clear_points(JNIEnv *jni) {
    lock(&pointing);
    count = 0;
    unlock(&pointing);
    place_points(jni);
}
