// Classes: which are asked for, and changed as strobe answers.
#include "agent.h"

static struct lock setting;
static struct rules now, incoming, changed;

// Names of classes that are woven, by a hash of them. Two with one hash are asked for once too often.
enum { TABLE = 1 << 18 };
static uint64_t woven[TABLE];
static int woven_count;

static uint64_t hash(const char *s) {
    uint64_t h = 1469598103934665603u;
    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 1099511628211u;
    return h | 1;
}

int is_woven(const char *name) {
    if (woven_count > TABLE / 2)
        return 1; // nobody knows any more
    for (uint64_t h = hash(name), i = h;; i++) {
        if (woven[i % TABLE] == h)
            return 1;
        if (!woven[i % TABLE])
            return 0;
    }
}

static void note_woven(const char *name) {
    if (woven_count > TABLE / 2)
        return;
    for (uint64_t h = hash(name), i = h;; i++) {
        if (woven[i % TABLE] == h)
            return;
        if (!woven[i % TABLE]) {
            woven[i % TABLE] = h;
            woven_count++;
            return;
        }
    }
}

void take_rules(const char *set) {
    char full[16];
    string(member(set, "onFull"), full, sizeof full);
    lock(&setting);
    read_rules(&incoming, set);
    differing(&changed, &now, &incoming);
    memcpy(&now, &incoming, sizeof now);
    agent.gen = integer(member(set, "gen"), 0);
    agent.on_full = full[0] == 'd' || full[0] == 'b' ? full[0] : 'w';
    unlock(&setting);
}

int is_system(JNIEnv *jni, jobject loader) {
    return !loader || (agent.platform && (*jni)->IsSameObject(jni, loader, agent.platform));
}

// of_threads is changed always: it tells of exceptions that nobody caught, and of threads' ends.
static int of_threads(const char *name) { return same(name, "java/lang/Thread"); }

// location is where a class came from: "file:/path".
static void location(JNIEnv *jni, jobject domain, struct text *t) {
    if (!domain || (*jni)->ExceptionCheck(jni) || (*jni)->PushLocalFrame(jni, 16) != 0)
        return;
    jclass pd = (*jni)->FindClass(jni, "java/security/ProtectionDomain");
    jclass cs = pd ? (*jni)->FindClass(jni, "java/security/CodeSource") : NULL;
    jclass url = cs ? (*jni)->FindClass(jni, "java/net/URL") : NULL;
    jmethodID source = url ? (*jni)->GetMethodID(jni, pd, "getCodeSource", "()Ljava/security/CodeSource;") : NULL;
    jmethodID where = source ? (*jni)->GetMethodID(jni, cs, "getLocation", "()Ljava/net/URL;") : NULL;
    jmethodID protocol = where ? (*jni)->GetMethodID(jni, url, "getProtocol", "()Ljava/lang/String;") : NULL;
    jmethodID path = protocol ? (*jni)->GetMethodID(jni, url, "getPath", "()Ljava/lang/String;") : NULL;
    jobject code = path ? (*jni)->CallObjectMethod(jni, domain, source) : NULL;
    jobject u = code && !(*jni)->ExceptionCheck(jni) ? (*jni)->CallObjectMethod(jni, code, where) : NULL;
    for (int i = 0; u && i < 2; i++) {
        jstring s = (*jni)->CallObjectMethod(jni, u, i ? path : protocol);
        const char *c = s && !(*jni)->ExceptionCheck(jni) ? (*jni)->GetStringUTFChars(jni, s, NULL) : NULL;
        if (c) {
            put(t, i ? ":" : "");
            put(t, c);
            (*jni)->ReleaseStringUTFChars(jni, s, c);
        }
    }
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    (*jni)->PopLocalFrame(jni, NULL);
}

// define hands what the recorder is to know of methods to it. 0: it does not.
static int define(JNIEnv *jni, const uint8_t *b, size_t n) {
    if (n == 0)
        return 1;
    jthrowable pending = (*jni)->ExceptionOccurred(jni);
    (*jni)->ExceptionClear(jni);
    jbyteArray all = (*jni)->NewByteArray(jni, (jsize)n);
    if (all) {
        (*jni)->SetByteArrayRegion(jni, all, 0, (jsize)n, (const jbyte *)b);
        (*jni)->CallStaticVoidMethod(jni, agent.recorder, agent.define, all);
        (*jni)->DeleteLocalRef(jni, all);
    }
    int ok = all && !(*jni)->ExceptionCheck(jni);
    (*jni)->ExceptionClear(jni);
    if (pending) {
        (*jni)->Throw(jni, pending);
        (*jni)->DeleteLocalRef(jni, pending);
    }
    return ok;
}

// take makes an answer's class the one that is loaded.
static void take(JNIEnv *jni, const char *name, struct ask *a, jint *new_size, unsigned char **new_data) {
    const char *line = a->line.b, *bytes = member(line, "bytes");
    size_t room = a->line.n;
    long memory = sys6(SYS_MMAP, 0, (long)room, 3, 0x22, -1, 0);
    if (memory < 0 && memory > -4096)
        return;
    uint8_t *b = (uint8_t *)memory;
    size_t n = unbase64(member(line, "define"), b, room);
    if (define(jni, b, n) && bytes) {
        n = unbase64(bytes, b, room);
        unsigned char *to = NULL;
        if (n > 0 && (*agent.ti)->Allocate(agent.ti, (jlong)n, &to) == JVMTI_ERROR_NONE) {
            memcpy(to, b, n);
            *new_data = to;
            *new_size = (jint)n;
            lock(&setting);
            note_woven(name);
            unlock(&setting);
        }
    }
    sys(SYS_MUNMAP, b, room, 0);
}

static void failed(const char *name, jvmtiError e) {
    struct text t = {0};
    put(&t, "{\"m\":\"failed\",\"name\":");
    quote(&t, name);
    put(&t, ",\"error\":");
    number(&t, e);
    put(&t, "}");
    say(&t);
    drop(&t);
}

void JNICALL class_hook(jvmtiEnv *ti, JNIEnv *jni, jclass was, jobject loader, const char *name, jobject domain,
                        jint size, const unsigned char *data, jint *new_size, unsigned char **new_data) {
    (void)ti;
    if (agent.closed || agent.dying || !name || size <= 0)
        return;
    int system = is_system(jni, loader);
    lock(&setting);
    int ask = of_threads(name) || wanted(&now, name, system) || (was && is_woven(name));
    unlock(&setting);
    if (!ask)
        return;
    struct text q = {0}, from = {0};
    struct ask a;
    long n = begin_ask(&a);
    put(&q, "{\"m\":\"class\",\"n\":");
    number(&q, n);
    put(&q, ",\"name\":");
    quote(&q, name);
    put(&q, system ? ",\"system\":true" : ",\"system\":false");
    if (!system)
        location(jni, domain, &from);
    put(&q, ",\"location\":");
    quote(&q, from.b && !from.bad ? from.b : "");
    put(&q, ",\"bytes\":\"");
    base64(&q, data, (size_t)size);
    put(&q, "\"}");
    if (ask_for(&a, &q))
        take(jni, name, &a, new_size, new_data);
    else if (!agent.closed && !agent.dying)
        failed(name, JVMTI_ERROR_NONE); // the class is what it was
    drop(&a.line);
    drop(&q);
    drop(&from);
}

// class_name writes a class's name with slashes; 0: it is none that could be changed.
static int class_name(jclass c, char *to, size_t room) {
    char *sign = NULL;
    jboolean can = 0;
    if ((*agent.ti)->GetClassSignature(agent.ti, c, &sign, NULL) != JVMTI_ERROR_NONE)
        return 0;
    size_t n = length(sign);
    int ok = n > 2 && sign[0] == 'L' && n - 1 < room;
    if (ok) {
        memcpy(to, sign + 1, n - 2);
        to[n - 2] = 0;
    }
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)sign);
    return ok && (*agent.ti)->IsModifiableClass(agent.ti, c, &can) == JVMTI_ERROR_NONE && can;
}

static void retransform(jint n, jclass *all) {
    if (n == 0 || (*agent.ti)->RetransformClasses(agent.ti, n, all) == JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < n; i++) { // one that cannot be changed keeps none of the others from it
        char name[1024];
        jvmtiError e = (*agent.ti)->RetransformClasses(agent.ti, 1, &all[i]);
        if (e != JVMTI_ERROR_NONE && class_name(all[i], name, sizeof name))
            failed(name, e);
    }
}

jobject loader_of(jclass c) {
    jobject loader = NULL;
    (*agent.ti)->GetClassLoader(agent.ti, c, &loader);
    return loader;
}

// reweave changes classes that are loaded already: those for which something changed, or all that are woven.
void reweave(JNIEnv *jni, int all) {
    enum { BATCH = 128 };
    jint n = 0, kept = 0;
    jclass *classes = NULL, batch[BATCH];
    if ((*agent.ti)->GetLoadedClasses(agent.ti, &n, &classes) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < n; i++) {
        char name[1024];
        if (class_name(classes[i], name, sizeof name)) {
            jobject loader = loader_of(classes[i]);
            lock(&setting);
            int is = all ? is_woven(name) : wanted(&changed, name, is_system(jni, loader));
            unlock(&setting);
            (*jni)->DeleteLocalRef(jni, loader);
            if (is) {
                batch[kept++] = classes[i];
                if (kept == BATCH) {
                    retransform(kept, batch);
                    kept = 0;
                }
            }
        }
    }
    retransform(kept, batch);
    for (jint i = 0; i < n; i++)
        (*jni)->DeleteLocalRef(jni, classes[i]);
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)classes);
}

// let_go makes every class what it was.
void let_go(JNIEnv *jni) {
    agent.closed = 1;
    let_stops_go(jni);
    (*jni)->CallStaticVoidMethod(jni, agent.recorder, agent.stop);
    (*jni)->ExceptionClear(jni);
    reweave(jni, 1);
    (*agent.ti)->SetEventNotificationMode(agent.ti, JVMTI_DISABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, NULL);
    lock(&setting);
    memset(&now, 0, sizeof now); // the next one begins anew
    unlock(&setting);
}

static int name_rules(void) {
    lock(&setting);
    int any = 0;
    for (int i = 0; i < now.n; i++)
        any |= now.of[i].on == 'n' && !now.of[i].not;
    unlock(&setting);
    return any;
}

// near_names lists methods that may have been meant.
void near_names(JNIEnv *jni, struct text *t) {
    jint n = 0, said = 0;
    jclass *classes = NULL;
    if (!name_rules() || (*agent.ti)->GetLoadedClasses(agent.ti, &n, &classes) != JVMTI_ERROR_NONE)
        return;
    put(t, ",\"near\":[");
    for (jint i = 0; i < n; i++) {
        char name[1024];
        jobject loader = loader_of(classes[i]);
        if (said < 2000 && !is_system(jni, loader) && class_name(classes[i], name, sizeof name)) {
            jint methods = 0;
            jmethodID *ids = NULL;
            if ((*agent.ti)->GetClassMethods(agent.ti, classes[i], &methods, &ids) == JVMTI_ERROR_NONE)
                for (jint k = 0; k < methods && said < 2000; k++) {
                    char *method = NULL;
                    if ((*agent.ti)->GetMethodName(agent.ti, ids[k], &method, NULL, NULL) == JVMTI_ERROR_NONE) {
                        struct text whole = {0};
                        put(&whole, name);
                        put(&whole, ".");
                        put(&whole, method);
                        put(t, said++ ? "," : "");
                        quote(t, whole.b);
                        drop(&whole);
                    }
                    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)method);
                }
            (*agent.ti)->Deallocate(agent.ti, (unsigned char *)ids);
        }
        (*jni)->DeleteLocalRef(jni, loader);
        (*jni)->DeleteLocalRef(jni, classes[i]);
    }
    put(t, "]");
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)classes);
}
