package java.lang;

import java.util.HashMap;
import jdk.internal.misc.Unsafe;

/** A thread's stream of records, and what is written into a record. Only its thread touches it. */
public final class StrobeThread {
    static final int FUNCTION = 1, LANE = 2, ENTER = 3, EXIT = 4, LOST = 6, CRASH = 7, NEXT = 255;
    static final int THROWN = 1;

    /** Room that a record needs besides its names: values stop growing at SOFT, and what has begun ends briefly. */
    static final int ROOM = 40 << 10, SOFT = 10 << 10;

    private static final Unsafe U = StrobeRecorder.U;
    private static final StrobeText TRUE = StrobeText.of("true"), FALSE = StrobeText.of("false"),
        NULL = StrobeText.of("null"), UNREADABLE = StrobeText.of("{\"$\":\"unreadable\"}"),
        TEXT = StrobeText.of("{\"$\":\"text\",\"v\":"), MORE = StrobeText.of(",\"more\":"),
        FLOAT = StrobeText.of("{\"$\":\"float\",\"v\":\"");

    private final int stream;
    private int sequence = -1;
    private long segment, size, end; // mapping, its size, and where records end
    private long next; // where the next record begins

    int lane;
    String name;
    boolean in; // in the recorder: what it calls is not recorded
    boolean told; // the lane is
    StrobeRecorder.Function function;
    int flags;
    long at; // where is written
    private boolean writing; // a record has begun
    private int kind, keyed;
    private HashMap<Integer, long[]> lost; // by function: enters, exits, and open calls without an enter

    StrobeThread(int stream, int lane) {
        this.stream = stream;
        this.lane = lane;
    }

    /**
     * Begins a record. False where there is no room: then it is counted. One that was begun and never ended, because the
     * stack overflowed in between, is wiped out: behind the last record all is zero.
     */
    boolean open(int kind, StrobeRecorder.Function f) {
        if (writing) {
            wipe(next, at);
        }
        int need = f == null ? ROOM : f.need;
        if ((lost != null || next + need > end || !told) && !prepare(kind, f, need)) {
            return false;
        }
        this.kind = kind;
        function = f;
        keyed = 0;
        flags = 0;
        at = next + 32;
        writing = true;
        U.putLong(next, System.nanoTime());
        return true;
    }

    private static void wipe(long from, long to) {
        U.setMemory(from, to - from + 64, (byte) 0);
    }

    /** What a record may need before it can begin. */
    private boolean prepare(int kind, StrobeRecorder.Function f, int need) {
        in = true;
        try {
            if (kind == EXIT && lost != null && skips(f.number)) {
                return false;
            }
            if (next + need > end && !turn(need, false) || !told && !tellLane(StrobeRecorder.tid())) {
                if (f != null) {
                    count(f.number, kind == ENTER ? 0 : 1);
                    if (kind == ENTER) {
                        count(f.number, 2);
                    }
                }
                return false;
            }
            return true;
        } finally {
            in = false;
        }
    }

    /** Publishes the record: its length is written last. */
    void commit() {
        long from = next;
        int used = (int) (at - from), length = used + 7 & ~7;
        U.putInt(from + 8, function == null ? 0 : function.number);
        U.putInt(from + 12, lane);
        U.putLong(from + 16, 0);
        U.putInt(from + 24, kind | flags << 8 | (length - used) << 16);
        U.putIntRelease(null, from + 28, length);
        next = from + length;
        writing = false;
    }

    /** Writes a whole record of bytes. */
    boolean record(int kind, int number, int lane, byte[] b, int from, int n) {
        if (next + n + 64 > end && !turn(n + 64, true)) {
            return false;
        }
        long start = next;
        int length = 32 + n + 7 & ~7;
        U.putLong(start, System.nanoTime());
        U.putInt(start + 8, number);
        U.putInt(start + 12, lane);
        U.putLong(start + 16, 0);
        U.putInt(start + 24, kind | (length - 32 - n) << 16);
        for (int i = 0; i < n; i++) {
            U.putByte(start + 32 + i, b[from + i]);
        }
        U.putIntRelease(null, start + 28, length);
        next = start + length;
        return true;
    }

    /** Tells of the thread's lane. */
    boolean tellLane(int tid) {
        if (next + ROOM > end && !turn(ROOM, false)) {
            return false;
        }
        int was = kind;
        StrobeRecorder.Function f = function;
        function = null;
        flags = 0;
        kind = LANE;
        U.putLong(next, System.nanoTime());
        at = next + 32;
        ascii("{\"tid\":");
        integer(tid);
        ascii(",\"name\":");
        text(name == null ? "" : name);
        byte1('}');
        commit();
        kind = was;
        function = f;
        return told = true;
    }

    /** Goes on in the next segment. */
    private boolean turn(int need, boolean force) {
        long made = StrobeRecorder.turn(stream, sequence + 1, force);
        if (made == 0) {
            return false;
        }
        sequence++;
        if (segment != 0) {
            U.putLong(next, System.nanoTime());
            U.putLong(next + 8, 0);
            U.putLong(next + 16, 0);
            U.putInt(next + 24, NEXT);
            U.putIntRelease(null, next + 28, 32);
            StrobeRecorder.close(segment, size);
        }
        segment = made;
        size = U.getInt(made + 8) & 0xFFFFFFFFL;
        next = made + 16;
        end = made + size - 32;
        flushLost();
        return next + need <= end;
    }

    // --- what could not be written

    private void count(int number, int which) {
        if (lost == null) {
            lost = new HashMap<>();
        }
        long[] n = lost.get(number);
        if (n == null) {
            lost.put(number, n = new long[3]);
        }
        n[which]++;
    }

    /** An exit whose enter is not there is not written either. */
    private boolean skips(int number) {
        long[] n = lost.get(number);
        if (n == null || n[2] == 0) {
            return false;
        }
        n[2]--;
        n[1]++;
        return true;
    }

    void flushLost() {
        if (lost == null || next + ROOM > end) {
            return;
        }
        int most = 500;
        boolean any = false;
        StrobeRecorder.Function f = function;
        int was = kind, flagged = flags;
        for (var e : lost.entrySet()) {
            long[] n = e.getValue();
            if (n[0] == 0 && n[1] == 0 || most-- == 0) {
                continue;
            }
            if (!any) {
                U.putLong(next, System.nanoTime());
                at = next + 32;
                ascii("{\"calls\":{");
            } else {
                byte1(',');
            }
            any = true;
            byte1('"');
            integer(e.getKey());
            ascii("\":[");
            integer(n[0]);
            byte1(',');
            integer(n[1]);
            ascii(",0]");
            n[0] = n[1] = 0;
        }
        if (any) {
            ascii("}}");
            function = null;
            kind = LOST;
            flags = 0;
            commit();
        }
        function = f;
        kind = was;
        flags = flagged;
    }

    // --- values

    void key() {
        StrobeText[] keys = function.keys;
        if (keyed < keys.length) {
            put(keys[keyed++]);
        }
    }

    /** Whether a value may still have parts. */
    boolean room() {
        return at - next < SOFT;
    }

    void put(StrobeText s) {
        long p = at;
        for (long w : s.words) {
            U.putLong(p, w);
            p += 8;
        }
        at += s.length;
    }

    void byte1(int c) {
        U.putByte(at++, (byte) c);
    }

    void ascii(String s) {
        for (int i = 0, n = s.length(); i < n; i++) {
            U.putByte(at++, (byte) s.charAt(i));
        }
    }

    void nothing() {
        put(NULL);
    }

    void truth(boolean v) {
        put(v ? TRUE : FALSE);
    }

    void unreadable() {
        put(UNREADABLE);
    }

    void integer(long v) {
        if (v < 0) {
            if (v == Long.MIN_VALUE) {
                ascii("-9223372036854775808");
                return;
            }
            byte1('-');
            v = -v;
        }
        int digits = 1;
        for (long x = v; x >= 10; x /= 10) {
            digits++;
        }
        long p = at + digits;
        at = p;
        do {
            long q = v / 10;
            U.putByte(--p, (byte) ('0' + (v - 10 * q)));
            v = q;
        } while (v != 0);
    }

    void letter(char c) {
        byte1('"');
        unit(c);
        byte1('"');
    }

    void fraction(double v) {
        long whole = (long) v;
        if (whole == v && whole < 1L << 53 && whole > -1L << 53 && (whole != 0 || 1 / v > 0)) {
            integer(whole);
            byte1('.');
            byte1('0');
        } else if (v - v != 0) {
            special(v);
        } else {
            boolean inside = in;
            in = true;
            try {
                ascii(Double.toString(v));
            } finally {
                in = inside;
            }
        }
    }

    void fraction(float v) {
        if (v - v != 0) {
            special(v);
            return;
        }
        boolean inside = in;
        in = true;
        try {
            ascii(Float.toString(v));
        } finally {
            in = inside;
        }
    }

    private void special(double v) {
        put(FLOAT);
        ascii(v != v ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
        byte1('"');
        byte1('}');
    }

    void object(Object v) {
        long before = at;
        in = true;
        try {
            StrobeValues.write(this, v, function == null ? 3 : function.depth);
        } catch (Throwable e) {
            long reached = at;
            at = before;
            wipe(before, reached);
            unreadable();
        } finally {
            in = false;
        }
    }

    /** Most bytes of a text, and of one that is only just wanted. */
    static final int MOST = 1024, BRIEF = 48;

    void text(String s) {
        int n = s.length(), most = room() ? MOST : BRIEF;
        if (n > most / 3) {
            long bytes = utf8(s, n);
            if (bytes > most) {
                put(TEXT);
                long left = bytes - quoted(s, n, most);
                put(MORE);
                integer(left);
                byte1('}');
                return;
            }
        }
        quoted(s, n, most);
    }

    /** A text that is no value but a name: it is cut without a word. */
    void name(String s) {
        quoted(s, s.length(), room() ? MOST : BRIEF);
    }

    /** Puts a text in ASCII before what was written from a place on, and goes on behind that. */
    void enclose(long from, String before) {
        long written = at - from;
        int n = before.length();
        U.copyMemory(from, from + n, written);
        at = from;
        ascii(before);
        at += written;
    }

    private static long utf8(String s, int n) {
        if (s.coder() == 0) {
            long extra = 0;
            for (byte b : s.value()) {
                extra += b >>> 31;
            }
            return n + extra;
        }
        long bytes = 0;
        for (int i = 0; i < n; i++) {
            char c = s.charAt(i);
            if (c < 0x80) {
                bytes++;
            } else if (c < 0x800) {
                bytes += 2;
            } else if (Character.isHighSurrogate(c) && i + 1 < n && Character.isLowSurrogate(s.charAt(i + 1))) {
                bytes += 4;
                i++;
            } else {
                bytes += 3;
            }
        }
        return bytes;
    }

    /** Writes at most so many bytes of a text, and returns how many those are without what JSON adds. */
    private int quoted(String s, int n, int most) {
        int bytes = 0;
        byte1('"');
        if (s.coder() == 0) {
            byte[] b = s.value();
            for (int i = 0; i < n && bytes < most; i++) {
                int c = b[i] & 255;
                if (c >= 0x80 && bytes + 2 > most) {
                    break;
                }
                bytes += unit(c);
            }
        } else {
            for (int i = 0; i < n; i++) {
                int c = s.charAt(i);
                if (Character.isSurrogate((char) c)) {
                    boolean pair = Character.isHighSurrogate((char) c) && i + 1 < n
                        && Character.isLowSurrogate(s.charAt(i + 1));
                    if (bytes + 4 > most) {
                        break;
                    }
                    bytes += pair ? wide(Character.toCodePoint((char) c, s.charAt(++i))) : unit(c);
                } else if (bytes + 3 > most && bytes + (c < 0x80 ? 1 : c < 0x800 ? 2 : 3) > most) {
                    break;
                } else {
                    bytes += unit(c);
                }
            }
        }
        byte1('"');
        return bytes;
    }

    private int unit(int c) {
        if (c >= 0x20 && c < 0x7f) {
            if (c == '"' || c == '\\') {
                byte1('\\');
            }
            byte1(c);
            return 1;
        }
        if (c < 0x80) {
            escape(c);
            return 1;
        }
        if (c < 0x800) {
            byte1(0xc0 | c >> 6);
            byte1(0x80 | c & 0x3f);
            return 2;
        }
        if (c >= 0xd800 && c < 0xe000) {
            escape(c);
            return 3;
        }
        byte1(0xe0 | c >> 12);
        byte1(0x80 | c >> 6 & 0x3f);
        byte1(0x80 | c & 0x3f);
        return 3;
    }

    private int wide(int c) {
        byte1(0xf0 | c >> 18);
        byte1(0x80 | c >> 12 & 0x3f);
        byte1(0x80 | c >> 6 & 0x3f);
        byte1(0x80 | c & 0x3f);
        return 4;
    }

    private void escape(int c) {
        byte1('\\');
        byte1('u');
        for (int shift = 12; shift >= 0; shift -= 4) {
            byte1("0123456789abcdef".charAt(c >> shift & 15));
        }
    }
}
