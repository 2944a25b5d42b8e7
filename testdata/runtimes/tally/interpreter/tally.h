/* An interpreter of a little language, Tally: functions, records, lists, maps, exceptions, threads. It is what
 * docs/extending.md adds a runtime for. Values are never given back: programs in it are short. */
#ifndef TALLY_H
#define TALLY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_VERSION "1.4.0"
#define MAX_PARAMS 16

enum tag { NONE, TRUTH, INT, FLOAT, TEXT, BYTES, LIST, MAP, RECORD, FUNCTION, KIND, BUILTIN, MODULE, FOREIGN, UNSET };

struct value {
	enum tag tag;
	union {
		bool truth;
		int64_t i;
		double f;
		struct text *text; /* and of BYTES */
		struct list *list;
		struct map *map;
		struct record *record;
		struct closure *closure;
		struct kind *kind;
		const struct builtin *builtin;
		struct module *module;
		struct foreign *foreign;
	};
};

struct text { size_t n; char b[]; };
struct list { size_t n, room; struct value *v; };
struct pair { struct value k, v; };
struct map { size_t n, room; struct pair *e; };
struct kind { struct text *name; struct list fields, methods; }; /* texts; functions */
struct record { struct kind *kind; struct value f[]; };
struct closure { struct function *fn; struct frame *outer; };
struct foreign { void *call; const char *name; };

struct thread;
struct frame;

struct builtin { const char *name; struct value (*call)(struct thread *t, int n, struct value *args); };

struct module {
	struct text *name, *path, *source;
	struct list names;      /* of globals, texts */
	struct value *globals;  /* with room for max_globals */
	struct function *body;
	struct node **statements; /* in their order in the file */
	size_t statement_count, statement_room;
	struct module *next;
};

struct function {
	struct text *name;      /* with the module's and of those that have it: shop.Order.total */
	struct module *module;
	struct function *within; /* the one that has it in its text; NULL: the module's body has it */
	int number, line, params, required;
	size_t from, to;        /* of its text in the source */
	bool rest, getter, inner; /* the last parameter is a list of all others; has functions in it */
	struct list locals;     /* names, parameters first */
	struct value *defaults; /* of parameters behind the required ones */
	struct node *body, *first; /* the first statement */
	struct function *next;
	volatile char seen;     /* the agent wants its calls */
	char told;              /* the agent has told of it */
	int depth;              /* of its values, the agent's */
};

struct node {
	int op, line, slot, hops;
	volatile char stop;     /* the agent wants to know when this statement begins */
	struct value value;
	struct node *a, *b, *c;
	struct node **list;
	int n;
	struct function *fn;    /* of a statement: whose; of a function: itself */
};

struct frame {
	struct function *fn;
	struct frame *caller, *outer;
	struct value *slots;
	struct node *at;        /* the statement that runs */
	int depth;
	char entered;           /* the agent has written its enter */
	char hidden;            /* of a handler of watch, or of an expression of the agent */
};

enum state { GOES, RETURNS, THROWS, BREAKS, CONTINUES };

struct thread {
	pthread_t id;
	int tid, tries;         /* try statements that it is in */
	struct text *name;
	struct frame *top;
	enum state state;
	struct value result;    /* what is returned or thrown */
	struct value work, args;
	bool done;
	const char *outside;    /* what it waits for without the lock */
	volatile char stops;    /* the agent wants to know of every statement */
	struct text *trace;     /* where what nobody will catch was thrown */
	void *agent;
	struct thread *next;
};

/* What an agent hears. All are called with the lock held, on the thread that they are about. */
struct hooks {
	void (*enter)(struct thread *, struct frame *);
	void (*leave)(struct thread *, struct frame *);               /* state and result say how */
	void (*statement)(struct thread *, struct frame *, struct node *);
	void (*returned)(struct thread *, struct frame *);            /* behind leave, of threads with stops */
	void (*raised)(struct thread *);                              /* what result has; tries: who will catch it */
	void (*loaded)(struct module *);
	void (*forked)(struct thread *);                              /* in the child */
	void (*thread_ends)(struct thread *);
	void (*ends)(struct thread *);                                /* the process, or before exec */
};

extern struct hooks *volatile tally_hooks;
extern struct module *tally_modules;
extern struct function *tally_functions;
extern int tally_function_count;
extern struct thread *tally_threads;
extern struct kind *tally_type_error;
extern struct value tally_watcher;

/* The lock: who has it runs Tally code, or looks at what that has. */
void tally_lock(void);
void tally_unlock(void);
void tally_yield(void);
void tally_lock_forked(void);
void tally_outside(struct thread *t, const char *what);
void tally_inside(struct thread *t);
struct thread *tally_thread_new(struct text *name);
struct thread *tally_self(void);

struct text *text_new(const char *b, size_t n);
struct text *text_of(const char *s);
struct value textv(const char *s);
struct value intv(int64_t i);
struct value listv(void);
struct value mapv(void);
void list_push(struct list *l, struct value v);
struct value *map_at(struct map *m, struct value k);
void map_set(struct map *m, struct value k, struct value v);
struct value map_text(struct value m, const char *key); /* NONE where there is none, or it is no map */
bool same(struct value a, struct value b);
bool holds(struct value v);
struct value shown(struct value v, bool quoted); /* as text, with no code of the program */
const char *type_name(struct value v);
struct function *method_of(struct kind *k, struct text *name);
void thrown(struct thread *t);
struct kind *kind_standard(const char *name);
struct value error_new(struct thread *t, const char *kind, const char *format, ...);
struct kind *kind_new(const char *name);

struct module *parse_module(const char *path, char **error);
struct node *parse_expression(struct function *scope, const char *text, char **error);
struct module *module_load(struct thread *t, const char *name, const char *beside);

struct value eval(struct thread *t, struct frame *f, struct node *n);
struct value call_value(struct thread *t, struct value callee, int n, struct value *args);
struct value *variable(struct frame *f, struct node *n);
bool assign_to(struct thread *t, struct frame *f, struct node *to, struct value v);
struct value run_module(struct thread *t, struct module *m);
extern const struct builtin tally_builtins[];
extern char **tally_arguments;
extern struct module *tally_main;

/* For who comes in while a program runs. */
int tally_start_thread(void (*run)(void *), void *argument);
int tally_load_agent(const char *path, const char *folder, const char *amid);

#endif
