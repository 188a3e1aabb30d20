package app

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/telegram/telegramtest"
	"hob/platform/host/system"
	"hob/platform/store/storetest"
)

var updateFlow = flag.Bool("update-flow", false, "write the recorded message flow to docs/architecture.md")

// flowDoc is the page with the list, which is between flowBegin and flowEnd.
const (
	flowDoc   = "../../../../docs/architecture.md"
	flowBegin = "<!-- recorded message flow -->\n"
	flowEnd   = "<!-- end of the recorded message flow -->"
)

// flowPoints lists the functions whose callers the page shows, in the order of the flow. Each of
// them stores something durably or calls something outside Hob.
func flowPoints() []struct{ what, function string } {
	return []struct{ what, function string }{
		{"The channel hands over the message", "intake.(*Intake).Receive"},
		{"The message is a row of the inbox; only then is it acknowledged to the platform", "bus.(*Inbox).CoalesceTx"},
		{"The loop claims the event", "bus.(*Inbox).Claim"},
		{"The turn calls the model", "offline.(*Model).Stream"},
		{"The guard decides about the tool call", "turn.(*policyCheck).askGuard"},
		{"The tool runs, in the transaction that records the call", "turn.(*toolExecutor).callOwn"},
		{"The outcome goes to the committer", "commit.(*Committer).Commit"},
		{"One transaction ends the event", "bus.(*Inbox).FinishTx"},
		{"The same transaction puts the reply into the outbox", "bus.(*Outbox).EnqueueTx"},
		{"The channel sends the reply", "telegram.(*Channel).Send"},
	}
}

// TestMessageFlow_IsListedInTheArchitecture records which functions a Telegram message passes
// through. It reads them from the allocation profile, which contains every call that allocates, so
// that the program needs no code for the recording.
func TestMessageFlow_IsListedInTheArchitecture(t *testing.T) {
	storetest.FileOnly(t, "the page shows the calls of a single instance")
	skipRaced(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	api := telegramtest.New(t)
	h := openWith(t, home, Options{Paths: paths, Drivers: []channels.Driver{api.Driver()}},
		"[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n[channels.telegram]\ntoken = \""+telegramtest.Token+"\"\n")
	says := func(text, answer string) {
		t.Helper()
		deadline := time.Now().Add(60 * time.Second)
		for sent := false; ; time.Sleep(5 * time.Millisecond) {
			sent = sent || api.Say(t.Context(), "7", "7", text, false)
			if slices.ContainsFunc(api.Arrived(), func(s string) bool { return strings.Contains(s, answer) }) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the answer %q was not sent; arrived: %q", answer, api.Arrived())
			}
		}
	}
	status, body := h.callAPI(http.MethodPost, "/api/v1/channels/telegram/pair", struct{}{})
	var c struct{ Code string }
	if status != http.StatusOK || json.Unmarshal(body, &c) != nil {
		t.Fatalf("%d %s", status, body)
	}
	says("/start "+c.Code, "This account is paired")

	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	defer func() { runtime.MemProfileRate = rate }()
	before := allocationStacks(t)
	says("remember that the gate is green", "gate is green")
	var stacks [][]string
	for key, n := range allocationStacks(t) {
		if n.count > before[key].count {
			stacks = append(stacks, n.functions)
		}
	}
	if path := os.Getenv("HOB_FLOW_STACKS"); path != "" { // for choosing the points manually
		var all []string
		for _, s := range stacks {
			all = append(all, strings.Join(s, " > "))
		}
		slices.Sort(all)
		failOnError(t, os.WriteFile(path, []byte(strings.Join(all, "\n")), 0o600))
	}
	list := flowBegin + describeFlow(t, stacks) + flowEnd
	page, err := os.ReadFile(flowDoc)
	failOnError(t, err)
	i, j := bytes.Index(page, []byte(flowBegin)), bytes.Index(page, []byte(flowEnd))
	if i < 0 || j < i {
		t.Fatalf("%s has no section for the recorded message flow", flowDoc)
	}
	now := string(page[:i]) + list + string(page[j+len(flowEnd):])
	if now == string(page) {
		return
	}
	if !*updateFlow {
		t.Fatalf("docs/architecture.md lists another message flow; run this test with -update-flow. Recorded:\n%s", list)
	}
	failOnError(t, os.WriteFile(flowDoc, []byte(now), 0o644)) //nolint:gosec // a page of the repository
}

// describeFlow lists the calls that lead to each point.
func describeFlow(t *testing.T, stacks [][]string) string {
	t.Helper()
	var b strings.Builder
	for n, p := range flowPoints() {
		var best []string
		for _, s := range stacks {
			i := slices.Index(s, p.function)
			if i < 1 { // a caller of 0 is a closure, which does not show the function that calls it
				continue
			}
			if chain := s[:i+1]; best == nil || len(chain) < len(best) || len(chain) == len(best) && slices.Compare(chain, best) < 0 {
				best = chain
			}
		}
		if best == nil {
			t.Fatalf("no call of %s was recorded", p.function)
		}
		fmt.Fprintf(&b, "%d. %s: `%s`\n", n+1, p.what, strings.Join(best, "` → `"))
	}
	return b.String()
}

type recordedStack struct {
	count     int
	functions []string // of Hob, outermost first
}

var (
	profileHead  = regexp.MustCompile(`^\d+: \d+ \[(\d+): \d+\] @(.*)$`)
	profileFrame = regexp.MustCompile(`^#\t0x[0-9a-f]+\t(hob/\S+?)\+0x[0-9a-f]+\t`)
	inlinedName  = regexp.MustCompile(`^(\w+\.).*\.(\(\*\w+\)\.\w+)$`) // matches a closure that was inlined elsewhere
	closureName  = regexp.MustCompile(`(\.func\d+|\.gowrap\d+|\.\d+|-range\d+)+$`)
)

// allocationStacks returns the stacks that have allocated memory, keyed by their addresses.
func allocationStacks(t *testing.T) map[string]recordedStack {
	t.Helper()
	for range 3 { // so that the profile contains all allocations
		runtime.GC()
	}
	var b bytes.Buffer
	failOnError(t, pprof.Lookup("allocs").WriteTo(&b, 1))
	out := map[string]recordedStack{}
	key := ""
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		if m := profileHead.FindStringSubmatch(line); m != nil {
			n, err := strconv.Atoi(m[1])
			failOnError(t, err)
			key = m[2]
			out[key] = recordedStack{count: out[key].count + n}
		} else if m := profileFrame.FindStringSubmatch(line); m != nil && key != "" {
			name := closureName.ReplaceAllString(m[1], "")
			name = inlinedName.ReplaceAllString(name[strings.LastIndex(name, "/")+1:], "$1$2")
			if s := out[key]; !isPlumbing(name) {
				s.functions = append(s.functions, name)
				out[key] = s
			}
		}
	}
	for key, s := range out {
		slices.Reverse(s.functions)
		seen := map[string]bool{}
		s.functions = slices.DeleteFunc(s.functions, func(name string) bool { // skip closures of a function already listed
			again := seen[name]
			seen[name] = true
			return again
		})
		out[key] = s
	}
	return out
}

// isPlumbing reports whether a function only runs other functions: the store's writer, a
// supervisor, a recover.
func isPlumbing(name string) bool {
	return strings.HasPrefix(name, "store.") || strings.HasPrefix(name, "retry.") || name == "channels.recoverPanic"
}
