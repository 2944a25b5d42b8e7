package strobe.test;

import java.io.File;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Writes what tests do to the file beside our jar, one JSON object a line, as wire.go reads them. Nothing of it throws
 * into a test. Java 8, no library.
 */
public final class Events {
    private static final int MAX_TEXT = 8 << 10;
    private static final int MAX_FRAMES = 100;
    private static final int MAX_FAILURES = 20;

    private static final OutputStream REPORT = open();
    private static final String DIR = System.getProperty("basedir", System.getProperty("user.dir"));
    private static final Map<String, Test> OPEN = new ConcurrentHashMap<>();
    private static final InheritableThreadLocal<Test> CURRENT = new InheritableThreadLocal<>();
    private static boolean teed;

    private Events() {}

    /** A test that runs. */
    static final class Test {
        final String id;
        final long began = System.nanoTime();
        private final StringBuilder out = new StringBuilder();
        volatile boolean over;

        Test(String id) {
            this.id = id;
        }

        synchronized void wrote(String text) {
            out.append(text);
            if (out.length() > 4 * MAX_TEXT) {
                out.delete(0, out.length() - MAX_TEXT);
            }
        }

        synchronized String output() {
            return out.substring(Math.max(0, out.length() - MAX_TEXT));
        }
    }

    private static OutputStream open() {
        try {
            File jar = new File(Events.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            return new FileOutputStream(new File(jar.getParentFile(), "strobe_jvm.jsonl"), true);
        } catch (Throwable t) {
            return null;
        }
    }

    /** One write each: several JVMs append to the file. */
    public static void line(String json) {
        if (REPORT == null) {
            return;
        }
        try {
            REPORT.write((json + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (Throwable t) {
            // The disk is full, or the file is gone: the run says that its report is not whole.
        }
    }

    static void started(String type, String id, String name) {
        tee();
        Test t = new Test(id);
        OPEN.put(id, t);
        CURRENT.set(t);
        line("{\"e\":\"start\"" + about(type, id, name) + "}");
    }

    static void skipped(String type, String id, String name, String reason) {
        skipped(type, id, name, reason, true);
    }

    /** Not counted are tests of a class that is skipped: some versions of Surefire count each, some the class. */
    static void skipped(String type, String id, String name, String reason, boolean counted) {
        OPEN.remove(id);
        CURRENT.remove();
        line("{\"e\":\"end\"" + about(type, id, name) + ",\"status\":\"skipped\",\"reason\":" + quote(reason)
                + (counted ? "" : ",\"uncounted\":true") + "}");
    }

    /** kind is how a failure is called that is no assertion's. */
    static void ended(String type, String id, String name, Throwable failure, String kind) {
        Test t = OPEN.remove(id);
        CURRENT.remove();
        StringBuilder b = new StringBuilder("{\"e\":\"end\"").append(about(type, id, name));
        if (t != null) {
            t.over = true;
            b.append(",\"ms\":").append((System.nanoTime() - t.began) / 1e6);
            b.append(",\"output\":").append(quote(t.output()));
        }
        if (failure == null) {
            b.append(",\"status\":\"passed\"");
        } else {
            b.append(",\"status\":").append(kind.equals("exception") ? "\"failed\"" : "\"error\"");
            b.append(",\"fails\":true,\"failures\":[");
            List<Throwable> all = parts(failure);
            for (int i = 0; i < all.size(); i++) {
                b.append(i > 0 ? "," : "");
                try {
                    failure(b, all.get(i), kind);
                } catch (Throwable thrown) {
                    b.append("{\"kind\":\"exception\",\"message\":" + quote(all.get(i).getClass().getName()) + "}");
                }
            }
            b.append("]");
        }
        line(b.append("}").toString());
    }

    private static String about(String type, String id, String name) {
        return ",\"id\":" + quote(id) + ",\"name\":" + quote(name) + ",\"suite\":" + quote(type)
                + ",\"file\":" + quote(DIR);
    }

    /** The failures of assertAll and soft assertions, or the one. */
    private static List<Throwable> parts(Throwable t) {
        List<Throwable> all = new ArrayList<>();
        Object several = call(t, "getFailures");
        if (several instanceof List) {
            for (Object one : (List<?>) several) {
                if (one instanceof Throwable && all.size() < MAX_FAILURES) {
                    all.add((Throwable) one);
                }
            }
        }
        if (all.isEmpty()) {
            all.add(t);
        }
        return all;
    }

    private static void failure(StringBuilder b, Throwable t, String kind) {
        String name = t.getClass().getName();
        boolean assertion = t instanceof AssertionError || name.endsWith("AssertionFailedError");
        String message = t.getMessage();
        if (!assertion) {
            message = name + (message == null ? "" : ": " + message);
        } else if (message == null) {
            message = name;
        }
        Map<Throwable, Boolean> seen = new IdentityHashMap<>();
        seen.put(t, true);
        StringBuilder causes = new StringBuilder();
        Throwable root = t;
        for (Throwable c = t.getCause(); c != null && seen.put(c, true) == null && seen.size() < 10; c = c.getCause()) {
            causes.append("\ncaused by ").append(c.getClass().getName());
            causes.append(c.getMessage() == null ? "" : ": " + c.getMessage());
            root = c;
        }
        b.append("{\"kind\":\"").append(assertion && kind.equals("exception") ? "assertion" : kind);
        b.append("\",\"message\":").append(quote(cut(message) + cut(causes.toString())));
        side(b, t, "expected", "getExpected");
        side(b, t, "actual", "getActual");
        b.append(",\"frames\":[");
        int n = frames(b, t, 0);
        if (root != t) {
            frames(b, root, n);
        }
        b.append("]}");
    }

    private static int frames(StringBuilder b, Throwable t, int n) {
        for (StackTraceElement e : t.getStackTrace()) {
            if (e.getFileName() == null || n >= 2 * MAX_FRAMES) {
                continue;
            }
            b.append(n++ > 0 ? "," : "");
            b.append("{\"function\":" + quote(e.getClassName() + "." + e.getMethodName()));
            b.append(",\"file\":" + quote(e.getFileName()) + ",\"line\":" + Math.max(e.getLineNumber(), 0) + "}");
            if (n % MAX_FRAMES == 0) {
                break;
            }
        }
        return n;
    }

    /** A side as the assertion library wrote it down: toString of a user's value is not called. */
    private static void side(StringBuilder b, Throwable t, String key, String getter) {
        Object v = call(t, getter);
        if (v == null) {
            return;
        }
        Object text = call(v, "getStringRepresentation");
        if (text == null && (v instanceof String || v instanceof Number || v instanceof Boolean)) {
            text = v;
        }
        if (text != null) {
            b.append(",\"").append(key).append("\":").append(quote(cut(text.toString())));
        }
    }

    private static Object call(Object on, String getter) {
        try {
            Method m = on.getClass().getMethod(getter);
            return m.invoke(on);
        } catch (Throwable t) {
            return null;
        }
    }

    private static String cut(String s) {
        return s.length() <= MAX_TEXT ? s : s.substring(0, MAX_TEXT);
    }

    public static String quote(String s) {
        StringBuilder b = new StringBuilder("\"");
        for (char c : (s == null ? "" : s).toCharArray()) {
            if (c == '"' || c == '\\') {
                b.append('\\').append(c);
            } else if (c < ' ') {
                b.append(String.format("\\u%04x", (int) c));
            } else {
                b.append(c);
            }
        }
        return b.append('"').toString();
    }

    /** Keeps a copy of what tests print beside where the runner sends it. */
    private static synchronized void tee() {
        if (teed) {
            return;
        }
        teed = true;
        System.setOut(new Tee(System.out));
        System.setErr(new Tee(System.err));
    }

    private static void wrote(String text) {
        Test t = CURRENT.get();
        if (t == null || t.over) { // a thread of an earlier test's pool
            t = null;
            for (Test open : OPEN.values()) {
                if (t != null) {
                    return; // which of several it is of is not known
                }
                t = open;
            }
        }
        if (t != null) {
            t.wrote(text);
        }
    }

    private static final class Tee extends PrintStream {
        Tee(final PrintStream to) {
            super(new OutputStream() {
                @Override
                public void write(int b) {
                    write(new byte[] {(byte) b}, 0, 1);
                }

                @Override
                public void write(byte[] b, int from, int n) {
                    to.write(b, from, n);
                    wrote(new String(b, from, n));
                }

                @Override
                public void flush() {
                    to.flush();
                }
            }, true);
        }
    }
}
