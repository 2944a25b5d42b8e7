import java.util.List;
import java.util.function.IntSupplier;

/** What came to Java with 21. */
public class Modern {
    sealed interface Shape permits Circle, Square, Group { }

    record Circle(double r) implements Shape { }

    record Square(double a) implements Shape { }

    record Group(Shape one, Shape other) implements Shape { }

    enum Suit { HEARTS, SPADES }

    static double area(Shape s) {
        return switch (s) {
            case Circle(double r) when r > 10 -> -1;
            case Circle(var r) -> Math.PI * r * r;
            case Square q -> q.a() * q.a();
            case Group(Circle(var r), var rest) -> r + area(rest);
            case Group g -> area(g.one()) + area(g.other());
        };
    }

    static String kind(Object o) {
        return switch (o) {
            case null -> "null";
            case Integer i when i > 100 -> "big";
            case Integer i -> "int " + i;
            case Suit suit -> "suit " + suit.ordinal();
            case String s when s.isEmpty() -> "empty";
            case int[] a -> "ints " + a.length;
            case List<?> list -> "list " + list.size();
            default -> o.getClass().getSimpleName();
        };
    }

    static String text(int n) {
        return """
            a \
            text of %d
            """.formatted(n);
    }

    static int guarded(Shape s) {
        if (!(s instanceof Group(Square(var a), Square(var b)))) {
            throw new IllegalStateException("no pair");
        }
        return (int) (a + b);
    }

    static int loop(IntSupplier more) {
        int sum = 0;
        for (int n; (n = more.getAsInt()) > 0;) {
            sum += switch (n % 3) {
                case 0 -> n;
                case 1 -> {
                    try {
                        yield guarded(new Square(n));
                    } catch (IllegalStateException e) {
                        yield -n;
                    }
                }
                default -> 1;
            };
        }
        return sum;
    }

    public static void main(String[] args) {
        var pair = new Group(new Square(2), new Square(3));
        System.out.println(area(new Circle(1)) + " " + area(new Circle(11)) + " " + area(pair) + " "
            + area(new Group(new Circle(2), pair)));
        for (Object o : new Object[] {null, 7, 700, Suit.SPADES, "", new int[3], List.of(1, 2), 'c'}) {
            System.out.println(kind(o));
        }
        int[] left = {20};
        System.out.print(text(guarded(pair)) + loop(() -> left[0]--) + "\n");
    }
}
