package java.lang;

import java.lang.reflect.Array;
import jdk.internal.misc.Unsafe;

/**
 * Values as JSON (docs/agentlink.md, Values). No code of the program runs for it: fields are read where they stand, and
 * methods are called of final classes of the JDK alone.
 */
final class StrobeValues {
    private static final Unsafe U = StrobeRecorder.U;
    static final int ITEMS = 100;
    static final StrobeText MORE = StrobeText.of(",\"more\":"),
        BYTES = StrobeText.of("{\"$\":\"bytes\",\"v\":\""),
        REPR = StrobeText.of("{\"$\":\"repr\",\"v\":"), NAME = StrobeText.of("{\"$\":\"name\",\"v\":"),
        DEPTH = StrobeText.of("{\"$\":\"depth\",\"t\":"),
        CYCLE = StrobeText.of("{\"$\":\"cycle\",\"a\":\"0x"), SHAPE = StrobeText.of("{\"$\":\"shape\",\"t\":"),
        V = StrobeText.of(",\"v\":");

    private StrobeValues() { }

    static void write(StrobeThread t, Object v, int depth) {
        value(t, v, depth, null);
    }

    /** Those that a value stands in. */
    static final class Inside {
        final Object one;
        final Inside outer;

        Inside(Object one, Inside outer) {
            this.one = one;
            this.outer = outer;
        }
    }

    static void value(StrobeThread t, Object v, int depth, Inside inside) {
        if (v == null) {
            t.nothing();
            return;
        }
        if (v instanceof String s) {
            t.text(s);
            return;
        }
        if (v instanceof Integer || v instanceof Long || v instanceof Short || v instanceof Byte) {
            t.integer(((Number) v).longValue());
            return;
        }
        Class<?> c = v.getClass();
        if (c.isArray()) {
            array(t, v, c, depth, inside);
            return;
        }
        StrobeLayout l = StrobeLayout.of(c);
        if (l.shown != StrobeLayout.FIELDS && l.shown < StrobeLayout.ARRAY_LIST) {
            flat(t, v, l);
            return;
        }
        if (nested(t, v, l.name, depth, inside)) {
            return;
        }
        Inside in = new Inside(v, inside);
        if (l.shown >= StrobeLayout.HASH_MAP) {
            StrobeCollections.map(t, v, l, depth - 1, in);
        } else if (l.shown >= StrobeLayout.ARRAY_LIST) {
            StrobeCollections.list(t, v, l, depth - 1, in);
        } else {
            fields(t, v, l, depth - 1, in);
        }
    }

    /** Whether a value is not gone into: it is too deep, there is no room, or it encloses itself. */
    private static boolean nested(StrobeThread t, Object v, String name, int depth, Inside inside) {
        if (depth <= 0 || !t.room()) {
            t.left++;
            t.put(DEPTH);
            t.name(name);
            t.byte1('}');
            return true;
        }
        for (Inside i = inside; i != null; i = i.outer) {
            if (i.one == v) {
                t.put(CYCLE);
                t.ascii(Integer.toHexString(System.identityHashCode(v)));
                t.byte1('"');
                t.byte1('}');
                return true;
            }
        }
        return false;
    }

    private static void flat(StrobeThread t, Object v, StrobeLayout l) {
        switch (l.shown) {
            case StrobeLayout.BOXED:
                if (v instanceof Boolean b) {
                    t.truth(b);
                } else if (v instanceof Character c) {
                    t.letter(c);
                } else if (v instanceof Double d) {
                    t.fraction(d.doubleValue());
                } else {
                    t.fraction(((Float) v).floatValue());
                }
                break;
            case StrobeLayout.ENUM:
                name(t, l.name + "." + ((Enum<?>) v).name());
                break;
            case StrobeLayout.TEXT:
                t.text(v.toString());
                break;
            case StrobeLayout.CLASS:
                name(t, StrobeLayout.shown(((Class<?>) v).getName()));
                break;
            case StrobeLayout.LAMBDA:
                name(t, l.name);
                break;
            default:
                represented(t, v, l);
        }
    }

    private static void represented(StrobeThread t, Object v, StrobeLayout l) {
        if (v instanceof java.math.BigInteger b) {
            if (b.bitLength() <= 13000) {
                t.ascii(b.toString());
                return;
            }
            t.put(SHAPE);
            t.name(l.name);
            t.put(V);
            t.text(b.bitLength() + " bits");
        } else {
            t.put(REPR);
            t.name(v.toString());
        }
        t.byte1('}');
    }

    private static void name(StrobeThread t, String s) {
        t.put(NAME);
        t.name(s);
        t.byte1('}');
    }

    private static void fields(StrobeThread t, Object v, StrobeLayout l, int depth, Inside in) {
        t.put(l.head);
        for (int i = 0; i < l.keys.length; i++) {
            if (!t.room() || i >= t.parts) {
                t.left++;
                t.byte1('}');
                t.put(MORE);
                t.integer(l.keys.length - i);
                t.byte1('}');
                return;
            }
            if (i > 0) {
                t.byte1(',');
            }
            t.put(l.keys[i]);
            field(t, v, l.types[i], l.at[i], depth, in);
        }
        t.byte1('}');
        t.byte1('}');
    }

    private static void field(StrobeThread t, Object v, char type, long at, int depth, Inside in) {
        switch (type) {
            case 'I': t.integer(U.getInt(v, at)); break;
            case 'J': t.integer(U.getLong(v, at)); break;
            case 'Z': t.truth(U.getBoolean(v, at)); break;
            case 'B': t.integer(U.getByte(v, at)); break;
            case 'S': t.integer(U.getShort(v, at)); break;
            case 'C': t.letter(U.getChar(v, at)); break;
            case 'D': t.fraction(U.getDouble(v, at)); break;
            case 'F': t.fraction(U.getFloat(v, at)); break;
            default: value(t, U.getReference(v, at), depth, in);
        }
    }

    // --- arrays and lists

    private static void array(StrobeThread t, Object v, Class<?> c, int depth, Inside inside) {
        if (v instanceof byte[] b) {
            bytes(t, b);
            return;
        }
        if (nested(t, v, c.getTypeName(), depth, inside)) {
            return;
        }
        if (v instanceof Object[] a) {
            elements(t, a, 0, a.length, 0, depth - 1, new Inside(v, inside));
            return;
        }
        int n = Array.getLength(v), i = 0;
        long from = t.at;
        t.byte1('[');
        for (; i < n && i < t.items && (i == 0 || t.room()); i++) {
            if (i > 0) {
                t.byte1(',');
            }
            if (v instanceof int[] a) {
                t.integer(a[i]);
            } else if (v instanceof long[] a) {
                t.integer(a[i]);
            } else if (v instanceof double[] a) {
                t.fraction(a[i]);
            } else if (v instanceof float[] a) {
                t.fraction(a[i]);
            } else if (v instanceof boolean[] a) {
                t.truth(a[i]);
            } else if (v instanceof char[] a) {
                t.letter(a[i]);
            } else {
                t.integer(((short[]) v)[i]);
            }
        }
        finish(t, from, n - i);
    }

    /** Ends a list that began at a place, and of which more is left out. */
    private static void finish(StrobeThread t, long from, int more) {
        t.byte1(']');
        if (more > 0) {
            t.left++;
            t.enclose(from, "{\"$\":\"list\",\"v\":");
            t.put(MORE);
            t.integer(more);
            t.byte1('}');
        }
    }

    private static void bytes(StrobeThread t, byte[] b) {
        int n = Math.min(b.length, 1024);
        final String digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        t.put(BYTES);
        for (int i = 0; i < n; i += 3) {
            int w = (b[i] & 255) << 16 | (i + 1 < n ? (b[i + 1] & 255) << 8 : 0) | (i + 2 < n ? b[i + 2] & 255 : 0);
            t.byte1(digits.charAt(w >> 18));
            t.byte1(digits.charAt(w >> 12 & 63));
            t.byte1(i + 1 < n ? digits.charAt(w >> 6 & 63) : '=');
            t.byte1(i + 2 < n ? digits.charAt(w & 63) : '=');
        }
        t.byte1('"');
        if (b.length > n) {
            t.put(MORE);
            t.integer(b.length - n);
        }
        t.byte1('}');
    }

    /** Elements of an array from an index on, n of them, going round at its end; there are more beside them. */
    static void elements(StrobeThread t, Object[] a, int from, int n, int beside, int depth, Inside in) {
        int i = 0;
        long start = t.at;
        t.byte1('[');
        for (; i < n && i < a.length && i < t.items && (i == 0 || t.room()); i++) {
            if (i > 0) {
                t.byte1(',');
            }
            int k = from + i;
            value(t, a[k < a.length ? k : k - a.length], depth, in);
        }
        finish(t, start, n - i + beside);
    }
}
