// SPDX-License-Identifier: GPL-2.0-or-later
// Has the JVM compile as fast as it can, and throw away what it compiled: makes the same class anew and anew, each time by
// another loader, so that its methods are others, and calls them. To be run with -Xcomp, which compiles at the first call.
public class Storm {
	static class Loader extends ClassLoader {
		Class<?> make(String name, byte[] bytes) {
			return defineClass(name, bytes, 0, bytes.length);
		}
	}

	public static class Work implements Runnable {
		static int sum;
		final int[] values = new int[64];

		int a(int n) { return n == 0 ? 1 : b(n - 1) + c(n - 1) % 7; }
		int b(int n) { return n == 0 ? 2 : c(n - 1) * 31 + values[n & 63]; }
		int c(int n) { return n == 0 ? 3 : d(n - 1) ^ e(n); }
		int d(int n) { int s = 0; for (int i = 0; i < n * 20; i++) s += values[i & 63] * i; return s; }
		int e(int n) { values[n & 63] = f(n).length(); return values[n & 63]; }
		String f(int n) { return g(n) + h(n) + n; }
		String g(int n) { return n % 2 == 0 ? "even" : Integer.toString(n * 17); }
		StringBuilder h(int n) { return new StringBuilder().append(n).append(i(n)); }
		long i(long n) { return n < 2 ? n : i(n - 1) + j(n - 2); }
		long j(long n) { return n < 2 ? n : i(n - 2) + 1; }

		public void run() {
			for (int n = 0; n < 12; n++)
				sum += a(n);
		}
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000L, classes = 0;
		byte[] work;

		try (var in = Storm.class.getResourceAsStream("Storm$Work.class")) {
			work = in.readAllBytes();
		}
		for (; System.nanoTime() < end; classes++)
			((Runnable)new Loader().make("Storm$Work", work).getConstructor().newInstance()).run();
		System.out.println(classes + " classes");
	}
}
