/** Two threads with names work at once: threads.c, threads.js and threads.py are the same. */
class threads {
    static int part(int n) {
        return n + 1;
    }

    static int work(int n) {
        return part(n);
    }

    static void worker() {
        for (int i = 0; i < 200; i++) {
            work(i);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(threads::worker, "reader-one"), two = new Thread(threads::worker, "reader-two");
        one.start();
        two.start();
        one.join();
        two.join();
    }
}
