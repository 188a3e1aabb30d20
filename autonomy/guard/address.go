package guard

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"hob/platform/net/safehttp"
)

// An address counts as named only if the owner's text contains the complete address. If a
// normalization mapped different requests to one address, a model could hide data in the
// difference. An address therefore has only two spellings: the written one and the canonical one.

// maxAddress is the maximum length of an address in bytes. A longer string is not treated as an
// address.
const maxAddress = 2048

// hostAndPort returns the host and port that an address contacts, in canonical form, or "" if they
// cannot be compared.
func hostAndPort(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if host == "" || !isASCII(host) {
		return "" // names with lookalike characters cannot be compared
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

// parseAddress parses a web address. It must have a scheme and a host, and no credentials.
func parseAddress(raw string) (*url.URL, bool) {
	if len(raw) > maxAddress || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return nil, false
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Opaque != "" {
		return nil, false
	}
	return u, true
}

// addressSpellings returns the forms of an address that are treated as equal: as written, and
// canonical. Neither contains the fragment, which is not sent.
func addressSpellings(raw string) []string {
	var out []string
	if u, ok := parseAddress(raw); ok && hostAndPort(u) != "" {
		out = append(out, cutFragment(raw), canonicalAddress(u))
	}
	// The web tools request the canonical form of safehttp.
	if u, err := safehttp.Canonical(raw); err == nil {
		out = append(out, cutFragment(u.String()))
	}
	return out
}

// canonicalAddress normalizes an address: it converts the host to lower case, removes the default
// port and the fragment, and uses "/" for an empty path. It does not change the other bytes that
// are sent.
func canonicalAddress(u *url.URL) string {
	c := *u
	c.Host = hostAndPort(u)
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

// isSeenAddress reports whether an address is in seen.
func isSeenAddress(raw string, seen map[string]bool) bool {
	u, ok := parseAddress(raw)
	return ok && hostAndPort(u) != "" && seen[cutFragment(raw)]
}

// spellingSet returns the set of all spellings of the addresses.
func spellingSet(list []string) map[string]bool {
	out := map[string]bool{}
	for _, raw := range list {
		for _, s := range addressSpellings(raw) {
			out[s] = true
		}
	}
	return out
}

// addressesIn returns the addresses in a person's text. A bare "example.org/a" counts as an https
// and an http address.
func addressesIn(text string) []string {
	var out []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("<>\"“”«»`|", r) }) {
		word = strings.TrimLeft(word, "([{'‘*_,;")
		lower := lowerASCII(word)
		// Text before a scheme is not part of the address, as in "see:https://…".
		if i := strings.Index(lower, "http"); i > 0 && (strings.HasPrefix(lower[i:], "http://") || strings.HasPrefix(lower[i:], "https://")) && !strings.ContainsAny(lower[:i], "/?#@") {
			word, lower = word[i:], lower[i:]
		}
		whole := strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
		for _, w := range wordEndings(word) {
			switch {
			case whole:
				out = append(out, w)
			case isBareDomain(w):
				out = append(out, "https://"+w, "http://"+w)
			}
		}
	}
	return out
}

// wordEndings returns the possible forms of a word: with its trailing punctuation, which usually
// belongs to the sentence, and without it.
func wordEndings(word string) []string {
	short := strings.TrimRightFunc(word, func(r rune) bool { return strings.ContainsRune(".,;:!?'’*_…。，；：！？、）」』", r) })
	for strings.HasSuffix(short, ")") && strings.Count(short, ")") > strings.Count(short, "(") || strings.HasSuffix(short, "]") || strings.HasSuffix(short, "}") {
		short = strings.TrimRight(short[:len(short)-1], ".,;:!?")
	}
	if short == word || short == "" {
		return []string{word}
	}
	return []string{short, word}
}

// isBareDomain reports whether a word is a web address without a scheme, such as "example.org/a". A
// file name is not an address, although some file extensions are also country domains (see
// fileEndings).
func isBareDomain(word string) bool {
	host, _, _ := strings.Cut(word, "/")
	host, _, _ = strings.Cut(host, "?")
	host, _, _ = strings.Cut(host, "#")
	if strings.ContainsAny(host, "@:") || !isASCII(host) {
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

// fileEndings lists top-level domains that are more common as file extensions.
const fileEndings = " md py sh rs pl cc ps so zip mov app tf ml mk st js ts go "

// lowerASCII converts ASCII letters to lower case and preserves the length of s.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// siteSet returns the hosts and ports that the addresses contact, without the prefix "www.".
func siteSet(list []string) map[string]bool {
	out := map[string]bool{}
	for _, raw := range list {
		if u, ok := parseAddress(raw); ok && hostAndPort(u) != "" {
			out[strings.TrimPrefix(hostAndPort(u), "www.")] = true
		} else if u, err := safehttp.Canonical(raw); err == nil { // a name in another script
			out[strings.TrimPrefix(hostAndPort(u), "www.")] = true
		}
	}
	return out
}

// hostsOf returns the hosts that the addresses contact, for the owner's rules.
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

// isListedHost reports whether a host is on a list, either by its full name or below "*.name". An
// empty list matches nothing.
func isListedHost(place string, list []string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		entry = strings.TrimSuffix(strings.ToLower(entry), ".")
		if below, wild := strings.CutPrefix(entry, "*."); wild {
			return strings.Count(below, ".") > 0 && strings.HasSuffix(place, "."+below)
		}
		return entry != "" && place == entry
	})
}
