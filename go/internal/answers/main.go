// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.

// Command answers reads cases, one a line on standard input, and writes the owners or "error: " and the reason, one a line.
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/rmqalloc/rmqalloc/go/internal/cases"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		one, err := cases.Read(in.Text())
		if err != nil {
			fmt.Fprintln(out, "error:", err)
			continue
		}
		fmt.Fprintln(out, one.Owners())
	}
}
