// SPDX-License-Identifier: GPL-2.0-or-later
import java.util.ArrayList;
import java.util.List;

/**
 * Exceptions, null pointers and stack overflows (which HotSpot sees by signals), threads, locks, compiled code and collections of
 * garbage: prints the same in each run.
 */
class Unharmed {
	static int lengths, overflows;

	static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	static int endless(int n) { return endless(n + 1) + 1; }
	static synchronized void add(int n) { lengths += n; }

	static void work() {
		for (int i = 0; i < 2000; i++) {
			String text = i % 10 == 0 ? null : "x" + fib(i % 15);
			try {
				add(text.length());
			} catch (NullPointerException e) {
				add(1000);
			}
		}
	}

	public static void main(String[] arguments) throws Exception {
		List<Thread> threads = new ArrayList<>();
		for (int i = 0; i < 4; i++)
			threads.add(new Thread(Unharmed::work));
		for (Thread thread : threads)
			thread.start();
		for (Thread thread : threads)
			thread.join();
		for (int i = 0; i < 3; i++)
			try {
				endless(0);
			} catch (StackOverflowError e) {
				overflows++;
			}
		System.gc();
		System.out.println(lengths + " " + overflows + " " + fib(25));
		System.exit(3);
	}
}
