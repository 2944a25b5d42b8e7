import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;

/** Methods of every shape that a rewriter of code can stumble on. What it prints is the same each time. */
public class Shapes {
    static int state = start();

    static int start() {
        return 7;
    }

    interface Area {
        double area();

        default double twice() {
            return area() * 2;
        }
    }

    record Point(int x, int y) {
        Point {
            if (x < 0) {
                throw new IllegalArgumentException("negative");
            }
        }
    }

    enum Colour {
        RED,
        BLUE {
            @Override
            int value() {
                return 5;
            }
        };

        int value() {
            return 1;
        }
    }

    static class Base {
        final String name;

        Base(Object o) {
            name = String.valueOf(o);
        }
    }

    static class Derived extends Base implements Area, Comparable<Derived> {
        final double r;

        Derived(boolean deep, double r) {
            super(deep ? new StringBuilder(new String(r > 1 ? "big" : "small")) : new int[] {1}.length);
            this.r = check(r);
        }

        Derived(double r) {
            this(r > 0 ? true : false, r);
        }

        static double check(double d) {
            if (d == 0.5) {
                throw new IllegalStateException("half");
            }
            return d;
        }

        @Override
        public double area() {
            return 3 * r * r;
        }

        @Override
        public int compareTo(Derived o) {
            return Double.compare(r, o.r);
        }
    }

    class Inner {
        int sum(int a) {
            return a + field;
        }
    }

    int field = 3;

    static long countDown(long n) {
        while (true) {
            if (n-- <= 0) {
                return n;
            }
        }
    }

    static String dense(int i) {
        switch (i) {
            case 0: return "zero";
            case 1: return "one";
            case 2: i += 40; break;
            case 3: i += 50;
            case 4: i += 60; break;
            default: return "many";
        }
        return "i" + i;
    }

    static String sparse(int i) {
        return switch (i) {
            case -1000 -> "low";
            case 0 -> "zero";
            case 99999 -> "high";
            default -> i > 5 ? "some" : "few";
        };
    }

    static String text(String s) {
        return switch (s) {
            case "Aa", "BB" -> "clash";
            case "c" -> {
                try {
                    yield "c" + Integer.parseInt("x");
                } catch (NumberFormatException e) {
                    yield "caught";
                } finally {
                    state++;
                }
            }
            default -> "none";
        };
    }

    static long many(byte b, short s, char c, boolean z, int i, long j, float f, double d, String t, int[] a, Object[] o) {
        i = 9;
        j += b + s + c + (z ? 1 : 0) + i + (long) f + (long) d + t.length() + a.length + o.length;
        return j;
    }

    static int tryFinally(int a) {
        for (int k = 0; k < 3; k++) {
            try {
                if (k == a) {
                    return 10 / (a - 1);
                }
            } catch (ArithmeticException e) {
                return -1;
            } finally {
                state += k;
                if (k == 2) {
                    continue;
                }
            }
        }
        return -2;
    }

    synchronized int locked(int a) {
        synchronized (this) {
            if (a > 2) {
                throw new IllegalStateException("a=" + a);
            }
            return a;
        }
    }

    static <T extends Comparable<T>> T most(List<T> all) {
        T best = null;
        for (T one : all) {
            if (best == null || one.compareTo(best) > 0) {
                best = one;
            }
        }
        return best;
    }

    static int deep(int n) {
        return n == 0 ? 0 : 1 + deep(n - 1);
    }

    static boolean flag(Object o) {
        return o instanceof String s && s.length() > 1 || o instanceof Integer i && i > 1;
    }

    static char letter(int i) { return (char) ('a' + i); }
    static byte small(int i) { return (byte) i; }
    static float half(float f) { return f / 2; }
    static void nothing() { }
    static int[] numbers(int n) { return new int[n]; }

    static int wide(int i) {
        int a0=i,a1=i,a2=i,a3=i,a4=i,a5=i,a6=i,a7=i,a8=i,a9=i; long b0=i,b1=i,b2=i,b3=i,b4=i,b5=i,b6=i,b7=i,b8=i,b9=i;
        for (; a0 < 300; a0 += 200) { b9 += a0; }
        return (int) (a0+a1+a2+a3+a4+a5+a6+a7+a8+a9+b0+b1+b2+b3+b4+b5+b6+b7+b8+b9);
    }

    static void attempt(Supplier<Object> what) {
        try {
            System.out.println(what.get());
        } catch (RuntimeException e) {
            System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage());
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println(countDown(4) + dense(0) + dense(1) + dense(2) + dense(3) + dense(4) + dense(5));
        System.out.println(sparse(-1000) + sparse(0) + sparse(99999) + sparse(6) + sparse(1));
        System.out.println(text("Aa") + text("BB") + text("c") + text("d"));
        System.out.println(many((byte) 1, (short) 2, 'c', true, 3, 4L, 5f, 6d, "seven", new int[8], new Object[9]));
        System.out.println(tryFinally(0) + " " + tryFinally(1) + " " + tryFinally(2) + " " + tryFinally(5));
        Shapes s = new Shapes();
        attempt(() -> s.locked(1));
        attempt(() -> s.locked(3));
        attempt(() -> new Derived(0.5));
        attempt(() -> new Derived(false, 4).name);
        attempt(() -> new Derived(2).twice());
        attempt(() -> new Point(-1, 0));
        attempt(() -> new Point(1, 2));
        attempt(() -> most(new ArrayList<>(List.of(3, 9, 4))));
        attempt(() -> most(List.of(new Derived(2), new Derived(3))).r);
        System.out.println(s.new Inner().sum(4) + Colour.RED.value() + Colour.BLUE.value() + deep(50));
        IntUnaryOperator twice = x -> x * 2 + s.field;
        System.out.println(twice.applyAsInt(4));
        System.out.println(flag("ab") + " " + flag(1) + " " + flag(2) + letter(3) + small(300) + half(3f) + wide(2));
        nothing();
        System.out.println(numbers(3).length + " " + state);
        Thread t = new Thread(() -> nothing(), "named");
        t.start();
        t.join();
        if (args.length == 0) {
            return;
        }
        try {
            forever(0);
        } catch (StackOverflowError e) {
            System.out.println(args[0]);
        }
    }

    static int forever(int n) {
        return forever(n + 1) + 1;
    }
}
