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

    public static void main(String[] args) {
        new Made().twice();
        said("seven..\"eight...\\nine.....\u00e9ten\u007feleven..\ttwelve..");
        said("\u00e9".repeat(20000));
        said("plain ".repeat(200));
    }
}
