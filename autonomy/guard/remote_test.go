package guard_test

import (
	"encoding/json"
	"testing"

	"hob/autonomy/guard"
	"hob/platform/text/redact"
	"hob/tools"
)

// A read by a remote tool is an egress of its arguments while untrusted text is in context: columns
// attended/clean, attended/tainted, unattended/clean, unattended/tainted.
func TestRemoteReads(t *testing.T) {
	const a, k = guard.Allow, guard.Ask
	seen := func() guard.EgressEvidence {
		return guard.EgressEvidence{Words: []string{"my diary says 4711"}, Now: []string{"Look up the zebra in hob/hob, number 42"}}
	}
	for _, tt := range []struct {
		name, args string
		remote     bool
		want       [4]guard.Verdict
	}{
		{"local", `{"q":"my diary"}`, false, [4]guard.Verdict{a, a, a, a}},
		{"no arguments", `{}`, true, [4]guard.Verdict{a, a, a, a}},
		{"nothing", ``, true, [4]guard.Verdict{a, a, a, a}},
		{"words of the user", `{"q":"the ZEBRA","repo":"hob/hob","n":42}`, true, [4]guard.Verdict{a, a, a, k}},
		{"empty and truth values", `{"q":"","repo":null,"n":true}`, true, [4]guard.Verdict{a, a, a, a}},
		{"words of the model", `{"q":"my diary"}`, true, [4]guard.Verdict{a, k, a, k}},
		{"words of an earlier turn", `{"q":"my diary says 4711"}`, true, [4]guard.Verdict{a, k, a, k}},
		{"one of two is not the owner's", `{"q":"zebra","repo":"evil/hob"}`, true, [4]guard.Verdict{a, k, a, k}},
		{"another number", `{"n":4711}`, true, [4]guard.Verdict{a, k, a, k}},
		{"part of a word", `{"q":"zeb"}`, true, [4]guard.Verdict{a, k, a, k}},
		{"text as a name", `{"q":"zebra","my diary":true}`, true, [4]guard.Verdict{a, k, a, k}},
		{"text deep inside", `{"q":["zebra",{"zebra":[{"diary":1}]}]}`, true, [4]guard.Verdict{a, k, a, k}},
		{"bits in a list", `{"q":[true,false,true]}`, true, [4]guard.Verdict{a, k, a, k}},
		{"not an object", `["diary"]`, true, [4]guard.Verdict{a, k, a, k}},
		{"two objects", `{}{"q":"diary"}`, true, [4]guard.Verdict{a, k, a, k}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := toolWith(tools.Read)
			x.spec.Foreign, x.spec.Remote = true, tt.remote
			x.spec.Schema = func() json.RawMessage {
				return json.RawMessage(`{"type":"object","properties":{"q":{},"repo":{},"n":{}}}`)
			}
			for i, want := range tt.want {
				r := guard.Request{Tool: x, Args: []byte(tt.args), Call: "c", Attended: i < 2, Tainted: i%2 == 1, Seen: seen}
				if d := newGuard(t, guard.Options{}).mustDecide(r); d.Verdict != want {
					t.Errorf("attended %v, tainted %v: %s (%s), want %s", r.Attended, r.Tainted, d.Verdict, d.Rule, want)
				}
			}
		})
	}
}

// A remote read never sends one of Hob's secrets.
func TestRemoteReads_DenySecrets(t *testing.T) {
	x := toolWith(tools.Read)
	x.spec.Foreign, x.spec.Remote = true, true
	secrets := &redact.Set{}
	secrets.Add("sk-0123456789abcdef")
	d := newGuard(t, guard.Options{Secrets: secrets}).mustDecide(guard.Request{Tool: x, Args: []byte(`{"q":"sk-0123456789abcdef"}`), Call: "c", Attended: true})
	if d.Verdict != guard.Deny {
		t.Errorf("%s (%s)", d.Verdict, d.Rule)
	}
}
