import java.io.FileOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Busy until the file "stop" is there, with a file "seen" that grows: loop.c, loop.js and loop.py are the same. */
class loop {
    static int spin(int n) {
        return n + 1;
    }

    public static void main(String[] args) throws Exception {
        FileOutputStream seen = new FileOutputStream("seen", true);
        for (int i = 0; ; i++) {
            spin(i);
            if (i % 20000 == 0) {
                seen.write('.');
                if (Files.exists(Path.of("stop"))) {
                    seen.write(loop_more.more(6));
                    System.exit(7);
                }
            }
        }
    }
}
