import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What is hard on a recorder: thousands of threads, stacks that overflow, values of any size, an end by an exception. */
class Hard {
    static int work(int n) {
        return n;
    }

    static int deep(int n, String s) {
        return deep(n + 1, s) + 1;
    }

    static Object big(Object o) {
        return o;
    }

    static class Wrong extends RuntimeException {
        Wrong(String message, Throwable cause) {
            super(message, cause);
        }

        @Override
        public String toString() {
            return "wrong, in its own words";
        }
    }

    static void dies(int n) {
        throw new Wrong("died " + n, new IllegalStateException("before"));
    }

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "threads":
                for (int i = 0; i < 2000; i++) {
                    int n = i;
                    Thread t = new Thread(() -> work(n), "short-" + i);
                    t.start();
                    t.join();
                }
                break;
            case "overflow":
                for (int i = 0; i < 5; i++) {
                    try {
                        deep(0, "x");
                    } catch (StackOverflowError e) {
                        work(i);
                    }
                }
                break;
            case "big":
                Map<String, Object> map = new HashMap<>();
                for (int i = 0; i < 5000; i++) {
                    map.put("key " + i, "\u0001".repeat(1000));
                }
                List<Object> list = new ArrayList<>();
                Object[] array = new Object[300];
                for (int i = 0; i < array.length; i++) {
                    array[i] = new String[] {"\u0001".repeat(1024), "\ud83d\ude00".repeat(600)};
                    list.add(map);
                }
                for (int i = 0; i < 200; i++) {
                    big(array);
                    big(list);
                    big(map);
                    work(i);
                }
                break;
            case "dies":
                Thread t = new Thread(() -> dies(1), "loser");
                t.start();
                t.join();
                dies(2);
                break;
            default:
        }
    }
}
