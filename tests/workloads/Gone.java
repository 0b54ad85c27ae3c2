// SPDX-License-Identifier: GPL-2.0-or-later
// Makes classes of the same shape, runs each, interpreted, for some milliseconds, and has them thrown away, so that one
// comes to lie where another one lay. Each says its name as the thread's while it runs.
import java.lang.reflect.Method;

public class Gone {
	static class Loader extends ClassLoader {
		Class<?> make(String name, byte[] bytes) {
			return defineClass(name, bytes, 0, bytes.length);
		}
	}

	public static class Shape0000 {
		static long step(long sum) {
			for (int i = 0; i < 1000; i++)
				sum += sum << 7 ^ i;
			return sum;
		}

		public static long run(long until) {
			long sum = 0;

			do
				sum = step(sum);
			while (System.nanoTime() < until);
			return sum;
		}
	}

	public static void main(String[] args) throws Exception {
		byte[] shape;

		try (var in = Gone.class.getResourceAsStream("Gone$Shape0000.class")) {
			shape = in.readAllBytes();
		}
		for (int i = 1; i <= Integer.parseInt(args[0]); i++) {
			String number = String.format("%04d", i);
			Method run = new Loader().make("Gone$Shape" + number, new String(shape, "ISO-8859-1")
				.replace("Shape0000", "Shape" + number).getBytes("ISO-8859-1")).getMethod("run", long.class);

			// from JDK 18 on the first call makes the code for it, which takes longer than the run
			run.invoke(null, 0);
			Thread.currentThread().setName("shape-" + number);
			run.invoke(null, System.nanoTime() + 10000000);
			Thread.currentThread().setName("main");
			run = null;
			System.gc();
		}
	}
}
