/** What Proxied makes. */
final class Proxy {
    static int made(int n) {
        return n * 10;
    }
}
