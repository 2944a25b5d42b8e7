/** Two threads that wait for each other for ever; it ends when its input does. */
class Locked {
    static final Object A = new Object();
    static final StringBuilder B = new StringBuilder();
    static volatile int held;

    static void one() throws InterruptedException {
        synchronized (A) {
            meet();
            synchronized (B) {
                System.out.println("never");
            }
        }
    }

    static void two() throws InterruptedException {
        synchronized (B) {
            meet();
            synchronized (A) {
                System.out.println("never");
            }
        }
    }

    private static synchronized void here() {
        held++;
    }

    private static void meet() throws InterruptedException {
        here();
        while (held < 2) {
            Thread.sleep(1);
        }
    }

    interface Work {
        void run() throws InterruptedException;
    }

    static void start(String name, Work work) {
        Thread t = new Thread(() -> {
            try {
                work.run();
            } catch (InterruptedException e) {
                System.exit(3);
            }
        }, name);
        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws Exception {
        start("first", Locked::one);
        start("second", () -> {
            try { // as runners of tests call their tests
                Locked.class.getDeclaredMethod("two").invoke(null);
            } catch (ReflectiveOperationException e) {
                System.exit(4);
            }
        });
        while (System.in.read() >= 0) {
        }
    }
}
