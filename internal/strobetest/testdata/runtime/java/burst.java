/** N calls as fast as can be; with "kill", it kills itself behind them: burst.c, burst.js and burst.py are the same. */
class burst {
    static int tick(int n) {
        return n + 1;
    }

    public static void main(String[] args) throws Exception {
        int n = Integer.parseInt(args[0]);
        for (int i = 0; i < n; i++) {
            tick(i);
        }
        if (args.length > 1) {
            new ProcessBuilder("kill", "-9", Long.toString(ProcessHandle.current().pid())).start().waitFor();
            Thread.sleep(60000);
        }
        System.out.println("called " + n);
    }
}
