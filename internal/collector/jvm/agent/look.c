// What is asked of a thread that stands: its frames, variables, expressions. All of it runs on that thread.
#include "agent.h"

enum { FRAMES = 1024, SHIFT = 24, SCOPES = 1 << 16, OBJECTS = 1 << 20 };

static jclass frames, stops, strings, objects;
static jmethodID make_frame, make_stop, is_wrong, does_hold, does_say, shows, lists, lists_parts, evaluates, assigns;
static jfieldID changed, raw, values;

int look_ready(JNIEnv *jni) {
    struct {
        jclass *to;
        const char *name;
    } classes[] = {{&frames, "java/lang/StrobeFrame"}, {&stops, "java/lang/StrobeStop"}, {&strings, "java/lang/String"},
                   {&objects, "java/lang/Object"}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        jclass c = (*jni)->FindClass(jni, classes[i].name);
        if (!c)
            return 0;
        *classes[i].to = (*jni)->NewGlobalRef(jni, c);
    }
#define FRAME "Ljava/lang/StrobeFrame;"
    struct {
        jmethodID *to;
        jclass in;
        const char *name, *sign;
        int fixed;
    } methods[] = {
        {&make_frame, frames, "make",
         "([Ljava/lang/String;[Ljava/lang/String;[J[Ljava/lang/Object;IILjava/lang/Object;Ljava/lang/Class;)" FRAME, 1},
        {&make_stop, stops, "make", "()Ljava/lang/StrobeStop;", 1},
        {&is_wrong, stops, "wrong", "([BZ)[B", 1},
        {&does_hold, stops, "holds", "(" FRAME "[B[B[B)I", 1},
        {&does_say, stops, "says", "(" FRAME "[B[B[BZ)I", 1},
        {&shows, stops, "shown", "(" FRAME ")[B", 1},
        {&lists, stops, "variables", "(" FRAME "ZJII)[B", 0},
        {&lists_parts, stops, "parts", "(IJII)[B", 0},
        {&evaluates, stops, "evaluate", "(" FRAME "[BIJ)[B", 0},
        {&assigns, stops, "assign", "(" FRAME "I[B[BJ)[B", 0},
    };
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        jclass in = methods[i].in;
        *methods[i].to = methods[i].fixed ? (*jni)->GetStaticMethodID(jni, in, methods[i].name, methods[i].sign)
                                          : (*jni)->GetMethodID(jni, in, methods[i].name, methods[i].sign);
        if (!*methods[i].to)
            return 0;
    }
    changed = (*jni)->GetFieldID(jni, frames, "changed", "I");
    raw = (*jni)->GetFieldID(jni, frames, "raw", "[J");
    values = (*jni)->GetFieldID(jni, frames, "values", "[Ljava/lang/Object;");
    return changed && raw && values;
}

// --- a frame's variables

struct variable {
    char name[128], sign[256];
    jint slot;
    int argument;
};

static void fill(char *to, size_t room, const char *from) {
    size_t n = length(from);
    n = n < room ? n : room - 1;
    memcpy(to, from, n);
    to[n] = 0;
}

// told_variables are those that the class tells of at a place.
static int told_variables(jmethodID m, jlocation at, jint args, int fixed, struct variable *all) {
    jint n = 0;
    int kept = 0;
    jvmtiLocalVariableEntry *t = NULL;
    if ((*agent.ti)->GetLocalVariableTable(agent.ti, m, &n, &t) != JVMTI_ERROR_NONE)
        return -1;
    for (jint i = 0; i < n; i++) {
        jvmtiLocalVariableEntry *e = &t[i];
        if (at >= e->start_location && at < e->start_location + e->length && kept < VARIABLES &&
            (fixed || e->slot != 0)) {
            fill(all[kept].name, sizeof all->name, e->name);
            fill(all[kept].sign, sizeof all->sign, e->signature);
            all[kept].slot = e->slot;
            all[kept++].argument = e->slot < args;
        }
        (*agent.ti)->Deallocate(agent.ti, (unsigned char *)e->name);
        (*agent.ti)->Deallocate(agent.ti, (unsigned char *)e->signature);
        (*agent.ti)->Deallocate(agent.ti, (unsigned char *)e->generic_signature);
    }
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)t);
    return kept;
}

// parameters are what the method's descriptor tells, where the class has no names.
static int parameters(jmethodID m, int fixed, struct variable *all) {
    char *name = NULL, *sign = NULL;
    int n = 0;
    jint slot = !fixed;
    if ((*agent.ti)->GetMethodName(agent.ti, m, &name, &sign, NULL) != JVMTI_ERROR_NONE)
        return 0;
    for (const char *p = sign + 1; *p && *p != ')' && n < VARIABLES;) {
        const char *from = p;
        struct text t = {0};
        while (*p == '[')
            p++;
        if (*p++ == 'L')
            while (*p++ != ';') {
            }
        put(&t, "arg");
        number(&t, n);
        fill(all[n].name, sizeof all->name, t.b);
        t.n = 0;
        add(&t, from, (size_t)(p - from));
        fill(all[n].sign, sizeof all->sign, t.b);
        drop(&t);
        all[n].slot = slot;
        all[n].argument = 1;
        slot += *from == 'J' || *from == 'D' ? 2 : 1;
        n++;
    }
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)name);
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)sign);
    return n;
}

static int read_variable(jint depth, const struct variable *v, jlong *r, jobject *o) {
    jvmtiEnv *ti = agent.ti;
    jvmtiError e;
    jint i = 0;
    jlong l = 0;
    jfloat f = 0;
    jdouble d = 0;
    switch (v->sign[0]) {
    case 'J':
        e = (*ti)->GetLocalLong(ti, NULL, depth, v->slot, &l);
        *r = l;
        break;
    case 'F':
        e = (*ti)->GetLocalFloat(ti, NULL, depth, v->slot, &f);
        memcpy(&i, &f, sizeof i);
        *r = i;
        break;
    case 'D':
        e = (*ti)->GetLocalDouble(ti, NULL, depth, v->slot, &d);
        memcpy(r, &d, sizeof d);
        break;
    case 'L':
    case '[':
        e = (*ti)->GetLocalObject(ti, NULL, depth, v->slot, o);
        break;
    default:
        e = (*ti)->GetLocalInt(ti, NULL, depth, v->slot, &i);
        *r = i;
    }
    return e == JVMTI_ERROR_NONE;
}

jobject frame_at(JNIEnv *jni, jint depth, struct variables *out) {
    jmethodID m = NULL;
    jlocation at = 0;
    jint args = 0, access = 0;
    jclass c = NULL;
    jobject self = NULL;
    jvmtiEnv *ti = agent.ti;
    memset(out, 0, sizeof *out);
    if ((*ti)->GetFrameLocation(ti, NULL, depth, &m, &at) != JVMTI_ERROR_NONE ||
        (*ti)->GetMethodModifiers(ti, m, &access) != JVMTI_ERROR_NONE ||
        (*ti)->GetMethodDeclaringClass(ti, m, &c) != JVMTI_ERROR_NONE)
        return NULL;
    long memory = sys6(SYS_MMAP, 0, VARIABLES * sizeof(struct variable), 3, 0x22, -1, 0);
    if (memory < 0 && memory > -4096)
        return NULL;
    struct variable *all = (struct variable *)memory;
    (*ti)->GetArgumentsSize(ti, m, &args);
    int fixed = (access & 8) != 0, n = access & 0x100 ? 0 : told_variables(m, at, args, fixed, all);
    if (n < 0)
        n = parameters(m, fixed, all);
    if (!fixed && (*ti)->GetLocalInstance(ti, NULL, depth, &self) != JVMTI_ERROR_NONE)
        self = NULL;
    jobjectArray names = (*jni)->NewObjectArray(jni, n, strings, NULL);
    jobjectArray signs = names ? (*jni)->NewObjectArray(jni, n, strings, NULL) : NULL;
    jobjectArray refs = signs ? (*jni)->NewObjectArray(jni, n, objects, NULL) : NULL;
    jlongArray bits = refs ? (*jni)->NewLongArray(jni, n) : NULL;
    for (int pass = 0; bits && pass < 2; pass++)
        for (int i = 0; i < n; i++) {
            jlong r = 0;
            jobject o = NULL;
            if (all[i].argument == pass || !read_variable(depth, &all[i], &r, &o))
                continue;
            jstring name = (*jni)->NewStringUTF(jni, all[i].name);
            jstring sign = name ? (*jni)->NewStringUTF(jni, all[i].sign) : NULL;
            if (!sign)
                continue;
            (*jni)->SetObjectArrayElement(jni, names, out->n, name);
            (*jni)->SetObjectArrayElement(jni, signs, out->n, sign);
            (*jni)->SetObjectArrayElement(jni, refs, out->n, o);
            (*jni)->SetLongArrayRegion(jni, bits, out->n, 1, &r);
            (*jni)->DeleteLocalRef(jni, name);
            (*jni)->DeleteLocalRef(jni, sign);
            (*jni)->DeleteLocalRef(jni, o);
            out->slots[out->n] = all[i].slot;
            out->types[out->n++] = all[i].sign[0];
            out->arguments += pass == 0;
        }
    sys(SYS_MUNMAP, all, VARIABLES * sizeof(struct variable), 0);
    jobject f = bits ? (*jni)->CallStaticObjectMethod(jni, frames, make_frame, names, signs, bits, refs, out->n,
                                                      out->arguments, self, c)
                     : NULL;
    (*jni)->ExceptionClear(jni);
    return f;
}

// write_back puts into the thread's frame what was changed in a StrobeFrame.
static int write_back(JNIEnv *jni, jint depth, jobject f, const struct variables *v) {
    jvmtiEnv *ti = agent.ti;
    jint i = (*jni)->GetIntField(jni, f, changed);
    if (i < 0 || i >= v->n)
        return 1;
    jlong r = 0;
    jobject bits = (*jni)->GetObjectField(jni, f, raw), refs = (*jni)->GetObjectField(jni, f, values);
    (*jni)->GetLongArrayRegion(jni, bits, i, 1, &r);
    jint small = (jint)r;
    jfloat single;
    jdouble wide;
    memcpy(&single, &small, sizeof single);
    memcpy(&wide, &r, sizeof wide);
    switch (v->types[i]) {
    case 'J':
        return (*ti)->SetLocalLong(ti, NULL, depth, v->slots[i], r) == JVMTI_ERROR_NONE;
    case 'F':
        return (*ti)->SetLocalFloat(ti, NULL, depth, v->slots[i], single) == JVMTI_ERROR_NONE;
    case 'D':
        return (*ti)->SetLocalDouble(ti, NULL, depth, v->slots[i], wide) == JVMTI_ERROR_NONE;
    case 'L':
    case '[':
        return (*ti)->SetLocalObject(ti, NULL, depth, v->slots[i], (*jni)->GetObjectArrayElement(jni, refs, i)) ==
               JVMTI_ERROR_NONE;
    default:
        return (*ti)->SetLocalInt(ti, NULL, depth, v->slots[i], small) == JVMTI_ERROR_NONE;
    }
}

// --- what Java answers

static jbyteArray bytes_of(JNIEnv *jni, const char *s, size_t n) {
    jbyteArray a = (*jni)->NewByteArray(jni, (jsize)n);
    if (a)
        (*jni)->SetByteArrayRegion(jni, a, 0, (jsize)n, (const jbyte *)s);
    return a;
}

static int take_bytes(JNIEnv *jni, jbyteArray a, struct text *t) {
    if ((*jni)->ExceptionCheck(jni) || !a) {
        (*jni)->ExceptionClear(jni);
        return 0;
    }
    jsize n = (*jni)->GetArrayLength(jni, a);
    char chunk[1024];
    for (jsize at = 0; at < n; at += (jsize)sizeof chunk) {
        jsize k = n - at < (jsize)sizeof chunk ? n - at : (jsize)sizeof chunk;
        (*jni)->GetByteArrayRegion(jni, a, at, k, (jbyte *)chunk);
        add(t, chunk, (size_t)k);
    }
    (*jni)->DeleteLocalRef(jni, a);
    return 1;
}

int wrong(JNIEnv *jni, const char *s, int message, char *to, size_t room) {
    struct text t = {0};
    jbyteArray b = bytes_of(jni, s, length(s));
    jbyteArray a = b ? (*jni)->CallStaticObjectMethod(jni, stops, is_wrong, b, message ? JNI_TRUE : JNI_FALSE) : NULL;
    int is = take_bytes(jni, a, &t);
    if (is)
        fill(to, room, t.b ? t.b : "it is wrong");
    (*jni)->DeleteLocalRef(jni, b);
    drop(&t);
    return is;
}

static jbyteArray place_bytes(JNIEnv *jni, struct place *at) {
    struct text t = {0};
    put(&t, ",");
    say_place(&t, at);
    jbyteArray b = bytes_of(jni, t.b, t.n);
    drop(&t);
    return b;
}

int holds(JNIEnv *jni, jobject frame, const struct point *p, struct place *at) {
    jbyteArray id = bytes_of(jni, p->id, p->failed ? 0 : length(p->id));
    jbyteArray condition = bytes_of(jni, p->condition, length(p->condition));
    jint r = (*jni)->CallStaticIntMethod(jni, stops, does_hold, frame, condition, id, place_bytes(jni, at));
    int bad = (*jni)->ExceptionCheck(jni);
    (*jni)->ExceptionClear(jni);
    return bad ? 0 : r;
}

int says(JNIEnv *jni, jobject frame, const struct point *p, struct place *at) {
    jint r = (*jni)->CallStaticIntMethod(jni, stops, does_say, frame, bytes_of(jni, p->message, length(p->message)),
                                         bytes_of(jni, p->id, length(p->id)), place_bytes(jni, at),
                                         p->failed ? JNI_TRUE : JNI_FALSE);
    (*jni)->ExceptionClear(jni);
    return r;
}

jobject make_refs(JNIEnv *jni) {
    jobject o = (*jni)->CallStaticObjectMethod(jni, stops, make_stop);
    (*jni)->ExceptionClear(jni);
    return o ? (*jni)->NewGlobalRef(jni, o) : NULL;
}

void shown_frame(JNIEnv *jni, jobject frame, struct text *t) {
    if (frame)
        take_bytes(jni, (*jni)->CallStaticObjectMethod(jni, stops, shows, frame), t);
}

// --- questions

void say_frames(JNIEnv *jni, struct stop *s, struct text *t, long from, long n, int refs, long *total) {
    jint count = 0;
    long seen = 0, said = 0;
    long memory = sys6(SYS_MMAP, 0, FRAMES * sizeof(jvmtiFrameInfo), 3, 0x22, -1, 0);
    *total = 0;
    if (memory < 0 && memory > -4096)
        return;
    jvmtiFrameInfo *all = (jvmtiFrameInfo *)memory;
    (*agent.ti)->GetStackTrace(agent.ti, NULL, 0, FRAMES, all, &count);
    for (jint i = 0; i < count; i++) {
        struct place p;
        if (place_of(jni, all[i].method, all[i].location, &p) && !p.hidden && seen++ >= from && said < n) {
            put(t, said++ ? ",{" : "{");
            if (refs) {
                put(t, "\"ref\":");
                number(t, s->n << SHIFT | (i + 1));
                put(t, ",");
            }
            say_place(t, &p);
            put(t, p.system ? ",\"user\":false}" : ",\"user\":true}");
        }
        drop_place(&p);
    }
    *total = seen;
    sys(SYS_MUNMAP, all, FRAMES * sizeof(jvmtiFrameInfo), 0);
}

static void say_scopes(JNIEnv *jni, struct stop *s, struct text *t, long depth) {
    struct variables v;
    jobject f = frame_at(jni, (jint)depth, &v);
    jint access = 0;
    jmethodID m = NULL;
    jlocation at = 0;
    if ((*agent.ti)->GetFrameLocation(agent.ti, NULL, (jint)depth, &m, &at) == JVMTI_ERROR_NONE)
        (*agent.ti)->GetMethodModifiers(agent.ti, m, &access);
    int self = f && !(access & 8), counts[2] = {v.arguments + self, v.n - v.arguments};
    put(t, ",\"scopes\":[");
    for (int i = 0; i < 2; i++) {
        put(t, i ? ",{\"kind\":\"locals\",\"ref\":" : "{\"kind\":\"arguments\",\"ref\":");
        number(t, counts[i] ? s->n << SHIFT | (SCOPES + 2 * depth + i) : 0);
        put(t, ",\"count\":");
        number(t, counts[i]);
        put(t, "}");
    }
    put(t, "]");
}

static jbyteArray text_of(JNIEnv *jni, const char *line, const char *name) {
    const char *v = member(line, name);
    char to[4096];
    size_t n = string(v, to, sizeof to);
    return bytes_of(jni, to, n);
}

static jbyteArray variables_of(JNIEnv *jni, struct stop *s, const char *line, long index, long base) {
    long from = integer(member(line, "from"), 0), n = integer(member(line, "n"), 100);
    struct variables v;
    if (index >= OBJECTS)
        return (*jni)->CallObjectMethod(jni, s->refs, lists_parts, (jint)(index - OBJECTS), (jlong)base, (jint)from,
                                        (jint)(n < 200 ? n : 200));
    jobject f = frame_at(jni, (jint)((index - SCOPES) / 2), &v);
    jboolean arguments = index % 2 ? JNI_FALSE : JNI_TRUE;
    return f ? (*jni)->CallObjectMethod(jni, s->refs, lists, f, arguments, (jlong)base, (jint)from,
                                        (jint)(n < 200 ? n : 200))
             : NULL;
}

static jbyteArray assigned(JNIEnv *jni, struct stop *s, const char *line, long index, long base, int *ok) {
    struct variables v;
    long depth = index >= OBJECTS ? 0 : index >= SCOPES ? (index - SCOPES) / 2 : index - 1;
    jobject f = frame_at(jni, (jint)depth, &v);
    const char *what = member(line, "name") ? "name" : "expression";
    jint of = (jint)(index >= OBJECTS ? index - OBJECTS : -1);
    jbyteArray a = f ? (*jni)->CallObjectMethod(jni, s->refs, assigns, f, of, text_of(jni, line, what),
                                                text_of(jni, line, "text"), (jlong)base)
                     : NULL;
    if (a && !(*jni)->ExceptionCheck(jni))
        *ok = write_back(jni, (jint)depth, f, &v);
    return a;
}

static jbyteArray evaluated(JNIEnv *jni, struct stop *s, const char *line, long index, long base) {
    struct variables v;
    jobject f = frame_at(jni, (jint)(index - 1), &v);
    jint depth = (jint)integer(member(line, "depth"), 1);
    jbyteArray text = text_of(jni, line, "text");
    return f ? (*jni)->CallObjectMethod(jni, s->refs, evaluates, f, text, depth, (jlong)base) : NULL;
}

// say_answer sends what Java answered, or what it says is wrong.
static void say_answer(long q, const char *m, struct text *a) {
    if (a->n > 0 && a->b[0] == '!') {
        char *blank = a->b + 1;
        while (*blank && *blank != ' ')
            blank++;
        if (*blank)
            *blank++ = 0;
        refuse(q, a->b + 1, blank);
        return;
    }
    struct text t = {0};
    put(&t, "{\"m\":\"");
    put(&t, m);
    put(&t, "\",\"q\":");
    number(&t, q);
    add(&t, a->b, a->n);
    put(&t, "}");
    say(&t);
    drop(&t);
}

void serve(JNIEnv *jni, struct stop *s, const char *line) {
    char m[16];
    struct text a = {0};
    long q = integer(member(line, "q"), 0), ref = integer(member(line, "ref"), 0), total = 0;
    long index = ref & ((1 << SHIFT) - 1), base = s->n << SHIFT | OBJECTS;
    int ok = 1;
    jbyteArray b = NULL;
    string(member(line, "m"), m, sizeof m);
    if ((*jni)->PushLocalFrame(jni, 64) != 0) {
        (*jni)->ExceptionClear(jni);
        refuse(q, "cannot", "the JVM has no memory for it");
        return;
    }
    s->q = q;
    s->since = now_ms();
    if (same(m, "frames")) {
        put(&a, ",\"frames\":[");
        say_frames(jni, s, &a, integer(member(line, "from"), 0), integer(member(line, "n"), 20), 1, &total);
        put(&a, "],\"total\":");
        number(&a, total);
    } else if (same(m, "scopes")) {
        say_scopes(jni, s, &a, index - 1);
    } else if (same(m, "variables")) {
        b = variables_of(jni, s, line, index, base);
    } else if (same(m, "evaluate")) {
        b = evaluated(jni, s, line, index, base);
    } else {
        b = assigned(jni, s, line, index, base, &ok);
    }
    if (!a.n && !take_bytes(jni, b, &a))
        put(&a, "!cannot the frame cannot be read");
    s->since = 0;
    if (!ok)
        refuse(q, "cannot", "the JVM does not let this variable be set: it is none of the right type here");
    else
        say_answer(q, same(m, "evaluate") || same(m, "assign") ? "value" : m, &a);
    drop(&a);
    (*jni)->PopLocalFrame(jni, NULL);
}
