/* Calls back for each number below n, and adds up what comes of it. */
long once(long (*back)(void *, long), void *of, long i) { return back(of, i); }

long each(long n, long (*back)(void *, long), void *of) {
	long sum = 0;
	for (long i = 0; i < n; i++) sum += once(back, of, i);
	return sum;
}
