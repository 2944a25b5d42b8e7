import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One function for each kind of value, which gives it back: values.c, values.js and values.py are the same. */
class values {
    static class Item {
        int id;
        final String name;

        Item(int id, String name) {
            this.id = id;
            this.name = name;
        }
    }

    static class Box {
        final int id;
        final Box inner;

        Box(int id, Box inner) {
            this.id = id;
            this.inner = inner;
        }
    }

    static class Hostile {
        private static void ends() {
            Runtime.getRuntime().halt(9);
        }

        @Override
        public String toString() {
            ends();
            return "";
        }

        @Override
        public int hashCode() {
            ends();
            return 0;
        }

        @Override
        public boolean equals(Object o) {
            ends();
            return false;
        }

        public int getValue() {
            ends();
            return 0;
        }
    }

    static int small(int x) { return x; }
    static int negative(int x) { return x; }
    static long large(long x) { return x; }
    static BigInteger huge(BigInteger x) { return x; }
    static double fraction(double x) { return x; }
    static double notNumber(double x) { return x; }
    static double infinite(double x) { return x; }
    static String text(String x) { return x; }
    static String nulText(String x) { return x; }
    static String surrogate(String x) { return x; }
    static String longText(String x) { return x; }
    static String hugeText(String x) { return x; }
    static byte[] binary(byte[] x) { return x; }
    static boolean truth(boolean x) { return x; }
    static Object missing(Object x) { return x; }
    static Object[] listed(Object... x) { return x; }
    static Map<String, Object> mapped(Map<String, Object> x) { return x; }
    static Object mixed(Object x) { return x; }
    static Item instance(Item x) { return x; }
    static Object cycle(Object x) { return x; }
    static Box nested(Box x) { return x; }
    static int[] many(int[] x) { return x; }
    static Object big(Object x) { return x; }
    static Object hostile(Object x) { return x; }

    static Item changed(Item x) {
        x.id = 99;
        return x;
    }

    public static void main(String[] args) {
        small(42);
        negative(-7);
        large(9223372036854775807L);
        huge(BigInteger.TEN.pow(30));
        fraction(0.5);
        notNumber(Double.NaN);
        infinite(Double.POSITIVE_INFINITY);
        text("na\u00efve \ud83d\ude00");
        nulText("a\0b");
        surrogate("a\ud800b");
        longText("a".repeat(1025));
        hugeText("a".repeat(1 << 20));
        binary(new byte[] {0, -1});
        truth(true);
        missing(null);
        listed(1, "two", null);
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("a", 1);
        map.put("b", List.of(2));
        mapped(map);
        mixed(Map.of("a", List.of(Map.of("b", Map.of("c", 1)))));
        Item item = new Item(7, "pear");
        instance(item);
        Object[] ring = new Object[1];
        ring[0] = ring;
        cycle(ring);
        Box box = null;
        for (int i = 7; i >= 0; i--) {
            box = new Box(i, box);
        }
        nested(box);
        int[] numbers = new int[101];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = i;
        }
        many(numbers);
        List<Object> rows = new ArrayList<>();
        for (int i = 0; i < 90; i++) {
            Map<String, Object> row = new LinkedHashMap<>();
            for (int k = 0; k < 50; k++) {
                row.put("key" + k, "v".repeat(50));
            }
            rows.add(row);
        }
        big(rows);
        hostile(new Hostile());
        changed(item);
    }
}
