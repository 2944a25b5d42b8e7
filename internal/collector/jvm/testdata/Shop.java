package shop;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntUnaryOperator;

/** Calls and values of every form. Nothing of its own may run because it is watched: then it ends with 70. */
public class Shop {
    enum Colour {
        RED,
        BLUE {
            @Override
            int shade() {
                return 2;
            }
        };

        int shade() {
            return 1;
        }
    }

    record Point(int x, int y) { }

    static class Base {
        private final int id;

        Base(int id) {
            this.id = id;
        }
    }

    static class Item extends Base {
        private final String id;
        Object next;
        static int count;

        Item(int id, String name) {
            super(id);
            this.id = name;
            count++;
        }

        @Override
        public String toString() {
            Runtime.getRuntime().halt(70);
            return "";
        }

        @Override
        public int hashCode() {
            Runtime.getRuntime().halt(71);
            return 0;
        }
    }

    static class Broken extends RuntimeException {
        final int code;

        Broken(String message, int code) {
            super(message);
            this.code = code;
        }

        @Override
        public String getMessage() {
            Runtime.getRuntime().halt(72);
            return "";
        }
    }

    interface Priced {
        default int price(int n) {
            return n * 2;
        }
    }

    static class Thing implements Priced, Comparable<Thing> {
        @Override
        public int compareTo(Thing o) {
            return 0;
        }
    }

    static void numbers(byte a, short b, char c, boolean d, int e, long f, float g, double h) { }
    static double half(double d) { return d / 2; }
    static float third(float f) { return f / 3; }
    static char next(char c) { return (char) (c + 1); }
    static long big(long n) { return n * 1000; }
    static boolean not(boolean b) { return !b; }
    static Object same(Object o) { return o; }
    static int[] ints(int... all) { return all; }

    static Object fails(int n) {
        throw new Broken("no " + n, n);
    }

    static int catches(int n) {
        try {
            fails(n);
        } catch (Broken e) {
            return -1;
        }
        return 0;
    }

    static int lambdas(int n) {
        IntUnaryOperator twice = x -> x * 2;
        return twice.applyAsInt(n);
    }

    static int deep(int n) {
        return n == 0 ? 0 : 1 + deep(n - 1);
    }

    public static void main(String[] args) throws Exception {
        numbers((byte) -1, (short) 2, 'c', true, 3, Long.MIN_VALUE, 1.5f, -0.0);
        half(3);
        half(Double.NaN);
        half(Double.NEGATIVE_INFINITY);
        half(1e300);
        third(1);
        next('"');
        big(-5);
        not(true);
        ints(1, 2, 3);
        same("na\u00efve \"\\ \ud83d\ude00 \u2603 \0 \ud800");
        same(new Object[] {1, 2L, 'c', true, 1.5, "s", null, (short) 4});
        same(new Item(7, "pear"));
        same(new Point(1, 2));
        same(Colour.BLUE);
        same(Map.Entry.class);
        same(new byte[] {0, 1, 2, 3});
        same(new ArrayList<>(List.of(1, 2)));
        same(List.of());
        same(List.of("one"));
        same(List.of(1, 2, 3));
        same(Arrays.asList(1, null));
        same(new LinkedList<>(List.of(1, 2)));
        ArrayDeque<Integer> deque = new ArrayDeque<>(4);
        for (int i = 0; i < 9; i++) {
            deque.addLast(i);
            if (deque.size() > 3) {
                deque.removeFirst();
            }
        }
        same(deque);
        same(new TreeMap<>(Map.of("b", 2, "a", 1)));
        LinkedHashMap<Object, Object> map = new LinkedHashMap<>();
        map.put(1, "one");
        map.put(new Point(3, 4), null);
        same(map);
        same(new ConcurrentHashMap<>(Map.of("k", "v")));
        same(new HashSet<>(List.of(5)));
        same(Map.of("a", 1));
        same(new java.math.BigInteger("123456789012345678901234567890"));
        same(new java.math.BigDecimal("1.50"));
        same(java.time.LocalDate.of(2026, 1, 2));
        same(new StringBuilder("built"));
        int[] many = new int[103];
        same(many);
        same("x".repeat(1030));
        Item a = new Item(1, "a"), b = new Item(2, "b");
        a.next = b;
        b.next = a;
        same(a);
        Item chain = null;
        for (int i = 0; i < 6; i++) {
            Item one = new Item(i, null);
            one.next = chain;
            chain = one;
        }
        same(chain);
        catches(7);
        lambdas(21);
        deep(3);
        Colour.BLUE.shade();
        new Thing().price(4);
        new Thing().compareTo(null);
        Thread t = new Thread(() -> big(1), "second");
        t.start();
        t.join();
        System.out.println("done " + Item.count);
    }
}
