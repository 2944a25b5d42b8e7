package java.lang;

/** A frame of a thread that stands, as the agent has read it: arguments first, then other variables. */
final class StrobeFrame {
    String[] names, signs;
    long[] raw; // of primitive types, by their bits
    Object[] values;
    int arguments; // how many are
    Object self;
    Class<?> in;
    int changed = -1; // one that the agent is to write

    /** Of the arrays the first n elements count. */
    static StrobeFrame make(String[] names, String[] signs, long[] raw, Object[] values, int n, int arguments,
        Object self, Class<?> in) {
        StrobeFrame f = new StrobeFrame();
        f.names = new String[n];
        f.signs = new String[n];
        System.arraycopy(names, 0, f.names, 0, n);
        System.arraycopy(signs, 0, f.signs, 0, n);
        f.raw = raw;
        f.values = values;
        f.arguments = arguments;
        f.self = self;
        f.in = in;
        return f;
    }

    int find(String name) {
        for (int i = names.length - 1; i >= 0; i--) {
            if (name.equals(names[i])) {
                return i;
            }
        }
        return -1;
    }

    Object value(int i) {
        long r = raw[i];
        switch (signs[i].charAt(0)) {
            case 'I': return (int) r;
            case 'J': return r;
            case 'Z': return r != 0;
            case 'B': return (byte) r;
            case 'S': return (short) r;
            case 'C': return (char) r;
            case 'F': return Float.intBitsToFloat((int) r);
            case 'D': return Double.longBitsToDouble(r);
            default: return values[i];
        }
    }

    /** Notes what a variable is to hold. */
    void set(int i, Object v) {
        switch (signs[i].charAt(0)) {
            case 'I': raw[i] = whole(v, Integer.MIN_VALUE, Integer.MAX_VALUE); break;
            case 'J': raw[i] = whole(v, Long.MIN_VALUE, Long.MAX_VALUE); break;
            case 'B': raw[i] = whole(v, -128, 127); break;
            case 'S': raw[i] = whole(v, -32768, 32767); break;
            case 'C': raw[i] = v instanceof Character c ? c : whole(v, 0, 65535); break;
            case 'Z':
                if (!(v instanceof Boolean b)) {
                    throw new StrobeEval.Wrong("a boolean is needed");
                } else {
                    raw[i] = b ? 1 : 0;
                }
                break;
            case 'F': raw[i] = Float.floatToRawIntBits(StrobeEval.number(v).floatValue()); break;
            case 'D': raw[i] = Double.doubleToRawLongBits(StrobeEval.number(v).doubleValue()); break;
            default: values[i] = v;
        }
        changed = i;
    }

    private static long whole(Object v, long least, long most) {
        Number n = StrobeEval.number(v);
        if (n instanceof Double || n instanceof Float || n.longValue() < least || n.longValue() > most) {
            throw new StrobeEval.Wrong("it does not fit: " + n);
        }
        return n.longValue();
    }

    static String type(String sign) {
        int n = 0;
        while (n < sign.length() - 1 && sign.charAt(n) == '[') {
            n++;
        }
        String t;
        switch (sign.charAt(n)) {
            case 'I': t = "int"; break;
            case 'J': t = "long"; break;
            case 'Z': t = "boolean"; break;
            case 'B': t = "byte"; break;
            case 'S': t = "short"; break;
            case 'C': t = "char"; break;
            case 'F': t = "float"; break;
            case 'D': t = "double"; break;
            default: t = StrobeLayout.shown(sign.substring(n + 1, sign.length() - 1).replace('/', '.'));
        }
        StringBuilder b = new StringBuilder(t);
        for (int i = 0; i < n; i++) {
            b.append("[]");
        }
        return b.toString();
    }
}
