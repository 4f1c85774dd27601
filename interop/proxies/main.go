// Command proxies plays the same tasks through mcpctl proxy and through proxies from npm,
// on the same machine: what crosses, what it costs, and what becomes of calls, sessions
// and processes when something fails. It writes one page of tables. The hosts in front and
// the server behind are written from the specification; they share no code with a proxy.
// scripts/proxies.sh installs what it needs. It works on Linux only.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

const exitUsage = 2

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		switch args[0] {
		case "server":
			return serve(ctx, args[1:], stderr)
		case "host":
			return holdHost(ctx, args[1:], stdout, stderr)
		case "browser":
			return browse(ctx, args[1:], stderr)
		}
	}
	flags := flag.NewFlagSet("proxies", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s := &stage{}
	flags.StringVar(&s.mcpctl, "mcpctl", "", "the program mcpctl")
	flags.StringVar(&s.refserver, "refserver", "", "the program refserver")
	flags.StringVar(&s.packages, "packages", "", "the folder whose node_modules has the other proxies")
	flags.StringVar(&s.work, "work", "", "an empty folder for files; the caller removes it")
	results := flags.String("results", "", "file with the results; those of this run replace theirs")
	page := flags.String("page", "", "write the page to this file")
	version := flags.String("version", "", "the version of mcpctl")
	onlyRow := flags.String("row", "", "only this row")
	onlyPeer := flags.String("peer", "", "only this peer")
	if flags.Parse(args) != nil {
		return exitUsage
	}
	var err error
	if s.self, err = os.Executable(); err == nil {
		err = s.browser()
	}
	if err != nil {
		fmt.Fprintln(stderr, "proxies:", err)
		return exitUsage
	}
	t, err := loadTable(*results)
	if err != nil {
		fmt.Fprintln(stderr, "proxies:", err)
		return exitUsage
	}
	all := rows()
	if *onlyRow != "" {
		all = slices.DeleteFunc(all, func(r row) bool { return r.name != *onlyRow })
	}
	if len(all) == 0 {
		fmt.Fprintf(stderr, "proxies: no row is named %q\n", *onlyRow)
		return exitUsage
	}
	for i := range all {
		r := &all[i]
		chosen := slices.DeleteFunc(ways(), func(w way) bool { return !r.asks(&w) || *onlyPeer != "" && w.peer != *onlyPeer })
		t.begin(r, chosen, *version)
		r.play(ctx, s, chosen, func(w *way, values ...string) {
			t.set(r, w, values)
			fmt.Fprintf(stdout, "%s: %s: %q\n", r.name, w.name(), values)
		})
		if ctx.Err() != nil { // figures of half a play would mislead
			fmt.Fprintln(stderr, "proxies: interrupted")
			return exitUsage
		}
		if err := t.save(*results); err != nil {
			fmt.Fprintln(stderr, "proxies:", err)
			return 1
		}
	}
	if *page == "" {
		return 0
	}
	if len(t.Rows) < len(rows()) {
		fmt.Fprintln(stdout, "the page is not written: some rows have no results yet")
		return 0
	}
	if err := os.WriteFile(*page, []byte(t.page(s)), 0o600); err != nil {
		fmt.Fprintln(stderr, "proxies:", err)
		return 1
	}
	return 0
}
