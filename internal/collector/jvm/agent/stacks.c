// What threads do, as Java has it: their frames, and who has the monitor that one waits for.
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

static void frame(JNIEnv *jni, struct text *t, const jvmtiFrameInfo *f) {
    struct place p;
    if (place_of(jni, f->method, f->location, &p) && !p.hidden) {
        put(t, "{");
        say_place(t, &p);
        put(t, "},");
    }
    drop_place(&p);
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

// waits says which monitor a thread is kept out of, and by whom.
static void waits(JNIEnv *jni, jthread thread, jint state, struct text *t) {
    jobject monitor = NULL;
    jvmtiMonitorUsage usage;
    char *sign = NULL;
    jvmtiEnv *ti = agent.ti;
    if (!(state & JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER) ||
        (*ti)->GetCurrentContendedMonitor(ti, thread, &monitor) != JVMTI_ERROR_NONE || !monitor)
        return;
    jclass c = (*jni)->GetObjectClass(jni, monitor);
    put(t, "waits for the monitor of ");
    if ((*ti)->GetClassSignature(ti, c, &sign, NULL) == JVMTI_ERROR_NONE)
        shown_class(t, sign);
    memset(&usage, 0, sizeof usage);
    if ((*ti)->GetObjectMonitorUsage(ti, monitor, &usage) == JVMTI_ERROR_NONE && usage.owner) {
        put(t, ", which thread \"");
        thread_name(jni, usage.owner, t);
        put(t, "\" has");
        (*jni)->DeleteLocalRef(jni, usage.owner);
        for (jint i = 0; i < usage.waiter_count; i++)
            (*jni)->DeleteLocalRef(jni, usage.waiters[i]);
        for (jint i = 0; i < usage.notify_waiter_count; i++)
            (*jni)->DeleteLocalRef(jni, usage.notify_waiters[i]);
        (*ti)->Deallocate(ti, (unsigned char *)usage.waiters);
        (*ti)->Deallocate(ti, (unsigned char *)usage.notify_waiters);
    }
    (*ti)->Deallocate(ti, (unsigned char *)sign);
    (*jni)->DeleteLocalRef(jni, c);
    (*jni)->DeleteLocalRef(jni, monitor);
}

// tell_threads answers threads. Threads of the JVM's own, which began before us, have no number and are left out.
void tell_threads(JNIEnv *jni, long q) {
    jvmtiStackInfo *all = NULL;
    jint n = 0, told = 0;
    struct text t = {0};
    put(&t, "{\"m\":\"threads\",\"q\":");
    number(&t, q);
    put(&t, ",\"threads\":[");
    if ((*agent.ti)->GetAllStackTraces(agent.ti, FRAMES, &all, &n) != JVMTI_ERROR_NONE)
        n = 0;
    for (jint i = 0; i < n; i++) {
        void *tid = NULL;
        struct text name = {0}, why = {0};
        (*agent.ti)->GetThreadLocalStorage(agent.ti, all[i].thread, &tid);
        if (tid) {
            thread_name(jni, all[i].thread, &name);
            waits(jni, all[i].thread, all[i].state, &why);
            put(&t, told++ ? ",{\"tid\":" : "{\"tid\":");
            number(&t, (long)tid);
            put(&t, ",\"name\":");
            quote(&t, name.b ? name.b : "");
            put(&t, ",\"waits\":");
            quote(&t, why.b ? why.b : "");
            put(&t, ",\"frames\":[");
            for (jint k = 0; k < all[i].frame_count; k++)
                frame(jni, &t, &all[i].frame_buffer[k]);
            if (!t.bad && t.b[t.n - 1] == ',')
                t.n--;
            put(&t, "]}");
        }
        drop(&name);
        drop(&why);
        (*jni)->DeleteLocalRef(jni, all[i].thread);
    }
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)all);
    put(&t, "]}");
    say(&t);
    drop(&t);
}
