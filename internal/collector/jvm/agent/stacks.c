// What threads do, as Java has it: their frames, what they wait for, and who has that.
#include "agent.h"

enum { FRAMES = 64 };

// note_thread keeps the kernel's number of a thread; it runs on that thread.
void JNICALL note_thread(jvmtiEnv *ti, JNIEnv *jni, jthread thread) {
    (void)jni;
    (*ti)->SetThreadLocalStorage(ti, thread, (void *)sys(SYS_GETTID, 0, 0, 0));
}

static int letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// shown_class writes a class's name as functions have it: internal/collector/jvm/names.go.
void shown_class(struct text *t, const char *sign) {
    size_t n = length(sign);
    if (n < 3 || sign[0] != 'L')
        return;
    for (size_t i = 1; i + 1 < n; i++) {
        char c = sign[i];
        int inner = c == '$' && i > 1 && sign[i - 1] != '$' && sign[i - 1] != '/' && letter(sign[i + 1]);
        add(t, c == '/' || inner ? "." : &sign[i], 1);
    }
}

// of_lambda tells of a class that the JVM has made for a lambda: it only leads to it.
int of_lambda(const char *sign) {
    for (; *sign; sign++)
        if (sign[0] == '$' && sign[1] == '$' && sign[2] == 'L' && sign[3] == 'a' && sign[4] == 'm')
            return 1;
    return 0;
}

void shown_method(struct text *t, const char *name) {
    if (same(name, "<init>")) {
        put(t, "new");
    } else if (same(name, "<clinit>")) {
        put(t, "static");
    } else if (length(name) > 7 && memcmp(name, "lambda$", 7) == 0) {
        const char *end = name + length(name);
        while (*end != '$')
            end--;
        if (end > name + 7)
            add(t, name + 7, (size_t)(end - name - 7));
        else
            end = name + 6;
        put(t, ".lambda");
        put(t, end);
    } else {
        put(t, name);
    }
}

jint line_of(jmethodID m, jlocation at) {
    jint n = 0, line = 0;
    jvmtiLineNumberEntry *table = NULL;
    if ((*agent.ti)->GetLineNumberTable(agent.ti, m, &n, &table) != JVMTI_ERROR_NONE)
        return 0;
    jlocation best = -1;
    for (jint i = 0; i < n; i++)
        if (table[i].start_location <= at && table[i].start_location > best) {
            best = table[i].start_location;
            line = table[i].line_number;
        }
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)table);
    return line;
}

int place_of(JNIEnv *jni, jmethodID method, jlocation at, struct place *p) {
    char *name = NULL, *sign = NULL, *file = NULL;
    jclass c = NULL;
    jvmtiEnv *ti = agent.ti;
    memset(p, 0, sizeof *p);
    if ((*ti)->GetMethodName(ti, method, &name, NULL, NULL) == JVMTI_ERROR_NONE &&
        (*ti)->GetMethodDeclaringClass(ti, method, &c) == JVMTI_ERROR_NONE &&
        (*ti)->GetClassSignature(ti, c, &sign, NULL) == JVMTI_ERROR_NONE) {
        p->ours = begins(sign, "Ljava/lang/Strobe");
        p->hidden = p->ours || of_lambda(sign);
        jobject loader = loader_of(c);
        p->system = is_system(jni, loader);
        (*jni)->DeleteLocalRef(jni, loader);
        shown_class(&p->function, sign);
        put(&p->function, ".");
        shown_method(&p->function, name);
        put(&p->file, "");
        if ((*ti)->GetSourceFileName(ti, c, &file) == JVMTI_ERROR_NONE)
            source_path(&p->file, sign, file);
        p->line = line_of(method, at);
    }
    (*ti)->Deallocate(ti, (unsigned char *)name);
    (*ti)->Deallocate(ti, (unsigned char *)sign);
    (*ti)->Deallocate(ti, (unsigned char *)file);
    (*jni)->DeleteLocalRef(jni, c);
    return p->function.n > 0;
}

void drop_place(struct place *p) {
    drop(&p->function);
    drop(&p->file);
}

// source_path is a class's source as it is told: the package's folder and the file's name.
void source_path(struct text *t, const char *sign, const char *file) {
    size_t slash = length(sign);
    while (slash > 0 && sign[slash] != '/')
        slash--;
    add(t, sign + 1, slash);
    put(t, file);
}

// say_place writes the members of a place, without braces.
void say_place(struct text *t, struct place *p) {
    put(t, "\"function\":");
    quote(t, p->function.b);
    put(t, ",\"file\":");
    quote(t, p->file.b);
    put(t, ",\"line\":");
    number(t, p->line);
}

// say_stack writes frames, innermost first. Of the JDK's own above the program's only the outermost is of use.
static void say_stack(JNIEnv *jni, struct text *t, const jvmtiStackInfo *s) {
    struct place p[FRAMES];
    jint n = s->frame_count, first = 0, told = 0;
    for (jint i = 0; i < n; i++)
        if (!place_of(jni, s->frame_buffer[i].method, s->frame_buffer[i].location, &p[i]))
            p[i].hidden = 1;
    while (first < n - 1 && p[first].system && p[first + 1].system)
        first++;
    for (jint i = 0; i < n; i++) {
        if (!p[i].hidden && (i >= first || first == n - 1)) {
            put(t, told++ ? ",{" : "{");
            say_place(t, &p[i]);
            put(t, p[i].system ? ",\"system\":true}" : "}");
        }
        drop_place(&p[i]);
    }
}

void thread_name(JNIEnv *jni, jthread thread, struct text *t) {
    jvmtiThreadInfo info;
    memset(&info, 0, sizeof info);
    if ((*agent.ti)->GetThreadInfo(agent.ti, thread, &info) == JVMTI_ERROR_NONE) {
        put(t, info.name);
        (*agent.ti)->Deallocate(agent.ti, (unsigned char *)info.name);
        (*jni)->DeleteLocalRef(jni, info.thread_group);
        (*jni)->DeleteLocalRef(jni, info.context_class_loader);
    }
}

static void say_text(JNIEnv *jni, struct text *t, jobject string) {
    const char *b = string ? (*jni)->GetStringUTFChars(jni, string, NULL) : NULL;
    if (b) {
        put(t, b);
        (*jni)->ReleaseStringUTFChars(jni, string, b);
    }
    (*jni)->ExceptionClear(jni);
    (*jni)->DeleteLocalRef(jni, string);
}

// say_owner tells of the thread that has what another one waits for: the kernel's number, and the name where that does
// not know it.
static void say_owner(JNIEnv *jni, jclass threads, jthread owner, struct text *t) {
    void *tid = NULL;
    (*agent.ti)->GetThreadLocalStorage(agent.ti, owner, &tid);
    jmethodID number_of = (*jni)->GetStaticMethodID(jni, threads, "number", "(Ljava/lang/Thread;)J");
    long virtual = number_of ? (*jni)->CallStaticLongMethod(jni, threads, number_of, owner) : 0;
    (*jni)->ExceptionClear(jni);
    put(t, ",\"owner\":");
    number(t, virtual ? virtual : (long)tid);
    if (virtual || !tid) {
        struct text name = {0};
        thread_name(jni, owner, &name);
        put(t, ",\"held\":");
        quote(t, name.b ? name.b : "");
        drop(&name);
    }
}

static jthread owner_of_monitor(JNIEnv *jni, jobject monitor) {
    jvmtiMonitorUsage usage;
    jvmtiEnv *ti = agent.ti;
    memset(&usage, 0, sizeof usage);
    if ((*ti)->GetObjectMonitorUsage(ti, monitor, &usage) != JVMTI_ERROR_NONE)
        return NULL;
    for (jint i = 0; i < usage.waiter_count; i++)
        (*jni)->DeleteLocalRef(jni, usage.waiters[i]);
    for (jint i = 0; i < usage.notify_waiter_count; i++)
        (*jni)->DeleteLocalRef(jni, usage.notify_waiters[i]);
    (*ti)->Deallocate(ti, (unsigned char *)usage.waiters);
    (*ti)->Deallocate(ti, (unsigned char *)usage.notify_waiters);
    return usage.owner;
}

// joins tells whether a thread that waits for an object stands in Thread.join.
static int joins(const jvmtiStackInfo *s) {
    int is = 0;
    for (jint i = 0; i < s->frame_count && i < 4; i++) {
        char *name = NULL;
        if ((*agent.ti)->GetMethodName(agent.ti, s->frame_buffer[i].method, &name, NULL, NULL) == JVMTI_ERROR_NONE)
            is |= same(name, "join");
        (*agent.ti)->Deallocate(agent.ti, (unsigned char *)name);
    }
    return is;
}

// of_monitor tells of the object that a thread wants to enter, or waits at; newer JVMs do not say the latter.
static void of_monitor(JNIEnv *jni, jclass threads, const jvmtiStackInfo *s, struct text *t) {
    jobject monitor = NULL, owner = NULL;
    char *sign = NULL;
    int enters = (s->state & JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER) != 0;
    if ((*agent.ti)->GetCurrentContendedMonitor(agent.ti, s->thread, &monitor) != JVMTI_ERROR_NONE)
        monitor = NULL;
    jclass thread = (*jni)->FindClass(jni, "java/lang/Thread");
    int joined = !enters && joins(s) && (!monitor || (thread && (*jni)->IsInstanceOf(jni, monitor, thread)));
    put(t, enters ? ",\"kind\":\"mutex\"" : joined ? ",\"kind\":\"join\"" : ",\"kind\":\"condvar\"");
    if (monitor) {
        jclass c = (*jni)->GetObjectClass(jni, monitor);
        struct text on = {0};
        if (!joined && (*agent.ti)->GetClassSignature(agent.ti, c, &sign, NULL) == JVMTI_ERROR_NONE)
            shown_class(&on, sign);
        put(t, ",\"on\":");
        quote(t, on.b ? on.b : "");
        drop(&on);
        (*agent.ti)->Deallocate(agent.ti, (unsigned char *)sign);
        (*jni)->DeleteLocalRef(jni, c);
        owner = joined ? (*jni)->NewLocalRef(jni, monitor) : enters ? owner_of_monitor(jni, monitor) : NULL;
        if (owner)
            say_owner(jni, threads, owner, t);
    }
    (*jni)->DeleteLocalRef(jni, owner);
    (*jni)->DeleteLocalRef(jni, thread);
    (*jni)->DeleteLocalRef(jni, monitor);
}

static void of_park(JNIEnv *jni, jclass threads, jthread thread, struct text *t) {
    jmethodID what = (*jni)->GetStaticMethodID(jni, threads, "parked", "(Ljava/lang/Thread;)Ljava/lang/String;");
    jmethodID who = (*jni)->GetStaticMethodID(jni, threads, "owner", "(Ljava/lang/Thread;)Ljava/lang/Thread;");
    if (!what || !who)
        return;
    say_text(jni, t, (*jni)->CallStaticObjectMethod(jni, threads, what, thread));
    jobject owner = (*jni)->CallStaticObjectMethod(jni, threads, who, thread);
    (*jni)->ExceptionClear(jni);
    if (owner)
        say_owner(jni, threads, owner, t);
    (*jni)->DeleteLocalRef(jni, owner);
}

// say_wait tells what a thread waits for.
static void say_wait(JNIEnv *jni, jclass threads, const jvmtiStackInfo *s, struct text *t) {
    if (s->state & (JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER | JVMTI_THREAD_STATE_IN_OBJECT_WAIT))
        of_monitor(jni, threads, s, t);
    else if (s->state & JVMTI_THREAD_STATE_SLEEPING)
        put(t, ",\"kind\":\"sleep\"");
    else if (s->state & JVMTI_THREAD_STATE_PARKED)
        of_park(jni, threads, s->thread, t);
    else if (s->state & JVMTI_THREAD_STATE_RUNNABLE && !(s->state & JVMTI_THREAD_STATE_IN_NATIVE))
        put(t, ",\"runs\":true");
    if (s->state & (JVMTI_THREAD_STATE_WAITING_WITH_TIMEOUT | JVMTI_THREAD_STATE_SLEEPING))
        put(t, ",\"timed\":true");
}

// say_virtual tells of virtual threads, which JVMTI does not list.
static void say_virtual(JNIEnv *jni, jclass threads, struct text *t) {
    jmethodID list = (*jni)->GetStaticMethodID(jni, threads, "virtual", "()Ljava/lang/String;");
    size_t from = t->n;
    if (list)
        say_text(jni, t, (*jni)->CallStaticObjectMethod(jni, threads, list));
    if (!t->bad && t->n > from && from > 0 && t->b[from - 1] == '[')
        t->b[from] = ' '; // there is no other one before it
}

// tell_threads answers threads. Threads of the JVM's own, which began before us, have no number and are left out.
void tell_threads(JNIEnv *jni, long q) {
    jvmtiStackInfo *all = NULL;
    jint n = 0, told = 0;
    struct text t = {0};
    jclass threads = (*jni)->FindClass(jni, "java/lang/StrobeThreads");
    put(&t, "{\"m\":\"threads\",\"q\":");
    number(&t, q);
    put(&t, ",\"threads\":[");
    if ((*agent.ti)->GetAllStackTraces(agent.ti, FRAMES, &all, &n) != JVMTI_ERROR_NONE || !threads)
        n = 0;
    for (jint i = 0; i < n; i++) {
        void *tid = NULL;
        struct text name = {0};
        (*agent.ti)->GetThreadLocalStorage(agent.ti, all[i].thread, &tid);
        if (tid) {
            thread_name(jni, all[i].thread, &name);
            put(&t, told++ ? ",{\"tid\":" : "{\"tid\":");
            number(&t, (long)tid);
            put(&t, ",\"name\":");
            quote(&t, name.b ? name.b : "");
            say_wait(jni, threads, &all[i], &t);
            put(&t, ",\"frames\":[");
            say_stack(jni, &t, &all[i]);
            put(&t, "]}");
        }
        drop(&name);
        (*jni)->DeleteLocalRef(jni, all[i].thread);
    }
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)all);
    if (threads)
        say_virtual(jni, threads, &t);
    (*jni)->DeleteLocalRef(jni, threads);
    put(&t, "]}");
    say(&t);
    drop(&t);
}
