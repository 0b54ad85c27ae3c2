// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * throws SECONDS: exceptions through functions with destructors, caught, and thrown again, for that much
 * CPU time.
 */
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>

static volatile unsigned sink;

struct Guard {
	std::string text;
	explicit Guard(int n) : text(std::to_string(n)) {}
	~Guard() { sink = sink + text.size(); }
};

__attribute__((noinline)) static int down(int n)
{
	Guard guard(n);

	if (n == 0)
		throw std::runtime_error("the bottom");
	return down(n - 1) + guard.text.size();
}

__attribute__((noinline)) static int again(int n)
{
	try {
		return down(n);
	} catch (const std::exception &e) {
		if (n % 2)
			throw;
		return n;
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;

	for (int n = 0; double(clock()) / CLOCKS_PER_SEC < seconds; n = (n + 1) % 40) {
		try {
			sink = sink + again(n);
		} catch (const std::runtime_error &) {
			sink = sink + 1;
		}
	}
}
