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
    jmethodID define, stop;
    jobject platform; // the platform class loader
    int socket;       // -1: none
    volatile int closed; // nothing is woven any more
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

// stacks.c: what threads do.
void JNICALL note_thread(jvmtiEnv *ti, JNIEnv *jni, jthread thread);
void tell_threads(JNIEnv *jni, long q);

#endif
