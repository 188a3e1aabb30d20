package safehttp

import (
	"net/netip"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// parseHost parses the host of a URL, without its port. It returns the reason if the host is
// invalid.
func parseHost(s string) (h host, why string) {
	if s == "" {
		return h, "the address has no host"
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		return parseIPv6(inner)
	}
	if strings.ContainsAny(s, "%") {
		return h, "the host contains a percent sign"
	}
	if !isASCII(s) {
		var err error
		// check this before ToASCII, which maps such characters to ASCII
		if !norm.NFKC.IsNormalString(s) || strings.ContainsRune(s, '。') || strings.ContainsFunc(s, isInvisible) { // full-width digits and dots, letters in circles
			return h, "the host contains characters that look like ASCII letters, digits or dots"
		}
		if s, err = punycode().ToASCII(s); err != nil {
			return h, "the host is not a valid internationalized name"
		}
	}
	s = strings.ToLower(s)
	labels := strings.Split(s, ".")
	last := labels[len(labels)-1]
	if last == "" {
		return h, "the host ends in a dot"
	}
	if isNumericLabel(last) { // the URL standard, section 3.5, "ends in a number"
		a, err := netip.ParseAddr(s)
		if err != nil {
			return h, "the host is a number or an address in an unusual notation"
		}
		return host{a.String(), a}, ""
	}
	for _, l := range labels {
		if why := badLabel(l); why != "" {
			return h, why
		}
	}
	if len(s) > 253 {
		return h, "the host name is too long"
	}
	return host{name: s}, ""
}

func parseIPv6(s string) (h host, why string) {
	s, closed := strings.CutSuffix(s, "]")
	a, err := netip.ParseAddr(s)
	switch {
	case !closed || err != nil || !a.Is6():
		return h, "the text in brackets is not an IPv6 address"
	case a.Zone() != "":
		return h, "an address with a zone is on the local network"
	}
	return host{a.String(), a}, ""
}

// isNumericLabel reports whether some parser would interpret a label as a number.
func isNumericLabel(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	rest, ok := strings.CutPrefix(label, "0x")
	return ok && strings.Trim(rest, "0123456789abcdef") == ""
}

func badLabel(l string) string {
	switch {
	case l == "":
		return "the host has two dots in a row or begins with one"
	case len(l) > 63:
		return "a label of the host is too long"
	case strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "":
		return "the host contains invalid characters"
	case strings.HasPrefix(l, "-"), strings.HasSuffix(l, "-"):
		return "a label of the host begins or ends with a hyphen"
	case strings.HasPrefix(l, "xn--"):
		if back, err := punycode().ToUnicode(l); err != nil || isASCII(back) || !norm.NFKC.IsNormalString(back) {
			return "the host is not a valid internationalized name"
		}
	}
	return ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// punycode is the UTS 46 profile for lookups, with strict rules for labels.
var punycode = sync.OnceValue(func() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(true), idna.BidiRule(), idna.CheckJoiners(true), idna.VerifyDNSLength(true))
})

// isInternal reports whether a host name has a local meaning, according to RFC 6761, 6762, 7686,
// 8375 or 9476, or because of a common private suffix.
func (h host) isInternal() bool {
	if h.addr.IsValid() {
		return false
	}
	labels := strings.Split(h.name, ".")
	if len(labels) == 1 { // localhost, intranet, or a machine in a search domain
		return true
	}
	if slices.Contains(labels, "localhost") || slices.Contains(labels, "localdomain") { // before other labels these names are misleading; as the last label they are internal
		return true
	}
	top := labels[len(labels)-1]
	return slices.Contains(internalTops(), top) || slices.ContainsFunc(internalNames(), func(n string) bool {
		return h.name == n || strings.HasSuffix(h.name, "."+n)
	})
}

func internalTops() []string {
	return []string{
		"localhost", "local", "internal", "localdomain", "intranet", "private", "corp", "home", "lan", "onion", "alt", "invalid", "arpa",
		"mail-local", "localnet", "workgroup", "domain", "host", "cluster",
	}
}

// internalNames lists public names of services that only this machine can reach, regardless of the
// addresses to which they resolve.
func internalNames() []string {
	return []string{"metadata.packet.net", "metadata.platformequinix.com", "metadata.tencentyun.com"}
}

// isLoopback reports whether a host name means this machine (RFC 6761, section 6.3).
func (h host) isLoopback() bool {
	return h.name == "localhost" || strings.HasSuffix(h.name, ".localhost")
}

// badPort reports whether browsers block a port (fetch standard, section 2.9), or whether it
// belongs to a database or daemon that could interpret HTTP as commands.
func badPort(p uint16) bool {
	_, bad := slices.BinarySearch(badPorts(), p)
	return bad
}

var badPorts = sync.OnceValue(func() []uint16 {
	ports := []uint16{
		1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117,
		119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636,
		989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
		445, 873, 1433, 1521, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 5900, 5984, 6379, 6443, 9042, 9100, 9200, 9300, 10250, 11211, 27017,
	}
	slices.Sort(ports)
	return ports
})
