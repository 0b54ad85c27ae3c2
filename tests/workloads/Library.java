// SPDX-License-Identifier: GPL-2.0-or-later
// Library MILLISECONDS WORK...: in a thread named "work", by turns, code of Java's library that C2 compiles in ways of its own:
// streams, intrinsics, vectorised loops, switches, exceptions. It sleeps a little in between. Prints, for each WORK, its
// method's name and the CPU time in it, in nanoseconds.
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.*;
import java.util.stream.*;
import java.util.zip.CRC32;
import javax.crypto.Cipher;
import javax.crypto.spec.*;

public class Library {
	static final int NR_NAMES = 1000;
	static final long ROUND_NS = 10_000_000;
	static final Pattern PATTERN = Pattern.compile("([a-z]+)(\\d+)b([0-9a-f]*)|x+y");
	static final BigInteger MODULUS = BigInteger.ONE.shiftLeft(521).subtract(BigInteger.ONE);
	static final List<String> list = new ArrayList<>();
	static final int[] ints = new int[5000], others = new int[5000];
	static final byte[] bytes = new byte[8000];

	static long streams() {
		return list.stream().filter(s -> s.contains("a")).map(String::toUpperCase).collect(Collectors.joining(",")).length();
	}

	static long regex() {
		long found = 0;
		for (String s : list) {
			Matcher m = PATTERN.matcher(s);
			while (m.find())
				found += m.group(2).length();
			found += s.replaceAll("[0-9]+", "#").length();
		}
		return found;
	}

	static long bigIntegers() {
		BigInteger x = BigInteger.valueOf(123456789);
		for (int i = 0; i < 30; i++)
			x = x.multiply(x).add(BigInteger.valueOf(i)).mod(MODULUS);
		return x.modPow(BigInteger.valueOf(65537), MODULUS).intValue() + x.toString().length();
	}

	static long vectors() {
		long sum = 0;
		for (int i = 0; i < ints.length; i++)
			ints[i] = ints[i] * 31 + others[i];
		for (int i = 0; i < ints.length; i++)
			sum += ints[i];
		for (int i = 3; i < ints.length - 2; i++)
			others[i] = ints[i - 3] ^ ints[i + 2];
		int[] copy = Arrays.copyOf(ints, 700);
		Arrays.sort(copy);
		return sum + Arrays.hashCode(copy) + Arrays.mismatch(ints, others);
	}

	static long text() {
		StringBuilder b = new StringBuilder();
		for (String s : list)
			b.append(s.toLowerCase()).append(' ').append(s.hashCode()).append('\u00e9');
		String s = b.toString();
		return s.indexOf("zzz") + s.indexOf(list.get(7)) + s.split(" ").length + s.getBytes(StandardCharsets.UTF_8).length +
			String.format("%d %s", s.length(), "x").length();
	}

	static long digests() throws Exception {
		MessageDigest sha = MessageDigest.getInstance("SHA-256");
		CRC32 crc = new CRC32();
		Cipher aes = Cipher.getInstance("AES/CBC/PKCS5Padding");
		sha.update(bytes, 0, 3000);
		crc.update(bytes);
		aes.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[16], "AES"), new IvParameterSpec(new byte[16]));
		return sha.digest()[3] + crc.getValue() + Base64.getDecoder().decode(Base64.getEncoder().encode(bytes)).length +
			aes.doFinal(bytes).length;
	}

	static long maps() {
		Map<String, Integer> counts = new HashMap<>();
		TreeMap<String, Integer> sorted = new TreeMap<>();
		ConcurrentHashMap<Integer, String> shared = new ConcurrentHashMap<>();
		for (String s : list) {
			counts.merge(s.substring(0, 5), s.length(), Integer::sum);
			sorted.put(s, 1);
			shared.computeIfAbsent(s.hashCode() & 127, k -> "v" + k);
		}
		PriorityQueue<String> queue = new PriorityQueue<>(list);
		while (queue.size() > 700)
			queue.poll();
		list.sort(Comparator.reverseOrder());
		return counts.size() + sorted.headMap("name5").size() + shared.size() + queue.size() +
			IntStream.range(0, 2000).boxed().map(x -> x * 7 % 1001).collect(Collectors.groupingBy(x -> x % 13)).size();
	}

	static int choose(Object o, int i) {
		try {
			switch (i % 11) {
			case 0: return 3;
			case 1: return o.hashCode();
			case 2: return ((String)o).length();
			case 3: return 12;
			case 4: return i * 3;
			case 5: throw new IllegalStateException("x");
			case 6: return ints[i % 5001];
			case 7: synchronized (o) { return 5; }
			case 8: return "k".compareTo(o.toString());
			default: return 1;
			}
		} catch (IllegalStateException | ClassCastException e) {
			return 9;
		}
	}

	static long choices() {
		long sum = 0;
		for (int i = 0; i < 3000; i++)
			sum += choose(i % 100 == 0 ? list : list.get(i % 500), i);
		return sum;
	}

	/* tests say that it is not to be inlined: then each turn is a call */
	static long turn(String work) throws Exception {
		switch (work) {
		case "streams": return streams();
		case "regex": return regex();
		case "bigIntegers": return bigIntegers();
		case "vectors": return vectors();
		case "text": return text();
		case "digests": return digests();
		case "maps": return maps();
		case "choices": return choices();
		default: throw new IllegalArgumentException(work);
		}
	}

	static void work(long end, String[] works) throws Exception {
		ThreadMXBean clock = ManagementFactory.getThreadMXBean();
		long[] ns = new long[works.length];
		long sum = 0;
		while (System.currentTimeMillis() < end)
			for (int w = 0; w < works.length; w++) {
				long before = clock.getCurrentThreadCpuTime();
				long taken;
				do {
					sum += turn(works[w]);
					taken = clock.getCurrentThreadCpuTime() - before;
				} while (taken < ROUND_NS);
				ns[w] += taken;
				Thread.sleep(1);
			}
		for (int w = 0; w < works.length; w++)
			System.out.println(works[w] + " " + ns[w]);
		System.err.println(sum);
	}

	public static void main(String[] args) throws Exception {
		long end = System.currentTimeMillis() + Long.parseLong(args[0]);
		for (int i = 0; i < NR_NAMES; i++)
			list.add("name" + i + "b" + Integer.toHexString(i * 77777));
		new Random(1).nextBytes(bytes);
		Thread t = new Thread(() -> {
			try {
				work(end, Arrays.copyOfRange(args, 1, args.length));
			} catch (Exception e) {
				e.printStackTrace();
				System.exit(1);
			}
		}, "work");
		t.start();
		t.join();
	}
}
