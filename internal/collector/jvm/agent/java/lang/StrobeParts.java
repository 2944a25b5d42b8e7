package java.lang;

import java.lang.reflect.Array;
import java.util.ArrayList;
import jdk.internal.misc.Unsafe;

/** Parts of a value one by one: elements of arrays and of the JDK's lists, and fields. No code of the program runs. */
final class StrobeParts {
    private static final Unsafe U = StrobeRecorder.U;

    private StrobeParts() { }

    /** How many parts a value has; -1: it is shown whole. */
    static int count(Object v) {
        if (v == null || v instanceof String) {
            return -1;
        }
        if (v.getClass().isArray()) {
            return Array.getLength(v);
        }
        StrobeLayout l = StrobeLayout.of(v.getClass());
        if (l.shown == StrobeLayout.ARRAY_LIST) {
            return ((ArrayList<?>) v).size();
        }
        return l.shown != StrobeLayout.FIELDS && l.shown < StrobeLayout.ARRAY_LIST ? -1 : fields(v).size() / 3;
    }

    static boolean isList(Object v) {
        return v != null && (v.getClass().isArray() || StrobeLayout.of(v.getClass()).shown == StrobeLayout.ARRAY_LIST);
    }

    static String summary(Object v) {
        if (v.getClass().isArray()) {
            String c = StrobeLayout.shown(v.getClass().getComponentType().getTypeName());
            return c + "[" + Array.getLength(v) + "]";
        }
        return StrobeLayout.of(v.getClass()).name;
    }

    /** Declaring class, name and descriptor of each field, those of the outermost class first. */
    private static ArrayList<Object> fields(Object v) {
        ArrayList<Object> all = new ArrayList<>();
        for (Class<?> k = v.getClass(); k != null && k != Object.class; k = k.getSuperclass()) {
            String[] f = StrobeRecorder.fields(k);
            for (int i = f.length - 2; i >= 0; i -= 2) {
                all.add(0, f[i + 1]);
                all.add(0, f[i]);
                all.add(0, k);
            }
        }
        return all;
    }

    static String name(Object v, int i) {
        return isList(v) ? String.valueOf(i) : (String) fields(v).get(3 * i + 1);
    }

    static String type(Object v, int i) {
        if (v.getClass().isArray()) {
            return StrobeLayout.shown(v.getClass().getComponentType().getTypeName());
        }
        return isList(v) ? null : StrobeFrame.type((String) fields(v).get(3 * i + 2));
    }

    static Object part(Object v, int i) {
        if (v.getClass().isArray()) {
            return Array.get(v, i);
        }
        if (isList(v)) {
            ArrayList<?> l = (ArrayList<?>) v;
            return i < l.size() ? l.get(i) : null;
        }
        ArrayList<Object> f = fields(v);
        long at = U.objectFieldOffset((Class<?>) f.get(3 * i), (String) f.get(3 * i + 1));
        switch (((String) f.get(3 * i + 2)).charAt(0)) {
            case 'I': return U.getInt(v, at);
            case 'J': return U.getLong(v, at);
            case 'Z': return U.getBoolean(v, at);
            case 'B': return U.getByte(v, at);
            case 'S': return U.getShort(v, at);
            case 'C': return U.getChar(v, at);
            case 'F': return U.getFloat(v, at);
            case 'D': return U.getDouble(v, at);
            default: return U.getReference(v, at);
        }
    }
}
