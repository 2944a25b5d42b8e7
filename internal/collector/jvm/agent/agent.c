// The agent's start: by -agentpath:…=FOLDER, before any class of the program.
#include "agent.h"

struct agent agent = {.socket = -1, .on_full = 'w'};

// The recorder's classes: name, bytes, and where these end. classes.S has them.
struct embedded {
    const char *name;
    const uint8_t *from, *to;
};
extern const struct embedded embedded[];

static void nap(void) {
    long ms[2] = {0, 10000000};
    sys(SYS_NANOSLEEP, ms, 0, 0);
}

// start_recorder: a library that is loaded late has its natives found when its loading has ended.
static int start_recorder(JNIEnv *jni) {
    jmethodID start = (*jni)->GetStaticMethodID(jni, agent.recorder, "start", "()V");
    for (int i = 0; start && i < 300; i++) {
        (*jni)->CallStaticVoidMethod(jni, agent.recorder, start);
        if (!(*jni)->ExceptionCheck(jni))
            return 1;
        (*jni)->ExceptionClear(jni);
        nap();
    }
    return 0;
}

static int define_recorder(JNIEnv *jni) {
    if (agent.recorder)
        return start_recorder(jni); // it stays, once it is there
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
    agent.define = (*jni)->GetStaticMethodID(jni, agent.recorder, "define", "([B)V");
    agent.stop = (*jni)->GetStaticMethodID(jni, agent.recorder, "stop", "()V");
    agent.cut = (*jni)->GetStaticMethodID(jni, agent.recorder, "cut", "()J");
    return agent.define && agent.stop && agent.cut && start_recorder(jni);
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

static int start_thread(JNIEnv *jni, const char *name, jvmtiStartFunction run) {
    jclass c = (*jni)->FindClass(jni, "java/lang/Thread");
    jmethodID make = c ? (*jni)->GetMethodID(jni, c, "<init>", "(Ljava/lang/String;)V") : NULL;
    jstring s = make ? (*jni)->NewStringUTF(jni, name) : NULL;
    jobject thread = s ? (*jni)->NewObject(jni, c, make, s) : NULL;
    int ok = thread && (*agent.ti)->RunAgentThread(agent.ti, thread, run, NULL, JVMTI_THREAD_NORM_PRIORITY) ==
                           JVMTI_ERROR_NONE;
    (*jni)->ExceptionClear(jni);
    return ok;
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

static void leave_file(const char *name, const char *says) {
    struct text path = {0};
    put(&path, agent.folder);
    put(&path, name);
    long fd = path.bad ? -1 : sys(SYS_OPEN, path.b, 01 | 0100 | 02000000, 0600); // write, create
    if (fd >= 0) {
        sys(SYS_WRITE, fd, says, length(says));
        sys(SYS_CLOSE, fd, 0, 0);
    }
    drop(&path);
}

// begin is the agent's own start. 0: it does not stay.
static int begin(jvmtiEnv *ti, JNIEnv *jni) {
    struct text start = {0}, path = {0};
    int ok = 0;
    put(&path, agent.folder);
    put(&path, "/start.json");
    read_file(path.b, &start);
    agent.socket = start.n && !start.bad ? connect_to(agent.folder) : -1;
    if (agent.socket < 0)
        goto out; // nobody is there: nothing happens
    (*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_THREAD_START, NULL);
    name_process();
    if (!agent.platform)
        find_platform(jni);
    if (!define_recorder(jni)) {
        (*jni)->ExceptionClear(jni);
        sys(SYS_CLOSE, agent.socket, 0, 0);
        goto out;
    }
    ok = 1;
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
    return ok;
}

static void JNICALL began(jvmtiEnv *ti, JNIEnv *jni, jthread thread) {
    note_thread(ti, jni, thread);
    agent.running = begin(ti, jni);
}

static void JNICALL died(jvmtiEnv *ti, JNIEnv *jni) {
    (void)ti, (void)jni;
    agent.dying = 1;
}

// ask_powers gets what is needed of the JVM. 0: it does not give it.
static int ask_powers(JavaVM *vm, int from_start) {
    jvmtiEnv *ti = NULL;
    if ((*vm)->GetEnv(vm, (void **)&ti, JVMTI_VERSION_11) != JNI_OK)
        return 0;
    jvmtiCapabilities can, may;
    memset(&can, 0, sizeof can);
    memset(&may, 0, sizeof may);
    (*ti)->GetPotentialCapabilities(ti, &may);
    can.can_retransform_classes = 1;
    can.can_get_source_file_name = can.can_get_line_numbers = 1;
    can.can_get_bytecodes = may.can_get_bytecodes;
    can.can_get_current_contended_monitor = may.can_get_current_contended_monitor; // not of a JVM that runs
    can.can_get_monitor_info = may.can_get_monitor_info;
    jvmtiEventCallbacks calls;
    memset(&calls, 0, sizeof calls);
    calls.VMInit = began;
    calls.VMDeath = died;
    calls.ThreadStart = note_thread;
    calls.ClassFileLoadHook = class_hook;
    if ((*ti)->AddCapabilities(ti, &can) != JVMTI_ERROR_NONE)
        return 0;
    agent.vm = vm;
    agent.ti = ti;
    if (from_start)
        stops_begin(&calls, &can);
    return (*ti)->SetEventCallbacks(ti, &calls, sizeof calls) == JVMTI_ERROR_NONE &&
           (*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, NULL) == JVMTI_ERROR_NONE;
}

static int take_folder(const char *options) {
    size_t n = options ? length(options) : 0;
    if (n == 0 || n >= sizeof agent.folder)
        return 0;
    memcpy(agent.folder, options, n + 1);
    return 1;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    if (take_folder(options) && ask_powers(vm, 1)) // else the program runs, whatever we lack
        (*agent.ti)->SetEventNotificationMode(agent.ti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL);
    return JNI_OK;
}

static void JNICALL come_late(jvmtiEnv *ti, JNIEnv *jni, void *arg) {
    (void)arg;
    if ((agent.running = begin(ti, jni)))
        return;
    leave_file("/refused", "its recorder cannot be loaded: another version of it may be there");
}

// Agent_OnAttach is called in a JVM that runs: for the first time, or again when the agent has left.
JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    JNIEnv *jni = NULL;
    for (int i = 0; agent.running && i < 300; i++) // it is only just leaving
        nap();
    if (agent.running || !take_folder(options))
        return JNI_ERR;
    leave_file("/inside", "");
    agent.closed = 0;
    agent.running = 1;
    if ((*vm)->GetEnv(vm, (void **)&jni, JNI_VERSION_10) == JNI_OK && (agent.ti || ask_powers(vm, 0)) &&
        start_thread(jni, "strobe-agent", come_late))
        return JNI_OK;
    agent.running = 0;
    leave_file("/refused", "the JVM does not give the agent what it needs");
    return JNI_OK;
}
