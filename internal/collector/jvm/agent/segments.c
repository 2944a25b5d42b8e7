// Natives of the recorder: segments of streams, and what else cannot be done in Java without running code that may be
// traced. The JVM finds them by their names: binding them in the class of its own would have it print a warning.
#include "agent.h"

static const long sizes[] = {128 << 10, 1 << 20, 4 << 20};
enum { AHEAD = 16, PATIENCE_MS = 20000, STREAMS = 4096 };

static int out_of_patience[STREAMS]; // by stream: the segment, and one, for which was waited in vain

static void path_of(struct text *t, int stream, int q, const char *ending) {
    t->n = 0;
    put(t, agent.folder);
    put(t, "/");
    put(t, agent.prefix);
    put(t, "-");
    number(t, stream);
    put(t, "-");
    number(t, q);
    put(t, ending);
}

static int there(struct text *path) { return !path->bad && sys(SYS_ACCESS, path->b, 0, 0) == 0; }

// may_open waits until the reader has come near enough, as was asked.
static int may_open(struct text *path, int stream, int q) {
    if (q < AHEAD)
        return 1;
    path_of(path, stream, q - AHEAD, ".ev");
    if (!there(path))
        return 1;
    int *tired = &out_of_patience[stream % STREAMS];
    if (agent.on_full == 'd' || (agent.on_full == 'w' && *tired == q + 1))
        return 0;
    long from = now_ms();
    while (there(path)) {
        if (agent.closed)
            return 0;
        if (agent.on_full == 'w' && now_ms() - from > PATIENCE_MS) {
            *tired = q + 1;
            return 0;
        }
        long ms[2] = {0, 1000000};
        sys(SYS_NANOSLEEP, ms, 0, 0);
    }
    return 1;
}

JNIEXPORT jlong JNICALL Java_java_lang_StrobeRecorder_turn(JNIEnv *jni, jclass c, jint stream, jint q, jboolean force) {
    (void)jni, (void)c;
    struct text path = {0}, temporary = {0};
    jlong at = 0;
    if (agent.closed || (!force && !may_open(&path, stream, q)))
        goto out;
    path_of(&path, stream, q, ".ev");
    path_of(&temporary, stream, q, ".tmp");
    if (path.bad || temporary.bad)
        goto out;
    long size = sizes[q < 2 ? q : 2];
    long fd = sys(SYS_OPEN, temporary.b, 02 | 0100 | 0200 | 02000000, 0600); // rdwr, creat, excl, cloexec
    if (fd < 0)
        goto out;
    long p = -1;
    if (sys6(SYS_FALLOCATE, fd, 0, 0, size, 0, 0) == 0)
        p = sys6(SYS_MMAP, 0, size, 3, q ? 1 | 0x8000 : 1, fd, 0); // shared; a busy stream has its pages at once
    sys(SYS_CLOSE, fd, 0, 0);
    if (p < 0 && p > -4096) {
        sys(SYS_UNLINK, temporary.b, 0, 0);
        goto out;
    }
    memcpy((void *)p, "strobe1\n", 8);
    *(uint32_t *)(p + 8) = (uint32_t)size;
    if (sys(SYS_RENAME, temporary.b, path.b, 0) < 0) {
        sys(SYS_MUNMAP, p, size, 0);
        sys(SYS_UNLINK, temporary.b, 0, 0);
        goto out;
    }
    at = p;
out:
    drop(&path);
    drop(&temporary);
    return at;
}

JNIEXPORT void JNICALL Java_java_lang_StrobeRecorder_close(JNIEnv *jni, jclass c, jlong at, jlong size) {
    (void)jni, (void)c;
    sys(SYS_MUNMAP, at, size, 0);
}

JNIEXPORT jint JNICALL Java_java_lang_StrobeRecorder_tid(JNIEnv *jni, jclass c) {
    (void)jni, (void)c;
    return (jint)sys(SYS_GETTID, 0, 0, 0);
}

// own tells fields that are of objects and that a source has: Groovy's compiler gives each object its class in a
// transient one. Captured variables are synthetic, too, but not transient.
static int own(jint modifiers) {
    const jint statics = 0x8, transient = 0x80, synthetic = 0x1000;
    return !(modifiers & statics) && (modifiers & (transient | synthetic)) != (transient | synthetic);
}

JNIEXPORT jobjectArray JNICALL Java_java_lang_StrobeRecorder_fields(JNIEnv *jni, jclass c, jclass of) {
    (void)c;
    jint n = 0, kept = 0;
    jfieldID *ids = NULL;
    jclass string = (*jni)->FindClass(jni, "java/lang/String");
    if (!string || (*agent.ti)->GetClassFields(agent.ti, of, &n, &ids) != JVMTI_ERROR_NONE)
        n = 0;
    jobjectArray all = string ? (*jni)->NewObjectArray(jni, 2 * n, string, NULL) : NULL;
    for (jint i = 0; all && i < n; i++) {
        char *name = NULL, *type = NULL;
        jint modifiers = 0;
        if ((*agent.ti)->GetFieldModifiers(agent.ti, of, ids[i], &modifiers) == JVMTI_ERROR_NONE && own(modifiers) &&
            (*agent.ti)->GetFieldName(agent.ti, of, ids[i], &name, &type, NULL) == JVMTI_ERROR_NONE) {
            jstring a = (*jni)->NewStringUTF(jni, name), b = a ? (*jni)->NewStringUTF(jni, type) : NULL;
            if (b) {
                (*jni)->SetObjectArrayElement(jni, all, kept++, a);
                (*jni)->SetObjectArrayElement(jni, all, kept++, b);
            }
            (*jni)->DeleteLocalRef(jni, a);
            (*jni)->DeleteLocalRef(jni, b);
        }
        (*agent.ti)->Deallocate(agent.ti, (unsigned char *)name);
        (*agent.ti)->Deallocate(agent.ti, (unsigned char *)type);
    }
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)ids);
    if (!all || kept == 2 * n)
        return all;
    jobjectArray fewer = (*jni)->NewObjectArray(jni, kept, string, NULL);
    for (jint i = 0; fewer && i < kept; i++) {
        jobject one = (*jni)->GetObjectArrayElement(jni, all, i);
        (*jni)->SetObjectArrayElement(jni, fewer, i, one);
        (*jni)->DeleteLocalRef(jni, one);
    }
    return fewer;
}

JNIEXPORT jobjectArray JNICALL Java_java_lang_StrobeRecorder_trace(JNIEnv *jni, jclass c, jthrowable e) {
    (void)c;
    jclass throwable = (*jni)->FindClass(jni, "java/lang/Throwable");
    jmethodID ours = throwable ? (*jni)->GetMethodID(jni, throwable, "getOurStackTrace",
                                                     "()[Ljava/lang/StackTraceElement;") : NULL;
    if (!ours)
        return NULL;
    return (*jni)->CallNonvirtualObjectMethod(jni, e, throwable, ours);
}
