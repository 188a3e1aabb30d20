//go:build unix

// Package fleet runs several built daemons on one PostgreSQL and kills, suspends and cuts them off
// while messages arrive: nothing is lost, nothing is answered twice, no two instances work on one
// session, no effect happens twice. It contains only tests.
package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hob/autonomy/llm/llmtest"
	"hob/platform/failpoint/daemontest"
	"hob/platform/store/storetest"
)

// leaseTime is the lease of the instances, except where a test measures another one. A shorter one would also end
// where a busy machine delays a renewal.
const leaseTime = 6 * time.Second

// fleetFixture is a fleet with its database, its model and the receiver of its replies.
type fleetFixture struct {
	t         *testing.T
	server    *storetest.Server // nil if the only instance uses SQLite
	receiver  *daemontest.Receiver
	instances []*instance
	delay     time.Duration
	documents string // folder to which the tools of all instances write

	log []string // the faults

	mu    sync.Mutex
	rnd   *rand.Rand
	think time.Duration // longest time that the model takes; it takes at least half of it
	steps []step
}

// instance is one daemon of the fleet.
type instance struct {
	*daemontest.Daemon
	name   string
	proxy  *proxy   // to the database; nil with a network
	net    *network // nil without network namespaces
	pauses []suspension
}

// suspension is a time during which an instance was stopped while another one ended its lease.
type suspension struct{ began, ended time.Time }

// step is one request to the model.
type step struct {
	instance, session string
	n                 int
	began, ended      time.Time
}

// database is the name of the database of the fleet.
const database = "fleet"

// fleetOptions choose a fleet. The secret of the channel is missing on the instances noSecret.
type fleetOptions struct {
	size     int // 0: one instance that uses SQLite
	seed     uint64
	lease    time.Duration // 0: leaseTime
	networks bool          // each instance in a network namespace, if the machine permits it
	noSecret []string
	delay    time.Duration // of the network to the database, in each direction
}

// newFleet starts a server and the instances.
func newFleet(t *testing.T, o fleetOptions) *fleetFixture {
	t.Helper()
	f := &fleetFixture{t: t, delay: o.delay, rnd: rand.New(rand.NewPCG(o.seed, 1)), receiver: daemontest.NewReceiver(t)}
	o.lease = cmp.Or(o.lease, leaseTime)
	bin, err := program()
	failOnError(t, err)
	user := filepath.Join(t.TempDir(), "user")
	f.documents = filepath.Join(user, "Documents")
	failOnError(t, os.MkdirAll(f.documents, 0o700))
	var networks []*network
	if o.size > 0 {
		f.server = storetest.NewServer(t)
		if o.networks {
			if networks, err = newNetworks(t, o.size); err != nil {
				t.Logf("no network namespaces, so proxies cut the instances off: %v", err)
			}
			for _, n := range networks {
				failOnError(t, f.server.ListenOn(n.address+"/30", n.address))
			}
		}
		failOnError(t, f.server.Exec(t.Context(), "postgres", "ALTER SYSTEM SET track_commit_timestamp = on"))
		failOnError(t, f.server.Stop("INT"))
		failOnError(t, f.server.Start(t.Context()))
		failOnError(t, f.server.Exec(t.Context(), "postgres", "CREATE DATABASE "+database))
	}
	for i := range max(1, o.size) {
		x := &instance{name: string(rune('a' + i))}
		x.Daemon = daemontest.New(t, bin, filepath.Join(t.TempDir(), x.name))
		x.User, x.Client.Timeout = user, 3*time.Second
		if !slices.Contains(o.noSecret, x.name) {
			x.Env = []string{"FLEET_HOOK=a-secret-of-the-test"}
		}
		model := llmtest.NewServer(t, llmtest.Options{Keep: 1, Reply: func(r llmtest.Request) (llmtest.Answer, bool) { return f.replyTo(x.name, r), true }})
		conf := fmt.Sprintf(config, model.URL, x.Addr, f.receiver.URL)
		if networks != nil {
			x.net = networks[i]
			x.Wrap, x.Client.Transport = x.net.programPrefix(), &http.Transport{DialContext: x.net.dialInside}
			for _, url := range []string{model.URL, f.receiver.URL} {
				addr := strings.Split(url, "/")[2]
				ln, err := x.net.listenInside(addr)
				failOnError(t, err)
				newProxy(t, ln, addr, 0)
			}
		}
		if o.size > 0 {
			conf += fmt.Sprintf("[store]\nurl = %q\ninstance = %q\nlease = %q\n", f.addressFor(x), x.name, o.lease)
		}
		x.Configure(conf)
		f.instances = append(f.instances, x)
		if !x.Start("") {
			t.Fatalf("instance %s did not start", x.name)
		}
		if i == 0 && o.size > 0 {
			failOnError(t, f.server.Exec(t.Context(), database, claimLog))
		}
	}
	return f
}

// addressFor returns the address of the database for an instance, which can be cut off from it.
func (f *fleetFixture) addressFor(x *instance) string {
	server, addr := "127.0.0.1:"+strconv.Itoa(f.server.Port), ""
	if x.net != nil {
		addr = x.net.address + ":" + strconv.Itoa(f.server.Port)
	} else {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		failOnError(f.t, err)
		x.proxy = newProxy(f.t, ln, server, f.delay)
		addr = x.proxy.addr
	}
	return strings.Replace(f.server.URL(database), server, addr, 1)
}

const config = `[agent]
model = "test/test"
timezone = "UTC"
[providers.test]
kind = "openai"
base_url = "%s/v1"
model = "test"
[web]
listen = "%s"
[files]
allowed = ["~/Documents"]
[plan]
at = ""
[knowledge]
extraction = "rules"
[notify]
channel = "webhook"
queue_notices = false
[channels.webhook]
url = "%s"
secret = "env:FLEET_HOOK"
`

var message = regexp.MustCompile(`(job|say) (s\d+)-(\d+)`)

// replyTo returns the model's answer to an instance. It depends only on the conversation, so that a turn
// continues elsewhere as if it had not been interrupted.
func (f *fleetFixture) replyTo(who string, r llmtest.Request) llmtest.Answer {
	all := message.FindAllStringSubmatch(r.LastUser, -1)
	if all == nil {
		return llmtest.Answer{Text: "what?"}
	}
	m := all[len(all)-1] // the message follows Hob's own context
	n, _ := strconv.Atoi(m[3])
	s := step{instance: who, session: m[2], n: n, began: time.Now()}
	f.mu.Lock()
	var takes time.Duration
	if f.think > 0 {
		takes = f.think/2 + time.Duration(f.rnd.Int64N(int64(f.think/2)))
	}
	f.mu.Unlock()
	time.Sleep(takes)
	s.ended = s.began.Add(takes) // on a busy machine, Sleep ends later, when the instance may have been killed
	f.mu.Lock()
	f.steps = append(f.steps, s)
	f.mu.Unlock()
	switch {
	case len(r.Results) > 0:
		return llmtest.Answer{Text: fmt.Sprintf("answer to %s-%s: %s", m[2], m[3], r.Results[len(r.Results)-1].Text)}
	case m[1] == "say":
		return llmtest.Answer{Text: fmt.Sprintf("answer to %s-%s", m[2], m[3])}
	}
	b, _ := json.Marshal(map[string]any{"name": "write_file", "arguments": map[string]any{
		"path": filepath.Join(f.documents, m[2]+"-"+m[3]+".log"), "content": "done\n", "append": true,
	}})
	return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: string(b)}}}
}

// setThink sets the longest time that the model takes.
func (f *fleetFixture) setThink(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.think = d
}

// randomBelow returns a random number below n.
func (f *fleetFixture) randomBelow(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rnd.IntN(n)
}

// sendMessage sends a message and returns its event. While the instance accepts nothing, because it joins again,
// the message is repeated, as clients do.
func (f *fleetFixture) sendMessage(ctx context.Context, x *instance, session, text string) (event string) {
	f.t.Helper()
	f.awaitProgress(ctx, "an instance that accepts "+text, func() int { return 0 }, func() bool {
		var err error
		event, err = x.Send(ctx, session, text)
		if s, ok := errors.AsType[*daemontest.StatusError](err); ok && s.Code != http.StatusServiceUnavailable {
			f.t.Fatal(err)
		}
		return err == nil
	})
	return event
}

// queryRows reads from the database as soon as it can be reached.
func (f *fleetFixture) queryRows(ctx context.Context, sql string, args ...any) [][]any {
	f.t.Helper()
	var last error
	for ctx.Err() == nil {
		out, err := readRows(ctx, f.server.URL(database), sql, args)
		if err == nil {
			return out
		}
		last = err
		pauseFor(ctx, 100*time.Millisecond)
	}
	f.t.Fatalf("query %s: %v", sql, last)
	return nil
}

func readRows(ctx context.Context, url, sql string, args []any) (out [][]any, err error) {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer c.Close(context.WithoutCancel(ctx))
	rows, err := c.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]any, error) { return r.Values() })
}

// awaitProgress waits until ok returns true, and fails the test when progress has not changed for 2 minutes.
func (f *fleetFixture) awaitProgress(ctx context.Context, what string, progress func() int, ok func() bool) {
	f.t.Helper()
	best, since := -1, time.Now()
	for !ok() {
		if n := progress(); n != best {
			best, since = n, time.Now()
		}
		if ctx.Err() != nil || time.Since(since) > 2*time.Minute {
			f.t.Fatalf("waited in vain for %s (at %d)", what, best)
		}
		pauseFor(ctx, 20*time.Millisecond)
	}
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// program builds the program with its failpoints, once for all tests.
var program = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("HOB_FLEET_PROGRAM"); bin != "" {
		return bin, nil
	}
	bin := filepath.Join(workshop, "hob")
	return bin, daemontest.Build(bin)
})

// workshop is the folder of the program.
var workshop string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hob-fleet-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	workshop = dir
	return m.Run()
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func envNumber(env string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(env)); err == nil && n > 0 {
		return n
	}
	return def
}
