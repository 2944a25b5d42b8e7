import java.util.ArrayList;
import java.util.List;

/** Virtual threads, more than there are threads to carry them. */
class Virtual {
    static int part(int n) throws InterruptedException {
        Thread.sleep(n % 7);
        return n + 1;
    }

    static int work(int n) throws InterruptedException {
        synchronized (Virtual.class) {
            Thread.yield();
        }
        return part(n) + part(n);
    }

    public static void main(String[] args) throws InterruptedException {
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            int n = i;
            all.add(Thread.ofVirtual().start(() -> {
                try {
                    work(n);
                } catch (InterruptedException e) {
                    System.exit(3);
                }
            }));
        }
        for (Thread t : all) {
            t.join();
        }
        System.out.println("done");
    }
}
