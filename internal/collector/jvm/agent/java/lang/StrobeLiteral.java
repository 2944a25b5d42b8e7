package java.lang;

/** A number, a character or a text that stands in an expression. */
final class StrobeLiteral {
    final Object value;
    final int end;

    StrobeLiteral(String s, int at) {
        char c = s.charAt(at);
        if (c == '"' || c == '\'') {
            StringBuilder b = new StringBuilder();
            int i = at + 1;
            for (; i < s.length() && s.charAt(i) != c; i++) {
                char x = s.charAt(i);
                if (x == '\\' && i + 1 < s.length()) {
                    x = s.charAt(++i);
                    x = x == 'n' ? '\n' : x == 't' ? '\t' : x == 'r' ? '\r' : x == '0' ? 0 : x;
                }
                b.append(x);
            }
            if (i == s.length()) {
                throw new StrobeEval.Wrong("a text does not end in " + s);
            }
            if (c == '\'' && b.length() != 1) {
                throw new StrobeEval.Wrong("'" + b + "' is no character");
            }
            value = c == '"' ? (Object) b.toString() : (Object) b.charAt(0);
            end = i + 1;
            return;
        }
        int i = at;
        boolean hex = s.startsWith("0x", at) || s.startsWith("0X", at), fraction = false;
        while (i < s.length() && (Character.isLetterOrDigit(s.charAt(i)) || s.charAt(i) == '_' || s.charAt(i) == '.'
            || !hex && (s.charAt(i) == '-' || s.charAt(i) == '+') && (s.charAt(i - 1) | 32) == 'e')) {
            char x = s.charAt(i++);
            fraction |= x == '.' || !hex && ((x | 32) == 'e' || (x | 32) == 'f' || (x | 32) == 'd');
        }
        end = i;
        value = number(s.substring(at, i).replace("_", ""), hex, fraction);
    }

    private static Object number(String t, boolean hex, boolean fraction) {
        try {
            if (fraction) {
                return Double.valueOf(t);
            }
            boolean wide = t.endsWith("L") || t.endsWith("l");
            t = wide ? t.substring(0, t.length() - 1) : t;
            long v = hex ? Long.parseUnsignedLong(t.substring(2), 16) : Long.parseLong(t);
            if (hex && !wide && v >>> 32 == 0) {
                return (int) v;
            }
            return wide || v != (int) v ? (Object) v : (Object) (int) v;
        } catch (NumberFormatException e) {
            throw new StrobeEval.Wrong(t + " is no number");
        }
    }
}
