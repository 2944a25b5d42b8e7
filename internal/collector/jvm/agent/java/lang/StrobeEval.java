package java.lang;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;

/**
 * Expressions of Java in a frame: literals, variables, fields, elements, calls of methods, operators. No new, casts,
 * lambdas or assignments. Texts are compared by what they say. With no frame it only reads the text.
 */
final class StrobeEval {
    /** The expression is wrong. */
    static final class Wrong extends RuntimeException {
        Wrong(String message) {
            super(message, null, false, false);
        }
    }

    /** A class, or what may be the beginning of one's name. */
    private static final class Type {
        final Class<?> of;
        final String name;

        Type(Class<?> of, String name) {
            this.of = of;
            this.name = name;
        }
    }

    private static final String[] OPERATORS = {"||", "&&", "|", "^", "&", "==", "!=", "<=", ">=", "<<", ">>>", ">>", "<",
        ">", "+", "-", "*", "/", "%"};
    private static final int[] LEVELS = {1, 2, 3, 4, 5, 6, 6, 7, 7, 8, 8, 8, 7, 7, 9, 9, 10, 10, 10};

    private final StrobeFrame f;
    private final String s;
    private int at;
    private boolean off; // what is read does not count: false && …
    // What the last part of it was: a variable, a field, or an element.
    int local = -1;
    private Field field;
    private Object base;
    private int index = -1;

    private StrobeEval(StrobeFrame f, String s) {
        this.f = f;
        this.s = s;
        off = f == null;
    }

    /** The value; what the expression throws is thrown. */
    static Object value(StrobeFrame f, String s) throws Throwable {
        return new StrobeEval(f, s).whole();
    }

    /** Writes into what an expression means, and returns what is there then. */
    static Object assign(StrobeFrame f, String to, Object v) throws Throwable {
        StrobeEval e = new StrobeEval(f, to);
        e.whole();
        if (e.local >= 0) {
            f.set(e.local, v);
            return f.value(e.local);
        }
        if (e.field != null) {
            set(e.field, e.base, v);
            return e.field.get(e.base);
        }
        if (e.index < 0) {
            throw new Wrong("only variables, fields and elements can be set");
        }
        if (v instanceof Number n && !(v instanceof Integer) && !e.base.getClass().getComponentType().isPrimitive()) {
            v = n;
        }
        Array.set(e.base, e.index, v);
        return Array.get(e.base, e.index);
    }

    private static void set(Field field, Object base, Object v) throws Throwable {
        Class<?> t = field.getType();
        if (v instanceof Integer i && (t == byte.class || t == short.class || t == char.class)) {
            v = t == byte.class ? (Object) i.byteValue() : t == short.class ? (Object) i.shortValue()
                : (Object) (char) (int) i;
        }
        field.set(base, v);
    }

    private Object whole() throws Throwable {
        Object v = binary(0);
        if (space() < s.length()) {
            throw new Wrong("\"" + s.substring(at) + "\" is not understood in " + s);
        }
        if (v instanceof Type t && !off) {
            throw new Wrong((t.of == null ? "nothing is named " : "it is a class: ") + t.name);
        }
        return v;
    }

    private int space() {
        while (at < s.length() && s.charAt(at) <= ' ') {
            at++;
        }
        return at;
    }

    private boolean eat(String what) {
        if (s.startsWith(what, space())) {
            at += what.length();
            return true;
        }
        return false;
    }

    private void need(String what) {
        if (!eat(what)) {
            throw new Wrong("\"" + what + "\" is missing in " + s);
        }
    }

    private void forget() {
        local = index = -1;
        field = null;
    }

    // --- operators

    private Object binary(int least) throws Throwable {
        Object a = unary();
        for (;;) {
            int op = operator(least);
            if (op < 0) {
                return least == 0 && eat("?") ? choice(a) : least <= 7 && word("instanceof") ? isA(a) : a;
            }
            at += OPERATORS[op].length();
            boolean was = off;
            if (op == 0 && !off && truth(a) || op == 1 && !off && !truth(a)) {
                off = true;
            }
            Object b = binary(LEVELS[op] + 1);
            off = was;
            forget();
            if (!off) {
                a = op == 0 ? (Object) (truth(a) || truth(b)) : op == 1 ? (Object) (truth(a) && truth(b))
                    : StrobeArithmetic.apply(OPERATORS[op], a, b);
            }
        }
    }

    private int operator(int least) {
        space();
        for (int i = 0; i < OPERATORS.length; i++) {
            if (s.startsWith(OPERATORS[i], at)) {
                return LEVELS[i] >= least ? i : -1;
            }
        }
        return -1;
    }

    private Object choice(Object a) throws Throwable {
        boolean was = off, is = !off && truth(a);
        off = was || !is;
        Object yes = binary(0);
        need(":");
        off = was || is;
        Object no = binary(0);
        off = was;
        forget();
        return is ? yes : no;
    }

    private Object isA(Object a) {
        StringBuilder name = new StringBuilder();
        do {
            name.append(name.length() > 0 ? "." : "").append(identifier());
        } while (eat("."));
        forget();
        if (off) {
            return false;
        }
        Class<?> c = named(name.toString());
        if (c == null) {
            throw new Wrong("no class is named " + name);
        }
        return c.isInstance(a);
    }

    private static boolean truth(Object v) {
        if (v instanceof Boolean b) {
            return b;
        }
        there(v);
        throw new Wrong("it is no boolean: " + kind(v));
    }

    static Number number(Object v) {
        if (v instanceof Character c) {
            return (int) c;
        }
        if (v instanceof Number n) {
            return n;
        }
        there(v);
        throw new Wrong("it is no number: " + kind(v));
    }

    private static String kind(Object v) {
        return v == null ? "null" : v instanceof Type t ? t.name : StrobeLayout.shown(v.getClass().getName());
    }

    /** What is named, and no part of a class's name. */
    static Object there(Object v) {
        if (v instanceof Type t) {
            throw new Wrong(t.of == null ? "nothing is named " + t.name : "it is a class: " + t.name);
        }
        return v;
    }

    private Object unary() throws Throwable {
        if (space() < s.length() && s.charAt(at) == '!' && !s.startsWith("!=", at)) {
            at++;
            Object v = unary();
            forget();
            return off ? v : (Object) !truth(v);
        }
        if (eat("-")) {
            Object v = unary();
            forget();
            return off ? v : StrobeArithmetic.floats(number(v)) ? (Object) (-number(v).doubleValue())
                : StrobeArithmetic.integers("-", 0, number(v).longValue(), v instanceof Long, false);
        }
        if (eat("~")) {
            Object v = unary();
            forget();
            return off ? v : StrobeArithmetic.integers("^", number(v).longValue(), -1, v instanceof Long, false);
        }
        return parts(primary());
    }

    // --- parts

    private Object parts(Object v) throws Throwable {
        for (;;) {
            if (eat(".")) {
                String name = identifier();
                v = eat("(") ? call(v, name) : off ? null : member(v, name);
            } else if (eat("[")) {
                Object i = binary(0);
                need("]");
                forget();
                if (!off) {
                    if (v == null) {
                        throw new NullPointerException("an element of null");
                    }
                    if (!v.getClass().isArray()) {
                        throw new Wrong(kind(v) + " is no array: use get(…)");
                    }
                    base = v;
                    index = number(i).intValue();
                    v = Array.get(v, index);
                }
            } else {
                return v;
            }
        }
    }

    private Object member(Object v, String name) throws Throwable {
        forget();
        if (v instanceof Type t) {
            if (t.of == null) {
                String longer = t.name + "." + name;
                return new Type(named(longer), longer);
            }
            if (has(t.of, name, true)) {
                return field.get(base = null);
            }
            if (name.equals("class")) {
                return t.of;
            }
            Class<?> c = load(t.of.getName() + "$" + name);
            if (c == null) {
                throw new Wrong(t.name + " has no static field " + name);
            }
            return new Type(c, t.name + "." + name);
        }
        if (v == null) {
            throw new NullPointerException("field " + name + " of null");
        }
        if (v.getClass().isArray() && name.equals("length")) {
            return Array.getLength(v);
        }
        if (!has(v.getClass(), name, false)) {
            throw new Wrong(kind(v) + " has no field " + name);
        }
        return field.get(base = v);
    }

    /** Finds a field in a class or in those that it extends. */
    private boolean has(Class<?> c, String name, boolean fixed) {
        for (; c != null; c = c.getSuperclass()) {
            try {
                Field is = c.getDeclaredField(name);
                if (!fixed || Modifier.isStatic(is.getModifiers())) {
                    is.setAccessible(true);
                    field = is;
                    return true;
                }
            } catch (NoSuchFieldException e) {
                continue;
            }
        }
        return false;
    }

    private Object call(Object v, String name) throws Throwable {
        ArrayList<Object> args = new ArrayList<>();
        while (!eat(")")) {
            if (!args.isEmpty()) {
                need(",");
            }
            args.add(binary(0));
        }
        forget();
        if (off) {
            return null;
        }
        if (v == null) {
            throw new NullPointerException("a call of " + name + " on null");
        }
        boolean fixed = v instanceof Type;
        Class<?> c = v instanceof Type t ? t.of : v.getClass();
        Method m = c == null ? null : StrobeCalls.find(c, name, args, fixed);
        if (m == null) {
            throw new Wrong(kind(v) + " has no method " + name + " for these arguments");
        }
        try {
            m.setAccessible(true);
            return m.invoke(fixed ? null : v, StrobeCalls.fitting(m, args));
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private String identifier() {
        int from = space();
        while (at < s.length() && Character.isJavaIdentifierPart(s.charAt(at))) {
            at++;
        }
        if (from == at) {
            throw new Wrong("a name is missing in " + s);
        }
        return s.substring(from, at);
    }

    private boolean word(String w) {
        int from = space();
        if (s.startsWith(w, from) && (from + w.length() == s.length()
            || !Character.isJavaIdentifierPart(s.charAt(from + w.length())))) {
            at += w.length();
            return true;
        }
        return false;
    }

    private Object primary() throws Throwable {
        forget();
        if (space() == s.length()) {
            throw new Wrong("an expression is missing in \"" + s + "\"");
        }
        char c = s.charAt(at);
        if (c == '(') {
            at++;
            Object v = binary(0);
            need(")");
            forget();
            return v;
        }
        if (c == '"' || c == '\'' || c >= '0' && c <= '9') {
            StrobeLiteral l = new StrobeLiteral(s, at);
            at = l.end;
            return l.value;
        }
        String name = identifier();
        switch (name) {
            case "true": return true;
            case "false": return false;
            case "null": return null;
            case "this":
                if (!off && f.self == null) {
                    throw new Wrong("there is no this");
                }
                return off ? null : f.self;
            default:
        }
        if (eat("(")) {
            return call(off ? null : f.self != null && StrobeCalls.any(f.self.getClass(), name) ? f.self
                : new Type(f.in, f.in.getName()), name);
        }
        return off ? null : variable(name);
    }

    private Object variable(String name) throws Throwable {
        int i = f.find(name);
        if (i >= 0) {
            local = i;
            return f.value(i);
        }
        if (f.self != null && has(f.self.getClass(), name, false)) {
            return field.get(base = f.self);
        }
        for (Class<?> c = f.in; c != null; c = c.getDeclaringClass()) {
            if (has(c, name, true)) {
                return field.get(base = null);
            }
        }
        return new Type(named(name), name);
    }

    private Class<?> named(String name) {
        Class<?> c = load(name);
        String in = f.in.getName();
        for (int i = in.length(); c == null && i > 0;
            i = Math.max(in.lastIndexOf('$', i - 1), in.lastIndexOf('.', i - 1))) {
            c = load(in.substring(0, i) + "$" + name);
            if (c == null) {
                c = load(in.substring(0, i) + "." + name);
            }
        }
        return c != null ? c : load("java.lang." + name);
    }

    private Class<?> load(String name) {
        try {
            return Class.forName(name, false, f.in.getClassLoader0());
        } catch (ClassNotFoundException | LinkageError e) {
            return null;
        }
    }
}
