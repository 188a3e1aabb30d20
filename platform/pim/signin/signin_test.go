package signin

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
)

// zone is a resolver that answers from tables.
type zone struct {
	srv map[string]*net.SRV
	mx  map[string]string
}

var errNoName = errors.New("no such name")

func (z zone) LookupSRV(_ context.Context, service, proto, name string) (string, []*net.SRV, error) {
	if s := z.srv["_"+service+"._"+proto+"."+name]; s != nil {
		return "", []*net.SRV{s}, nil
	}
	return "", nil, errNoName
}

func (z zone) LookupMX(_ context.Context, name string) ([]*net.MX, error) {
	if h := z.mx[name]; h != "" {
		return []*net.MX{{Host: h}}, nil
	}
	return nil, errNoName
}

func TestFind(t *testing.T) {
	z := zone{
		srv: map[string]*net.SRV{
			"_imaps._tcp.own.example":       {Target: "mail.own.example.", Port: 993},
			"_submission._tcp.own.example":  {Target: "mail.own.example.", Port: 587},
			"_caldavs._tcp.own.example":     {Target: "dav.own.example.", Port: 443},
			"_submissions._tcp.own.example": {Target: "."},
			"_imaps._tcp.moved.example":     {Target: "imap.thief.test.", Port: 993},
			"_imaps._tcp.odd.example":       {Target: "a b\x1b.odd.example.", Port: 993},
		},
		mx: map[string]string{"firm.example": "ASPMX.L.GOOGLE.COM.", "evil.example": "notgoogle.com."},
	}
	for _, tc := range []struct {
		address string
		want    Found
	}{
		{"ada@icloud.com", Found{Provider: "icloud", Servers: pim.Servers{pim.IMAP: "imap.mail.me.com", pim.SMTP: "smtp.mail.me.com:587", pim.CalDAV: "https://caldav.icloud.com/"}}},
		{"Ada@GMAIL.com", Found{Provider: "gmail", Servers: pim.Servers{pim.IMAP: "imap.gmail.com", pim.SMTP: "smtp.gmail.com:587"}}},
		{"ada@firm.example", Found{Provider: "gmail", Servers: pim.Servers{pim.IMAP: "imap.gmail.com", pim.SMTP: "smtp.gmail.com:587"}}},
		{"ada@own.example", Found{Servers: pim.Servers{pim.IMAP: "imaps://mail.own.example:993", pim.SMTP: "smtp://mail.own.example:587", pim.CalDAV: "https://dav.own.example:443/"}}},
		{"ada@moved.example", Found{Servers: pim.Servers{pim.IMAP: "imaps://imap.thief.test:993"}, Foreign: "imap.thief.test"}},
		{"ada@odd.example", Found{Servers: pim.Servers{}}},
		{"ada@evil.example", Found{Servers: pim.Servers{}}},
		{"ada@hotmail.com", Found{Provider: "outlook", Servers: pim.Servers{pim.IMAP: "outlook.office365.com", pim.SMTP: "smtp.office365.com:587"}, Auth: "token"}},
	} {
		got, err := Find(t.Context(), tc.address, z)
		if got.Hint = ""; err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, %v", tc.address, got, err)
		}
	}
	for _, bad := range []string{"", "ada", "Ada <ada@x.org>", "ada@"} {
		if _, err := Find(t.Context(), bad, z); err == nil {
			t.Errorf("%q is an address", bad)
		}
	}
}

// TestTable checks that all servers in the table of providers are valid.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range parseProviders() {
		if _, err := pim.ParseServer(pim.IMAP, p.Servers[pim.IMAP]); err != nil {
			t.Errorf("%s: ParseServer = %v, want nil", p.Provider, err)
		}
		if _, err := pim.ParseServer(pim.SMTP, p.Servers[pim.SMTP]); err != nil {
			t.Errorf("%s: ParseServer = %v, want nil", p.Provider, err)
		}
		if _, err := pim.ParseURL(p.Servers[pim.CalDAV]); p.Servers[pim.CalDAV] != "" && err != nil {
			t.Errorf("%s: ParseURL = %v", p.Provider, err)
		}
		for _, d := range p.domains {
			if seen[d] {
				t.Errorf("domain %s is listed twice", d)
			}
			seen[d] = true
		}
	}
}

// TestCheck_IsPrintable checks that text from a server cannot control the terminal.
func TestCheck_IsPrintable(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"\x1b]52;c;aGk=\a.example"}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*tls.Conn).HandshakeContext(context.Background())
			_ = c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	a := pim.Account{Name: "x", Servers: pim.Servers{pim.IMAP: "imaps://localhost:" + port}, Address: "ada@example.org", Secret: func(context.Context) (string, error) { return "x", nil }}
	for _, x := range Check(t.Context(), a) {
		if x.Err == nil || strings.ContainsAny(x.Err.Error(), "\x1b\a") || !strings.Contains(x.Err.Error(), "aGk=") {
			t.Errorf("%q", x.Err)
		}
	}
}
