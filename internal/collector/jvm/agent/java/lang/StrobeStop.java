package java.lang;

import java.util.ArrayList;
import jdk.internal.misc.Unsafe;

/**
 * What the agent asks about frames: conditions, messages, variables, expressions. Answers are members of JSON, or "!",
 * a code, a blank and what is wrong. It runs on the thread that stands, which records nothing meanwhile.
 */
final class StrobeStop {
    private static final Unsafe U = StrobeRecorder.U;
    private static final int PAGE = 1 << 20, SHOWN = 2;
    private final ArrayList<Object> refs = new ArrayList<>();

    static StrobeStop make() {
        return new StrobeStop();
    }

    private static StrobeThread paper() {
        StrobeThread t = new StrobeThread(0, 0);
        t.next = t.at = U.allocateMemory(PAGE);
        return t;
    }

    private static byte[] done(StrobeThread t) {
        byte[] b = new byte[(int) (t.at - t.next)];
        for (int i = 0; i < b.length; i++) {
            b[i] = U.getByte(t.next + i);
        }
        U.freeMemory(t.next);
        return b;
    }

    private static String text(byte[] b) {
        return new String(b, java.nio.charset.StandardCharsets.UTF_8);
    }

    private static byte[] refusal(Throwable e) {
        String code = e instanceof StrobeEval.Wrong || e instanceof IllegalArgumentException ? "!bad "
            : e instanceof IllegalAccessException ? "!cannot " : "!raised ";
        return code.concat(told(e)).getBytes(java.nio.charset.StandardCharsets.UTF_8);
    }

    private static String told(Throwable e) {
        Object message = U.getReference(e, U.objectFieldOffset(Throwable.class, "detailMessage"));
        String m = message instanceof String s ? s : "";
        return e instanceof StrobeEval.Wrong ? m
            : StrobeLayout.shown(e.getClass().getName()) + (m.isEmpty() ? "" : ": " + m);
    }

    /** Says what is wrong with an expression, or with those in a message; null: nothing. */
    static byte[] wrong(byte[] expression, boolean message) {
        try {
            if (message) {
                filled(null, text(expression));
            } else {
                StrobeEval.value(null, text(expression));
            }
            return null;
        } catch (StrobeEval.Wrong e) {
            return told(e).getBytes(java.nio.charset.StandardCharsets.UTF_8);
        } catch (Throwable e) {
            return null;
        }
    }

    /** A message with the values of its expressions. */
    private static String filled(StrobeFrame f, String message) throws Throwable {
        StringBuilder b = new StringBuilder();
        for (int i = 0; i < message.length(); i++) {
            char c = message.charAt(i);
            if ((c == '{' || c == '}') && i + 1 < message.length() && message.charAt(i + 1) == c) {
                b.append(c);
                i++;
            } else if (c == '{') {
                int end = i + 1;
                for (int deep = 1; deep > 0; end++) {
                    if (end == message.length()) {
                        throw new StrobeEval.Wrong("\"}\" is missing in " + message);
                    }
                    deep += message.charAt(end) == '{' ? 1 : message.charAt(end) == '}' ? -1 : 0;
                }
                Object v = StrobeEval.value(f, message.substring(i + 1, end - 1));
                b.append(v instanceof String s ? s : brief(v));
                i = end - 1;
            } else {
                b.append(c);
            }
        }
        return b.toString();
    }

    /** A value as text. */
    private static String brief(Object v) {
        StrobeThread t = paper();
        try {
            StrobeValues.write(t, v, SHOWN);
        } catch (Throwable e) {
            t.at = t.next;
            t.ascii("unreadable");
        }
        return text(done(t));
    }

    /**
     * Whether a point's condition holds. What raises is told, and so is a point's message, as a record: answers 0 no, 1
     * yes, 2 it raised.
     */
    static int holds(StrobeFrame f, byte[] condition, byte[] id, byte[] place) {
        boolean was = StrobeRecorder.quiet(true);
        String failed;
        try {
            Object v = StrobeEval.value(f, text(condition));
            if (v instanceof Boolean b) {
                return b ? 1 : 0;
            }
            failed = "the condition is no boolean";
        } catch (Throwable e) {
            failed = told(e);
        } finally {
            StrobeRecorder.quiet(was);
        }
        if (id.length > 0) {
            log(id, place, text(condition), failed);
        }
        return 2;
    }

    /** Writes a logpoint's message: 0 it is there, 2 it raised. */
    static int says(StrobeFrame f, byte[] message, byte[] id, byte[] place, boolean told) {
        boolean was = StrobeRecorder.quiet(true);
        String said = null, failed = null;
        try {
            said = filled(f, text(message));
        } catch (Throwable e) {
            failed = told(e);
        } finally {
            StrobeRecorder.quiet(was);
        }
        if (failed == null) {
            log(id, place, null, said);
            return 0;
        }
        if (!told) {
            log(id, place, text(message), failed);
        }
        return 2;
    }

    private static void log(byte[] id, byte[] place, String condition, String said) {
        StrobeThread t = StrobeRecorder.forLog();
        if (t == null) {
            return;
        }
        try {
            t.in = true;
            t.ascii("{\"breakpointId\":");
            t.name(text(id));
            if (condition != null) {
                t.ascii(",\"condition\":");
                t.name(condition);
                t.ascii(",\"error\":");
            } else {
                t.ascii(",\"message\":");
            }
            t.name(said);
            for (byte b : place) {
                t.byte1(b);
            }
            t.byte1('}');
        } finally {
            t.in = false;
            t.commit();
        }
    }

    /** Arguments and variables, as a pause shows them. */
    static byte[] shown(StrobeFrame f) {
        StrobeThread t = paper();
        boolean was = StrobeRecorder.quiet(true);
        try {
            t.ascii(",\"arguments\":{");
            if (f.self != null) {
                t.ascii("\"this\":");
                t.object(f.self);
            }
            for (int i = 0; i < f.names.length; i++) {
                if (i == f.arguments) {
                    t.ascii("},\"locals\":{");
                }
                if (i == f.arguments ? false : i > 0 || f.self != null) {
                    t.byte1(',');
                }
                t.name(f.names[i]);
                t.byte1(':');
                StrobeValues.write(t, f.value(i), SHOWN);
            }
            t.ascii(f.arguments == f.names.length ? "},\"locals\":{}" : "}");
        } catch (Throwable e) {
            t.at = t.next;
        } finally {
            StrobeRecorder.quiet(was);
        }
        return done(t);
    }

    // --- variables

    byte[] variables(StrobeFrame f, boolean arguments, long base, int from, int n) {
        StrobeThread t = paper();
        int first = arguments ? 0 : f.arguments, end = arguments ? f.arguments : f.names.length, said = 0, seen = 0;
        t.ascii(",\"variables\":[");
        if (arguments && f.self != null && seen++ >= from && said < n) {
            variable(t, said++, "this", null, f.self, base, false);
        }
        for (int i = first; i < end; i++) {
            if (seen++ >= from && said < n) {
                variable(t, said++, f.names[i], StrobeFrame.type(f.signs[i]), f.value(i), base, true);
            }
        }
        t.byte1(']');
        return done(t);
    }

    private void variable(StrobeThread t, int i, String name, String type, Object v, long base, boolean eval) {
        t.ascii(i > 0 ? ",{\"name\":" : "{\"name\":");
        t.name(name);
        t.ascii(",\"type\":");
        t.name(v != null && (type == null || v.getClass().getName().indexOf('.') < 0 && type.indexOf('.') >= 0)
            ? StrobeLayout.shown(v.getClass().getTypeName()) : type == null ? "" : type);
        t.ascii(",\"value\":");
        int parts = StrobeParts.count(v);
        if (parts < 0 || v == null) {
            t.name(v instanceof String s ? s : brief(v));
        } else {
            t.name(StrobeParts.summary(v));
        }
        long ref = 0;
        if (parts > 0) {
            refs.add(v);
            ref = base + refs.size() - 1;
        }
        t.ascii(",\"ref\":");
        t.integer(ref);
        t.ascii(",\"count\":");
        t.integer(Math.max(parts, 0));
        t.ascii(StrobeParts.isList(v) ? ",\"list\":true" : "");
        if (eval) {
            t.ascii(",\"eval\":");
            t.name(name);
        }
        t.byte1('}');
    }

    byte[] parts(int ref, long base, int from, int n) {
        if (ref < 0 || ref >= refs.size()) {
            return "!not-paused the thread has gone on".getBytes();
        }
        StrobeThread t = paper();
        Object v = refs.get(ref);
        int all = StrobeParts.count(v);
        t.ascii(",\"variables\":[");
        for (int i = from, said = 0; i < all && said < n; i++, said++) {
            variable(t, said, StrobeParts.name(v, i), StrobeParts.type(v, i), StrobeParts.part(v, i), base, false);
        }
        t.byte1(']');
        return done(t);
    }

    byte[] evaluate(StrobeFrame f, byte[] expression, int depth, long base) {
        boolean was = StrobeRecorder.quiet(true);
        try {
            return value(text(expression), StrobeEval.value(f, text(expression)), depth, base);
        } catch (Throwable e) {
            return refusal(e);
        } finally {
            StrobeRecorder.quiet(was);
        }
    }

    private byte[] value(String name, Object v, int depth, long base) {
        StrobeThread t = paper();
        t.ascii(",\"variable\":");
        variable(t, 0, name, null, v, base, false);
        t.ascii(",\"value\":");
        long from = t.next;
        t.next = t.at; // what is shown above is not what its room goes by
        StrobeValues.write(t, v, depth);
        t.next = from;
        return done(t);
    }

    /** Sets what is named in the frame, or a part of what ref means, and tells what is there then. */
    byte[] assign(StrobeFrame f, int ref, byte[] name, byte[] expression, long base) {
        boolean was = StrobeRecorder.quiet(true);
        try {
            Object v = StrobeEval.value(f, text(expression));
            String to = text(name);
            if (ref >= 0 && ref < refs.size()) {
                Object of = refs.get(ref);
                StrobeFrame inside = StrobeFrame.make(new String[] {"it"}, new String[] {"Ljava/lang/Object;"},
                    new long[1], new Object[] {of}, 1, 1, of, of.getClass());
                String part = StrobeParts.isList(of) ? "it[" + to + "]" : "it." + to;
                return value(to, StrobeEval.assign(inside, part, v), 1, base);
            }
            return value(to, StrobeEval.assign(f, to, v), 1, base);
        } catch (Throwable e) {
            return refusal(e);
        } finally {
            StrobeRecorder.quiet(was);
        }
    }
}
