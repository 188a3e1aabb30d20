package guard

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"hob/platform/safehttp"
)

// An address counts as named only when it stands there as a whole. Every step
// that would make two different requests look alike would be a place in which a
// model could put data, so that there are a few spellings of each address and no
// more: the one that stands there, and those that careful programs make of it.

// maxAddress bounds an address in bytes; longer ones count as none.
const maxAddress = 2048

// site is what an address contacts, for comparing: a host and a port, in the
// one form in which they are compared. "" when it is none that can be compared.
func site(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if host == "" || !ascii(host) {
		return "" // one that looks like another one is not told apart here
	}
	port := u.Port()
	if strings.Contains(host, ":") && (port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443") {
		return "[" + host + "]"
	}
	if port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		return host
	}
	return net.JoinHostPort(host, port)
}

// parse reads a web address: one with a scheme and a host, without credentials.
func parse(raw string) (*url.URL, bool) {
	if len(raw) > maxAddress || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return nil, false
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Opaque != "" {
		return nil, false
	}
	return u, true
}

// spellings are the forms of an address that stand for it: as it is written,
// and canonical. Neither has the fragment, which is not sent.
func spellings(raw string) []string {
	var out []string
	if u, ok := parse(raw); ok && site(u) != "" {
		out = append(out, cutFragment(raw), canonical(u))
	}
	// The web tools ask for the form that safehttp gives an address.
	if u, err := safehttp.Canonical(raw); err == nil {
		out = append(out, cutFragment(u.String()))
	}
	return out
}

// canonical writes an address in one way: host in lower case without the port
// that goes without saying, at least "/" for a path, no fragment. What it sends
// beyond that is left as it is, byte for byte.
func canonical(u *url.URL) string {
	c := *u
	c.Host = site(u)
	c.Fragment, c.RawFragment = "", ""
	if c.Path == "" {
		c.Path = "/"
	}
	return c.String()
}

func cutFragment(s string) string {
	s, _, _ = strings.Cut(s, "#")
	return s
}

// stands reports whether an address is one of those that were seen.
func stands(raw string, seen map[string]bool) bool {
	u, ok := parse(raw)
	return ok && site(u) != "" && seen[cutFragment(raw)]
}

// spelled collects the spellings of addresses.
func spelled(list []string) map[string]bool {
	out := map[string]bool{}
	for _, raw := range list {
		for _, s := range spellings(raw) {
			out[s] = true
		}
	}
	return out
}

// addressesIn finds the addresses that a person wrote. A bare "example.org/a"
// counts as one, over https and http.
func addressesIn(text string) []string {
	var out []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("<>\"“”«»`|", r) }) {
		word = strings.TrimLeft(word, "([{'‘*_,;")
		lower := lowered(word)
		// What stands before a scheme is not part of the address: "see:https://…".
		if i := strings.Index(lower, "http"); i > 0 && (strings.HasPrefix(lower[i:], "http://") || strings.HasPrefix(lower[i:], "https://")) && !strings.ContainsAny(lower[:i], "/?#@") {
			word, lower = word[i:], lower[i:]
		}
		whole := strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
		for _, w := range ends(word) {
			switch {
			case whole:
				out = append(out, w)
			case bare(w):
				out = append(out, "https://"+w, "http://"+w)
			}
		}
	}
	return out
}

// ends are the ways in which a word may end: with its last punctuation, which
// belongs to the sentence more often, and without.
func ends(word string) []string {
	short := strings.TrimRightFunc(word, func(r rune) bool { return strings.ContainsRune(".,;:!?'’*_…。，；：！？、）」』", r) })
	for strings.HasSuffix(short, ")") && strings.Count(short, ")") > strings.Count(short, "(") || strings.HasSuffix(short, "]") || strings.HasSuffix(short, "}") {
		short = strings.TrimRight(short[:len(short)-1], ".,;:!?")
	}
	if short == word || short == "" {
		return []string{word}
	}
	return []string{short, word}
}

// bare reports whether a word without a scheme is the name of a place on the
// web. The name of a file is not, though some endings are also countries'.
func bare(word string) bool {
	host, _, _ := strings.Cut(word, "/")
	host, _, _ = strings.Cut(host, "?")
	host, _, _ = strings.Cut(host, "#")
	if strings.ContainsAny(host, "@:") || !ascii(host) {
		return false
	}
	labels := strings.Split(strings.ToLower(host), ".")
	if len(labels) < 2 {
		return false
	}
	for _, l := range labels {
		if l == "" || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	if len(last) < 2 || strings.Trim(last, "abcdefghijklmnopqrstuvwxyz") != "" {
		return false
	}
	return labels[0] == "www" || !strings.Contains(fileEndings, " "+last+" ")
}

// fileEndings are top-level domains by which files are better known.
const fileEndings = " md py sh rs pl cc ps so zip mov app tf ml mk st js ts go "

// lowered is a text in lower case as far as addresses need it: of the same
// length, whatever stands in it.
func lowered(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// sites collects the places that addresses contact, each also without "www.".
func sites(list []string) map[string]bool {
	out := map[string]bool{}
	for _, raw := range list {
		if u, ok := parse(raw); ok && site(u) != "" {
			out[strings.TrimPrefix(site(u), "www.")] = true
		} else if u, err := safehttp.Canonical(raw); err == nil { // a name in another script
			out[strings.TrimPrefix(site(u), "www.")] = true
		}
	}
	return out
}

// hostsOf are the places that addresses contact, for the owner's rules.
func hostsOf(list []string) []string {
	out := []string{}
	for _, raw := range list {
		u, err := url.Parse(raw)
		if err != nil {
			continue
		}
		if h := strings.TrimSuffix(strings.ToLower(u.Hostname()), "."); h != "" && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// listed reports whether a place is on a list of hosts: by its whole name, or
// below "*.name". Nothing else matches, and an empty list holds nobody.
func listed(place string, list []string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		entry = strings.TrimSuffix(strings.ToLower(entry), ".")
		if below, wild := strings.CutPrefix(entry, "*."); wild {
			return strings.Count(below, ".") > 0 && strings.HasSuffix(place, "."+below)
		}
		return entry != "" && place == entry
	})
}
