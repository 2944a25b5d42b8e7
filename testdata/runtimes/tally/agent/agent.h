/* Strobe's agent in Tally: speaks docs/agentlink.md. Everything here runs with the interpreter's lock held, but for
 * what says otherwise, so that it needs no lock of its own. It never prints, and no fault of its own reaches
 * the program. */
#ifndef AGENT_H
#define AGENT_H

#include "../interpreter/tally.h"

/* Text that grows. */
struct out { char *b; size_t n, room; };

void put_raw(struct out *o, const char *b, size_t n);
void put(struct out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
void put_text(struct out *o, const char *b, size_t n); /* as JSON has it */
void put_name(struct out *o, const char *s);
/* A value, as deep as asked, in as many bytes as a payload may have. */
void put_value(struct out *o, struct value v, int depth);
void put_slots(struct out *o, struct frame *f, int from, int to, int depth);
bool json_read(const char *text, struct value *v);
int64_t json_int(struct value m, const char *key);
const char *json_text(struct value m, const char *key); /* "" where there is none */

enum record_kind { FUNCTION_TOLD = 1, LANE_TOLD, ENTER, EXIT, YIELD, LOST, CRASH, LOG, END_TOLD, NEXT = 255 };
enum { THROWN = 1 };
enum step { NO_STEP, OVER, INTO, OUT, TO_LINE };

/* What a paused thread is to evaluate. */
struct request { int64_t q; struct frame *f; char *text, *name, *expression; int depth; bool assigns; };

struct lost { uint32_t enters, exits; };

/* What the agent keeps of a thread. */
struct mine {
	struct thread *thread;
	int number, sequence;     /* of the stream and its segment */
	char *map;
	size_t position, limit, size;
	int lane;
	bool lane_told, dropping, quiet; /* quiet: it runs for the agent */
	uint64_t looked;
	struct lost *lost;        /* by function */
	int lost_room;
	bool loses;
	struct out payload;
	/* pauses */
	int64_t pause;            /* its number, 0: it does not stand */
	bool asked, go;
	enum step step;
	int step_depth, step_line;
	struct frame *step_frame;
	char *step_id, *step_file;
	struct request *request;
	uint64_t deadline;        /* of the request */
	bool late;                /* it was given up */
	struct mine *next;
};

extern char agent_folder[400], agent_prefix[64], agent_root[4200];
extern enum on_full { WAIT, DROP, HOLD } agent_on_full;
extern bool agent_closed;
extern struct value agent_rules, agent_points;
extern struct mine *all_mine;

uint64_t now_ns(void);
struct mine *mine_of(struct thread *t);

/* files.c */
void files_open(void);
void files_close(struct thread *t);
void on_enter(struct thread *t, struct frame *f);
void on_leave(struct thread *t, struct frame *f);
void on_thread_ends(struct thread *t);
bool write_record(struct mine *m, enum record_kind kind, int flags, uint32_t fn, const char *payload, size_t n,
	bool force);
bool tell_lane(struct mine *m);

/* rules.c */
void rules_apply(void);
void put_rules(struct out *o); /* what applied says of them */
bool glob_matches(const char *glob, const char *text, char separator);
bool names_match(const char *glob, struct function *fn);
bool is_user(struct function *fn);

/* points.c */
void points_set(struct value points);
void points_place(void);
void put_points(struct out *o);
void on_statement(struct thread *t, struct frame *f, struct node *n);
void on_returned(struct thread *t, struct frame *f);
void on_raised(struct thread *t);
struct value evaluate(struct mine *m, struct frame *f, const char *text, char **error);

/* pauses.c */
void stand(struct mine *m, struct frame *f, const char *point, const char *reason, int64_t hit, const char *note,
	struct frame *returned);
void let_go(struct mine *m);
void let_all_go(void);
void pauses_forked(void);
void pauses_late(void); /* gives up requests that take too long */
bool pauses_answer(const char *m, int64_t q, struct value message);
void put_frames(struct out *o, struct frame *f, int most, int *more, bool locals);
void answer_threads(int64_t q);

/* agent.c */
void say(struct out *o); /* a message, whose memory is given back */
void say_error(int64_t q, const char *code, const char *message);

#endif
