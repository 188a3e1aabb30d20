package safehttp

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// class is the classification of an IP address. The zero value is public.
type class struct {
	is string // description for errors; "" if public
	// never is true if the address cannot be allowed, not even by configuration.
	never bool
}

// thisMachine is the class of this machine's own addresses.
const thisMachine = "this machine"

func (k class) isPublic() bool { return k.is == "" }

type specialPrefix struct {
	prefix netip.Prefix
	class
}

// specials are the IANA special-purpose registries (RFC 6890 and its updates), and addresses at
// which clouds provide credentials to their own machines. The first match determines the class of
// an address.
var specials = sync.OnceValue(func() []specialPrefix {
	var out []specialPrefix
	for _, x := range []struct {
		name  string
		never bool
		in    []string
	}{
		{"a cloud metadata service", true, []string{
			"169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "169.254.169.253/32", "169.254.0.23/32", "100.100.100.200/32",
			"168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::254/128", "fe80::a9fe:a9fe/128",
		}},
		{thisMachine, false, []string{"127.0.0.0/8", "::1/128"}},
		{"an unspecified address", true, []string{"0.0.0.0/8", "::/128"}},
		{"a private network", false, []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"}},
		{"a carrier-grade NAT or overlay network", false, []string{"100.64.0.0/10"}},
		{"a link-local address", true, []string{"169.254.0.0/16", "fe80::/10"}},
		{"a multicast address", true, []string{"224.0.0.0/4", "ff00::/8"}},
		{"the broadcast address", true, []string{"255.255.255.255/32"}},
		{"a reserved range", true, []string{
			"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
			"2001::/23", "2001:db8::/32", "3fff::/20",
		}},
		{"an IPv4 address embedded in IPv6", true, []string{"::ffff:0:0/96", "::/96", "::ffff:0:0:0/96", "2002::/16", "64:ff9b:1::/48"}},
	} {
		for _, p := range x.in {
			out = append(out, specialPrefix{netip.MustParsePrefix(p), class{x.name, x.never}})
		}
	}
	return out
})

// classifyAddr classifies an IP address. An address that is not known to be public is special: for
// IPv6 only 2000::/3 is allocated (RFC 4291). An address with the well-known NAT64 prefix (RFC
// 6052) has the class of the IPv4 address that it contains.
func classifyAddr(a netip.Addr) class {
	if !a.IsValid() || a.Zone() != "" {
		return class{"an address with a zone", true}
	}
	if inner, ok := nat64(a); ok {
		if k := classifyAddr(inner); !k.isPublic() {
			return class{k.is + " behind NAT64", true}
		}
		return class{}
	}
	for _, s := range specials() {
		if s.prefix.Contains(a) {
			return s.class
		}
	}
	if a.Is6() && !globalUnicast().Contains(a) {
		return class{"an unassigned address", true}
	}
	return class{}
}

var globalUnicast = sync.OnceValue(func() netip.Prefix { return netip.MustParsePrefix("2000::/3") })

// nat64 returns the IPv4 address inside 64:ff9b::/96.
func nat64(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() || a.Is4In6() {
		return netip.Addr{}, false
	}
	b := a.As16()
	if [12]byte(b[:12]) != [12]byte{0, 0x64, 0xff, 0x9b} {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte(b[12:])), true
}

// classOf classifies an IP address as classifyAddr does, and also recognizes this machine's own
// addresses, which may be public.
func (c *Client) classOf(a netip.Addr) (class, error) {
	if k := classifyAddr(a); !k.isPublic() {
		return k, nil
	}
	mine, err := c.isOwnAddr(a)
	switch {
	case err != nil: // the address may belong to this machine
		return class{"an address that may belong to this machine", true}, err
	case mine:
		return class{thisMachine, false}, nil
	}
	return class{}, nil
}

// isOwnAddr reports whether an address belongs to this machine.
func (c *Client) isOwnAddr(a netip.Addr) (bool, error) {
	list, err := c.opt.Interfaces()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list, func(x net.Addr) bool {
		p, err := netip.ParsePrefix(x.String())
		return err == nil && p.Addr().WithZone("").Unmap() == a
	}), nil
}

// Online reports whether this machine has a non-loopback address. Without one,
// some systems report unknown hosts instead of failed lookups.
func (c *Client) Online() bool {
	own, err := c.opt.Interfaces()
	if err != nil {
		return true // unknown, so assume that the machine is online
	}
	return slices.ContainsFunc(own, func(x net.Addr) bool {
		p, err := netip.ParsePrefix(x.String())
		return err == nil && p.Addr().Unmap().IsGlobalUnicast()
	})
}
