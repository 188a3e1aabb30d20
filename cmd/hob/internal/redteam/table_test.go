package redteam

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

// incident is a security incident of another project. Its tests are found by their names, so that
// the table cannot list a test that does not exist.
type incident struct {
	what, control string
	// waits names the missing feature that the incident would need, or "" if none is missing.
	waits string
}

// incidents are numbered from 1.
var incidents = []incident{
	{what: "A control page trusted an address in its own query, connected there and sent its stored token (CVE-2026-25253)", control: "the page takes no endpoint from its address and stores no token; Hob checks Origin and Host on every request"},
	{what: "Any web page could guess a password of a local WebSocket; a forged device token bypassed the rate limiter (\"ClawJacked\")", control: "Hob uses a random token of 256 bits; rate limits also apply on loopback, regardless of headers; pairing always needs your approval"},
	{what: "A local `config.apply` without authentication set a command that then ran (CVE-2026-25593)", control: "every route except health and the page's files needs the token; the API cannot change settings that run programs"},
	{what: "An unverified token was accepted; a client declared its own scope (CVE-2026-28472, CVE-2026-53821, CVE-2026-33577)", control: "each route compares the token in constant time; a client's rights come from Hob's database; a grant can only narrow them"},
	{what: "Revoked tokens stayed valid on open sockets", control: "Hob checks authentication for each request; a revocation closes open connections"},
	{what: "The master token was sent in probes of loopback ports (CVE-2026-22174)", control: "Hob sends the token to no other service; child processes and models never see it"},
	{what: "A tool argument caused requests to internal addresses (CVE-2026-26322)", control: "for each request and redirect, one dialer resolves the name, rejects special address ranges and connects to the checked address"},
	{what: "\"Allow always\" stayed valid while the payload changed; shell expansion bypassed an allowlist; a here-document read secrets (CVE-2026-29607, CVE-2026-28463, CVE-2026-44115)", control: "Hob checks the syntax tree of a command; an approval is bound to the program, its digest and its arguments; grants expire"},
	{what: "Links were swapped between the check and the use; the input forged a flag that marks the user (CVE-2026-44112, CVE-2026-44113, CVE-2026-44118)", control: "Hob opens files below a root that links cannot leave; only the channel's proof identifies the user"},
	{what: "An alternative name of a parameter bypassed the sandbox (2026.3.28; CVE-2026-32046)", control: "one check covers all file paths, regardless of the parameter name; a test tries each parameter of each tool"},
	{what: "An empty caller or the suffix of a number was accepted; a list silently became open (CVE-2026-28446)", control: "Hob compares normalized addresses exactly; an empty list allows no one; an invalid setting is an error at start"},
	{what: "Hundreds of malicious skills wrote persona and memory files (\"ClawHavoc\")", control: "no tool can write the persona, USER.md, MEMORY.md or settings; the parts of a template have only the rights of untrusted text"},
	{what: "An MCP server began to copy every email; a client ran what a server sent (postmark-mcp, CVE-2025-6514)", control: "all text of a server is untrusted; Hob asks before calls whose effects you did not configure, holds back changed tools, and runs programs in the sandbox"},
	{what: "Look-alike installers and packages", control: "builds are reproducible; `hob update` accepts a release only if its manifest is signed with the key in the program", waits: "signed packages for each system"},
	{what: "Hundreds of thousands of gateways open to the internet", control: "Hob listens only on loopback; it refuses any other address without TLS and a password"},
	{what: "\"Do nothing until I say so\" was lost in a summary, a remote stop was ignored, 200 emails were deleted", control: "the rule is in code; Hob asks before batches; you can undo changes; /stop ends the running turn", waits: "one approval request for many consecutive email moves"},
	{what: "Link previews of chat platforms fetched addresses that contained text from a model's context", control: "Hob sends without previews, and scans outgoing text for secrets and long opaque addresses"},
	{what: "An invitation in a calendar caused a command to run (also EchoLeak, CVE-2025-32711)", control: "a turn that has read untrusted text runs and sends nothing without a new approval, whichever tools the model combines"},
	{what: "A messenger bridge listened on all addresses without authentication", control: "there is no bridge process: iMessage reads the Mac's own database and sends through scripts", waits: "a private socket and a secret for each run, if Hob ever adds a bridge process"},
	{what: "A batch runner skipped the guard; forged tool history filled the context (CVE-2026-9350, CVE-2026-14626 and others)", control: "every entry point uses the same policy check; a client's history is untrusted and bounded; Hob accepts tool results only from its own store"},
	{what: "Models obeyed 40 to 75 % of injected instructions in measurements (ClawSafety, A3S-Bench)", control: "the tool boundary enforces the rules even if the model obeys every injected instruction"},
}

// review is one finding of the review of b2fd773: the reviewer's attack, and the control that now
// stops it.
type review struct{ did, control string }

// reviews are numbered from 1.
var reviews = []review{
	{did: "Critical. `hob ask ok`, an answer to something else, approved a command of a background task that a hostile email had started", control: "\"Yes\" approves only the last question that was shown in that chat, asked by your own turn, with nothing after it; \"ok\" approves nothing"},
	{did: "High. A commit message in `git log \\| hob ask` counted as your words", control: "Standard input and long pastes are untrusted unless you vouch for them with `--mine`"},
	{did: "High. In 16 of 31 layouts the quoted or forwarded part of your email counted as your words", control: "Text above the first boundary is yours; without a recognized boundary, only the first paragraph is yours. An approval by email must be a reply to the question"},
	{did: "High without a sandbox. Commands counted as read-only wrote files (`xxd -bc 5 FILE`) or read other folders and processes (`jq --arg`, `ps -axeww`)", control: "A command runs without a question only if its argument form is listed for its program. The sandbox hides the environment of other processes"},
	{did: "Medium. An approved command ran code that had changed after the question: `sh < job.sh`, `make -C tp`, `xargs sh`", control: "An approval is bound to a digest of every file that the command would read as code, and lists code that it does not cover"},
	{did: "Medium. Hob cut the middle of a question with more than 2,000 characters, so that `rm -rf` was invisible", control: "Hob splits long contents into pages or attaches them"},
	{did: "Medium. Other programs read files in the drop folder as instructions or formulas (CLAUDE.local.md, `.csv`)", control: "Hob chooses the names of the files that it writes there, re-encodes text and tables, and disables links and images"},
	{did: "Medium. A file from an unknown sender counted as your words after a move into a trusted folder", control: "Moved, copied, renamed or archived content keeps its provenance until you vouch for it"},
	{did: "Medium. A nested multipart email stalled Hob for 13 s", control: "One email parser with fixed limits reads all email, in a separate process"},
	{did: "Low. A signed webhook request could be replayed; exports printed control characters; a refusal advised to allow `~/.ssh`; a result without a source counted as Hob's own", control: "Each secret belongs to one signature scheme; Hob removes control characters from terminal output; advice names no protected folder; a result without a source counts as untrusted"},
	{did: "From use. `hob ask --yes` approved every question without showing it; Hob advised `files.allowed = [\"~\"]`; a search returned a password that you had not asked for; Hob claimed that a reminder was set when none was", control: "`--yes` covers only harmless requests of its own turn; advice names the folder that a call needs; credentials are found only by name; Hob checks its replies against the calls that ran"},
}

var (
	incidentTest = regexp.MustCompile(`func (TestIncidentI(\d+)\w*)\(`)
	reviewTest   = regexp.MustCompile(`func (TestReview(\d+)_\w+)\(`)
)

// namedTests returns the tests of the entire project whose names contain a number, by number.
func namedTests(t *testing.T, root string, name *regexp.Regexp) map[int][]string {
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
		for _, m := range name.FindAllStringSubmatch(string(b), -1) {
			n, err := strconv.Atoi(m[2])
			if err != nil {
				return err
			}
			out[n] = append(out[n], fmt.Sprintf("`%s` (%s)", m[1], filepath.ToSlash(rel)))
		}
		return nil
	})
	failOnError(t, err)
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// writeIncidents writes the rows of incidents.
func writeIncidents(t *testing.T, b *strings.Builder, tests map[int][]string) {
	t.Helper()
	for i, in := range incidents {
		list := tests[i+1]
		delete(tests, i+1)
		if len(list) == 0 && in.waits == "" {
			t.Errorf("I%d has neither a test nor a reason", i+1)
		}
		stands := strings.Join(list, "<br>")
		if in.waits != "" {
			stands = strings.TrimPrefix(stands+"<br>waits for: "+in.waits, "<br>")
		}
		fmt.Fprintf(b, "| I%d | %s | %s | %s |\n", i+1, in.what, in.control, stands)
	}
	for n, list := range tests {
		t.Errorf("%v: incident I%d does not exist", list, n)
	}
}

// writeReviews writes the rows of the findings of the review.
func writeReviews(t *testing.T, b *strings.Builder, tests map[int][]string) {
	t.Helper()
	for i, r := range reviews {
		list := tests[i+1]
		delete(tests, i+1)
		if len(list) == 0 {
			t.Errorf("finding %d of the review has no test named TestReview%d_", i+1, i+1)
		}
		fmt.Fprintf(b, "| %d | %s | %s | %s |\n", i+1, r.did, r.control, strings.Join(list, "<br>"))
	}
	for n, list := range tests {
		t.Errorf("%v: finding %d does not exist", list, n)
	}
}

// docs/incidents.md lists the tests for each incident. Generate it from the existing tests: go test
// ./cmd/hob/internal/redteam -run Table -update
func TestTheTableOfIncidents(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	var b strings.Builder
	b.WriteString(incidentsHead)
	writeIncidents(t, &b, namedTests(t, root, incidentTest))
	b.WriteString(reviewsHead)
	writeReviews(t, &b, namedTests(t, root, reviewTest))
	path := filepath.Join(root, "docs", "incidents.md")
	if *update {
		failOnError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	was, err := os.ReadFile(path)
	failOnError(t, err)
	if string(was) == b.String() {
		return
	}
	for _, claimed := range regexp.MustCompile("`Test(?:Incident|Review)\\w+` \\([^)]*\\)").FindAllString(string(was), -1) {
		if !strings.Contains(b.String(), claimed) {
			t.Errorf("docs/incidents.md names %s, which does not exist", claimed)
		}
	}
	t.Log("docs/incidents.md lacks some tests: go test ./cmd/hob/internal/redteam -run Table -update")
}

const incidentsHead = `# Incidents

This page lists incidents in other assistants and Hob's protections against them. The last column is generated from the tests
(` + "`go test ./cmd/hob/internal/redteam -run Table -update`" + `). "waits for" names features that Hob does not have yet.
[Security](security.md) describes all threats.

| | Incident elsewhere | Protection in Hob | Tests |
|---|---|---|---|
`

const reviewsHead = `
## Review of b2fd773

A reviewer with access to the source code attacked Hob at commit b2fd773.

| | Finding | Protection now | Tests |
|---|---|---|---|
`
