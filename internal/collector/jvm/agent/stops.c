// Threads that stand, and steps: JVMTI's events. A thread stands in the event's callback, in native code for the JVM.
#include "agent.h"

enum { STOPS = 256, PAUSE_MS = 300, LATE_MS = 5000, SHOWN_FRAMES = 20 };
static struct stop table[STOPS];
static struct lock tabling;
static volatile int pauses;
static volatile int stood; // changes with each thread that stands

void stops_ready(JNIEnv *jni) {
    if (agent.stops && !look_ready(jni)) {
        (*jni)->ExceptionClear(jni);
        agent.stops = 0;
    }
    if (!agent.stops)
        return;
    (*agent.ti)->SetEventNotificationMode(agent.ti, JVMTI_ENABLE, JVMTI_EVENT_THREAD_END, NULL);
    (*agent.ti)->SetEventNotificationMode(agent.ti, JVMTI_ENABLE, JVMTI_EVENT_FRAME_POP, NULL);
}

struct stop *stop_of(long tid) {
    for (int i = 0; i < STOPS; i++)
        if (table[i].tid == tid)
            return &table[i];
    return NULL;
}

struct stop *make_row(JNIEnv *jni, long tid, jthread thread) {
    lock(&tabling);
    struct stop *s = stop_of(tid);
    if (!s && (s = stop_of(0))) {
        s->n = 0;
        s->how = 0;
        s->busy = s->standing = s->going = 0;
        s->queued = s->taken = 0;
        s->skip_m = NULL;
        s->refs = NULL;
        s->thread = (*jni)->NewGlobalRef(jni, thread);
        s->tid = tid;
    }
    unlock(&tabling);
    return s;
}

void free_row(JNIEnv *jni, struct stop *s) {
    lock(&tabling);
    (*jni)->DeleteGlobalRef(jni, s->thread);
    s->thread = NULL;
    s->tid = 0;
    unlock(&tabling);
}

long my_tid(void) { return sys(SYS_GETTID, 0, 0, 0); }

void steps(jthread thread, int on) {
    (*agent.ti)->SetEventNotificationMode(agent.ti, on ? JVMTI_ENABLE : JVMTI_DISABLE, JVMTI_EVENT_SINGLE_STEP, thread);
}

static void JNICALL ends(jvmtiEnv *ti, JNIEnv *jni, jthread thread) {
    (void)ti, (void)thread;
    struct stop *s = stop_of(my_tid());
    if (s)
        free_row(jni, s);
}

// --- standing

static void say_paused(JNIEnv *jni, struct stop *s, const char *id, const char *reason, long hit, const char *note) {
    struct text t = {0}, name = {0};
    struct variables v;
    long total = 0;
    put(&t, "{\"m\":\"paused\",\"tid\":");
    number(&t, s->tid);
    put(&t, ",\"n\":");
    number(&t, s->n);
    put(&t, ",\"name\":");
    thread_name(jni, s->thread, &name);
    quote(&t, name.b ? name.b : "");
    put(&t, ",\"point\":");
    quote(&t, id);
    put(&t, ",\"reason\":");
    quote(&t, reason);
    put(&t, ",\"hit\":");
    number(&t, hit);
    put(&t, ",\"frames\":[");
    say_frames(jni, s, &t, 0, SHOWN_FRAMES, 0, &total);
    put(&t, "],\"more\":");
    number(&t, total > SHOWN_FRAMES ? total - SHOWN_FRAMES : 0);
    shown_frame(jni, frame_at(jni, 0, &v), &t);
    if (note) {
        put(&t, ",\"note\":");
        quote(&t, note);
    }
    put(&t, "}");
    say(&t);
    drop(&name);
    drop(&t);
}

// stand holds the thread until it is let go.
void stand(JNIEnv *jni, jthread thread, const char *id, const char *reason, long hit, const char *note) {
    struct stop *s = make_row(jni, my_tid(), thread);
    if (!s || agent.closed || (*jni)->PushLocalFrame(jni, 128) != 0) {
        (*jni)->ExceptionClear(jni);
        return; // 256 threads stand already
    }
    s->busy = 1;
    if (s->how == 'l')
        forget_until(jni, s->id);
    s->how = 0;
    s->n = __atomic_add_fetch(&pauses, 1, __ATOMIC_SEQ_CST);
    s->refs = make_refs(jni);
    s->queued = s->taken = s->going = 0;
    s->standing = 1;
    __atomic_add_fetch(&stood, 1, __ATOMIC_SEQ_CST);
    wake(&stood);
    say_paused(jni, s, id, reason, hit, note);
    struct text line = {0};
    while (!s->going) {
        int seen = s->turn;
        lock(&s->lock);
        int any = s->taken < s->queued;
        if (any) {
            line.n = 0;
            put(&line, s->requests[s->taken % REQUESTS].b);
            s->taken++;
        }
        unlock(&s->lock);
        if (any)
            serve(jni, s, line.b);
        else if (!s->going)
            await(&s->turn, seen, 1000);
    }
    drop(&line);
    s->standing = 0;
    (*jni)->DeleteGlobalRef(jni, s->refs);
    s->refs = NULL;
    (*jni)->PopLocalFrame(jni, NULL);
    if (s->how && s->how != 'p') {
        begin_step(jni, s);
        s->busy = 0;
        return;
    }
    steps(s->thread, 0);
    s->busy = 0;
    if (!s->skip_m)
        free_row(jni, s);
}

// --- questions

static struct stop *by_number(long n) {
    for (int i = 0; i < STOPS; i++)
        if (table[i].tid && table[i].standing && table[i].n == n)
            return &table[i];
    return NULL;
}

static void lets(struct stop *s) {
    s->going = 1;
    __atomic_add_fetch(&s->turn, 1, __ATOMIC_SEQ_CST);
    wake(&s->turn);
}

static void going(long q, const char *m) {
    struct text t = {0};
    put(&t, "{\"m\":\"");
    put(&t, m);
    put(&t, "\",\"q\":");
    number(&t, q);
    put(&t, "}");
    say(&t);
    drop(&t);
}

static void begin_steps(JNIEnv *jni, long q, const char *line) {
    char how[8], file[512];
    struct stop *s = stop_of(integer(member(line, "tid"), 0));
    if (!s || !s->standing) {
        refuse(q, "not-paused", "the thread is not paused");
        return;
    }
    string(member(line, "how"), how, sizeof how);
    string(member(line, "id"), s->id, sizeof s->id);
    if (same(how, "line")) {
        string(member(line, "file"), file, sizeof file);
        if (!until_line(jni, s->id, file, integer(member(line, "line"), 0), s->tid)) {
            refuse(q, "bad", "no code that is loaded is of that line");
            return;
        }
    }
    s->system = truth(member(line, "system"));
    s->how = same(how, "over") ? 'o' : same(how, "into") ? 'i' : same(how, "out") ? 'u' : 'l';
    going(q, "going");
    lets(s);
}

static void pass_on(long q, struct stop *s, const char *line) {
    if (!s || !s->standing) {
        refuse(q, "not-paused", "the thread has gone on");
        return;
    }
    lock(&s->lock);
    int room = s->queued - s->taken < REQUESTS;
    if (room) {
        struct text *t = &s->requests[s->queued % REQUESTS];
        t->n = 0;
        put(t, line);
        s->queued++;
    }
    unlock(&s->lock);
    if (!room) {
        refuse(q, "cannot", "the paused thread is still busy with what it was asked before");
        return;
    }
    __atomic_add_fetch(&s->turn, 1, __ATOMIC_SEQ_CST);
    wake(&s->turn);
}

// of_program: a thread is none of the JVM's own, nor of ours.
static int of_program(JNIEnv *jni, jthread thread) {
    jvmtiThreadInfo info;
    jvmtiThreadGroupInfo group;
    memset(&info, 0, sizeof info);
    memset(&group, 0, sizeof group);
    if ((*agent.ti)->GetThreadInfo(agent.ti, thread, &info) != JVMTI_ERROR_NONE)
        return 0;
    int is = !same(info.name, "strobe-agent") && info.thread_group &&
             (*agent.ti)->GetThreadGroupInfo(agent.ti, info.thread_group, &group) == JVMTI_ERROR_NONE &&
             !same(group.name, "system") && !same(group.name, "InnocuousThreadGroup");
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)info.name);
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)group.name);
    (*jni)->DeleteLocalRef(jni, info.thread_group);
    (*jni)->DeleteLocalRef(jni, info.context_class_loader);
    return is;
}

static const char *why_later(jthread thread) {
    jint state = 0;
    (*agent.ti)->GetThreadState(agent.ti, thread, &state);
    if (state & JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER)
        return "waits for a monitor";
    if (state & JVMTI_THREAD_STATE_SLEEPING)
        return "sleeps";
    if (state & JVMTI_THREAD_STATE_WAITING)
        return state & JVMTI_THREAD_STATE_PARKED ? "is parked" : "waits to be notified";
    return state & JVMTI_THREAD_STATE_IN_NATIVE ? "is in native code" : "has not come to a place where it can stand";
}

// left waits for a thread that was let go and has not woken yet: what it is asked before it has left is undone by that.
static void left(long tid, long until) {
    for (struct stop *s = stop_of(tid); s && s->busy && s->going && now_ms() < until; s = stop_of(tid))
        await(&stood, stood, 1);
}

static void pause_now(JNIEnv *jni, long q, long wanted) {
    enum { MOST = STOPS };
    long until = now_ms() + PAUSE_MS;
    jint n = 0;
    jthread *all = NULL;
    struct stop *rows[MOST];
    int asked = 0, later = 0;
    if ((*agent.ti)->GetAllThreads(agent.ti, &n, &all) != JVMTI_ERROR_NONE)
        n = 0;
    for (jint i = 0; i < n; i++) {
        void *tid = NULL;
        (*agent.ti)->GetThreadLocalStorage(agent.ti, all[i], &tid);
        struct stop *s = NULL;
        if (tid && (!wanted || wanted == (long)tid) && of_program(jni, all[i])) {
            left((long)tid, until);
            s = make_row(jni, (long)tid, all[i]);
        }
        if (s && !s->standing && asked < MOST) {
            s->how = 'p';
            s->passed = NULL;
            steps(s->thread, 1);
            rows[asked++] = s;
        }
        (*jni)->DeleteLocalRef(jni, all[i]);
    }
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)all);
    for (;;) {
        int seen = stood, missing = 0;
        for (int i = 0; i < asked; i++)
            missing += !rows[i]->standing && rows[i]->tid;
        if (!missing || now_ms() >= until)
            break;
        await(&stood, seen, 20);
    }
    struct text t = {0};
    put(&t, "{\"m\":\"pausing\",\"q\":");
    number(&t, q);
    put(&t, ",\"later\":[");
    for (int i = 0; i < asked; i++)
        if (rows[i]->tid && !rows[i]->standing) {
            put(&t, later++ ? ",{\"tid\":" : "{\"tid\":");
            number(&t, rows[i]->tid);
            put(&t, ",\"why\":");
            quote(&t, why_later(rows[i]->thread));
            put(&t, "}");
        }
    put(&t, "]}");
    say(&t);
    drop(&t);
}

int obey_stops(JNIEnv *jni, const char *m, long q, const char *line) {
    if (!agent.stops)
        return 0;
    if (same(m, "go")) {
        for (const char *v = first(member(line, "tids")); v; v = next(v)) {
            struct stop *s = stop_of(integer(v, 0));
            if (s && s->standing)
                lets(s);
        }
        going(q, "going");
    } else if (same(m, "step")) {
        begin_steps(jni, q, line);
    } else if (same(m, "pause")) {
        pause_now(jni, q, integer(member(line, "tid"), 0));
    } else if (same(m, "frames")) {
        pass_on(q, stop_of(integer(member(line, "tid"), 0)), line);
    } else if (same(m, "scopes") || same(m, "variables") || same(m, "evaluate") || same(m, "assign")) {
        pass_on(q, by_number(integer(member(line, "ref"), 0) >> 24), line);
    } else {
        return 0;
    }
    return 1;
}

void look_late(void) {
    for (int i = 0; i < STOPS; i++) {
        struct stop *s = &table[i];
        if (s->tid && s->since && now_ms() - s->since > LATE_MS) {
            s->since = 0;
            refuse(s->q, "cannot", "the expression has not come to an end in 5 s; it goes on");
        }
    }
}

void let_stops_go(JNIEnv *jni) {
    if (!agent.stops)
        return;
    clear_points(jni);
    for (int i = 0; i < STOPS; i++) {
        struct stop *s = &table[i];
        if (!s->tid)
            continue;
        s->how = 0;
        if (s->standing)
            lets(s);
        else
            steps(s->thread, 0);
    }
}

void JNICALL prepared(jvmtiEnv *ti, JNIEnv *jni, jthread thread, jclass c);

// stops_begin asks for what pausing needs. Another agent may have it: then threads cannot be paused.
void stops_begin(jvmtiEventCallbacks *calls, jvmtiCapabilities *can) {
    jvmtiCapabilities more;
    memcpy(&more, can, sizeof more);
    more.can_generate_breakpoint_events = more.can_generate_single_step_events = 1;
    more.can_access_local_variables = more.can_generate_frame_pop_events = 1;
    more.can_generate_exception_events = more.can_get_bytecodes = 1;
    if ((*agent.ti)->AddCapabilities(agent.ti, &more) != JVMTI_ERROR_NONE)
        return;
    agent.stops = 1;
    calls->ThreadEnd = ends;
    calls->ClassPrepare = prepared;
    steps_begin(calls);
}
