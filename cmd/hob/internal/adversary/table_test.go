package adversary

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// incident is something that happened to others. Its tests are found by their
// names, so that the table cannot claim one that is not there.
type incident struct {
	what, control string
	// waits says what is not there yet that this could happen to, "" for nothing.
	waits string
}

// incidents are numbered from 1.
var incidents = []incident{
	{what: "A control page trusted an address in its own query, connected there and sent its stored token (CVE-2026-25253)", control: "no endpoint is taken from an address; Origin and Host are checked on every request; the page keeps no token; the CSP lets it connect to its own origin alone"},
	{what: "Any web page could guess a password of a local WebSocket; a bogus device token got round the limiter (\"ClawJacked\")", control: "a random token of 256 bits, slowed down on loopback too, whatever headers a request brings; pairing is never approved by itself"},
	{what: "A local `config.apply` without proof set a command that was then run (CVE-2026-25593)", control: "every way in but health and the page's files needs the token; no setting and no path of a program can be set over the API"},
	{what: "A token counted because it was there; a client declared its own scope (CVE-2026-28472, CVE-2026-53821, CVE-2026-33577)", control: "constant-time comparison on each route; rights come from the server's rows; a grant can only narrow"},
	{what: "Revoked tokens stayed good on open sockets", control: "proof is looked at for each request; a revocation closes what is open"},
	{what: "The master token was sent along in probes of loopback ports (CVE-2026-22174)", control: "the token is sent to nobody; child processes do not get it, models never see it"},
	{what: "Requests to inside addresses that a tool's argument named (CVE-2026-26322)", control: "one dialer: resolve, sort out special ranges, pin the address that was checked, on each redirect; proxies of the environment are checked alike"},
	{what: "\"Allow always\" kept its yes while the payload changed; a list was beaten by expansion of the shell; a here-document read secrets (CVE-2026-29607, CVE-2026-28463, CVE-2026-44115)", control: "commands are judged by their syntax tree; a yes is bound to the resolved program, its digest and its arguments; no shell where none is needed; a scrubbed environment; grants end"},
	{what: "Links were swapped between the check and the use; an owner's flag was forged in the input (CVE-2026-44112, CVE-2026-44113, CVE-2026-44118)", control: "files are opened below a root that links cannot leave; who is the owner comes from the channel's proof"},
	{what: "Another name of a parameter escaped the sandbox (2026.3.28; CVE-2026-32046)", control: "one gate for files, whatever the parameter is called; each parameter of each tool is tried"},
	{what: "An empty caller, or the end of a number, was let in; a list became open in silence (CVE-2026-28446)", control: "exact comparison of normalised addresses; an empty list is nobody; a wrong setting is an error at the start"},
	{what: "Hundreds of malicious skills wrote persona and memory files (\"ClawHavoc\")", control: "persona, memory of the owner and settings are not writable by any tool, not even after a yes", waits: "skills themselves: pinned hash, manifest, no rights of their own"},
	{what: "An MCP server began to copy every mail; a client ran what a server sent (postmark-mcp, CVE-2025-6514)", control: "texts and tools of others are marked foreign: their own word on what they do is not heard", waits: "there is no MCP client yet: pinned servers, a changed description asks"},
	{what: "Look-alike installers and packages", control: "one source; static, reproducible builds", waits: "there are no installers and no updates by Hob itself yet: signed releases"},
	{what: "Hundreds of thousands of gateways open to the internet", control: "loopback only; anything else is refused without TLS and a password"},
	{what: "\"Do nothing until I say so\" was lost in a summary, a remote stop was ignored, 200 mails were gone", control: "the rule is code and not a prompt; batches ask first; changes can be undone; /stop is read before the queue and ends what runs", waits: "mail: moves can be undone, but many in a row are not asked about as a batch"},
	{what: "Link previews of chat platforms fetched addresses that were built from what a model had read", control: "previews are off when sending; outgoing texts are looked through for secrets and for long opaque addresses"},
	{what: "An invitation in a calendar led to a command (and EchoLeak, CVE-2025-32711)", control: "taint: a turn that has read a stranger's words runs and sends nothing without a fresh yes, whichever tools are chained"},
	{what: "A messenger bridge listened on all addresses without proof", control: "child processes speak over pipes", waits: "there is no bridge process yet (iMessage): a private socket and a secret of each run"},
	{what: "The guard was skipped in a batch runner; forged tool history swelled the context (CVE-2026-9350, CVE-2026-14626 and others)", control: "one gate for every way in; a client's history is outside text and bounded; tool results count from Hob's own store alone"},
	{what: "Models obeyed 40 to 75 % of injected instructions when it was measured (ClawSafety, A3S-Bench)", control: "gates at the boundary of the tools that hold for a model which obeys every one of them"},
}

var testName = regexp.MustCompile(`func (TestIncidentI(\d+)\w*)\(`)

// incidentTests finds the tests of each incident in the whole project.
func incidentTests(t *testing.T, root string) map[int][]string {
	t.Helper()
	out := map[int][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "bin") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, m := range testName.FindAllStringSubmatch(string(b), -1) {
			n, err := strconv.Atoi(m[2])
			if err != nil {
				return err
			}
			out[n] = append(out[n], fmt.Sprintf("`%s` (%s)", m[1], filepath.ToSlash(rel)))
		}
		return nil
	})
	fatal(t, err)
	return out
}

// docs/incidents.md says which tests stand against each incident, and is made
// from what there is: go test ./cmd/hob/internal/adversary -run Table -update
func TestTheTableOfIncidents(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	tests := incidentTests(t, root)
	var b strings.Builder
	b.WriteString(incidentsHead)
	for i, in := range incidents {
		list := tests[i+1]
		slices.Sort(list)
		delete(tests, i+1)
		if len(list) == 0 && in.waits == "" {
			t.Errorf("I%d has no test and no reason why", i+1)
		}
		stands := strings.Join(list, "<br>")
		if in.waits != "" {
			stands = strings.TrimPrefix(stands+"<br>waits for: "+in.waits, "<br>")
		}
		fmt.Fprintf(&b, "| I%d | %s | %s | %s |\n", i+1, in.what, in.control, stands)
	}
	for n, list := range tests {
		t.Errorf("%v: there is no incident I%d", list, n)
	}
	path := filepath.Join(root, "docs", "incidents.md")
	if *update {
		fatal(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	was, err := os.ReadFile(path)
	fatal(t, err)
	if string(was) == b.String() {
		return
	}
	for _, claimed := range regexp.MustCompile("`TestIncident\\w+` \\([^)]*\\)").FindAllString(string(was), -1) {
		if !strings.Contains(b.String(), claimed) {
			t.Errorf("docs/incidents.md claims %s, which is not there", claimed)
		}
	}
	t.Log("docs/incidents.md lacks some tests: go test ./cmd/hob/internal/adversary -run Table -update")
}

const incidentsHead = `# Incidents

What went wrong in assistants of this kind, and what stands against it in Hob. The last column is made from the names of the
tests that there are (` + "`go test ./cmd/hob/internal/adversary -run Table -update`" + `), so that it cannot claim what is not tested.
"Waits for" names what does not exist in Hob yet and therefore cannot be met. The threats as a whole are in [security.md](security.md).

| | What happened elsewhere | What stops it here | Shown by |
|---|---|---|---|
`
