package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	out := flag.String("out", "bin/site", "folder that is replaced by the site")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := build(ctx, ".", *out); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1) //nolint:gocritic // no deferred call has to run
	}
	fmt.Printf("written: %s; with its search: python3 -m http.server -d %s 8000\n", *out, *out)
}
