import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/** A virtual thread and another one that wait for each other's locks, and many that wait for nothing that comes. */
class Waits {
    static final ReentrantLock A = new ReentrantLock(), B = new ReentrantLock();
    static final CountDownLatch BOTH = new CountDownLatch(2), NEVER = new CountDownLatch(1);

    static void both(Lock one, Lock other) {
        one.lock();
        BOTH.countDown();
        await(BOTH);
        other.lock();
    }

    static void await(CountDownLatch l) {
        try {
            l.await();
        } catch (InterruptedException e) {
            System.exit(3);
        }
    }

    static void join(Thread t) {
        try {
            t.join();
        } catch (InterruptedException e) {
            System.exit(3);
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 300; i++) {
            Thread.ofVirtual().name("w-" + i).start(() -> await(NEVER));
        }
        Thread.ofVirtual().name("left").start(() -> both(A, B));
        Thread right = Thread.ofPlatform().name("right").daemon().start(() -> both(B, A));
        Thread.ofPlatform().name("joiner").daemon().start(() -> join(right));
        while (System.in.read() >= 0) {
        }
        System.exit(0);
    }
}
