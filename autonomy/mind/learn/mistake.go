package learn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// mistakesTx learns from the calls in a turn. It considers a call that failed and then succeeded
// with other arguments, and a call that fails repeatedly in the same way. Texts from models and
// tools are used only if no untrusted text could have influenced them.
func (l *Learner) mistakesTx(tx *store.Tx, r analyzedTurn) error {
	t := r.Turn
	if !t.Calls || t.Tainted {
		return nil
	}
	calls, err := l.o.Bus.Ledger.CallsIn(tx, t.Event)
	if err != nil {
		return err
	}
	clean := slices.DeleteFunc(calls, func(e bus.Entry) bool { return e.Source.Tainted() })
	for _, m := range findMistakes(clean) {
		if err := l.noteTx(tx, t, m); err != nil {
			return err
		}
	}
	return l.succeededTx(tx, t, clean)
}

// mistake is an observation about a tool.
type mistake struct {
	tool   string
	key    string
	text   string
	failed string // arguments that failed, as JSON
	errors int
}

// isAvoidable reports whether other arguments could have avoided the failure. For example, a
// refusal or a timeout can occur at any time.
func isAvoidable(e bus.Entry) bool {
	switch tools.Code(e.Code) {
	case tools.InvalidArguments, tools.NotFound, tools.Failed, tools.Unsupported:
		return e.State == bus.CallFailed || e.State == bus.CallDenied
	}
	return false
}

// findMistakes returns the mistakes in the calls, in order.
func findMistakes(calls []bus.Entry) []mistake {
	var out []mistake
	failing := map[string][]bus.Entry{}
	for _, e := range calls {
		switch {
		case isAvoidable(e):
			failing[e.Tool] = append(failing[e.Tool], e)
		case e.State == bus.CallDone:
			if bad := failing[e.Tool]; len(bad) > 0 {
				if m, ok := fixedCall(bad, e); ok {
					out = append(out, m)
				}
				delete(failing, e.Tool)
			}
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(failing)) {
		if m, ok := repeatedFailure(failing[tool]); ok {
			out = append(out, m)
		}
	}
	return out
}

// fixedCall returns the mistake in a call that failed and then succeeded with other arguments.
func fixedCall(bad []bus.Entry, good bus.Entry) (mistake, bool) {
	last := bad[len(bad)-1]
	was, is := decodeArguments(last.Args), decodeArguments(good.Args)
	var names, wrong, right []string
	failed := map[string]json.RawMessage{}
	for _, k := range slices.Sorted(maps.Keys(mergeArguments(was, is))) {
		if bytes.Equal(was[k], is[k]) {
			continue
		}
		names = append(names, k)
		failed[k] = was[k]
		wrong, right = append(wrong, formatArgument(k, was[k])), append(right, formatArgument(k, is[k]))
	}
	if len(names) == 0 || len(names) > 3 {
		return mistake{}, false // the same call, or a very different call
	}
	text := fmt.Sprintf("%s: with %s it failed (%s); with %s it worked", last.Tool, strings.Join(wrong, ", "), textnorm.Ellipsize(last.Result, 70), strings.Join(right, ", "))
	return mistake{tool: last.Tool, key: last.Tool + "|" + strings.Join(names, ","), text: text, failed: encodeArguments(failed), errors: len(bad)}, true
}

// repeatedFailure returns the mistake in a call that fails repeatedly in the same way.
func repeatedFailure(bad []bus.Entry) (mistake, bool) {
	last := bad[len(bad)-1]
	n := 0
	for _, e := range bad {
		if e.Code == last.Code && textnorm.EqualFolded(e.Result, last.Result) {
			n++
		}
	}
	if n < 2 {
		return mistake{}, false
	}
	args := decodeArguments(last.Args)
	var with []string
	for _, k := range slices.Sorted(maps.Keys(args)) {
		with = append(with, formatArgument(k, args[k]))
	}
	text := fmt.Sprintf("%s failed %d times with %s: %s", last.Tool, n, textnorm.Ellipsize(strings.Join(with, ", "), 90), textnorm.Ellipsize(last.Result, 70))
	return mistake{tool: last.Tool, key: last.Tool + "!" + last.Code + strings.Join(slices.Sorted(maps.Keys(args)), ","), text: text, failed: encodeArguments(args), errors: n}, true
}

func decodeArguments(raw json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	_ = json.Unmarshal(raw, &out) // a value that is not an object has no arguments
	return out
}

func mergeArguments(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// encodeArguments returns the arguments as JSON, without possible secrets.
func encodeArguments(v map[string]json.RawMessage) string {
	v = maps.Clone(v)
	maps.DeleteFunc(v, func(name string, _ json.RawMessage) bool { return isPrivate(name) })
	b, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(b)
}

// isPrivate reports whether an argument may contain a secret, judging by its name.
func isPrivate(name string) bool {
	low := strings.ToLower(name)
	return slices.ContainsFunc([]string{"password", "secret", "token", "key", "pin", "code"}, func(s string) bool { return strings.Contains(low, s) })
}

// formatArgument formats an argument for a lesson, without possible secrets.
func formatArgument(name string, v json.RawMessage) string {
	if isPrivate(name) {
		return name
	}
	if len(v) == 0 {
		return "no " + name
	}
	return name + " " + textnorm.Ellipsize(string(v), 40)
}

// noteTx merges a mistake with the stored lessons.
func (l *Learner) noteTx(tx *store.Tx, t Turn, m mistake) error {
	list, err := lessonsOf(tx, `WHERE retired_at = 0 AND realm = ? AND kind = ? AND key = ?`, t.Realm, string(Tool), m.key)
	if err != nil {
		return err
	}
	now := time.Now()
	x := Lesson{ID: shortid.New("l"), Realm: t.Realm, Kind: Tool, key: m.key, CreatedAt: now, Confidence: born}
	if len(list) > 0 {
		x = list[0]
	}
	cue := slices.DeleteFunc(textnorm.FoldedWords(strings.ReplaceAll(m.tool, "_", " ")), func(w string) bool { return len(w) < 4 })
	if t.Owner {
		cue = append(cue, subjectCues(t.Text)...)
	}
	x.cue = slices.Compact(slices.Sorted(slices.Values(append(cue, x.cue...))))
	x.cue = x.cue[:min(len(x.cue), 24)]
	x.Text, x.failed, x.Provenance = textnorm.Ellipsize(m.text, maxLesson), m.failed, provenance.Tool
	x.Event, x.Session, x.SeenAt = t.Event, t.Session, now
	x.Confidence += m.errors * perError
	x.Evidence += m.errors
	return l.saveTx(tx, x)
}

// succeededTx lowers the confidence of lessons that predict that a call fails if the call
// succeeded.
func (l *Learner) succeededTx(tx *store.Tx, t Turn, calls []bus.Entry) error {
	for _, e := range calls {
		if e.State != bus.CallDone {
			continue
		}
		// LIKE would treat the "_" in a name as a wildcard, and SQLite would compile a statement
		// for each pattern.
		list, err := lessonsOf(tx, `WHERE retired_at = 0 AND realm = ? AND kind = ? AND substr(key, 1, ?) IN (?, ?)`,
			t.Realm, string(Tool), utf8.RuneCountInString(e.Tool)+1, e.Tool+"|", e.Tool+"!")
		if err != nil {
			return err
		}
		for _, x := range list {
			if x.Event == t.Event || !hasArguments(e.Args, x.failed) {
				continue
			}
			x.Confidence += perSuccess
			if err := l.saveTx(tx, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasArguments reports whether a call has the arguments of a failed call.
func hasArguments(args json.RawMessage, failed string) bool {
	is, was := decodeArguments(args), decodeArguments(json.RawMessage(failed))
	if len(was) == 0 {
		return false
	}
	for k, v := range was {
		if string(v) == "null" {
			v = nil
		}
		if !bytes.Equal(is[k], v) {
			return false
		}
	}
	return true
}
