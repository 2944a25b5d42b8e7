// The agent of the JVM: a JVMTI library. What the files share.
//
// It uses no C library: what it needs of the system it asks of the kernel, and memory too. Loops are bounded, or wait
// in system calls; threads of the program that wait here are in native code for the JVM, which waits for none of them.
#ifndef STROBE_AGENT_H
#define STROBE_AGENT_H
#include <jvmti.h>

#include "rules.h"
#include "sys.h"

struct agent {
    JavaVM *vm;
    jvmtiEnv *ti;
    jclass recorder; // java.lang.StrobeRecorder
    jmethodID define, stop, cut;
    int stops;        // threads can be paused
    jobject platform; // the platform class loader
    int socket;       // -1: none
    volatile int closed; // nothing is woven any more
    volatile int running; // it has not left yet
    volatile int dying;  // nor here, but calls are recorded to the end
    char folder[512], prefix[64]; // of the session; P-N of segments' names
    volatile char on_full;        // w, d, b: docs/agentlink.md, Segments
    long gen;
};
extern struct agent agent;

// A lock of one word.
struct lock { volatile int word; };
void lock(struct lock *l);
void unlock(struct lock *l);
void await(volatile int *word, int is, long ms); // until it may be something else
void wake(volatile int *word);
long now_ms(void);

// link.c: the socket.
int connect_to(const char *folder);
int say(struct text *t); // a line; 0: nobody hears it
void answers(long n, const char *line);
struct ask {
    long n;
    volatile int done;
    struct text line;
    struct ask *next;
};
int ask_for(struct ask *a, struct text *question); // 1: a->line is the answer
long begin_ask(struct ask *a);
void end_asks(void);
void JNICALL read_loop(jvmtiEnv *ti, JNIEnv *jni, void *arg);
void JNICALL work_loop(jvmtiEnv *ti, JNIEnv *jni, void *arg);

// classes.c: classes that are loaded or changed.
void take_rules(const char *set);
void reweave(JNIEnv *jni, int all);
void JNICALL class_hook(jvmtiEnv *ti, JNIEnv *jni, jclass was, jobject loader, const char *name, jobject domain,
                        jint size, const unsigned char *data, jint *new_size, unsigned char **new_data);
void let_go(JNIEnv *jni);
void near_names(JNIEnv *jni, struct text *t);
int is_system(JNIEnv *jni, jobject loader);
int is_woven(const char *name); // the setting's lock is not needed where a wrong answer does no harm
jobject loader_of(jclass c);

// stacks.c: what threads do.
void JNICALL note_thread(jvmtiEnv *ti, JNIEnv *jni, jthread thread);
void tell_threads(JNIEnv *jni, long q);
struct place {
    struct text function, file;
    jint line;
    int system, hidden, ours; // of the JDK's; no frame to show; of the recorder's
};
int place_of(JNIEnv *jni, jmethodID method, jlocation at, struct place *p); // 0: nothing is known of it
void drop_place(struct place *p);
void say_place(struct text *t, struct place *p);
void source_path(struct text *t, const char *sign, const char *file);
void shown_class(struct text *t, const char *sign);
void shown_method(struct text *t, const char *name);
int of_lambda(const char *sign);
jint line_of(jmethodID m, jlocation at);
void thread_name(JNIEnv *jni, jthread thread, struct text *t);

// points.c: breakpoints and logpoints, and where they are.
enum { POINTS = 64, EXPRESSION = 1024 };
struct point {
    char id[64], function[GLOB], file[512], condition[EXPRESSION], message[EXPRESSION], error[256];
    long line, count, tid;
    char exceptions; // a: all, u: those that nobody catches
    char once;       // a step's, to a line
    long met, hits;  // with the condition; and with the count
    int failed;      // it was told that it raises
};
void take_points(JNIEnv *jni, const char *set);
void place_points(JNIEnv *jni); // where they are in what is loaded now
void say_points(JNIEnv *jni, struct text *t);
uint64_t points_at(jmethodID m, jlocation at); // a bit for each
uint64_t points_of_exceptions(char kind);
int point_now(int i, struct point *copy);
long met(int i, const char *id, const struct point *p, int *hit); // counts; *hit: it takes effect
void point_failed(int i, const char *id);
int until_line(JNIEnv *jni, const char *id, const char *file, long line, long tid); // 1: it has a place
void forget_until(JNIEnv *jni, const char *id);
void clear_points(JNIEnv *jni);
jlocation own_begin(jmethodID m);
int method_woven(jmethodID m); // its class is

// stops.c: threads that stand, and steps. look.c: what is asked of them.
enum { REQUESTS = 8 };
struct stop {
    volatile long tid; // 0: the row is free
    volatile int turn; // changes with what is asked, and when it is to go on
    volatile int standing, going, busy;
    long n;
    jthread thread;
    jobject refs; // a StrobeStop
    char how;     // of the step under way: o, i, u, l; p: it is to pause; 0: none
    char id[64];  // of the step
    jint depth, line;
    jmethodID method, passed, skip_m; // of the step's frame; that needs no look; where a point is not to pause again
    jlocation last, skip_at;
    int system, thrown;
    struct lock lock;
    struct text requests[REQUESTS];
    int queued, taken;
    volatile long since, q; // of what is answered now, where that runs the program's code
};
void stops_begin(jvmtiEventCallbacks *calls, jvmtiCapabilities *can);
void stops_ready(JNIEnv *jni);
struct stop *stop_of(long tid);
struct stop *make_row(JNIEnv *jni, long tid, jthread thread); // NULL: there is none left
void free_row(JNIEnv *jni, struct stop *s);
long my_tid(void);
void steps(jthread thread, int on);
// stand holds the thread until it is let go.
void stand(JNIEnv *jni, jthread thread, const char *id, const char *reason, long hit, const char *note);
int obey_stops(JNIEnv *jni, const char *m, long q, const char *line); // 0: it is no question about them
void look_late(void);                                             // tells of what takes too long
void let_stops_go(JNIEnv *jni);
// steps.c: points that threads come to, and steps.
void steps_begin(jvmtiEventCallbacks *calls);
void begin_step(JNIEnv *jni, struct stop *s);
void serve(JNIEnv *jni, struct stop *s, const char *line);
int look_ready(JNIEnv *jni);
enum { VARIABLES = 200 };
struct variables { // of a frame, as they stand in the StrobeFrame
    int n, arguments;
    jint slots[VARIABLES];
    char types[VARIABLES];
};
jobject frame_at(JNIEnv *jni, jint depth, struct variables *v); // a StrobeFrame of this thread
jobject make_refs(JNIEnv *jni);
void shown_frame(JNIEnv *jni, jobject frame, struct text *t);
int holds(JNIEnv *jni, jobject frame, const struct point *p, struct place *at);
int says(JNIEnv *jni, jobject frame, const struct point *p, struct place *at);
int wrong(JNIEnv *jni, const char *text, int message, char *to, size_t room);
void say_frames(JNIEnv *jni, struct stop *s, struct text *t, long from, long n, int refs, long *total);
void refuse(long q, const char *code, const char *message);

#endif
