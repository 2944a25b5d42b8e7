// The agent's start: by -agentpath:…=FOLDER, before any class of the program.
#include "agent.h"

struct agent agent = {.socket = -1, .on_full = 'w'};

// The recorder's classes: name, bytes, and where these end. classes.S has them.
struct embedded {
    const char *name;
    const uint8_t *from, *to;
};
extern const struct embedded embedded[];

static int define_recorder(JNIEnv *jni) {
    for (const struct embedded *e = embedded; e->name; e++) {
        jclass c = (*jni)->DefineClass(jni, e->name, NULL, (const jbyte *)e->from, (jsize)(e->to - e->from));
        if (!c && same(e->name, "java/lang/StrobeCarrier")) {
            (*jni)->ExceptionClear(jni); // a JDK without virtual threads
            continue;
        }
        if (!c)
            return 0;
        if (same(e->name, "java/lang/StrobeRecorder"))
            agent.recorder = (*jni)->NewGlobalRef(jni, c);
        (*jni)->DeleteLocalRef(jni, c);
    }
    if (!agent.recorder)
        return 0;
    jmethodID start = (*jni)->GetStaticMethodID(jni, agent.recorder, "start", "()V");
    agent.define = (*jni)->GetStaticMethodID(jni, agent.recorder, "define", "([B)V");
    agent.stop = (*jni)->GetStaticMethodID(jni, agent.recorder, "stop", "()V");
    if (!start || !agent.define || !agent.stop)
        return 0;
    (*jni)->CallStaticVoidMethod(jni, agent.recorder, start);
    return !(*jni)->ExceptionCheck(jni);
}

static void find_platform(JNIEnv *jni) {
    jclass c = (*jni)->FindClass(jni, "java/lang/ClassLoader");
    jmethodID m = c ? (*jni)->GetStaticMethodID(jni, c, "getPlatformClassLoader", "()Ljava/lang/ClassLoader;") : NULL;
    jobject platform = m ? (*jni)->CallStaticObjectMethod(jni, c, m) : NULL;
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    else if (platform)
        agent.platform = (*jni)->NewGlobalRef(jni, platform);
}

static void start_thread(JNIEnv *jni, const char *name, jvmtiStartFunction run) {
    jclass c = (*jni)->FindClass(jni, "java/lang/Thread");
    jmethodID make = c ? (*jni)->GetMethodID(jni, c, "<init>", "(Ljava/lang/String;)V") : NULL;
    jstring s = make ? (*jni)->NewStringUTF(jni, name) : NULL;
    jobject thread = s ? (*jni)->NewObject(jni, c, make, s) : NULL;
    if (thread)
        (*agent.ti)->RunAgentThread(agent.ti, thread, run, NULL, JVMTI_THREAD_NORM_PRIORITY);
    (*jni)->ExceptionClear(jni);
}

static void property(struct text *t, const char *name) {
    char *v = NULL;
    if ((*agent.ti)->GetSystemProperty(agent.ti, name, &v) != JVMTI_ERROR_NONE)
        v = NULL;
    for (char *c = v; c && *c; c++)
        if (*c == '+')
            *c-- = 0; // of a version: what was built, and when
    quote(t, v ? v : "");
    (*agent.ti)->Deallocate(agent.ti, (unsigned char *)v);
}

static void read_file(const char *path, struct text *t) {
    char chunk[4096];
    long fd = sys(SYS_OPEN, path, 02000000, 0);
    for (long n; fd >= 0 && (n = sys(SYS_READ, fd, chunk, sizeof chunk)) > 0;)
        add(t, chunk, (size_t)n);
    if (fd >= 0)
        sys(SYS_CLOSE, fd, 0, 0);
}

static void hello(void) {
    struct text t = {0}, args = {0};
    char exe[1024];
    long n = sys(SYS_READLINK, "/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = 0;
    put(&t, "{\"m\":\"hello\",\"v\":1,\"runtime\":\"jvm\",\"version\":");
    property(&t, "java.vm.version");
    put(&t, ",\"pid\":");
    number(&t, sys(SYS_GETPID, 0, 0, 0));
    put(&t, ",\"ppid\":");
    number(&t, sys(SYS_GETPPID, 0, 0, 0));
    put(&t, ",\"nonce\":");
    const char *nonce = agent.prefix;
    while (*nonce++ != '-') {
    }
    quote(&t, nonce);
    put(&t, ",\"exe\":");
    quote(&t, exe);
    put(&t, ",\"argv\":[");
    read_file("/proc/self/cmdline", &args);
    for (size_t i = 0; !args.bad && i < args.n; i += length(args.b + i) + 1) {
        put(&t, i ? "," : "");
        quote(&t, args.b + i);
    }
    put(&t, "],\"backend\":");
    property(&t, "java.vm.name");
    put(&t, agent.stops ? ",\"can\":[\"trace\",\"points\"]}" : ",\"can\":[\"trace\"]}");
    say(&t);
    drop(&t);
    drop(&args);
}

static void name_process(void) {
    uint8_t random[8] = {0};
    struct text t = {0};
    sys(SYS_GETRANDOM, random, sizeof random, 0);
    number(&t, sys(SYS_GETPID, 0, 0, 0));
    put(&t, "-");
    for (int i = 0; i < 8; i++) {
        char d[2] = {"0123456789abcdef"[random[i] >> 4], "0123456789abcdef"[random[i] & 15]};
        add(&t, d, 2);
    }
    if (t.n < sizeof agent.prefix)
        memcpy(agent.prefix, t.b, t.n + 1);
    drop(&t);
}

static void JNICALL began(jvmtiEnv *ti, JNIEnv *jni, jthread thread) {
    struct text start = {0}, path = {0};
    put(&path, agent.folder);
    put(&path, "/start.json");
    read_file(path.b, &start);
    agent.socket = start.n && !start.bad ? connect_to(agent.folder) : -1;
    if (agent.socket < 0)
        goto out; // nobody is there: nothing happens
    note_thread(ti, jni, thread);
    (*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_THREAD_START, NULL);
    name_process();
    find_platform(jni);
    if (!define_recorder(jni)) {
        (*jni)->ExceptionClear(jni);
        sys(SYS_CLOSE, agent.socket, 0, 0);
        goto out;
    }
    take_rules(start.b);
    stops_ready(jni);
    take_points(jni, start.b);
    hello();
    start_thread(jni, "strobe-agent", read_loop);
    (*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, NULL);
    jclass threads = (*jni)->FindClass(jni, "java/lang/Thread");
    if (threads)
        (*ti)->RetransformClasses(ti, 1, &threads);
    reweave(jni, 0);
    place_points(jni);
    struct text t = {0};
    put(&t, "{\"m\":\"applied\",\"gen\":");
    number(&t, agent.gen);
    put(&t, ",\"rules\":[],\"functions\":0");
    say_points(jni, &t);
    put(&t, "}");
    say(&t);
    drop(&t);
    start_thread(jni, "strobe-agent", work_loop);
out:
    drop(&start);
    drop(&path);
}

static void JNICALL died(jvmtiEnv *ti, JNIEnv *jni) {
    (void)ti, (void)jni;
    agent.dying = 1;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    size_t n = options ? length(options) : 0;
    jvmtiEnv *ti = NULL;
    if (n == 0 || n >= sizeof agent.folder || (*vm)->GetEnv(vm, (void **)&ti, JVMTI_VERSION_11) != JNI_OK)
        return JNI_OK; // the program runs, whatever we lack
    memcpy(agent.folder, options, n + 1);
    agent.vm = vm;
    agent.ti = ti;
    jvmtiCapabilities can;
    memset(&can, 0, sizeof can);
    can.can_retransform_classes = 1;
    can.can_get_source_file_name = can.can_get_line_numbers = 1;
    can.can_get_current_contended_monitor = can.can_get_monitor_info = 1;
    jvmtiEventCallbacks calls;
    memset(&calls, 0, sizeof calls);
    calls.VMInit = began;
    calls.VMDeath = died;
    calls.ThreadStart = note_thread;
    calls.ClassFileLoadHook = class_hook;
    if ((*ti)->AddCapabilities(ti, &can) != JVMTI_ERROR_NONE)
        return JNI_OK;
    stops_begin(&calls, &can);
    if ((*ti)->SetEventCallbacks(ti, &calls, sizeof calls) != JVMTI_ERROR_NONE)
        return JNI_OK;
    (*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL);
    (*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, NULL);
    return JNI_OK;
}
