// Package signin finds the servers for an email address and signs in to the servers of an account.
// It does not read or send email and stores nothing. `hob account`, `hob setup` and `hob doctor`
// use it.
//
// Only the table of providers and the user decide to which server a password is sent. DNS answers
// are trusted only within the domain of the address, because a forged answer could otherwise
// collect the password.
package signin

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"net"
	"net/mail"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"hob/platform/pim"
	pimall "hob/platform/pim/all"
)

//go:embed providers.txt
var table string

// Found describes the servers that were found for an address.
type Found struct {
	Provider string // name of the provider in the table; "" if the provider is not listed
	Servers  pim.Servers
	Auth     string
	Hint     string // what the provider requires of programs that sign in
	// Foreign is a host that DNS returned but that is neither in the domain of the address nor in
	// the table of providers. The user must confirm it.
	Foreign string
}

// Known reports whether any server was found.
func (s Found) Known() bool { return len(s.Servers) > 0 }

// provider is one section of the table.
type provider struct {
	Found
	domains, mx []string
}

func parseProviders() (out []provider) {
	for lines := bufio.NewScanner(strings.NewReader(table)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			out = append(out, provider{Found: Found{Provider: strings.Trim(line, "[]"), Servers: pim.Servers{}}})
			continue
		}
		p := &out[len(out)-1]
		key, value, _ := strings.Cut(line, " = ")
		switch key {
		case "domains":
			p.domains = strings.Fields(value)
		case "mx":
			p.mx = strings.Fields(value)
		case "auth":
			p.Auth = value
		case "hint":
			p.Hint = value
		default:
			p.Servers[key] = value
		}
	}
	return out
}

// Resolver resolves names; *net.Resolver implements it.
type Resolver interface {
	LookupSRV(ctx context.Context, service, proto, name string) (cname string, addrs []*net.SRV, err error)
	LookupMX(ctx context.Context, name string) ([]*net.MX, error)
}

// lookWait is the time limit for all lookups together.
const lookWait = 6 * time.Second

// Find returns the servers for an address: from the table of providers, from the DNS records of the
// domain (RFC 6186, 6764), and from the domain's mail servers. Unknown servers are "".
func Find(ctx context.Context, address string, dns Resolver) (Found, error) {
	domain, err := domainOf(address)
	if err != nil {
		return Found{}, err
	}
	all := parseProviders()
	for _, p := range all {
		if slices.Contains(p.domains, domain) {
			return p.Found, nil
		}
	}
	if dns == nil {
		return Found{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	if mx, err := dns.LookupMX(ctx, domain); err == nil {
		for _, m := range mx {
			for _, p := range all {
				if slices.ContainsFunc(p.mx, func(of string) bool { return isWithinDomain(normalizeHost(m.Host), of) }) {
					return p.Found, nil
				}
			}
		}
	}
	return announcedServers(ctx, domain, dns), nil
}

func domainOf(address string) (string, error) {
	p, err := mail.ParseAddress(address)
	if err != nil || p.Address != address {
		return "", fmt.Errorf(`%q is not an email address such as "ada@example.org"`, address)
	}
	return strings.ToLower(address[strings.LastIndexByte(address, '@')+1:]), nil
}

// announcedServers returns the servers that the DNS records of a domain announce.
func announcedServers(ctx context.Context, domain string, dns Resolver) (s Found) {
	first := func(service string) (h, port string) {
		_, list, err := dns.LookupSRV(ctx, service, "tcp", domain)
		if err != nil || len(list) == 0 || normalizeHost(list[0].Target) == "" { // "." means that the domain does not offer the service
			return "", ""
		}
		h = normalizeHost(list[0].Target)
		if !isWithinDomain(h, registeredDomain(domain)) {
			s.Foreign = h
		}
		return h, fmt.Sprint(list[0].Port)
	}
	s.Servers = pim.Servers{}
	for _, d := range pimall.Descriptions() {
		for _, x := range d.Announced {
			h, port := first(x.Service)
			if h == "" {
				continue
			}
			if server := x.Prefix + net.JoinHostPort(h, port) + x.Suffix; d.Check(server) == nil {
				s.Servers[d.Key] = server
			}
			break
		}
	}
	return s
}

func normalizeHost(s string) string { return strings.ToLower(strings.TrimSuffix(s, ".")) }

func isWithinDomain(name, domain string) bool {
	return name == domain || strings.HasSuffix(name, "."+domain)
}

// ProviderLabel returns a short label for the domain of an address, such as "example" for
// "ada@mail.example.org". It is "" if the domain has no letters or digits.
func ProviderLabel(address string) string {
	_, domain, _ := strings.Cut(strings.ToLower(address), "@")
	label, _, _ := strings.Cut(registeredDomain(domain), ".")
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, label), "-")
}

// registeredDomain returns the registrable part of a domain.
func registeredDomain(domain string) string {
	if d, err := publicsuffix.EffectiveTLDPlusOne(domain); err == nil {
		return d
	}
	return domain
}
