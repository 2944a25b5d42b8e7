import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;

/**
 * Does one round of calls for each line of its input: rounds.c, rounds.js and rounds.py are the same. "child" starts one
 * of its own kind.
 */
class rounds {
    static int alpha(int n) {
        return n;
    }

    static int alphabet(int n) {
        return n;
    }

    static int beta(int n) {
        return alpha(n);
    }

    static class Shop {
        int open() {
            return 1;
        }

        int close() {
            return -1;
        }
    }

    private static void child() throws Exception {
        Process p = new ProcessBuilder(ProcessHandle.current().info().command().get(), "-cp",
            System.getProperty("java.class.path"), "rounds").start();
        p.getOutputStream().write("go\n".getBytes());
        p.getOutputStream().close();
        String said = new String(p.getInputStream().readAllBytes());
        System.out.println("child " + p.waitFor() + " '" + said.replace("\n", "\\n") + "'");
    }

    public static void main(String[] args) throws Exception {
        Shop shop = new Shop();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        int n = 0;
        for (String line; (line = in.readLine()) != null; ) {
            n++;
            if (line.equals("child")) {
                child();
            }
            alphabet(n);
            beta(n);
            shop.open();
            shop.close();
            System.out.println("round " + n);
        }
        System.out.println("bye");
        System.exit(5);
    }
}
