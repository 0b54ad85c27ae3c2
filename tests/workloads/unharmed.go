// SPDX-License-Identifier: GPL-2.0-or-later

// unharmed: goroutines whose stacks grow and move, that block and panic, and collections of garbage: prints the same in each run.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

//go:noinline
func deep(n int) int {
	var room [64]int
	room[n%64] = n
	if n == 0 {
		return 0
	}
	return deep(n-1) + room[n%64] - n + 1
}

//go:noinline
func panics(n int) (recovered int) {
	defer func() { recovered = recover().(int) }()
	panic(n)
}

//go:noinline
func work(n int, to chan int) int {
	if n%9 == 0 {
		time.Sleep(time.Microsecond)
	}
	to <- n
	return deep(n*10) + panics(n) - n
}

func main() {
	to, sums, done := make(chan int, 4), make(chan int, 20), make(chan int)
	var all sync.WaitGroup
	go func() {
		sum := 0
		for n := range to {
			sum += n
		}
		done <- sum
	}()
	for g := 0; g < 20; g++ {
		all.Add(1)
		go func() {
			defer all.Done()
			sum := 0
			for n := 0; n < 50; n++ {
				sum += work(n, to)
			}
			sums <- sum
		}()
		runtime.GC()
	}
	all.Wait()
	close(to)
	close(sums)
	total := 0
	for sum := range sums {
		total += sum
	}
	fmt.Println(total, <-done)
	os.Exit(3)
}
