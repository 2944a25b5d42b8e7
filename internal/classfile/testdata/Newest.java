import java.util.concurrent.Callable;

/** A compact source file, with what came to Java until 25. */
int made;

class Base {
    final String name;

    Base(String name) {
        this.name = name;
    }
}

class Checked extends Base {
    final int size;

    Checked(int n) {
        if (n < 0) {
            throw new IllegalArgumentException("negative: " + n);
        }
        var twice = 2 * n;
        size = twice;
        super("of " + twice);
        made++;
    }
}

record Pair(Object a, Object b) { }

String first(Object o) {
    return switch (o) {
        case Pair(String s, _) -> s;
        case Pair(_, Integer n) when n > 1 -> "n" + n;
        case Pair _ -> "pair";
        default -> "none";
    };
}

int attempt(Callable<?> c) {
    try {
        c.call();
        return 0;
    } catch (Exception _) {
        return 1;
    }
}

void main() {
    IO.println(first(new Pair("x", 1)) + first(new Pair(1, 2)) + first(new Pair(1, 1)) + first(1));
    IO.println(new Checked(3).name + " " + new Checked(4).size);
    IO.println(attempt(() -> new Checked(-1)) + " " + attempt(() -> 1) + " " + made);
}
