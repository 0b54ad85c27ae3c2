// SPDX-License-Identifier: GPL-2.0-or-later
/* coroutine: Boost's coroutines, on stacks of their own that make_fcontext() prepared, for 3 s. */
#include <boost/coroutine2/all.hpp>
#include <ctime>

using coroutine = boost::coroutines2::coroutine<unsigned long>;

__attribute__((noinline, noclone)) static unsigned long work(int depth)
{
	unsigned long sum = depth;

	for (int i = 0; i < 300; i++)
		sum = sum * 31 + i;
	return depth ? sum + work(depth - 1) : sum;
}

int main()
{
	std::time_t start = std::time(nullptr);
	unsigned long sum = 0;

	while (std::time(nullptr) - start < 3) {
		coroutine::pull_type numbers([](coroutine::push_type &yield) {
			for (int i = 0; i < 100; i++)
				yield(work(i % 7));
		});
		for (unsigned long n : numbers)
			sum += n;
	}
	return sum == 1;
}
