package guard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"hob/autonomy/guard"
	"hob/tools"
)

// assessedTool is a tool with a given assessment of a call.
type assessedTool struct {
	tool
	j tools.CallAssessment
}

func (x assessedTool) Judge(context.Context, json.RawMessage) tools.CallAssessment { return x.j }

func browseTool(urls ...string) assessedTool {
	return assessedTool{toolWith(tools.Read | tools.Egress), tools.CallAssessment{URLs: urls, Get: true}}
}

func searchTool(query string) assessedTool {
	return assessedTool{toolWith(tools.Read | tools.Egress), tools.CallAssessment{Query: query, Get: true}}
}

// The egress row of the table: columns attended/clean, attended/tainted,
// unattended/clean, unattended/tainted.
func TestEgress(t *testing.T) {
	const a, k = guard.Allow, guard.Ask
	said := func(words ...string) func() guard.EgressEvidence {
		return func() guard.EgressEvidence { return guard.EgressEvidence{Words: words, Now: words} }
	}
	offered := func(links ...string) func() guard.EgressEvidence {
		return func() guard.EgressEvidence { return guard.EgressEvidence{Links: links} }
	}
	hosts := guard.Options{Hosts: []string{"allowed.example", "*.wild.example"}}
	research := guard.Options{Research: true}
	post := browseTool("https://named.example/form")
	post.j.Get = false
	tests := []struct {
		name string
		opt  guard.Options
		tool assessedTool
		seen func() guard.EgressEvidence
		want [4]guard.Verdict
	}{
		{"no address in context", hosts, browseTool("https://evil.example/"), nil, [4]guard.Verdict{k, k, k, k}},
		{"no address known", hosts, browseTool(), said("https://named.example/"), [4]guard.Verdict{k, k, k, k}},
		{"named host, other path", hosts, browseTool("https://named.example/a?b=secret"), said("look at named.example"), [4]guard.Verdict{a, k, k, k}},
		{"named host with www", hosts, browseTool("https://www.named.example/"), said("look at named.example"), [4]guard.Verdict{a, k, k, k}},
		{"host below the named one", hosts, browseTool("https://data.named.example/"), said("look at named.example"), [4]guard.Verdict{k, k, k, k}},
		{"host that ends like the named one", hosts, browseTool("https://evilnamed.example/"), said("look at named.example"), [4]guard.Verdict{k, k, k, k}},
		{"named host as user info", hosts, browseTool("https://named.example@evil.example/"), said("look at named.example"), [4]guard.Verdict{k, k, k, k}},
		{"named host on another port", hosts, browseTool("https://named.example:8443/"), said("look at named.example"), [4]guard.Verdict{k, k, k, k}},
		{"a mail address names no host", hosts, browseTool("https://named.example/"), said("write to bob@named.example"), [4]guard.Verdict{k, k, k, k}},
		{"a file names no host", hosts, browseTool("https://readme.md/"), said("read README.md"), [4]guard.Verdict{k, k, k, k}},
		{"named, other body", hosts, post, said("https://named.example/form"), [4]guard.Verdict{a, k, k, k}},
		{"one of two is not named", hosts, browseTool("https://named.example/", "https://evil.example/"), said("https://named.example/"), [4]guard.Verdict{k, k, k, k}},
		{"allow-listed host", hosts, browseTool("https://allowed.example/any"), nil, [4]guard.Verdict{a, k, a, k}},
		{"below an allow-listed name", hosts, browseTool("https://x.wild.example/any"), nil, [4]guard.Verdict{a, k, a, k}},
		{"the parent of an allow-listed name", hosts, browseTool("https://wild.example/"), nil, [4]guard.Verdict{k, k, k, k}},
		{"verbatim in the user's text", hosts, browseTool("https://named.example/a?b=1"), said("open https://named.example/a?b=1."), [4]guard.Verdict{a, a, k, k}},
		{"verbatim link of this turn", hosts, browseTool("https://found.example/a"), offered("https://found.example/a#top"), [4]guard.Verdict{a, a, k, k}},
		{"link with an added parameter", hosts, browseTool("https://found.example/a?x=secret"), offered("https://found.example/a"), [4]guard.Verdict{a, k, k, k}},
		{"link, research granted", research, browseTool("https://found.example/a"), offered("https://found.example/a"), [4]guard.Verdict{a, a, a, a}},
		{"link with an added path, research granted", research, browseTool("https://found.example/a/x"), offered("https://found.example/a"), [4]guard.Verdict{a, k, k, k}},
		{"user's text of an earlier turn, research granted", research, browseTool("https://named.example/"), said("https://named.example/"), [4]guard.Verdict{a, a, k, k}},
		{"search with words of the model", hosts, searchTool("my secret"), said("look something up"), [4]guard.Verdict{a, k, k, k}},
		{"search with words of the user", hosts, searchTool("Weather in  Riga"), said("What is the weather in Riga today?"), [4]guard.Verdict{a, a, k, k}},
		{"search, a part of a word", hosts, searchTool("iga"), said("weather in Riga"), [4]guard.Verdict{a, k, k, k}},
		{"search, words combined", hosts, searchTool("weather Riga"), said("weather in Riga"), [4]guard.Verdict{a, k, k, k}},
		{"search without words", hosts, searchTool(" \t"), said("weather in Riga"), [4]guard.Verdict{a, k, k, k}},
		{"search, research granted", research, searchTool("news"), nil, [4]guard.Verdict{a, k, a, k}},
	}
	for _, tt := range tests {
		f := newGuard(t, tt.opt)
		for i, want := range tt.want {
			r := guard.Request{Tool: tt.tool, Args: []byte(`{}`), Call: "c", Attended: i < 2, Tainted: i%2 == 1, Seen: tt.seen}
			t.Run(fmt.Sprintf("%s, attended %v, tainted %v", tt.name, r.Attended, r.Tainted), func(t *testing.T) {
				if d := f.mustDecide(r); d.Verdict != want || d.Rule == "" || d.Reason == "" {
					t.Errorf("%s (%s: %s), want %s", d.Verdict, d.Rule, d.Reason, want)
				}
				r.Guest = true
				if d := f.mustDecide(r); d.Verdict != k {
					t.Errorf("a guest gets %s (%s)", d.Verdict, d.Rule)
				}
			})
		}
	}
}

// Words of earlier turns do not count: with untrusted text in context, only words of this turn
// may be searched for.
func TestEgress_SearchUsesWordsOfThisTurn(t *testing.T) {
	f := newGuard(t, guard.Options{})
	r := guard.Request{
		Tool: searchTool("weather in Riga"), Args: []byte(`{}`), Call: "c", Attended: true, Tainted: true,
		Seen: func() guard.EgressEvidence {
			return guard.EgressEvidence{Words: []string{"weather in Riga", "and now?"}, Now: []string{"and now?"}}
		},
	}
	if d := f.mustDecide(r); d.Verdict != guard.Ask {
		t.Errorf("%s (%s)", d.Verdict, d.Rule)
	}
}

func TestEgress_LimitsAddressesOfATurn(t *testing.T) {
	f := newGuard(t, guard.Options{})
	many := func(n int, form string) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf(form, i))
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		opened []string
		words  string
		want   guard.Verdict
	}{
		{"the first", nil, "", guard.Allow},
		{"the tenth of a place", many(9, "https://a.example/%d"), "", guard.Allow},
		{"the eleventh of a place", many(10, "https://a.example/%d"), "", guard.Ask},
		{"the eleventh address of a host that the owner named", many(10, "https://a.example/%d"), "what is on a.example", guard.Allow},
		{"the thirtieth", many(29, "https://x%d.example/"), "", guard.Allow},
		{"the thirty-first", many(30, "https://x%d.example/"), "what is on a.example", guard.Ask},
	} {
		r := guard.Request{Tool: browseTool("https://a.example/"), Args: []byte(`{}`), Call: "c", Attended: true, Tainted: true, Seen: func() guard.EgressEvidence {
			return guard.EgressEvidence{Links: []string{"https://a.example/"}, Opened: tt.opened, Words: []string{tt.words}}
		}}
		if d := f.mustDecide(r); d.Verdict != tt.want {
			t.Errorf("%s: %s (%s)", tt.name, d.Verdict, d.Rule)
		}
	}
}

// No spelling lets a model put data into an address that was seen.
func TestEgress_AllowsOnlyVerbatimAddresses(t *testing.T) {
	f := newGuard(t, guard.Options{})
	const link = "HTTPS://Found.Example:443/a/%7Eb?q=1&r=%2F#top"
	allowed := []string{link, "HTTPS://Found.Example:443/a/%7Eb?q=1&r=%2F", "https://found.example/a/%7Eb?q=1&r=%2F", "https://found.example/a/%7Eb?q=1&r=%2F#other"}
	refused := []string{
		"https://FOUND.example/a/%7Eb?q=1&r=%2F", "https://found.example/a/~b?q=1&r=%2F", "https://found.example/a/%7eb?q=1&r=%2F",
		"https://found.example/a/./%7Eb?q=1&r=%2F", "https://found.example//a/%7Eb?q=1&r=%2F", "https://found.example/a/%7Eb?r=%2F&q=1",
		"https://found.example/a/%7Eb?q=1&r=/", "https://found.example/a/%7Eb?q=1&r=%2F&", "https://found.example./a/%7Eb?q=1&r=%2F",
		"https://x@found.example/a/%7Eb?q=1&r=%2F", "http://found.example/a/%7Eb?q=1&r=%2F", "https://found.example:444/a/%7Eb?q=1&r=%2F",
		" https://found.example/a/%7Eb?q=1&r=%2F", "https://found.example/a/%7Eb?q=1&r=%2F\n", "https:\\\\found.example/a/%7Eb?q=1&r=%2F",
		"https://f\u043eund.example/a/%7Eb?q=1&r=%2F", "//found.example/a/%7Eb?q=1&r=%2F", "", "https:found.example", "file:///a",
	}
	ask := func(url string) guard.Decision {
		return f.mustDecide(guard.Request{Tool: browseTool(url), Args: []byte(`{}`), Call: "c", Attended: true, Tainted: true, Seen: func() guard.EgressEvidence {
			return guard.EgressEvidence{Links: []string{link}}
		}})
	}
	for _, u := range allowed {
		if d := ask(u); d.Verdict != guard.Allow || d.Rule != guard.Verbatim {
			t.Errorf("%q: %s (%s)", u, d.Verdict, d.Rule)
		}
	}
	for _, u := range refused {
		if d := ask(u); d.Verdict != guard.Ask {
			t.Errorf("%q: %s (%s)", u, d.Verdict, d.Rule)
		}
	}
}

// Addresses are found in sentences as people write them.
func TestAddresses_AreFoundInSentences(t *testing.T) {
	f := newGuard(t, guard.Options{})
	for text, url := range map[string]string{
		"Read https://a.example/b, please.":       "https://a.example/b",
		"(see https://a.example/b_(c)).":          "https://a.example/b_(c)",
		"<https://a.example/b?c=d>":               "https://a.example/b?c=d",
		"look:https://a.example/b":                "https://a.example/b",
		"\u201chttps://a.example/b\u201d":         "https://a.example/b",
		"a.example/b?":                            "https://a.example/b",
		"What does a.example say?":                "https://a.example/",
		"in [a](https://a.example/b) it says":     "",
		"nothing here":                            "",
		"https://b.example/?u=https://a.example/": "",
	} {
		want := guard.Allow
		if url == "" {
			url, want = "https://a.example/", guard.Ask
		}
		r := guard.Request{Tool: browseTool(url), Args: []byte(`{}`), Call: "c", Attended: true, Tainted: true, Seen: func() guard.EgressEvidence {
			return guard.EgressEvidence{Words: []string{text}}
		}}
		if d := f.mustDecide(r); d.Verdict != want {
			t.Errorf("%q, %s: %s (%s)", text, url, d.Verdict, d.Rule)
		}
	}
}

// I11: names must match as a whole and in one form, an empty list matches nothing, and an
// unknown level is an error at the start, not a wider level.
func TestIncidentI11ListsMatchExactly(t *testing.T) {
	to := func(list ...string) assessedTool {
		return assessedTool{toolWith(tools.Send), tools.CallAssessment{To: list}}
	}
	tests := []struct {
		name string
		list []string
		to   []string
		want guard.Verdict
	}{
		{"listed", []string{"ada@example.org"}, []string{"ada@example.org"}, guard.Allow},
		{"listed, and the owner", []string{"ada@example.org"}, []string{"ada@example.org", tools.Owner}, guard.Allow},
		{"empty list", nil, []string{"ada@example.org"}, guard.Ask},
		{"empty list, no recipient named", nil, nil, guard.Ask},
		{"no recipient named", []string{"ada@example.org"}, nil, guard.Ask},
		{"an empty name", []string{""}, []string{""}, guard.Ask},
		{"a suffix", []string{"example.org"}, []string{"ada@example.org"}, guard.Ask},
		{"a longer name", []string{"ada@example.org"}, []string{"mada@example.org"}, guard.Ask},
		{"a longer host", []string{"ada@example.org"}, []string{"ada@example.org.evil.example"}, guard.Ask},
		{"one of two", []string{"ada@example.org"}, []string{"ada@example.org", "eve@example.org"}, guard.Ask},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newGuard(t, guard.Options{Level: guard.Trusted, Recipients: tt.list}).mustDecide(guard.Request{Tool: to(tt.to...), Args: []byte(`{}`), Call: "c", Attended: true})
			if d.Verdict != tt.want {
				t.Errorf("%s (%s: %s), want %s", d.Verdict, d.Rule, d.Reason, tt.want)
			}
		})
	}
	if _, err := guard.New(nil, guard.Options{Level: "open"}); err == nil {
		t.Error("New accepts an unknown level")
	}
}
