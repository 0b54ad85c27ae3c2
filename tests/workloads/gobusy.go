// SPDX-License-Identifier: GPL-2.0-or-later
// gobusy SECONDS: collects garbage in one goroutine; formats, sorts and compresses in another.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
)

type node struct{ l, r *node }

func tree(d int) *node {
	if d == 0 {
		return &node{}
	}
	return &node{tree(d - 1), tree(d - 1)}
}

func main() {
	go func() {
		for {
			tree(12)
		}
	}()
	seconds, _ := strconv.Atoi(os.Args[1])
	for t := time.Now(); time.Since(t) < time.Duration(seconds)*time.Second; {
		m := map[string]int{}
		for i := 0; i < 1000; i++ {
			m[fmt.Sprintf("k%d", i*7919%1000)] = i
		}
		b, _ := json.Marshal(m)
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		w.Write(b)
		w.Close()
		s := strings.Split(string(b), ",")
		sort.Strings(s)
	}
}
