package java.lang;

/** An exception that ends its thread, as docs/agentlink.md tells it. */
final class StrobeCrash {
    private static final int FRAMES = 64, CAUSES = 8;

    private StrobeCrash() { }

    static void write(StrobeThread t, Thread thread, Throwable e) {
        t.in = true;
        try {
            t.ascii("{\"language\":\"java\",\"ends\":\"");
            t.ascii(last(thread) ? "process" : "thread");
            t.ascii("\",\"type\":");
            described(t, e);
            t.ascii(",\"chain\":[");
            long cause = StrobeRecorder.U.objectFieldOffset(Throwable.class, "cause");
            Throwable of = e;
            for (int i = 0; i < CAUSES; i++) {
                Throwable c = (Throwable) StrobeRecorder.U.getReference(of, cause);
                if (c == null || c == of) {
                    break;
                }
                if (i > 0) {
                    t.byte1(',');
                }
                t.ascii("{\"relation\":\"cause\",\"type\":");
                described(t, c);
                t.byte1('}');
                of = c;
            }
            t.ascii("],\"frames\":[");
            frames(t, StrobeRecorder.trace(e));
            t.ascii(",\"thread\":");
            t.text(thread.getName());
            t.byte1('}');
        } finally {
            t.in = false;
        }
    }

    /** Whether the process ends with this thread: no other one keeps it alive. */
    private static boolean last(Thread thread) {
        if (thread.isDaemon()) {
            return false;
        }
        ThreadGroup top = thread.getThreadGroup();
        if (top == null) {
            return false;
        }
        while (top.getParent() != null) {
            top = top.getParent();
        }
        Thread[] all = new Thread[top.activeCount() + 8];
        int n = top.enumerate(all, true);
        for (int i = 0; i < n; i++) {
            if (all[i] != thread && !all[i].isDaemon() && !all[i].getName().equals("DestroyJavaVM")) {
                return false;
            }
        }
        return true;
    }

    private static void described(StrobeThread t, Throwable e) {
        t.text(StrobeLayout.shown(e.getClass().getName()));
        t.ascii(",\"message\":");
        Object message = StrobeRecorder.U.getReference(e,
            StrobeRecorder.U.objectFieldOffset(Throwable.class, "detailMessage"));
        t.text(message instanceof String s ? s : "");
    }

    private static void frames(StrobeThread t, StackTraceElement[] all) {
        int n = all == null ? 0 : all.length, more = 0;
        for (int i = 0; i < n; i++) {
            if (i >= FRAMES / 2 && i < n - FRAMES / 2 || !t.room()) {
                more++;
                continue;
            }
            if (i > 0) {
                t.byte1(',');
            }
            StackTraceElement f = all[i];
            String c = f.getClassName();
            boolean system = system(f);
            t.ascii("{\"function\":");
            t.text(StrobeLayout.shown(c) + "." + method(f.getMethodName()));
            t.ascii(",\"file\":");
            t.text(file(f));
            t.ascii(",\"line\":");
            t.integer(Math.max(f.getLineNumber(), 0));
            t.ascii(system ? ",\"user\":false}" : ",\"user\":true}");
        }
        t.ascii("],\"more\":");
        t.integer(more);
    }

    /** A method's name as functions are told: internal/collector/jvm/names.go. */
    static String method(String name) {
        if (name.equals("<init>")) {
            return "new";
        }
        if (name.equals("<clinit>")) {
            return "static";
        }
        int end = name.lastIndexOf('$');
        if (name.startsWith("lambda$") && end > 7) {
            return name.substring(7, end) + ".lambda" + name.substring(end);
        }
        return name;
    }

    /** Whether a frame is of the JDK's own code. */
    static boolean system(StackTraceElement f) {
        String module = f.getModuleName();
        return module != null && (module.startsWith("java.") || module.startsWith("jdk."));
    }

    /** A frame's source: the package's folder and the file's name. */
    static String file(StackTraceElement f) {
        String c = f.getClassName(), file = f.getFileName();
        int dot = c.lastIndexOf('.');
        return file == null ? "" : dot < 0 ? file : c.substring(0, dot + 1).replace('.', '/') + file;
    }
}
