// SPDX-License-Identifier: GPL-2.0-or-later
// Twenty threads, each of which comes to wait in another way, from another depth. Half of them have gone their way so
// often that it is compiled, with methods inlined. Prints "ready" when all of them wait, and waits, too.
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

public class Stopped {
	static final int WARM = 20000;
	static final AtomicInteger onTheirWay = new AtomicInteger();

	interface Step {
		int go(int depth, long nanos);
	}

	static class Left implements Step {
		Step next;

		public int go(int depth, long nanos) {
			if (depth == 0)
				return gate(nanos);
			return next.go(depth - 1, nanos) + 1;
		}
	}

	static class Right extends Left {
		@Override
		public int go(int depth, long nanos) {
			int sum = depth;

			for (int i = 0; i < 3; i++)
				sum += i;
			return sum + super.go(depth, nanos);
		}
	}

	static class Begins {
		static {
			Stopped.forever();
		}
		static int value;
	}

	// whoever puts one into a map is asked for its order, and waits
	static class Key implements Comparable<Key> {
		final int number;

		Key(int number) {
			this.number = number;
			if (number < 0)
				forever();
		}

		@Override
		public int compareTo(Key other) {
			if (number == 77)
				try {
					forever();
				} finally {
					Thread.interrupted();
				}
			return Integer.compare(number, other.number);
		}
	}

	static int gate(long nanos) {
		if (nanos != 0)
			LockSupport.parkNanos(nanos);
		return 1;
	}

	static void forever() {
		for (;;)
			LockSupport.park();
	}

	static int deep(int depth, Runnable last) {
		if (depth == 0) {
			last.run();
			return 0;
		}
		return deep(depth - 1, last) + 1;
	}

	static void waits(int how) throws Exception {
		switch (how) {
		case 0: Thread.sleep(1000000); break;
		case 1: synchronized (new Object()) { Stopped.class.getName(); } Thread.currentThread().join(); break;
		case 2: Object o = new Object(); synchronized (o) { o.wait(); } break;
		case 3: synchronized (Left.class) { forever(); } break;
		case 4: new CountDownLatch(1).await(); break;
		case 5: Begins.value++; break;
		case 6: new Key(-1); break;
		case 7:
			TreeMap<Key, Integer> map = new TreeMap<>();
			map.put(new Key(1), 1);
			map.put(new Key(77), 1);
			break;
		case 8: Pipe.open().source().read(ByteBuffer.allocate(10)); break;
		case 9: deep(100, new Runnable() { public void run() { forever(); } }); break;
		}
	}

	static void compiled(int depth) {
		Left left = new Left(), right = new Right();

		left.next = right;
		right.next = left;
		for (int i = 0; i < WARM; i++)
			right.go(depth, i % 256 == 0 ? 1 : 0);
		onTheirWay.incrementAndGet();
		right.go(depth, Long.MAX_VALUE / 2);
	}

	public static void main(String[] args) throws Exception {
		Thread[] threads = new Thread[20];

		// throws classes away before
		if (args.length > 0)
			Gone.main(args);
		for (int i = 0; i < threads.length; i++) {
			int number = i;

			threads[i] = new Thread("wait-" + i) {
				@Override
				public void run() {
					try {
						if (number >= 10)
							compiled((number - 10) * 3);
						onTheirWay.incrementAndGet();
						waits(number);
					} catch (Exception e) {
						throw new RuntimeException(e);
					}
				}
			};
			threads[i].start();
		}
		while (onTheirWay.get() < threads.length)
			Thread.sleep(10);
		Thread.sleep(500);
		System.out.println("ready");
		Thread.sleep(1000000);
	}
}
