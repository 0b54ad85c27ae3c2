// SPDX-License-Identifier: GPL-2.0-or-later
// An HTTP server that waits: four threads answer; each request takes a lock, sleeps for a millisecond, and reads a file. So
// many milliseconds long, four clients of the same program ask; then it says how many were answered.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;

public class Serve {
	static final Object lock = new Object();
	static final AtomicLong answered = new AtomicLong();

	static void waitInside() throws InterruptedException {
		synchronized (lock) {
			Thread.sleep(1);
		}
	}

	static void answer(HttpExchange exchange) throws IOException {
		try {
			waitInside();
		} catch (InterruptedException e) {
			throw new IOException(e);
		}
		byte[] body = Files.readAllBytes(Path.of("/proc/self/maps"));
		exchange.sendResponseHeaders(200, body.length);
		exchange.getResponseBody().write(body);
		exchange.close();
	}

	static void ask(URL url, long end) {
		try {
			while (System.nanoTime() < end) {
				try (var in = url.openStream()) {
					in.readAllBytes();
				}
				answered.incrementAndGet();
			}
		} catch (IOException e) {
			throw new RuntimeException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000L;
		var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
		var clients = new Thread[4];

		server.createContext("/", Serve::answer);
		server.setExecutor(Executors.newFixedThreadPool(4));
		server.start();
		URL url = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/").toURL();
		for (int i = 0; i < clients.length; i++) {
			clients[i] = new Thread(() -> ask(url, end));
			clients[i].start();
		}
		for (Thread client : clients)
			client.join();
		System.out.println(answered.get() + " answered");
		System.exit(0);
	}
}
