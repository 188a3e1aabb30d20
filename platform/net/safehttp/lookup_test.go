package safehttp

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// publishes is a resolver that has only TXT records.
type publishes struct {
	internet

	asked []string
}

func (p *publishes) LookupTXT(ctx context.Context, name string) ([]string, error) {
	p.asked = append(p.asked, name)
	switch name {
	case "_k.example.org.":
		return []string{"v=1"}, nil
	case "many.example.org.":
		return make([]string, maxRecords+1), nil
	case "large.example.org.":
		return []string{strings.Repeat("x", maxRecordsLen+1)}, nil
	case "down.example.org.":
		return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
	case "slow.example.org.":
		<-ctx.Done()
		return nil, &net.DNSError{Err: ctx.Err().Error(), Name: name, IsTimeout: true}
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func TestLookupTXT(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &publishes{}
		c, err := New(Options{Resolver: p})
		if err != nil {
			t.Fatal(err)
		}
		if list, err := c.LookupTXT(t.Context(), "_K.Example.org"); err != nil || len(list) != 1 || list[0] != "v=1" {
			t.Errorf("LookupTXT = %q, %v", list, err)
		}
		began := time.Now()
		for name, want := range map[string]Kind{
			"none.example.org": NotFound, "many.example.org": TooLarge, "large.example.org": TooLarge, "down.example.org": Resolve, "slow.example.org": Resolve,
		} {
			_, err := c.LookupTXT(t.Context(), name)
			if e, ok := errors.AsType[*Error](err); !ok || e.Kind != want {
				t.Errorf("%s: %v", name, err)
			}
		}
		if d := time.Since(began); d != lookupTimeout {
			t.Errorf("the lookup took %v", d)
		}
		p.asked = nil
		for _, name := range []string{"", "x", "k.home.lan", "k.localhost", "127.0.0.1", "[::1]", "a..example.org", "a.example.org.", "a b.example.org", "a/b.example.org"} {
			if _, err := c.LookupTXT(t.Context(), name); err == nil {
				t.Errorf("%q was looked up", name)
			}
		}
		if len(p.asked) > 0 {
			t.Errorf("names sent to the resolver = %q, want none", p.asked)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.LookupTXT(ctx, "slow.example.org"); !errors.Is(err, context.Canceled) {
			t.Errorf("LookupTXT = %v", err)
		}
	})
}
