package guard

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/platform/redact"
)

// maxVerbatim is the maximum number of addresses that a turn may open by the verbatim rule, and
// maxPerSite that of one site that the owner did not name. A model can leak data only by their
// choice and order.
const (
	maxVerbatim = 30
	maxPerSite  = 10
)

// The rules that allow an egress; the limits count the rule verbatim by its name.
const (
	Verbatim  = "egress, stands verbatim"
	egressing = "egress"
)

// Seen is the evidence for an egress decision: the owner's own words in the context of the
// call, never text of a model, a mail or a file.
type Seen struct {
	// Words are the owner's in the conversation as far as it is in the context, Now those of
	// this turn, a part of them.
	Words, Now []string
	// Links are the addresses in search results and pages of this turn.
	Links []string
	// Opened are the addresses opened in this turn by the verbatim rule.
	Opened []string
}

// seen asks for it; only an egress needs it.
func (r *Request) seen() Seen {
	if r.Seen == nil {
		return Seen{}
	}
	return r.Seen()
}

// egress decides on requests whose address or body the model chose.
func (g *Guard) egress(r Request) Decision {
	j := r.judged
	if len(j.URLs) == 0 && j.Query == "" {
		return ask(egressing, "it contacts an address that the model chose")
	}
	seen := r.seen()
	d := Decision{Verdict: Allow}
	if j.Query != "" {
		d = g.search(r, seen)
	}
	if len(j.URLs) > 0 {
		d = stricter(d, g.fetch(r, seen))
	}
	return d
}

// search decides on words for a search engine that the owner configured.
func (g *Guard) search(r Request, seen Seen) Decision {
	switch {
	case r.Attended && !r.Tainted:
		return Decision{Verdict: Allow, Rule: "search, owner asked, clean", Reason: "you asked for it, and it goes to the search service you set"}
	case r.Attended && phrased(r.judged.Query, seen.Now):
		return Decision{Verdict: Allow, Rule: "search, your own words", Reason: "it searches for your own words, as you wrote them"}
	case r.Attended:
		return ask("search, tainted", "untrusted text is part of this conversation, and the search words are not your own")
	case g.opt.Research && !r.Tainted:
		return Decision{Verdict: Allow, Rule: "search, unattended, research granted", Reason: "you let it search while you are away ([network] research)"}
	}
	return ask("search, unattended", "it would search the web while you are away")
}

// fetch decides on requests to addresses.
func (g *Guard) fetch(r Request, seen Seen) Decision {
	named := addressesOf(seen.Words)
	switch {
	case r.Attended && !r.Tainted:
		return g.known(r, append(named, seen.Links...), "egress, owner asked, clean", "you named the host, or allowed it")
	case r.Attended:
		return verbatim(r, seen, append(named, seen.Links...))
	case !r.Tainted && g.known(r, nil, "", "").Verdict == Allow:
		return g.known(r, nil, "egress, unattended, granted host", "you allowed the host ([network] allow_hosts)")
	case g.opt.Research:
		return verbatim(r, seen, seen.Links)
	}
	return ask("egress, unattended", fmt.Sprintf("it would contact %s while you are away", places(r.judged.URLs)))
}

// known allows what goes to places that were named or are on the list.
func (g *Guard) known(r Request, named []string, rule, reason string) Decision {
	said := sites(named)
	for _, raw := range r.judged.URLs {
		u, ok := parse(raw)
		if !ok || site(u) == "" {
			return ask(egressing, "it contacts an invalid web address")
		}
		if s := site(u); !said[strings.TrimPrefix(s, "www.")] && !listed(s, g.opt.Hosts) {
			return ask(egressing, fmt.Sprintf("it contacts %s, which you did not name", s))
		}
		if p := redact.Opaque(raw); p != "" && !stands(raw, spelled(named)) {
			return ask("egress, opaque", fmt.Sprintf("the address carries a long string in which data could leave unseen: %s", visible(p, 80)))
		}
	}
	return Decision{Verdict: Allow, Rule: rule, Reason: reason}
}

// verbatim allows looking at addresses that stand as they are in what was seen:
// the model could put nothing into them.
func verbatim(r Request, seen Seen, list []string) Decision {
	if !r.judged.Get {
		return ask("egress, tainted", "untrusted text is part of this conversation, and it would send more than an address")
	}
	known := spelled(list)
	for _, raw := range r.judged.URLs {
		if !stands(raw, known) {
			return ask("egress, tainted", "untrusted text is part of this conversation, and the address appears neither in your words nor on a page or in search results of this turn")
		}
	}
	opened := append(slices.Clone(seen.Opened), r.judged.URLs...)
	if len(opened) > maxVerbatim {
		return ask("egress, many", fmt.Sprintf("it has opened %d addresses in this turn already", len(seen.Opened)))
	}
	named := sites(addressesOf(seen.Words))
	for _, raw := range r.judged.URLs {
		place := placeOf(raw)
		if n := count(opened, place); n > maxPerSite && !named[place] {
			return ask("egress, many", fmt.Sprintf("it has opened %d addresses of %s in this turn already, a place that you did not name", n-1, visible(place, maxSummary)))
		}
	}
	return Decision{Verdict: Allow, Rule: Verbatim, Reason: "the exact address appears in your words, on a page or in search results of this turn"}
}

// placeOf returns the host that one address contacts, in the form of the set of sites.
func placeOf(raw string) string {
	for s := range sites([]string{raw}) {
		return s
	}
	return ""
}

// count counts the addresses of a place.
func count(list []string, place string) (n int) {
	for _, raw := range list {
		if placeOf(raw) == place {
			n++
		}
	}
	return n
}

func addressesOf(words []string) []string {
	var out []string
	for _, w := range words {
		out = append(out, addressesIn(w)...)
	}
	return out
}

// places names what addresses contact, for the owner.
func places(list []string) string {
	hosts := hostsOf(list)
	if len(hosts) == 0 {
		return "an address"
	}
	return visible(strings.Join(hosts, ", "), maxSummary)
}

// phrased reports whether a query is a sequence of whole words of one of the texts, ignoring
// case and the kind of white space.
func phrased(query string, texts []string) bool {
	q := folded(query)
	if q == "" {
		return false
	}
	for _, t := range texts {
		for rest, from := folded(t), 0; ; {
			i := strings.Index(rest[from:], q)
			if i < 0 {
				break
			}
			begin, end := from+i, from+i+len(q)
			if edge(rest, begin) && edge(rest, end) {
				return true
			}
			from = begin + 1 // in the middle of a character at most, where nothing is found
		}
	}
	return false
}

func folded(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }

// edge reports whether a word begins or ends at i.
func edge(s string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i:])
	return i == 0 || i == len(s) || !wordly(before) || !wordly(after)
}

func wordly(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
