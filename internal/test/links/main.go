// Command links calls the links of the documents that lead to other sites, and reports those that
// lead nowhere: `make links`. It needs a network, so no test runs it.
//
//	main.go   the command
//	links.go  which links there are
//	call.go   what becomes of a call
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"time"
)

func main() {
	list := flag.Bool("list", false, "list the links, and call none")
	within := flag.Duration("within", 20*time.Second, "time for each call")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	links, err := linksOf(".")
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "links:", err)
		os.Exit(2) //nolint:gocritic // no deferred call has to run
	case *list:
		for _, l := range links {
			fmt.Println(l)
		}
	case !report(ctx, os.Stdout, &http.Client{Timeout: *within}, links):
		os.Exit(1)
	}
}

// report calls the links one after the other, and writes what became of each that is not alive. It
// reports whether none is dead.
func report(ctx context.Context, out io.Writer, client *http.Client, links []link) bool {
	n := map[outcome]int{}
	for _, l := range links {
		became, why := call(ctx, client, l.url)
		n[became]++
		if became != alive {
			fmt.Fprintf(out, "%-11s %s (%s)\n", became, l, why)
		}
	}
	fmt.Fprintf(out, "%d links: %d alive, %d dead, %d unclear, %d not reached\n", len(links), n[alive], n[dead], n[unclear], n[unreached])
	return n[dead] == 0
}
