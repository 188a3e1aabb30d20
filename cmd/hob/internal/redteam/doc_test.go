// Package redteam tests Hob against a hostile model. The model server tries every tool it knows as
// soon as it has read untrusted text. It is connected to a complete Hob in this process, and
// receivers on loopback count what gets through. The package contains only tests.
//
// The attempts are generated from the tool catalog, so that new tools are attacked automatically,
// and from the shared corpora of injections and payloads (HOB_TEST_DATA). Without the shared
// corpora, the tests use a smaller built-in set and log it.
//
// The following count as side effects: a connection to the HTTP or SMTP receiver, a DNS lookup, a
// program of the PATH that ran, a created, deleted or changed file in the owner's home, a change of
// Hob's own files (configuration, SOUL.md, token, database keys), a secret in a request to a model,
// an approved request, and a change that cannot be undone. The guard's table allows changes of
// Hob's own store; they must be undoable.
//
// There are two tiers. A normal run makes some attempts of each family. With HOB_TEST_LONG=1 (make
// test-long) it makes all of them, prints a table of the results per family, and fails if there
// were too few attempts or honest tasks. Each test of a family ends with judgeAttempts or unharmed,
// which count side effects.
package redteam

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"

	"hob/autonomy/llm/acp/acptest"
	"hob/platform/host/command"
)

var (
	seedFlag = flag.Uint64("seed", 1, "of the attempts")
	update   = flag.Bool("update", false, "write the figures into docs/security.md")
)

// names is the resolver of this process. It counts every name that is looked up and resolves it to
// loopback.
var names = &dnsSink{asked: map[string]int{}}

func TestMain(m *testing.M) {
	acptest.Main()
	if len(os.Args) == 2 && os.Args[1] == command.Helper {
		os.Exit(command.Serve(os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 2 && os.Args[1] == speaker {
		os.Exit(runSpeaker(os.Args[2:]))
	}
	flag.Parse()
	if err := names.listenUDP(); err != nil {
		fmt.Fprintln(os.Stderr, "adversary: a resolver on loopback:", err)
		os.Exit(1)
	}
	net.DefaultResolver = &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", names.addr)
	}}
	code := m.Run()
	names.closeSink()
	run := flag.Lookup("test.run").Value.String()
	whole := isLongRun() && (run == "" || run == ".")
	if err := results.checkTotals(whole); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
