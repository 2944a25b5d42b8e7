// What JVMTI tells of threads that run: points that they come to, exceptions, steps.
#include "agent.h"

// reached decides about points that a thread has come to. One that stood there just now does not again.
static void reached(JNIEnv *jni, jthread thread, jmethodID m, jlocation at, uint64_t of, const char *note,
                    int stood_here) {
    struct place where;
    struct variables v;
    struct point p;
    jobject frame = NULL;
    char id[64] = {0};
    const char *reason = note ? "exception" : "breakpoint";
    long hit = 0;
    if ((*jni)->PushLocalFrame(jni, 64) != 0) {
        (*jni)->ExceptionClear(jni);
        return;
    }
    place_of(jni, m, at, &where);
    for (int i = 0; i < POINTS && of >> i; i++) {
        if (!(of >> i & 1) || !point_now(i, &p) || (p.tid && p.tid != my_tid()))
            continue;
        if (!frame && (p.condition[0] || p.message[0]))
            frame = frame_at(jni, 0, &v);
        if (p.condition[0]) {
            int is = frame ? holds(jni, frame, &p, &where) : 0;
            if (is == 2)
                point_failed(i, p.id);
            if (is != 1)
                continue;
        }
        int takes = 0;
        long n = met(i, p.id, &p, &takes);
        if (!takes)
            continue;
        if (p.message[0]) {
            if (frame && says(jni, frame, &p, &where) == 2)
                point_failed(i, p.id);
        } else if (!id[0]) {
            memcpy(id, p.id, sizeof id);
            hit = n;
            reason = p.once ? "until" : reason;
        }
    }
    drop_place(&where);
    (*jni)->PopLocalFrame(jni, NULL);
    if (id[0] && !stood_here)
        stand(jni, thread, id, reason, hit, note);
}

static void JNICALL broke(jvmtiEnv *ti, JNIEnv *jni, jthread thread, jmethodID m, jlocation at) {
    (void)ti;
    struct stop *s = stop_of(my_tid());
    if (agent.closed || agent.dying || (s && s->busy))
        return;
    int stood_here = s && s->skip_m == m && s->skip_at == at; // for a step's sake
    if (s && s->skip_m) {
        s->skip_m = NULL;
        if (!s->how)
            free_row(jni, s);
    }
    uint64_t of = points_at(m, at);
    if (of)
        reached(jni, thread, m, at, of, NULL, stood_here);
}

int method_woven(jmethodID m) {
    char *sign = NULL;
    jclass c = NULL;
    int is = 0;
    if ((*agent.ti)->GetMethodDeclaringClass(agent.ti, m, &c) == JVMTI_ERROR_NONE &&
        (*agent.ti)->GetClassSignature(agent.ti, c, &sign, NULL) == JVMTI_ERROR_NONE) {
        struct text name = {0};
        add(&name, sign + 1, length(sign) - 2);
        is = is_woven(name.b);
        drop(&name);
    }
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)sign);
    return is;
}

// woven_end: the place is in what was woven behind a method's code, which hands an exception on.
static int woven_end(jmethodID m, jlocation at) {
    jlocation from = 0, end = 0;
    jint n = 0;
    unsigned char *code = NULL;
    if ((*agent.ti)->GetMethodLocation(agent.ti, m, &from, &end) != JVMTI_ERROR_NONE || end < 8 || at < end - 7 ||
        (*agent.ti)->GetBytecodes(agent.ti, m, &n, &code) != JVMTI_ERROR_NONE)
        return 0;
    int is = n >= 8 && code[n - 8] == 0x59 && code[n - 4] == 0xb8 && code[n - 1] == 0xbf && method_woven(m);
    (*agent.ti)->Deallocate(agent.ti, code);
    return is;
}

static int of_the_system(JNIEnv *jni, jmethodID m) {
    struct place p;
    int is = !place_of(jni, m, 0, &p) || p.system || p.hidden;
    drop_place(&p);
    return is;
}

static void JNICALL raised(jvmtiEnv *ti, JNIEnv *jni, jthread thread, jmethodID m, jlocation at, jobject exception,
                           jmethodID catcher, jlocation caught_at) {
    struct stop *s = stop_of(my_tid());
    if (agent.closed || agent.dying || (s && s->busy))
        return;
    int handed_on = woven_end(m, at), passes = catcher && woven_end(catcher, caught_at);
    uint64_t of = !catcher || passes ? points_of_exceptions('u') : 0;
    if (catcher)
        of = 0;
    if (!handed_on && (!of_the_system(jni, m) || !catcher || !of_the_system(jni, catcher)))
        of |= points_of_exceptions('a');
    if (!of)
        return;
    struct text note = {0};
    char *sign = NULL;
    jclass c = (*jni)->GetObjectClass(jni, exception);
    if ((*ti)->GetClassSignature(ti, c, &sign, NULL) == JVMTI_ERROR_NONE)
        shown_class(&note, sign);
    (*ti)->Deallocate(ti, (unsigned char *)sign);
    if (handed_on)
        put(&note, " leaves the outermost traced call: the calls where it was raised have ended");
    reached(jni, thread, m, at, of, note.b, 0);
    drop(&note);
}

// --- steps

// base notes where a step begins.
static void base(struct stop *s) {
    s->thrown = 0;
    s->passed = NULL;
    s->line = 0;
    (*agent.ti)->GetFrameCount(agent.ti, NULL, &s->depth);
    if ((*agent.ti)->GetFrameLocation(agent.ti, NULL, 0, &s->method, &s->last) == JVMTI_ERROR_NONE)
        s->line = line_of(s->method, s->last);
}

void begin_step(JNIEnv *jni, struct stop *s) {
    struct place p;
    base(s);
    if (place_of(jni, s->method, s->last, &p))
        s->system |= p.system;
    drop_place(&p);
    int told = (*agent.ti)->NotifyFramePop(agent.ti, NULL, 0) == JVMTI_ERROR_NONE;
    steps(s->thread, s->how != 'l' && (s->how != 'u' || !told));
}

// arrives ends a step here.
static void arrives(JNIEnv *jni, jthread thread, struct stop *s, jmethodID m, jlocation at) {
    char id[64];
    memcpy(id, s->id, sizeof id);
    int both = points_at(m, at) != 0; // a breakpoint's event comes next
    s->skip_m = both ? m : NULL;
    s->skip_at = at;
    stand(jni, thread, id, "step", 0, NULL);
}

// passes leaves the innermost frame by its end, without a look at what happens in it.
static void passes_by(struct stop *s) {
    if ((*agent.ti)->NotifyFramePop(agent.ti, NULL, 0) != JVMTI_ERROR_OPAQUE_FRAME)
        steps(s->thread, 0);
}

// may_stop: a step may end in this method; if not, how it goes on is seen to.
static int may_stop(JNIEnv *jni, struct stop *s, jmethodID m, jlocation at) {
    struct place p;
    int may = place_of(jni, m, at, &p) && !p.hidden && (s->system || !p.system) && p.line > 0;
    if (p.ours || (p.system && !s->system && (begins(p.function.b, "java.lang.ClassLoader.") ||
                                              begins(p.function.b, "jdk.internal.loader."))))
        passes_by(s);
    else if (!may && p.line > 0)
        s->passed = m;
    drop_place(&p);
    return may && !woven_end(m, at) && at >= own_begin(m);
}

// amid_record: the recorder is at work on this thread.
static int amid_record(JNIEnv *jni) {
    jvmtiFrameInfo top[12];
    jint n = 0;
    int ours = 0;
    (*agent.ti)->GetStackTrace(agent.ti, NULL, 0, 12, top, &n);
    for (jint i = 0; i < n && !ours; i++) {
        struct place p;
        place_of(jni, top[i].method, top[i].location, &p);
        ours = p.ours;
        drop_place(&p);
    }
    return ours;
}

static void JNICALL stepped(jvmtiEnv *ti, JNIEnv *jni, jthread thread, jmethodID m, jlocation at) {
    struct stop *s = stop_of(my_tid());
    jint depth = 0;
    if (!s || s->busy || !s->how || agent.closed || m == s->passed)
        return;
    if (s->how == 'p') {
        if (!amid_record(jni))
            stand(jni, thread, "", "pause", 0, NULL);
        return;
    }
    (*ti)->GetFrameCount(ti, NULL, &depth);
    if (depth > s->depth && s->how != 'i') {
        passes_by(s);
        return;
    }
    jint line = depth == s->depth && m == s->method ? line_of(m, at) : -1;
    if (line == s->line) { // as the jump back of a loop that stands on one line is
        s->last = at;
        return;
    }
    if (line == 0 || (s->how == 'u' && depth >= s->depth))
        return;
    if (!may_stop(jni, s, m, at)) {
        if (depth < s->depth)
            s->how = 'i'; // a library has it now: to the next line of the program's own
        return;
    }
    if (depth < s->depth && s->how != 'u' && !s->thrown && line_of(m, at) > 0) {
        base(s); // the rest of the caller's line is passed over
        (*ti)->NotifyFramePop(ti, NULL, 0);
        return;
    }
    arrives(jni, thread, s, m, at);
}

static void JNICALL popped(jvmtiEnv *ti, JNIEnv *jni, jthread thread, jmethodID m, jboolean by_exception) {
    (void)jni, (void)thread, (void)m;
    struct stop *s = stop_of(my_tid());
    jint depth = 0;
    if (!s || s->busy || !s->how || s->how == 'p' || s->how == 'l' || agent.closed)
        return;
    (*ti)->GetFrameCount(ti, NULL, &depth);
    if (by_exception && depth <= s->depth)
        s->thrown = 1;
    steps(s->thread, 1);
}

void steps_begin(jvmtiEventCallbacks *calls) {
    calls->Breakpoint = broke;
    calls->SingleStep = stepped;
    calls->Exception = raised;
    calls->FramePop = popped;
}
