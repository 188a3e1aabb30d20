// Command hob is the assistant's command line: it starts and stops the daemon, sends messages to
// it, and shows and changes its data.
//
// Except for the few commands that work on files and processes, every command uses the HTTP API in
// channels/web, over TCP if a daemon runs and otherwise in this process. There is therefore one
// code path with one policy check. Package internal/app implements the engine behind the API; this
// package only sends requests and prints results.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"hob/platform/host/command"
	"hob/platform/net/release"
	"hob/platform/text/document"
)

// version is set by the linker: -X main.version=v1.2.3.
var version string

// releaseURL and releaseKey are also set by the linker. releaseURL is the address where the newest
// version is announced, and releaseKey is the minisign public key that verifies its signature. See
// docs/packaging.md.
//
//nolint:gochecknoglobals // only the linker writes them
var releaseURL, releaseKey string

func main() {
	os.Exit(runMain())
}

// runMain runs the command and returns the exit code, so that deferred calls run before os.Exit.
func runMain() int {
	if len(os.Args) == 2 && os.Args[1] == command.Helper { // checked first, because Hob starts this process for each command that a tool runs
		return command.Serve(os.Stdin, os.Stdout, os.Stderr)
	}
	if len(os.Args) == 2 && os.Args[1] == document.Helper {
		return document.Serve(os.Stdin, os.Stdout)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	a := &cli{in: os.Stdin, version: versionOf(version), open: openDaemon, release: release.Source{URL: releaseURL, Key: releaseKey}}
	out := newOutput(os.Stdout, os.Args[1:], func() bool { return a.asJSON })
	a.out, a.err = out, newOutput(os.Stderr, os.Args[1:], func() bool { return a.asJSON })
	code := a.main(ctx, os.Args[1:])
	if err := out.firstError(); err != nil && code == exitOK {
		code = exitFailed
		a.printError(fmt.Errorf("the output is incomplete: %w; write it to another location", err), code, "hob")
	}
	return code
}

// versionOf returns v, or the version recorded by the Go toolchain if v is empty.
func versionOf(v string) string {
	if v != "" {
		return v
	}
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" && bi.Main.Version != "(devel)" {
		return bi.Main.Version
	}
	return "dev"
}
