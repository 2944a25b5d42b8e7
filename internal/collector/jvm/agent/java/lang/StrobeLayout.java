package java.lang;

import java.util.ArrayList;
import java.util.Arrays;
import jdk.internal.misc.Unsafe;

/** What is known of a class: its name, how its instances are shown, and where their fields are. */
final class StrobeLayout {
    private static final Unsafe U = StrobeRecorder.U;

    // How instances of a class are shown.
    static final int FIELDS = 0, BOXED = 1, REPRESENTED = 2, ENUM = 3, TEXT = 4, CLASS = 5, LAMBDA = 6,
        ARRAY_LIST = 10, BACKED = 11, LINKED = 12, DEQUE = 13, PAIR = 14, SET = 15,
        HASH_MAP = 20, TREE_MAP = 21, CONCURRENT = 22, MAP_N = 23, MAP_1 = 24;

    String name;
    int shown;
    StrobeText head; // what stands before the fields
    StrobeText[] keys;
    char[] types;
    long[] at;

    private static final ClassValue<StrobeLayout> LAYOUTS = new ClassValue<>() {
        @Override
        protected StrobeLayout computeValue(Class<?> c) {
            return layout(c);
        }
    };

    /** Entries and nodes of which the JDK's collections are made. */
    private static final ClassValue<StrobeLayout> NODES = new ClassValue<>() {
        @Override
        protected StrobeLayout computeValue(Class<?> c) {
            switch (c.getName()) {
                case "java.util.LinkedHashMap$Entry": return plain(c, "after", "key", "value");
                case "java.util.HashMap$Node": return plain(c, "next", "key", "value");
                case "java.util.concurrent.ConcurrentHashMap$Node": return plain(c, "next", "key", "val");
                case "java.util.concurrent.ConcurrentHashMap$TreeBin": return plain(c, "first");
                case "java.util.TreeMap$Entry": return plain(c, "left", "key", "value", "right");
                default: return plain(c, "next", "item"); // of a LinkedList
            }
        }
    };

    static StrobeLayout of(Class<?> c) {
        return LAYOUTS.get(c);
    }

    static StrobeLayout node(Class<?> c) {
        return NODES.get(c);
    }

    /** Fields of a class by their names. */
    private static StrobeLayout plain(Class<?> c, String... names) {
        StrobeLayout l = new StrobeLayout();
        l.at = new long[names.length];
        for (int i = 0; i < names.length; i++) {
            l.at[i] = offset(c, names[i]);
        }
        return l;
    }

    private static long offset(Class<?> c, String name) {
        for (Class<?> k = c; k != null; k = k.getSuperclass()) {
            String[] f = StrobeRecorder.fields(k);
            for (int i = 0; i < f.length; i += 2) {
                if (f[i].equals(name)) {
                    return U.objectFieldOffset(k, name);
                }
            }
        }
        throw new IllegalArgumentException(name);
    }

    private static StrobeLayout known(StrobeLayout l, Class<?> c, int shown, String... names) {
        try {
            l.at = plain(c, names).at;
            l.shown = shown;
        } catch (RuntimeException | InternalError e) {
            return null; // this JDK has it otherwise: its fields are shown
        }
        return l;
    }

    /** Collections of the JDK. They are told by their names: nothing is loaded that the program does not use. */
    private static StrobeLayout special(StrobeLayout l, Class<?> c) {
        switch (c.getName()) {
            case "java.util.ArrayList": return known(l, c, ARRAY_LIST, "size", "elementData");
            case "java.util.HashMap": return known(l, c, HASH_MAP, "table");
            case "java.util.LinkedHashMap": return known(l, c, HASH_MAP, "table", "head");
            case "java.util.TreeMap": return known(l, c, TREE_MAP, "root");
            case "java.util.concurrent.ConcurrentHashMap": return known(l, c, CONCURRENT, "table");
            case "java.util.HashSet":
            case "java.util.LinkedHashSet": return known(l, c, SET, "map");
            case "java.util.TreeSet": return known(l, c, SET, "m");
            case "java.util.LinkedList": return known(l, c, LINKED, "first");
            case "java.util.ArrayDeque": return known(l, c, DEQUE, "elements", "head", "tail");
            case "java.util.concurrent.CopyOnWriteArrayList": return known(l, c, BACKED, "array");
            case "java.util.Arrays$ArrayList": return known(l, c, BACKED, "a");
            case "java.util.ImmutableCollections$ListN": return known(l, c, BACKED, "elements");
            case "java.util.ImmutableCollections$List12":
            case "java.util.ImmutableCollections$Set12": return known(l, c, PAIR, "e0", "e1");
            case "java.util.Collections$SingletonList":
            case "java.util.Collections$SingletonSet": return known(l, c, PAIR, "element");
            case "java.util.Collections$SingletonMap": return known(l, c, MAP_1, "k", "v");
            case "java.util.ImmutableCollections$SetN": return known(l, c, SET, "elements");
            case "java.util.ImmutableCollections$MapN": return known(l, c, MAP_N, "table");
            case "java.util.ImmutableCollections$Map1": return known(l, c, MAP_1, "k0", "v0");
            default: return null;
        }
    }

    private static int flatKind(Class<?> c) {
        if (Enum.class.isAssignableFrom(c)) {
            return ENUM;
        }
        String name = c.getName();
        if (c.isHidden() && name.contains("$$Lambda")) {
            return LAMBDA;
        }
        if (c.getClassLoader0() != null) {
            return FIELDS;
        }
        switch (name) {
            case "java.lang.Boolean":
            case "java.lang.Character":
            case "java.lang.Double":
            case "java.lang.Float": return BOXED;
            case "java.lang.Class": return CLASS;
            case "java.lang.StringBuilder":
            case "java.lang.StringBuffer": return TEXT;
            case "java.math.BigInteger":
            case "java.math.BigDecimal":
            case "java.util.UUID":
            case "java.util.concurrent.atomic.AtomicInteger":
            case "java.util.concurrent.atomic.AtomicLong":
            case "java.util.concurrent.atomic.AtomicBoolean":
            case "java.io.File":
            case "sun.nio.fs.UnixPath":
            case "java.net.URI": return REPRESENTED;
            default: return name.startsWith("java.time.") && name.indexOf('.', 10) < 0 ? REPRESENTED : FIELDS;
        }
    }

    /** A class's name as it is shown: classes in others with dots. */
    static String shown(String name) {
        if (name.indexOf('$') < 0) {
            return name;
        }
        StringBuilder b = new StringBuilder(name);
        for (int i = 1; i + 1 < name.length(); i++) {
            char before = name.charAt(i - 1), after = name.charAt(i + 1);
            if (name.charAt(i) == '$' && before != '$' && before != '.'
                && (after >= 'a' && after <= 'z' || after >= 'A' && after <= 'Z' || after == '_')) {
                b.setCharAt(i, '.');
            }
        }
        return b.toString();
    }

    private static StrobeLayout layout(Class<?> c) {
        StrobeLayout l = new StrobeLayout();
        String name = c.getName();
        l.name = shown(name);
        l.shown = flatKind(c);
        if (l.shown == ENUM && c.getSuperclass() != Enum.class) {
            l.name = shown(c.getSuperclass().getName()); // a constant with a body
        }
        if (l.shown == LAMBDA) {
            l.name = shown(name.substring(0, name.indexOf("$$Lambda"))) + ".lambda";
        }
        if (l.shown != FIELDS) {
            return l;
        }
        StrobeLayout special = c.getClassLoader0() == null ? special(l, c) : null;
        return special != null ? special : plainFields(l, c);
    }

    /** All fields, those of the outermost class first; of an exception its message and those of its own classes. */
    private static StrobeLayout plainFields(StrobeLayout l, Class<?> c) {
        ArrayList<Class<?>> line = new ArrayList<>();
        for (Class<?> k = c; k != null && k != Object.class; k = k.getSuperclass()) {
            line.add(0, k);
            if (k == Throwable.class) {
                break;
            }
        }
        boolean continuation = false;
        for (Class<?> k : line) {
            continuation |= StrobeSuspend.isBase(k);
        }
        ArrayList<String> names = new ArrayList<>();
        ArrayList<StrobeText> keys = new ArrayList<>();
        StringBuilder types = new StringBuilder();
        long[] at = new long[16];
        for (Class<?> k : line) {
            String[] f = k == Throwable.class ? new String[] {"detailMessage", "Ljava/lang/String;"} :
                StrobeRecorder.fields(k);
            for (int i = 0; i < f.length; i += 2) {
                if (continuation && StrobeSuspend.isOwn(k, f[i])) {
                    continue;
                }
                if (keys.size() == at.length) {
                    at = Arrays.copyOf(at, 2 * at.length);
                }
                long offset;
                try {
                    offset = U.objectFieldOffset(k, f[i]);
                } catch (RuntimeException | InternalError e) {
                    continue;
                }
                String shown = k == Throwable.class ? "message" : f[i];
                at[keys.size()] = offset;
                types.append(f[i + 1].charAt(0));
                String key = names.contains(shown) ? shown(k.getName()) + "." + shown : shown;
                names.add(key);
                keys.add(key(key));
            }
        }
        l.head = text("{\"$\":\"obj\",\"t\":\"" + l.name + "\",\"v\":{");
        l.keys = keys.toArray(new StrobeText[0]);
        l.types = types.toString().toCharArray();
        l.at = at;
        return l;
    }

    private static StrobeText text(String s) {
        byte[] bytes = s.getBytes(java.nio.charset.StandardCharsets.UTF_8);
        return new StrobeText(bytes, 0, bytes.length);
    }

    /** A field's name as it stands before its value. Names have no quotes: JVMS 4.2.2. */
    private static StrobeText key(String name) {
        StringBuilder b = new StringBuilder("\"");
        for (int i = 0; i < name.length() && i < 100; i++) {
            char c = name.charAt(i);
            b.append(c < ' ' || c == '"' || c == '\\' ? '?' : c);
        }
        return text(b.append("\":").toString());
    }
}
