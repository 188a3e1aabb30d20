package guard

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/redact"
)

// maxVerbatim is the maximum number of addresses that a turn may open by the rule Verbatim.
// maxPerSite is the maximum for one site that the owner did not name. With unchanged addresses, a
// model can leak data only through the choice and order of the addresses.
const (
	maxVerbatim = 30
	maxPerSite  = 10
)

// The rules that allow an egress. The limits count uses of the rule verbatim by its name.
const (
	Verbatim  = "egress, stands verbatim"
	egressing = "egress"
)

// EgressEvidence is the evidence for an egress decision: the owner's own words in the context of
// the call. It never contains text from a model, an email or a file.
type EgressEvidence struct {
	// Words holds the owner's messages that are still in the context. Now is the subset from this
	// turn.
	Words, Now []string
	// Links holds the addresses in this turn's search results and pages.
	Links []string
	// Opened holds the addresses opened in this turn by the rule Verbatim.
	Opened []string
}

// egressEvidence returns the evidence. Call it only for an egress.
func (r *Request) egressEvidence() EgressEvidence {
	if r.Seen == nil {
		return EgressEvidence{}
	}
	return r.Seen()
}

// decideEgress decides on requests whose address or body the model chose.
func (g *Guard) decideEgress(r Request) Decision {
	j := r.judged
	if r.sent != nil {
		return decideRemoteRead(r, r.egressEvidence())
	}
	if len(j.URLs) == 0 && j.Query == "" {
		return askDecision(egressing, "it contacts an address that the model chose")
	}
	seen := r.egressEvidence()
	d := Decision{Verdict: Allow}
	if j.Query != "" {
		d = g.decideSearch(r, seen)
	}
	if len(j.URLs) > 0 {
		d = stricterDecision(d, g.decideFetch(r, seen))
	}
	return d
}

// decideSearch decides on a query for a search engine that the owner configured.
func (g *Guard) decideSearch(r Request, seen EgressEvidence) Decision {
	switch {
	case r.Attended && !r.Tainted:
		return Decision{Verdict: Allow, Rule: "search, owner asked, clean", Reason: "you asked for it, and it goes to the search service that you configured"}
	case r.Attended && hasPhrase(r.judged.Query, seen.Now):
		return Decision{Verdict: Allow, Rule: "search, your own words", Reason: "it searches for your own words, as you wrote them"}
	case r.Attended:
		return askDecision("search, tainted", "untrusted text is part of this conversation, and the search words are not your own")
	case g.opt.Research && !r.Tainted:
		return Decision{Verdict: Allow, Rule: "search, unattended, research granted", Reason: "you allowed web searches while you are away ([network] research)"}
	}
	return askDecision("search, unattended", "it would search the web while you are away")
}

// decideRemoteRead decides on a read by a remote tool while untrusted text is in context: a service
// would receive the arguments, and that text may have chosen them.
func decideRemoteRead(r Request, seen EgressEvidence) Decision {
	for _, text := range r.sent {
		if !r.Attended || !hasPhrase(text, seen.Now) {
			return askDecision("read, remote, tainted", "untrusted text is part of this conversation, and the service of this tool would receive arguments that are not your own words")
		}
	}
	return Decision{Verdict: Allow, Rule: "read, remote, your own words", Reason: "it only reads, and the arguments are your own words, as you wrote them"}
}

// decideFetch decides on requests to addresses.
func (g *Guard) decideFetch(r Request, seen EgressEvidence) Decision {
	named := addressesOf(seen.Words)
	switch {
	case r.Attended && !r.Tainted:
		return g.allowKnownSites(r, append(named, seen.Links...), "egress, owner asked, clean", "you named the host, or allowed it")
	case r.Attended:
		return allowVerbatim(r, seen, append(named, seen.Links...))
	case !r.Tainted && g.allowKnownSites(r, nil, "", "").Verdict == Allow:
		return g.allowKnownSites(r, nil, "egress, unattended, granted host", "you allowed the host ([network] allow_hosts)")
	case g.opt.Research:
		return allowVerbatim(r, seen, seen.Links)
	}
	return askDecision("egress, unattended", fmt.Sprintf("it would contact %s while you are away", describeSites(r.judged.URLs)))
}

// allowKnownSites allows requests to sites that the owner named or configured.
func (g *Guard) allowKnownSites(r Request, named []string, rule, reason string) Decision {
	said := siteSet(named)
	for _, raw := range r.judged.URLs {
		u, ok := parseAddress(raw)
		if !ok || hostAndPort(u) == "" {
			return askDecision(egressing, "it contacts an invalid web address")
		}
		if s := hostAndPort(u); !said[strings.TrimPrefix(s, "www.")] && !isListedHost(s, g.opt.Hosts) {
			return askDecision(egressing, fmt.Sprintf("it contacts %s, which you did not name", s))
		}
		if p := redact.Opaque(raw); p != "" && !isSeenAddress(raw, spellingSet(named)) {
			return askDecision("egress, opaque", fmt.Sprintf("the address contains a long string that could be used to leak data: %s", abbreviateVisible(p, 80)))
		}
	}
	return Decision{Verdict: Allow, Rule: rule, Reason: reason}
}

// allowVerbatim allows reading addresses that occur unchanged in text that the turn has read,
// because the model could not put data into them.
func allowVerbatim(r Request, seen EgressEvidence, list []string) Decision {
	if !r.judged.Get {
		return askDecision("egress, tainted", "untrusted text is part of this conversation, and it would send more than an address")
	}
	known := spellingSet(list)
	for _, raw := range r.judged.URLs {
		if !isSeenAddress(raw, known) {
			return askDecision("egress, tainted", "untrusted text is part of this conversation, and the address appears neither in your words nor on a page or in search results of this turn")
		}
	}
	opened := append(slices.Clone(seen.Opened), r.judged.URLs...)
	if len(opened) > maxVerbatim {
		return askDecision("egress, many", fmt.Sprintf("it has already opened %d addresses in this turn", len(seen.Opened)))
	}
	named := siteSet(addressesOf(seen.Words))
	for _, raw := range r.judged.URLs {
		place := placeOf(raw)
		if n := countSite(opened, place); n > maxPerSite && !named[place] {
			return askDecision("egress, many", fmt.Sprintf("in this turn, it has already opened %d addresses on %s, a site that you did not name", n-1, abbreviateVisible(place, maxSummary)))
		}
	}
	return Decision{Verdict: Allow, Rule: Verbatim, Reason: "the exact address appears in your words, on a page or in search results of this turn"}
}

// placeOf returns the host that an address contacts, in the form used by siteSet, or "" if the
// address is invalid.
func placeOf(raw string) string {
	for s := range siteSet([]string{raw}) {
		return s
	}
	return ""
}

// countSite returns how many addresses belong to a site.
func countSite(list []string, place string) (n int) {
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

// describeSites lists the hosts that the addresses contact, for display to the owner.
func describeSites(list []string) string {
	hosts := hostsOf(list)
	if len(hosts) == 0 {
		return "an address"
	}
	return abbreviateVisible(strings.Join(hosts, ", "), maxSummary)
}

// hasPhrase reports whether query is a sequence of complete words in one of the strings in texts.
// It ignores case and the kind of white space.
func hasPhrase(query string, texts []string) bool {
	q := foldText(query)
	if q == "" {
		return false
	}
	for _, t := range texts {
		for rest, from := foldText(t), 0; ; {
			i := strings.Index(rest[from:], q)
			if i < 0 {
				break
			}
			begin, end := from+i, from+i+len(q)
			if isWordEdge(rest, begin) && isWordEdge(rest, end) {
				return true
			}
			from = begin + 1 // this may be inside a multi-byte character, where the query cannot match
		}
	}
	return false
}

func foldText(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }

// isWordEdge reports whether a word begins or ends at byte i.
func isWordEdge(s string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i:])
	return i == 0 || i == len(s) || !isWordRune(before) || !isWordRune(after)
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
