package java.lang;

import java.util.HashMap;
import java.util.concurrent.locks.LockSupport;
import jdk.internal.vm.ThreadContainer;
import jdk.internal.vm.ThreadContainers;

/** What threads wait for, and which virtual ones there are. It runs on a thread of the agent's library. */
final class StrobeThreads {
    private static final int LOOKED = 20_000, ROWS = 40, FRAMES = 24;
    private static final String LOCKS = "java.util.concurrent.locks.";

    private final HashMap<String, int[]> counts = new HashMap<>(); // rows by what they say: their place, and threads
    private final String[] names = new String[ROWS], rows = new String[ROWS];
    private int kept, looked, more;

    private StrobeThreads() { }

    /** Members that say what a thread is parked for: kind and on; an empty text where it does not say it. */
    static String parked(Thread t) {
        Object blocker = LockSupport.getBlocker(t);
        if (blocker == null) {
            return ",\"kind\":\"park\"";
        }
        String c = StrobeLayout.shown(blocker.getClass().getName());
        String kind = "park";
        if (c.endsWith("ConditionObject") || c.endsWith("ConditionNode")) {
            return ",\"kind\":\"condvar\"";
        } else if (c.startsWith("java.util.concurrent.CountDownLatch")) {
            kind = "latch";
        } else if (c.startsWith("java.util.concurrent.Semaphore")) {
            kind = "semaphore";
        } else if (c.startsWith("java.util.concurrent.FutureTask")
            || c.startsWith("java.util.concurrent.CompletableFuture")) {
            kind = "future";
        } else if (c.startsWith(LOCKS) || holder(blocker) != null) {
            kind = "mutex";
        }
        if (c.endsWith("Sync") && c.lastIndexOf('.') > 0) {
            c = c.substring(0, c.lastIndexOf('.'));
        }
        StringBuilder b = new StringBuilder(",\"kind\":\"").append(kind).append("\",\"on\":");
        quote(b, c);
        return b.toString();
    }

    /** The thread that has the lock which another one is parked for; null: there is none, or nobody says. */
    static Thread owner(Thread parked) {
        return holder(LockSupport.getBlocker(parked));
    }

    private static Thread holder(Object lock) {
        Class<?> c = java.util.concurrent.locks.AbstractOwnableSynchronizer.class;
        if (!c.isInstance(lock)) {
            return null;
        }
        return (Thread) StrobeRecorder.U.getReference(lock, StrobeRecorder.U.objectFieldOffset(c, "exclusiveOwnerThread"));
    }

    /** A thread's number where it is a virtual one, which the kernel does not know, below zero; else 0. */
    static long number(Thread t) {
        return StrobeRecorder.isVirtual(t) ? -t.getId() : 0;
    }

    /** How a virtual thread is called. */
    static String name(Thread t) {
        String name = t.getName();
        return "virtual " + t.getId() + (name.isEmpty() ? "" : " " + name);
    }

    /** Rows of virtual threads, each behind a comma; such as do the same share one. Threads that have not begun have none. */
    static String virtual() {
        if (StrobeRecorder.VIRTUAL == null) {
            return "";
        }
        StrobeThreads all = new StrobeThreads();
        all.add(ThreadContainers.root(), 0);
        return all.text();
    }

    private void add(ThreadContainer c, int depth) {
        for (Object t : c.threads().toArray()) {
            if (StrobeRecorder.isVirtual((Thread) t)) {
                add((Thread) t);
            }
        }
        for (Object child : c.children().toArray()) {
            if (depth < 64) {
                add((ThreadContainer) child, depth + 1);
            }
        }
    }

    private void add(Thread t) {
        if (looked == LOOKED) {
            more++;
            return;
        }
        looked++;
        StackTraceElement[] frames = t.getStackTrace();
        if (frames.length == 0) {
            return;
        }
        StringBuilder b = new StringBuilder();
        Thread owner = null;
        switch (t.getState()) {
            case RUNNABLE -> b.append(",\"runs\":true");
            case BLOCKED -> b.append(",\"kind\":\"mutex\"");
            case TIMED_WAITING -> b.append(frames[0].getMethodName().startsWith("sleep")
                ? ",\"kind\":\"sleep\",\"timed\":true" : parked(t) + ",\"timed\":true");
            default -> {
                owner = owner(t);
                b.append(parked(t));
            }
        }
        if (owner != null) {
            b.append(",\"held\":");
            quote(b, StrobeRecorder.isVirtual(owner) ? name(owner) : owner.getName());
            b.append(",\"owner\":").append(number(owner)).append(",\"tid\":").append(number(t));
        }
        b.append(",\"frames\":[");
        int first = 0, shown = 0;
        while (first < frames.length - 1 && StrobeCrash.system(frames[first + 1])) {
            first++;
        }
        for (int i = first == frames.length - 1 ? 0 : first; i < frames.length && shown < FRAMES; i++) {
            StackTraceElement f = frames[i];
            String c = f.getClassName();
            if (c.startsWith("java.lang.VirtualThread") || c.startsWith("jdk.internal.vm.")) {
                continue;
            }
            b.append(shown++ > 0 ? ",{\"function\":" : "{\"function\":");
            quote(b, StrobeLayout.shown(c) + "." + StrobeCrash.method(f.getMethodName()));
            b.append(",\"file\":");
            quote(b, StrobeCrash.file(f));
            b.append(",\"line\":").append(Math.max(f.getLineNumber(), 0));
            b.append(StrobeCrash.system(f) ? ",\"system\":true}" : "}");
        }
        String row = b.append("]}").toString();
        int[] have = counts.get(row);
        if (have != null) {
            have[1]++;
        } else if (kept == ROWS) {
            more++;
        } else {
            counts.put(row, new int[] {kept, 1});
            names[kept] = name(t);
            rows[kept++] = row;
        }
    }

    private String text() {
        StringBuilder b = new StringBuilder();
        for (int i = 0; i < kept; i++) {
            b.append(",{\"task\":");
            quote(b, names[i]);
            int n = counts.get(rows[i])[1];
            if (n > 1) {
                b.append(",\"count\":").append(n);
            }
            b.append(rows[i]);
        }
        if (more > 0) {
            b.append(",{\"task\":\"").append(more).append(" virtual threads that are not shown\",\"count\":").append(more)
                .append(",\"frames\":[]}");
        }
        return b.toString();
    }

    private static void quote(StringBuilder b, String s) {
        b.append('"');
        for (int i = 0; i < s.length() && i < 512; i++) {
            char c = s.charAt(i);
            if (c >= ' ' && c < 0x7f && c != '"' && c != '\\') {
                b.append(c);
                continue;
            }
            b.append("\\u");
            for (int shift = 12; shift >= 0; shift -= 4) {
                b.append("0123456789abcdef".charAt(c >> shift & 15));
            }
        }
        b.append('"');
    }
}
