import java.util.NoSuchElementException;

/** Ends in the way that its argument names: ends.c, ends.js and ends.py are the same. */
class ends {
    static int last(int n) {
        return n;
    }

    static void dies(int n) {
        last(n);
        throw new NoSuchElementException("uncaught " + n);
    }

    public static void main(String[] args) throws InterruptedException {
        last(1);
        switch (args.length > 0 ? args[0] : "") {
            case "code":
                System.exit(3);
                break;
            case "quick":
                Runtime.getRuntime().halt(4);
                break;
            case "uncaught":
                dies(2);
                break;
            case "term":
                System.out.println("waits");
                Thread.sleep(60000);
                break;
            default:
        }
    }
}
