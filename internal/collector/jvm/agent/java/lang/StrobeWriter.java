package java.lang;

import jdk.internal.misc.Unsafe;

/** JSON that is written into a record. */
class StrobeWriter {
    private static final Unsafe U = StrobeRecorder.U;
    private static final StrobeText TRUE = StrobeText.of("true"), FALSE = StrobeText.of("false"),
        NULL = StrobeText.of("null"), UNREADABLE = StrobeText.of("{\"$\":\"unreadable\"}"),
        TEXT = StrobeText.of("{\"$\":\"text\",\"v\":"), MORE = StrobeText.of(",\"more\":"),
        FLOAT = StrobeText.of("{\"$\":\"float\",\"v\":\"");

    /** Bytes of a record from which on values have no more parts, and what has begun ends briefly. */
    private static final int SOFT = 10 << 10;

    long next; // where the record begins
    long at; // where is written
    boolean in; // in the recorder: what it calls is not recorded

    long soft = SOFT; // where that is in this record
    int items = StrobeValues.ITEMS, parts = Integer.MAX_VALUE; // most elements of a list, and fields of an object
    int left; // how often parts were left out

    /** Whether a value may still have parts. */
    boolean room() {
        return at - next < soft;
    }

    /** Bounds what is written from here on. */
    void narrow(int bytes, int most) {
        soft = Math.min(SOFT, at - next + bytes);
        items = parts = most;
        left = 0;
    }

    void widen() {
        soft = SOFT;
        items = StrobeValues.ITEMS;
        parts = Integer.MAX_VALUE;
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
        for (long most = 10; digits < 19 && v >= most; most *= 10) {
            digits++;
        }
        long p = at + digits;
        at = p;
        for (; v > Integer.MAX_VALUE; v /= 100) {
            U.putShort(p -= 2, PAIRS[(int) (v % 100)]);
        }
        int small = (int) v; // which is divided faster
        for (; small >= 100; small /= 100) {
            U.putShort(p -= 2, PAIRS[small % 100]);
        }
        if (small >= 10) {
            U.putShort(p - 2, PAIRS[small]);
        } else {
            U.putByte(p - 1, (byte) ('0' + small));
        }
    }

    /** Two digits each, as they stand in memory. */
    private static final short[] PAIRS = new short[100];

    static {
        for (int i = 0; i < PAIRS.length; i++) {
            PAIRS[i] = (short) ('0' + i / 10 | '0' + i % 10 << 8);
        }
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

    /** Characters of a text that are counted as what they are; of a longer one, each of the others is a byte. */
    private static final int COUNTED = 16 << 10;

    /** Where the elements of an array of bytes begin. Unsafe says it as an int in some JDKs and as a long in others. */
    private static final long BYTES = bytesFrom();

    private static long bytesFrom() {
        byte[] b = new byte[64]; // heads have at most 24 bytes
        for (int i = 0; i < b.length; i++) {
            b[i] = (byte) i;
        }
        return 32 - U.getByte(b, 32);
    }

    /** Bytes of a text. A program may hand a text of megabytes on in each of its calls. */
    private static long utf8(String s, int n) {
        int counted = Math.min(n, COUNTED);
        if (s.coder() == 0) {
            long extra = 0;
            byte[] b = s.value();
            int i = 0;
            for (; i + 8 <= counted; i += 8) {
                extra += Long.bitCount(U.getLong(b, BYTES + i) & TOPS);
            }
            for (; i < counted; i++) {
                extra += b[i] >>> 31;
            }
            return n + extra;
        }
        long bytes = n - counted;
        for (int i = 0; i < counted; i++) {
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
            for (int i = 0; i < n && bytes < most; ) {
                if (i + 8 <= n && bytes + 8 <= most) {
                    long w = U.getLong(b, BYTES + i);
                    if (plain(w)) {
                        U.putLong(at, w);
                        at += 8;
                        i += 8;
                        bytes += 8;
                        continue;
                    }
                }
                for (int to = Math.min(i + 8, n); i < to && bytes < most; i++) {
                    int c = b[i] & 255;
                    if (c >= 0x80 && bytes + 2 > most) {
                        most = bytes; // it ends before this one
                        break;
                    }
                    bytes += unit(c);
                }
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

    private static final long ONES = 0x0101010101010101L, TOPS = 0x80 * ONES;

    /** Whether eight bytes stand in JSON as they are: none is below a space, a quote, a backslash or above '~'. */
    private static boolean plain(long w) {
        long quote = w ^ '"' * ONES, slash = w ^ '\\' * ONES, del = w ^ 0x7f * ONES;
        return ((w | w - ' ' * ONES | quote - ONES | slash - ONES | del - ONES) & TOPS) == 0;
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
