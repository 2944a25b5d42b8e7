package java.lang;

/** What operators of Java make of two values. */
final class StrobeArithmetic {
    private StrobeArithmetic() { }

    private static boolean numeric(Object v) {
        return v instanceof Number || v instanceof Character;
    }

    private static boolean equal(Object a, Object b) {
        if (numeric(a) && numeric(b)) {
            Number x = StrobeEval.number(a), y = StrobeEval.number(b);
            return floats(x) || floats(y) ? x.doubleValue() == y.doubleValue() : x.longValue() == y.longValue();
        }
        if (a instanceof String || a instanceof Boolean) {
            return a.equals(b);
        }
        return a == b;
    }

    static boolean floats(Number n) {
        return n instanceof Double || n instanceof Float;
    }

    static Object apply(String op, Object a, Object b) {
        switch (op) {
            case "==": return equal(StrobeEval.there(a), StrobeEval.there(b));
            case "!=": return !equal(StrobeEval.there(a), StrobeEval.there(b));
            case "+":
                if (StrobeEval.there(a) instanceof String || StrobeEval.there(b) instanceof String) {
                    return String.valueOf(a).concat(String.valueOf(b));
                }
                break;
            case "&": case "|": case "^":
                if (a instanceof Boolean x && b instanceof Boolean y) {
                    return op.equals("&") ? x & y : op.equals("|") ? x | y : x ^ y;
                }
                break;
            default:
        }
        Number x = StrobeEval.number(a), y = StrobeEval.number(b);
        return floats(x) || floats(y) ? fractions(op, x.doubleValue(), y.doubleValue())
            : integers(op, x.longValue(), y.longValue(), x instanceof Long || y instanceof Long, x instanceof Long);
    }

    private static Object fractions(String op, double x, double y) {
        switch (op) {
            case "<": return x < y;
            case ">": return x > y;
            case "<=": return x <= y;
            case ">=": return x >= y;
            case "+": return x + y;
            case "-": return x - y;
            case "*": return x * y;
            case "/": return x / y;
            case "%": return x % y;
            default: throw new StrobeEval.Wrong(op + " is not for fractions");
        }
    }

    static Object integers(String op, long x, long y, boolean wide, boolean left) {
        long v;
        switch (op) {
            case "<": return x < y;
            case ">": return x > y;
            case "<=": return x <= y;
            case ">=": return x >= y;
            case "+": v = x + y; break;
            case "-": v = x - y; break;
            case "*": v = x * y; break;
            case "/": v = x / y; break;
            case "%": v = x % y; break;
            case "&": v = x & y; break;
            case "|": v = x | y; break;
            case "^": v = x ^ y; break;
            case "<<": return left ? (Object) (x << y) : (Object) ((int) x << y);
            case ">>": return left ? (Object) (x >> y) : (Object) ((int) x >> y);
            default: return left ? (Object) (x >>> y) : (Object) ((int) x >>> y);
        }
        return wide ? (Object) v : (Object) (int) v;
    }
}
