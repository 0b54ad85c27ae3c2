# C++ that takes a compiler deep: expressions and types nested thousands of times
BEGIN {
	print "template<int N> struct count { static constexpr int n = count<N - 1>::n + 1; };"
	print "template<> struct count<0> { static constexpr int n = 0; };"
	for (f = 0; f < 4; f++) {
		printf "int f%d(int x) { return ", f
		for (i = 0; i < 2500; i++)
			printf "(x + %d * ", i + f
		printf "x"
		for (i = 0; i < 2500; i++)
			printf ")"
		print "; }"
		printf "int g%d() { return count<%d>::n; }\n", f, 800 + f
	}
}
