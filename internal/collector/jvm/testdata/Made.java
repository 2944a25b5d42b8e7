/** What compilers of other languages make, as made_test.go has it: meta is synthetic, and bare has no line. */
final class Made {
    private transient Object meta = "not shown";
    int n = 3;

    int twice() {
        return bare() + n;
    }

    int bare() {
        return n;
    }

    static int said(String text) {
        return text.length();
    }

    static long number(long n) {
        return -n;
    }

    public static void main(String[] args) {
        new Made().twice();
        said("seven..\"eight...\\nine.....\u00e9ten\u007feleven..\ttwelve..");
        said("\u00e9".repeat(20000));
        said("plain ".repeat(200));
        for (long n : new long[] {0, 9, 10, 99, 100, 101, 2147483647, 2147483648L, 3000000005L, 100000000000000000L,
                Long.MAX_VALUE}) {
            number(n);
        }
        number(Long.MIN_VALUE);
    }
}
