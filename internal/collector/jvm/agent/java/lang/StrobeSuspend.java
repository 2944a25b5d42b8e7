package java.lang;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import jdk.internal.misc.Unsafe;

/**
 * A call of a suspend function of Kotlin's from its begin to its end. The compiler makes a method of it that returns
 * COROUTINE_SUSPENDED when it waits, and is called again with its continuation when it goes on. What belongs together is
 * told by an object that is the same in all its legs: the continuation that waits for the call, or a lambda itself.
 */
final class StrobeSuspend {
    private static final Unsafe U = StrobeRecorder.U;

    final int number, era, lane; // lane 0: it is not recorded
    final StrobeLane home; // of the thread that the outermost began on; null: it began before it was traced
    private Object key; // while it runs
    StrobeSuspend outer; // while it runs: the one below it on its thread
    int before; // and the lane of who runs it
    private long since; // while it rests
    long rested;

    StrobeSuspend(int number, int era, int lane, StrobeLane home, Object key) {
        this.number = number;
        this.era = era;
        this.lane = lane;
        this.home = home;
        this.key = key;
    }

    /** There was no room for its begin. */
    boolean lost() {
        return lane == 0 && home != null;
    }

    // --- calls that rest; all by LOCK

    private static final ReferenceQueue<Object> GONE = new ReferenceQueue<>();
    private static final Object LOCK = new Object();
    private static Resting[] table = new Resting[64];
    private static int resting;

    /** A call that rests, until nobody can let it go on any more. */
    private static final class Resting extends WeakReference<Object> {
        final StrobeSuspend call;
        final int hash;
        Resting next;

        Resting(StrobeSuspend call, Object key) {
            super(key, GONE);
            this.call = call;
            hash = System.identityHashCode(key);
        }
    }

    void rest() {
        Object k = key;
        key = null;
        since = System.nanoTime();
        synchronized (LOCK) {
            for (Object gone; (gone = GONE.poll()) != null;) {
                unlink((Resting) gone);
            }
            if (resting > table.length) {
                grow();
            }
            Resting r = new Resting(this, k);
            int at = r.hash & table.length - 1;
            r.next = table[at];
            table[at] = r;
            resting++;
        }
    }

    private static void grow() {
        Resting[] more = new Resting[4 * table.length];
        for (Resting r : table) {
            while (r != null) {
                Resting next = r.next;
                int at = r.hash & more.length - 1;
                r.next = more[at];
                more[at] = r;
                r = next;
            }
        }
        table = more;
    }

    private static void unlink(Resting r) {
        int at = r.hash & table.length - 1;
        Resting before = null;
        for (Resting k = table[at]; k != null; before = k, k = k.next) {
            if (k == r) {
                if (before == null) {
                    table[at] = k.next;
                } else {
                    before.next = k.next;
                }
                resting--;
                return;
            }
        }
    }

    /** The call of a function that rests under a key and goes on now; null: there is none. */
    static StrobeSuspend wake(int number, int era, Object key) {
        int hash = System.identityHashCode(key);
        synchronized (LOCK) {
            for (Resting r = table[hash & table.length - 1]; r != null; r = r.next) {
                if (r.hash == hash && r.call.number == number && r.refersTo(key)) {
                    unlink(r);
                    r.clear();
                    StrobeSuspend s = r.call;
                    if (s.era != era) {
                        return null;
                    }
                    s.key = key;
                    s.rested += System.nanoTime() - s.since;
                    return s;
                }
            }
        }
        return null;
    }

    // --- what Kotlin's compiler makes

    private static final String INTERNAL = "kotlin.coroutines.jvm.internal.", BASE = INTERNAL + "BaseContinuationImpl";
    private static final String MARK = "kotlin.coroutines.intrinsics.CoroutineSingletons";

    /** Where the fields of a continuation's class are. */
    static final class Fields {
        Class<?> of;
        long label = -1, completion = -1;
    }

    private static final ClassValue<Fields> FIELDS = new ClassValue<>() {
        @Override
        protected Fields computeValue(Class<?> c) {
            Fields f = new Fields();
            try {
                f.label = U.objectFieldOffset(c, "label");
                for (Class<?> k = c; k != null; k = k.getSuperclass()) {
                    if (isBase(k)) {
                        f.completion = U.objectFieldOffset(k, "completion");
                    }
                }
            } catch (RuntimeException | InternalError e) {
                f.completion = -1;
            }
            return f;
        }
    };

    static boolean isBase(Class<?> c) {
        return c.getName().equals(BASE);
    }

    /** Whether a continuation's field is the compiler's own: where it goes on, and what it keeps until then. */
    static boolean isOwn(Class<?> c, String field) {
        int dollar = field.indexOf('$');
        return c.getName().startsWith(INTERNAL) || field.equals("label") || field.equals("result")
            || dollar == 1 && field.charAt(0) >= 'A' && field.charAt(0) <= 'Z';
    }

    /** Who waits for the call that a continuation goes on with; null: it does not go on, but is another call's. */
    static Object goesOn(Object continuation) {
        Fields f = FIELDS.get(continuation.getClass());
        if (f.completion < 0 || U.getInt(continuation, f.label) >= 0) {
            return null;
        }
        return U.getReference(continuation, f.completion);
    }

    /** Whether a suspend lambda has begun before. */
    static boolean hasBegun(Object lambda) {
        Fields f = FIELDS.get(lambda.getClass());
        return f.label >= 0 && U.getInt(lambda, f.label) != 0;
    }

    static boolean isMark(Object v) {
        return v instanceof Enum<?> e && e.ordinal() == 0 && v.getClass().getName().equals(MARK);
    }
}
