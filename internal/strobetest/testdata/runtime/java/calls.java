import java.util.function.IntBinaryOperator;
import java.util.function.IntUnaryOperator;

/** Calls of every kind, each once: calls.c, calls.js and calls.py are the same. */
class calls {
    static int add(int a, int b) {
        return a + b;
    }

    static void nothing() { }

    static int leaf(int n) {
        return n + 1;
    }

    static int mid(int n) {
        return leaf(n + 1);
    }

    static int outer(int n) {
        return mid(n + 1);
    }

    static int fact(int n) {
        return n < 2 ? 1 : n * fact(n - 1);
    }

    static int even(int n) {
        return n == 0 ? 1 : odd(n - 1);
    }

    static int odd(int n) {
        return n == 0 ? 0 : even(n - 1);
    }

    static class TypeError extends RuntimeException {
        TypeError(String message) {
            super(message);
        }
    }

    static void thrower(int n) {
        throw new TypeError("no " + n);
    }

    static int catcher(int n) {
        try {
            thrower(n);
        } catch (TypeError e) {
            return -1;
        }
        return 0;
    }

    static void deep(int n) {
        thrower(n);
    }

    static void deeper(int n) {
        deep(n);
    }

    static int through(int n) {
        try {
            deeper(n);
        } catch (TypeError e) {
            return -2;
        }
        return 0;
    }

    static void says() {
        System.out.print("mine\n");
    }

    static void warns() {
        System.err.print("warned\n");
    }

    static void step(int i) { }

    static void slow() throws InterruptedException {
        Thread.sleep(30);
    }

    static int apply(IntBinaryOperator f, int n) {
        return f.applyAsInt(n, n);
    }

    static class Order {
        final int id;

        Order(int id) {
            this.id = id;
        }

        int total(int n) {
            return id + n;
        }

        static Order make(int id) {
            return new Order(id);
        }

        int size() {
            return 3;
        }
    }

    static int rest(int first, int... more) {
        return more.length;
    }

    static int lambdas() {
        IntUnaryOperator f = x -> x * 3;
        return f.applyAsInt(14);
    }

    static void run() throws InterruptedException {
        add(1, 2);
        nothing();
        outer(1);
        fact(5);
        even(4);
        catcher(7);
        through(8);
        says();
        warns();
        for (int i = 0; i < 3; i++) {
            step(i);
            System.out.print(i + "\n");
        }
        slow();
        apply(calls::add, 21);
        Order.make(5).total(3);
        new Order(6).size();
        rest(1, 2, 3);
        lambdas();
    }

    public static void main(String[] args) throws InterruptedException {
        run();
    }
}
