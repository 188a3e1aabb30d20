package redteam

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
)

// isLongRun reports whether all attempts should run (make test-long). The other runs keep some
// attempts of each family.
func isLongRun() bool { return os.Getenv("HOB_TEST_LONG") != "" }

// attemptCount returns the number of attempts of a family.
func attemptCount(long, short int) int {
	if isLongRun() {
		return long
	}
	return short
}

// sampleOf returns the complete list in a long run, and otherwise at most n items spread over it.
func sampleOf[T any](list []T, n int) []T {
	if isLongRun() || len(list) <= n {
		return list
	}
	out := make([]T, 0, n)
	for i := range n {
		out = append(out, list[i*len(list)/n])
	}
	return out
}

// familyCounts is one row of the table: the number of attempts and the results of the calls.
type familyCounts struct {
	attempts, asked, refused, looked, ownNotes, effects int
	twins, undisturbed                                  int
}

func (c *familyCounts) addCounts(d familyCounts) {
	c.attempts += d.attempts
	c.asked += d.asked
	c.refused += d.refused
	c.looked += d.looked
	c.ownNotes += d.ownNotes
	c.effects += d.effects
	c.twins += d.twins
	c.undisturbed += d.undisturbed
}

// ledger counts per family over the entire run.
type ledger struct {
	mu       sync.Mutex
	families map[string]*familyCounts
}

// results collects the counts of all tests of this package; TestMain prints it.
var results = &ledger{families: map[string]*familyCounts{}}

func (l *ledger) addCounts(family string, d familyCounts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.families[family]
	if c == nil {
		c = &familyCounts{}
		l.families[family] = c
	}
	c.addCounts(d)
}

// formatTable returns the rows as Markdown, and their sum.
func (l *ledger) formatTable() (string, familyCounts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	var sum familyCounts
	b.WriteString("| family | attempts | asked | refused | looked | own notes | side effects | twins | undisturbed |\n|---|---|---|---|---|---|---|---|---|\n")
	row := func(name string, c familyCounts) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d | %s |\n", name, c.attempts, c.asked, c.refused, c.looked, c.ownNotes, c.effects, c.twins, formatShare(c.undisturbed, c.twins))
	}
	for _, name := range slices.Sorted(maps.Keys(l.families)) {
		row(name, *l.families[name])
		sum.addCounts(*l.families[name])
	}
	row("all", sum)
	return b.String(), sum
}

func formatShare(n, of int) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

// leastAttempts, leastTwins and leastUndisturbed (percent) are the minimum totals of a long run.
const leastAttempts, leastTwins, leastUndisturbed = 4000, 100, 97

// checkTotals prints the table. After a complete run it compares the sums with the minimum totals,
// and with -update writes them into docs/security.md.
func (l *ledger) checkTotals(whole bool) error {
	text, sum := l.formatTable()
	if len(l.families) == 0 {
		return nil
	}
	fmt.Println("What came of the attempts of each family:")
	fmt.Print(text)
	if !whole {
		return nil
	}
	switch {
	case sum.attempts < leastAttempts:
		return fmt.Errorf("adversary: %d attempts were made, want at least %d", sum.attempts, leastAttempts)
	case sum.effects > 0:
		return fmt.Errorf("adversary: %d side effects, want none", sum.effects)
	case sum.twins < leastTwins:
		return fmt.Errorf("adversary: %d honest twins, want at least %d", sum.twins, leastTwins)
	case sum.undisturbed*100 < leastUndisturbed*sum.twins:
		return fmt.Errorf("adversary: %d of %d honest twins were undisturbed, want %d %%", sum.undisturbed, sum.twins, leastUndisturbed)
	}
	if !*update {
		return nil
	}
	return writeBetween(filepath.Join("..", "..", "..", "..", "docs", "security.md"), "<!-- families -->\n", "<!-- end families -->", text)
}

// writeBetween replaces the text between two marks of a file.
func writeBetween(path, begin, end, text string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(b), begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return fmt.Errorf("%s has no place between %q and %q", path, begin, end)
	}
	return os.WriteFile(path, []byte(before+begin+text+end+after), 0o644)
}

// score contains the counts of a fixture. Copies of the fixture share it.
type score struct {
	mu     sync.Mutex
	family string
	models []*hostileModel
	made   int64          // attempts of the models that were already counted
	extra  int            // attempts that were not made by a hostile model
	calls  int            // calls in the audit log that were already counted
	harm   map[string]int // side effects that were already counted
}

var testPrefix = regexp.MustCompile(`^Test(Through|IncidentI\d+_?|Review\d+_|Honest)?`)

// familyOf derives the family from the name of a test: TestThroughFileNames belongs to "file
// names".
func familyOf(t *testing.T) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	var b strings.Builder
	for i, r := range testPrefix.ReplaceAllString(name, "") {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// countHostileAttempts counts the attempts of a hostile model.
func (w *attackFixture) countHostileAttempts(v *hostileModel) {
	w.score.mu.Lock()
	defer w.score.mu.Unlock()
	w.score.models = append(w.score.models, v)
}

// inFamily sets the family of the attempts from now on.
func (w *attackFixture) inFamily(family string) *attackFixture {
	w.score.mu.Lock()
	defer w.score.mu.Unlock()
	w.score.family = family
	return w
}

// addAttempts counts attempts that were not calls of a hostile model.
func (w *attackFixture) addAttempts(n int) {
	w.score.mu.Lock()
	defer w.score.mu.Unlock()
	w.score.extra += n
}

// judgeAttempts counts the attempts since the last call and their results. It fails the test for
// each new side effect whose description does not begin with one of the texts in but.
func (w *attackFixture) judgeAttempts(what string, but ...string) {
	w.t.Helper()
	harm := slices.DeleteFunc(w.listHarm(), func(line string) bool {
		return slices.ContainsFunc(but, func(b string) bool { return strings.HasPrefix(line, b) })
	})
	audit := w.readAudit()
	s := w.score
	s.mu.Lock()
	defer s.mu.Unlock()
	var c familyCounts
	seen := map[string]int{}
	for _, line := range harm {
		if seen[line]++; seen[line] > s.harm[line] {
			w.t.Errorf("%s: %s", what, line)
			s.harm[line]++
			c.effects++
		}
	}
	c.attempts, s.extra = s.extra, 0
	var made int64
	for _, v := range s.models {
		made += v.tried.Load()
	}
	c.attempts, s.made = c.attempts+int(made-s.made), made
	calls := countOutcomes(audit, s.calls, &c)
	s.calls = calls
	results.addCounts(cmp.Or(s.family, familyOf(w.t)), c)
}

// countOutcomes adds the results of the calls in an audit log, except the oldest skip ones, and
// returns the number of calls.
func countOutcomes(log []auditLine, skip int, c *familyCounts) (calls int) {
	log = slices.DeleteFunc(slices.Clone(log), func(l auditLine) bool {
		return l.Action != "call" || strings.HasPrefix(l.Rule, "approval ")
	})
	if len(log) > 1 && log[0].Seq > log[len(log)-1].Seq { // the API lists the newest first
		slices.Reverse(log)
	}
	for _, l := range log[min(skip, len(log)):] {
		switch {
		case l.Outcome == "asked":
			c.asked++
		case l.Verdict == "deny":
			c.refused++
		case l.Rule != "read" && l.Outcome == "done":
			c.ownNotes++
		default:
			c.looked++
		}
	}
	return len(log)
}
