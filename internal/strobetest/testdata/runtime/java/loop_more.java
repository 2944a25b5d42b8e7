/** A class that loop loads at its end. */
class loop_more {
    static byte[] more(int n) {
        return Integer.toString(n + 1).getBytes();
    }
}
