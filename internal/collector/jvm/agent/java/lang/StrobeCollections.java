package java.lang;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Map;
import jdk.internal.misc.Unsafe;

/** The JDK's collections, read by their fields. */
final class StrobeCollections {
    private static final Unsafe U = StrobeRecorder.U;
    private static final Object[] NONE = new Object[0];
    private static final int MOST = 4096; // elements that are gone through
    private static final StrobeText DICT = StrobeText.of("{\"$\":\"dict\",\"v\":[");
    private static final Class<?> HASHED = named("java.util.HashMap$Node"),
        LINKED = named("java.util.LinkedHashMap$Entry"),
        CONCURRENT = named("java.util.concurrent.ConcurrentHashMap$Node");

    private StrobeCollections() { }

    private static Class<?> named(String name) {
        try {
            return Class.forName(name, false, null);
        } catch (ClassNotFoundException e) {
            return Void.class; // no object is one
        }
    }

    static void list(StrobeThread t, Object v, StrobeLayout l, int depth, StrobeValues.Inside in) {
        switch (l.shown) {
            case StrobeLayout.ARRAY_LIST: {
                Object[] a = (Object[]) U.getReference(v, l.at[1]);
                StrobeValues.elements(t, a == null ? NONE : a, 0, U.getInt(v, l.at[0]), 0, depth, in);
                break;
            }
            case StrobeLayout.BACKED: {
                Object[] a = (Object[]) U.getReference(v, l.at[0]);
                StrobeValues.elements(t, a == null ? NONE : a, 0, a == null ? 0 : a.length, 0, depth, in);
                break;
            }
            case StrobeLayout.DEQUE: {
                Object[] a = (Object[]) U.getReference(v, l.at[0]);
                int head = U.getInt(v, l.at[1]), n = U.getInt(v, l.at[2]) - head;
                StrobeValues.elements(t, a, head, n < 0 ? n + a.length : n, 0, depth, in);
                break;
            }
            default:
                ArrayList<Object> all = gather(v, l);
                int n = all.size(), beside = Math.max(((Collection<?>) v).size() - n, 0);
                StrobeValues.elements(t, all.toArray(), 0, n, beside, depth, in);
        }
    }

    /** Elements that do not stand in an array in their order: the first, and how many there are. */
    private static ArrayList<Object> gather(Object v, StrobeLayout l) {
        ArrayList<Object> all = new ArrayList<>();
        switch (l.shown) {
            case StrobeLayout.LINKED: {
                for (Object o = U.getReference(v, l.at[0]); o != null && all.size() <= MOST; ) {
                    StrobeLayout n = StrobeLayout.node(o.getClass());
                    all.add(U.getReference(o, n.at[1]));
                    o = U.getReference(o, n.at[0]);
                }
                break;
            }
            case StrobeLayout.PAIR:
                all.add(U.getReference(v, l.at[0]));
                if (l.at.length == 1) {
                    break;
                }
                Object second = U.getReference(v, l.at[1]);
                if (second != null && !second.getClass().getName().equals("java.lang.Object")) {
                    all.add(second);
                }
                break;
            default: { // a set over a map
                Object map = U.getReference(v, l.at[0]);
                if (map instanceof Object[] a) {
                    for (Object o : a) {
                        if (o != null) {
                            all.add(o);
                        }
                    }
                } else if (map != null) {
                    entries(map, StrobeLayout.of(map.getClass()), all);
                    for (int i = all.size() / 2 - 1; i >= 0; i--) {
                        all.set(i, all.get(2 * i));
                    }
                    all.subList(all.size() / 2, all.size()).clear();
                }
            }
        }
        return all;
    }

    // --- mappings

    /** Keys and values in turn, at most 4,096 of both. False: how they stand is not known. */
    private static boolean entries(Object v, StrobeLayout l, ArrayList<Object> out) {
        switch (l.shown) {
            case StrobeLayout.HASH_MAP:
            case StrobeLayout.CONCURRENT: {
                if (l.at.length > 1) { // linked: in the order of insertion
                    chain(U.getReference(v, l.at[1]), true, out);
                    return true;
                }
                Object[] table = (Object[]) U.getReference(v, l.at[0]);
                for (int i = 0; table != null && i < table.length && out.size() < 2 * MOST; i++) {
                    chain(table[i], false, out);
                }
                return true;
            }
            case StrobeLayout.TREE_MAP: {
                Object root = U.getReference(v, l.at[0]);
                if (root != null) {
                    inOrder(root, StrobeLayout.node(root.getClass()), out, 0);
                }
                return true;
            }
            case StrobeLayout.MAP_N: {
                Object[] table = (Object[]) U.getReference(v, l.at[0]);
                for (int i = 0; table != null && i + 1 < table.length && out.size() < 2 * MOST; i += 2) {
                    if (table[i] != null) {
                        out.add(table[i]);
                        out.add(table[i + 1]);
                    }
                }
                return true;
            }
            case StrobeLayout.MAP_1:
                out.add(U.getReference(v, l.at[0]));
                out.add(U.getReference(v, l.at[1]));
                return true;
            default:
                return false;
        }
    }

    /** Entries that hang on each other. Those of a tree are followed as the list that they are as well. */
    private static void chain(Object o, boolean linked, ArrayList<Object> out) {
        while (o != null && out.size() < 2 * MOST) {
            StrobeLayout n;
            if (HASHED.isInstance(o)) {
                n = StrobeLayout.node(linked ? LINKED : HASHED);
            } else {
                n = StrobeLayout.node(CONCURRENT.isInstance(o) && !o.getClass().getName().endsWith("$TreeBin") ? CONCURRENT
                    : o.getClass());
                if (n.at.length == 1) { // the head of a tree
                    o = U.getReference(o, n.at[0]);
                    continue;
                }
                if (n.at.length != 3) {
                    return;
                }
            }
            out.add(U.getReference(o, n.at[1]));
            out.add(U.getReference(o, n.at[2]));
            o = U.getReference(o, n.at[0]);
        }
    }

    private static void inOrder(Object node, StrobeLayout l, ArrayList<Object> out, int deep) {
        if (node == null || deep > 64 || out.size() >= 2 * MOST) {
            return;
        }
        inOrder(U.getReference(node, l.at[0]), l, out, deep + 1);
        out.add(U.getReference(node, l.at[1]));
        out.add(U.getReference(node, l.at[2]));
        inOrder(U.getReference(node, l.at[3]), l, out, deep + 1);
    }

    static void map(StrobeThread t, Object v, StrobeLayout l, int depth, StrobeValues.Inside in) {
        ArrayList<Object> all = new ArrayList<>();
        entries(v, l, all);
        int n = all.size() / 2, most = Math.min(n, t.items), i = 0;
        int size = Math.max(((Map<?, ?>) v).size(), n);
        boolean texts = true;
        for (int k = 0; k < most && texts; k++) {
            texts = all.get(2 * k) instanceof String s && !s.startsWith("$") && s.length() <= 80;
        }
        long from = t.at;
        if (texts) {
            t.byte1('{');
        } else {
            t.put(DICT);
        }
        for (; i < most && (i == 0 || t.room()); i++) {
            if (i > 0) {
                t.byte1(',');
            }
            if (texts) {
                t.text((String) all.get(2 * i));
                t.byte1(':');
                StrobeValues.value(t, all.get(2 * i + 1), depth, in);
                continue;
            }
            t.byte1('[');
            StrobeValues.value(t, all.get(2 * i), depth, in);
            t.byte1(',');
            StrobeValues.value(t, all.get(2 * i + 1), depth, in);
            t.byte1(']');
        }
        t.byte1(texts ? '}' : ']');
        if (texts && size > i) { // a mapping by texts cannot say that it is cut
            t.enclose(from, "{\"$\":\"obj\",\"t\":\"" + l.name + "\",\"v\":");
        }
        if (size > i) {
            t.left++;
            t.put(StrobeValues.MORE);
            t.integer(size - i);
        }
        if (size > i || !texts) {
            t.byte1('}');
        }
    }
}
