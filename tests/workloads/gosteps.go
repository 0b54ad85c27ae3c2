package main

import (
	"fmt"
	"runtime"
	"sort"
)

func deep(n int) int {
	var room [64]int
	if n == 0 {
		runtime.Gosched()
		return 1
	}
	room[n%64] = n
	return deep(n-1) + room[n%64]
}

func main() {
	for round := 0; round < 1000; round++ {
		c := make(chan string)
		go func() { c <- fmt.Sprint(deep(round % 100)) }()
		words := map[string]int{<-c: round}
		for i := 0; i < 50; i++ {
			words[fmt.Sprintf("%d %s", i, c)] = i
		}
		keys := []string{}
		for k := range words {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		if round%10 == 0 {
			runtime.GC()
		}
	}
}
