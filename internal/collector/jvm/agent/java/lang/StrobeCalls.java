package java.lang;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;

/** Methods by their name and what they are given. */
final class StrobeCalls {
    private StrobeCalls() { }

    static boolean any(Class<?> c, String name) {
        return find(c, name, null, false) != null;
    }

    /** The method nearest to the class that takes the arguments; with none of these, any of that name. */
    static Method find(Class<?> c, String name, ArrayList<Object> args, boolean fixed) {
        for (Class<?> k = c; k != null; k = k.getSuperclass()) {
            Method m = own(k, name, args, fixed);
            if (m != null) {
                return m;
            }
        }
        for (Class<?> k = c; k != null; k = k.getSuperclass()) {
            for (Class<?> i : k.getInterfaces()) {
                Method m = find(i, name, args, fixed);
                if (m != null) {
                    return m;
                }
            }
        }
        return null;
    }

    private static Method own(Class<?> c, String name, ArrayList<Object> args, boolean fixed) {
        Method best = null;
        int least = Integer.MAX_VALUE;
        for (Method m : c.getDeclaredMethods()) {
            if (!m.getName().equals(name) || fixed && !Modifier.isStatic(m.getModifiers()) || m.isBridge()) {
                continue;
            }
            int far = args == null ? 0 : distance(m.getParameterTypes(), args);
            if (far >= 0 && far < least) {
                best = m;
                least = far;
            }
        }
        return best;
    }

    private static int distance(Class<?>[] types, ArrayList<Object> args) {
        if (types.length != args.size()) {
            return -1;
        }
        int sum = 0;
        for (int i = 0; i < types.length; i++) {
            int one = distance(types[i], args.get(i));
            if (one < 0) {
                return -1;
            }
            sum += one;
        }
        return sum;
    }

    private static final String WIDER = "BSIJFD";

    private static char letter(Class<?> c) {
        return c.descriptorString().charAt(0);
    }

    private static int distance(Class<?> t, Object v) {
        if (!t.isPrimitive()) {
            return v == null || t.isInstance(v) ? v == null || t == v.getClass() ? 0 : 2 : -1;
        }
        if (v instanceof Boolean) {
            return t == boolean.class ? 0 : -1;
        }
        if (v instanceof Character) {
            return t == char.class ? 0 : WIDER.indexOf(letter(t)) - 1;
        }
        if (!(v instanceof Number)) {
            return -1;
        }
        int from = WIDER.indexOf(v instanceof Byte ? 'B' : v instanceof Short ? 'S' : v instanceof Integer ? 'I'
            : v instanceof Long ? 'J' : v instanceof Float ? 'F' : v instanceof Double ? 'D' : '?');
        int to = WIDER.indexOf(letter(t));
        return from >= 0 && to >= from ? to - from : -1;
    }

    /** Arguments in the form that the method takes. */
    static Object[] fitting(Method m, ArrayList<Object> args) {
        Object[] all = args.toArray();
        Class<?>[] types = m.getParameterTypes();
        for (int i = 0; i < all.length; i++) {
            if (types[i].isPrimitive() && all[i] instanceof Number n) {
                switch (letter(types[i])) {
                    case 'J': all[i] = n.longValue(); break;
                    case 'F': all[i] = n.floatValue(); break;
                    case 'D': all[i] = n.doubleValue(); break;
                    default:
                }
            }
        }
        return all;
    }
}
