// The control socket: lines of JSON, both ways (docs/agentlink.md, Control).
#include "agent.h"

enum { FUTEX_WAIT = 128, FUTEX_WAKE = 129 }; // private ones
enum { ANSWER_MS = 20000 };

void lock(struct lock *l) {
    int free = 0;
    while (!__atomic_compare_exchange_n(&l->word, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        free = 0;
        await(&l->word, 1, 10);
    }
}

void unlock(struct lock *l) {
    __atomic_store_n(&l->word, 0, __ATOMIC_RELEASE);
    sys(SYS_FUTEX, &l->word, FUTEX_WAKE, 1);
}

void await(volatile int *word, int is, long ms) {
    long at[2] = {ms / 1000, ms % 1000 * 1000000};
    sys6(SYS_FUTEX, (long)word, FUTEX_WAIT, is, (long)at, 0, 0);
}

void wake(volatile int *word) { sys(SYS_FUTEX, word, FUTEX_WAKE, 1 << 30); }

long now_ms(void) {
    long t[2];
    sys(SYS_CLOCK_GETTIME, 1, t, 0);
    return t[0] * 1000 + t[1] / 1000000;
}

int connect_to(const char *folder) {
    struct {
        uint16_t family;
        char path[108];
    } to = {1, {0}};
    size_t n = length(folder);
    if (n + 9 > sizeof to.path)
        return -1;
    memcpy(to.path, folder, n);
    memcpy(to.path + n, "/control", 9);
    long fd = sys(SYS_SOCKET, 1, 1 | 02000000, 0); // a stream that no child has
    if (fd < 0)
        return -1;
    // Low numbers are the program's.
    long high = sys(SYS_FCNTL, fd, 1030, 700);
    if (high >= 0) {
        sys(SYS_CLOSE, fd, 0, 0);
        fd = high;
    }
    if (sys(SYS_CONNECT, fd, &to, sizeof to.family + n + 9) < 0) {
        sys(SYS_CLOSE, fd, 0, 0);
        return -1;
    }
    return (int)fd;
}

static struct lock writing;

int say(struct text *t) {
    int ok = !t->bad;
    add(t, "\n", 1);
    lock(&writing);
    for (size_t i = 0; ok && i < t->n;) {
        long n = sys6(SYS_SENDTO, agent.socket, (long)(t->b + i), (long)(t->n - i), 0x4000, 0, 0); // no signal
        if (n == -EINTR_ || n == -EAGAIN_)
            continue;
        ok = n > 0;
        i += ok ? (size_t)n : 0;
    }
    unlock(&writing);
    return ok;
}

static struct lock asking;
static struct ask *asks;
static long asked;

long begin_ask(struct ask *a) {
    memset(a, 0, sizeof *a);
    lock(&asking);
    a->n = ++asked;
    a->next = asks;
    asks = a;
    unlock(&asking);
    return a->n;
}

int ask_for(struct ask *a, struct text *question) {
    long until = now_ms() + ANSWER_MS;
    int ok = say(question);
    while (ok && !a->done && !agent.closed && now_ms() < until)
        await(&a->done, 0, 100);
    lock(&asking);
    for (struct ask **p = &asks; *p; p = &(*p)->next)
        if (*p == a) {
            *p = a->next;
            break;
        }
    unlock(&asking);
    return a->done && a->line.b && !a->line.bad;
}

void answers(long n, const char *line) {
    lock(&asking);
    for (struct ask *a = asks; a; a = a->next)
        if (a->n == n && !a->done) {
            put(&a->line, line);
            a->done = 1;
            wake(&a->done);
            break;
        }
    unlock(&asking);
}

// Messages that a thread of its own answers, since it may take a while, and classes are asked for meanwhile.
enum { QUEUE = 64 };
static struct lock queueing;
static struct text queue[QUEUE];
static int queued, taken;
static volatile int told; // changes with each message

static void enqueue(const char *line) {
    for (;;) {
        lock(&queueing);
        if (queued - taken < QUEUE) {
            struct text *t = &queue[queued % QUEUE];
            t->n = 0;
            put(t, line);
            queued++;
            told++;
            unlock(&queueing);
            wake(&told);
            return;
        }
        unlock(&queueing);
        if (agent.closed)
            return;
        await(&told, told, 10);
    }
}

// left_loop: the agent has left when both of its threads have.
static void left_loop(void) {
    static int left;
    if (__atomic_add_fetch(&left, 1, __ATOMIC_SEQ_CST) % 2 == 0) {
        taken = queued;
        agent.running = 0;
    }
}

void JNICALL read_loop(jvmtiEnv *ti, JNIEnv *jni, void *arg) {
    (void)ti, (void)jni, (void)arg;
    struct text in = {0};
    char chunk[16384];
    for (;;) {
        long n = sys(SYS_READ, agent.socket, chunk, sizeof chunk);
        if (n == -EINTR_)
            continue;
        if (n <= 0)
            break;
        add(&in, chunk, (size_t)n);
        size_t from = 0;
        for (size_t i = in.n - (size_t)n; !in.bad && i < in.n; i++) {
            if (in.b[i] != '\n')
                continue;
            in.b[i] = 0;
            char *line = in.b + from, m[16];
            from = i + 1;
            string(member(line, "m"), m, sizeof m);
            if (same(m, "class"))
                answers(integer(member(line, "n"), 0), line);
            else
                enqueue(line);
        }
        if (in.bad)
            break;
        memcpy(in.b, in.b + from, in.n - from);
        in.n -= from;
    }
    drop(&in);
    enqueue("{\"m\":\"bye\"}");
    left_loop();
}

static void applied(JNIEnv *jni, long q, int near) {
    struct text t = {0};
    put(&t, "{\"m\":\"applied\",\"q\":");
    number(&t, q);
    put(&t, ",\"gen\":");
    number(&t, agent.gen);
    put(&t, ",\"rules\":[],\"functions\":0");
    jlong cut = (*jni)->CallStaticLongMethod(jni, agent.recorder, agent.cut);
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    else if (cut) {
        put(&t, ",\"cut\":{\"calls\":");
        number(&t, cut >> 32);
        put(&t, ",\"functions\":");
        number(&t, cut & 0xffffffff);
        put(&t, ",\"most\":[]}");
    }
    say_points(jni, &t);
    if (near)
        near_names(jni, &t);
    put(&t, "}");
    say(&t);
    drop(&t);
}

void refuse(long q, const char *code, const char *message) {
    struct text t = {0};
    put(&t, "{\"m\":\"error\",\"q\":");
    number(&t, q);
    put(&t, ",\"code\":");
    quote(&t, code);
    put(&t, ",\"message\":");
    quote(&t, message);
    put(&t, "}");
    say(&t);
    drop(&t);
}

static int obey(JNIEnv *jni, const char *line) {
    char m[16];
    long q = integer(member(line, "q"), 0);
    string(member(line, "m"), m, sizeof m);
    if (same(m, "bye"))
        return 0;
    if (same(m, "set")) {
        take_rules(line);
        take_points(jni, line);
        reweave(jni, 0);
        place_points(jni);
        applied(jni, q, 1);
    } else if (same(m, "status")) {
        applied(jni, q, 1);
    } else if (same(m, "sync")) {
        struct text t = {0};
        put(&t, "{\"m\":\"synced\",\"q\":");
        number(&t, q);
        put(&t, "}");
        say(&t);
        drop(&t);
    } else if (same(m, "threads")) {
        tell_threads(jni, q);
    } else if (!obey_stops(jni, m, q, line) && q) {
        refuse(q, "cannot", "the agent of the JVM does not know this question");
    }
    return 1;
}

void JNICALL work_loop(jvmtiEnv *ti, JNIEnv *jni, void *arg) {
    (void)ti;
    struct text line = {0};
    for (int go = 1; go;) {
        int seen = told;
        lock(&queueing);
        int any = taken < queued;
        if (any) {
            line.n = 0;
            put(&line, queue[taken % QUEUE].b);
            taken++;
        }
        unlock(&queueing);
        if (any)
            go = obey(jni, line.b);
        else
            await(&told, seen, 500);
        look_late();
    }
    (void)arg;
    let_go(jni);
    sys(SYS_SHUTDOWN, agent.socket, 2, 0);
    sys(SYS_CLOSE, agent.socket, 0, 0);
    drop(&line);
    left_loop();
}
