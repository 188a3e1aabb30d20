package email

import (
	"cmp"
	"strings"
	"testing"

	"hob/platform/pim"
	"hob/platform/text/mime"
)

func isVouched(fields mime.Fields, trusted, address string) bool {
	return trustedVerdict(fields, trusted, address) == vouches
}

func TestResults_Vouched(t *testing.T) {
	const ar = "authentication-results"
	one := func(v string) mime.Fields { return mime.Fields{{Name: ar, Value: v}} }
	for _, c := range []struct {
		name    string
		fields  mime.Fields
		want    bool
		trusted string
	}{
		{"Gmail", one(`mx.test.local; dkim=pass header.i=@example.org header.s=20230601 header.b=Ax3/+k; spf=pass (google.com: domain of ada@example.org designates 192.0.2.1 as permitted sender) smtp.mailfrom=ada@example.org; dmarc=pass (p=NONE sp=QUARANTINE dis=NONE) header.from=example.org`), true, ""},
		{"only dmarc", one(`mx.test.local; dmarc=pass header.from=example.org`), true, ""},
		{"in capitals", one(`MX.Test.Local; DMARC=PASS Header.From=Example.ORG`), true, ""},
		{"a version and comments", one(`(a) mx.test.local (b (c) \) ) 1 (d); (e) dmarc (f) / 1 = (g) pass reason="x; y" header . from = example.org`), true, ""},
		{"quoted", one(`"mx.test.local"; dmarc=pass header.from="example.org"`), true, ""},
		{"a closing semicolon", one(`mx.test.local; dmarc=pass header.from=example.org;`), true, ""},
		{"dkim of the domain", one(`mx.test.local; dkim=pass header.d=example.org`), true, ""},
		{"dkim of the domain above", one(`mx.test.local; dkim=pass header.d=org.example`), false, ""},
		{"one of two signatures", one(`mx.test.local; dkim=fail header.d=example.org; dkim=pass header.d=example.org; dmarc=none`), true, ""},
		{"spf", one(`mx.test.local; spf=pass smtp.mailfrom=bounce@example.org`), true, ""},
		{"spf of the host's name", one(`mx.test.local; spf=pass smtp.helo=example.org`), false, ""},
		{"spf of another", one(`mx.test.local; spf=pass smtp.mailfrom=ada@evil.example`), false, ""},
		{"dmarc of another", one(`mx.test.local; dmarc=pass header.from=evil.example`), false, ""},
		{"dmarc without a domain", one(`mx.test.local; dmarc=pass`), false, ""},
		{"dmarc failed, whatever else passed", one(`mx.test.local; spf=pass smtp.mailfrom=example.org; dmarc=fail header.from=example.org`), false, ""},
		{"two verdicts", one(`mx.test.local; dmarc=pass header.from=example.org; dmarc=fail header.from=example.org`), false, ""},
		{"a top level", one(`mx.test.local; dkim=pass header.d=org`), false, ""},
		{"another host", one(`mx.evil.example; dmarc=pass header.from=example.org`), false, ""},
		{"a host with the same prefix", one(`mx.test.local.evil.example; dmarc=pass header.from=example.org`), false, ""},
		{"the name in a comment", one(`(mx.test.local;) evil.example; dmarc=pass header.from=example.org`), false, ""},
		{"no checks", one(`mx.test.local; none`), false, ""},
		{"pass in a comment", one(`mx.test.local; dmarc=fail (dmarc=pass header.from=example.org) header.from=example.org`), false, ""},
		{"pass in a reason", one(`mx.test.local; dmarc=none reason="; dmarc=pass header.from=example.org"`), false, ""},
		{"a comment without an end", one(`mx.test.local; dmarc=pass header.from=example.org (`), false, ""},
		{"a quote without an end", one(`mx.test.local; dmarc=pass header.from="example.org`), false, ""},
		{"broken further on", one(`mx.test.local; dmarc=pass header.from=example.org; =`), false, ""},
		{"another version", one(`mx.test.local 2; dmarc=pass header.from=example.org`), false, ""},
		{"no semicolon", one(`mx.test.local dmarc=pass header.from=example.org`), false, ""},
		{"empty", one(``), false, ""},
		{"Microsoft, without a host name", one(`spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=example.org; dkim=pass header.d=example.org;dmarc=pass action=none header.from=example.org;compauth=pass reason=100`), false, ""},
		{"the topmost counts", mime.Fields{{Name: ar, Value: "mx.test.local; dmarc=fail header.from=example.org"}, {Name: ar, Value: "mx.test.local; dmarc=pass header.from=example.org"}}, false, ""},
		{"the topmost is broken", mime.Fields{{Name: ar, Value: "mx.test.local; dmarc="}, {Name: ar, Value: "mx.test.local; dmarc=pass header.from=example.org"}}, false, ""},
		{"another host's field comes first", mime.Fields{{Name: ar, Value: "other.example; none"}, {Name: ar, Value: "mx.test.local; dmarc=pass header.from=example.org"}}, true, ""},
		{"in a field of another name", mime.Fields{{Name: "x-" + ar, Value: "mx.test.local; dmarc=pass header.from=example.org"}, {Name: "arc-" + ar, Value: "i=1; mx.test.local; dmarc=pass header.from=example.org"}}, false, ""},
		{"several fields, the first ones without a result about the sender", mime.Fields{{Name: ar, Value: "mx-3.test.local; x-csa=none; x-ptr=pass smtp.helo=a.b policy.ptr=a.b"}, {Name: ar, Value: "mx-3.test.local; arc=none (no signatures found)"}, {Name: ar, Value: "mx-3.test.local; dkim=pass header.d=example.org; dmarc=pass policy.published-domain-policy=none (p=none,d=none) header.from=example.org; spf=pass smtp.mailfrom=ada@example.org; x-tls=pass smtp.bits=256/256"}}, true, "*.test.local"},
		{"a field without a result, and one from before a hop", mime.Fields{{Name: ar, Value: "mx-3.test.local; x-me-sender=pass"}, {Name: "received", Value: "from evil by mx-3.test.local"}, {Name: ar, Value: "mx-3.test.local; dmarc=pass header.from=example.org"}}, false, "*.test.local"},
		{"no checks, and another field below", mime.Fields{{Name: ar, Value: "mx-3.test.local; none"}, {Name: ar, Value: "mx-3.test.local; dmarc=pass header.from=example.org"}}, false, "*.test.local"},
		{"only the IP address was checked, and another field below", mime.Fields{{Name: ar, Value: "mx.test.local; iprev=pass smtp.remote-ip=192.0.2.1"}, {Name: ar, Value: "mx.test.local; dmarc=pass header.from=example.org"}}, false, ""},
		{"below the name of the trusted domain", one("a.b.test.local; dmarc=pass header.from=example.org"), true, "*.test.local"},
		{"the trusted domain itself", one("test.local; dmarc=pass header.from=example.org"), false, "*.test.local"},
		{"a name with the same ending", one("eviltest.local; dmarc=pass header.from=example.org"), false, "*.test.local"},
		{"any name", one("evil.example; dmarc=pass header.from=example.org"), false, "*"},
		{"any name with a dot", one(".; dmarc=pass header.from=example.org"), false, "*."},
		{"signed in as the sender", one("mx.test.local; auth=pass smtp.auth=ada@example.org smtp.mailfrom=ada@example.org"), true, ""},
		{"signed in as another user", one("mx.test.local; auth=pass smtp.auth=eve@example.org smtp.mailfrom=ada@example.org"), false, ""},
		{"signed in with a bare name", one("mx.test.local; auth=pass smtp.auth=ada smtp.mailfrom=ada@example.org"), false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := isVouched(c.fields, cmp.Or(c.trusted, trusted), ada); got != c.want {
				t.Errorf("vouched: %v", got)
			}
			if isVouched(c.fields, "", ada) {
				t.Error("a sender is vouched for without a trusted host")
			}
		})
	}
}

// TestResults_VerdictOfTheHost checks the verdict of the mail host for different results. A signature may
// prove the author only if the host has not reported a forgery.
func TestResults_VerdictOfTheHost(t *testing.T) {
	for value, want := range map[string]verdict{
		"mx.test.local; dmarc=pass header.from=example.org":                                          vouches,
		"mx.test.local; dmarc=fail header.from=example.org":                                          disowned,
		"mx.test.local; dkim=pass header.d=mail.example.org; dmarc=fail header.from=example.org":     disowned,
		"mx.test.local; dmarc=pass header.from=evil.example":                                         disowned,
		"mx.test.local; dkim=fail header.d=example.org":                                              disowned,
		"mx.test.local; dkim=none":                                                                   disowned,
		"mx.test.local; dmarc=fail header.from=example.org (":                                        disowned,
		"mx.test.local; dkim=pass header.d=mail.example.org":                                         silent,
		"mx.test.local; dkim=temperror header.d=example.org":                                         silent,
		"mx.test.local; dmarc=temperror header.from=example.org; spf=pass smtp.mailfrom=example.org": silent,
		"mx.test.local; spf=fail smtp.mailfrom=example.org":                                          silent,
		"mx.test.local; none": silent,
		"mx.other.example; dmarc=fail header.from=example.org": silent,
		"mx.other.example; dmarc=pass header.from=example.org": silent,
	} {
		if got := trustedVerdict(mime.Fields{{Name: "authentication-results", Value: value}}, trusted, ada); got != want {
			t.Errorf("%s: %d, want %d", value, got, want)
		}
	}
}

func TestResults_AuthorIsOneAddress(t *testing.T) {
	for raw, want := range map[string]string{
		"From: Ada <Ada@Example.org>\n\n":                                    ada,
		"From: ada@example.org\n\n":                                          ada,
		"From: =?utf-8?q?A=2C?= <ada@example.org>\n\n":                       ada,
		"From: Ada\n <ada@example.org>\n\n":                                  ada,
		"From: ada@example.org, bob@example.org\n\n":                         "",
		"From: ada@example.org\nFrom: ada@example.org\n\n":                   "",
		"From: ada@example.org\nFrom : bob@example.org\n\n":                  "",
		"From: \"ada@example.org\" <eve@evil.example>\n\n":                   "eve@evil.example",
		"From: ada@example.org <eve@evil.example>\n\n":                       "",
		"From: <ada@example.org> <eve@evil.example>\n\n":                     "",
		"From: Friends: ada@example.org;\n\n":                                ada,
		"From: Friends: ada@example.org, bob@example.org;\n\n":               "",
		"From: \"a b\"@example.org\n\n":                                      "",
		"From: ada@[192.0.2.1]\n\n":                                          "",
		"From: ada@localhost\n\n":                                            "",
		"From: ada@еxample.org\n\n":                                          "",
		"From: ada@example.org/unverified\n\n":                               "",
		"Sender: ada@example.org\n\n":                                        "",
		"\n\nFrom: ada@example.org\n\n":                                      "",
		"From: ada@example.org" + strings.Repeat("x", 300) + "@evil.org\n\n": "",
		// Mails whose headers exceed the limits: a second From could be beyond the part that is
		// read.
		"From: ada@example.org\n" + strings.Repeat("X:\n", mime.MaxFields) + "From: eve@example.org\n\n":      "",
		"From: ada@example.org\n" + strings.Repeat("X: y"+strings.Repeat("\n z", 70000), 2) + "\nFrom: e\n\n": "",
		// Programs that accept only CRLF as a line end see only the second From.
		"X: y\nFrom: ada@example.org\n\nwords\r\nFrom: eve@example.org\r\n\r\n": "",
		"X: y\r\nFrom: ada@example.org\n\r\nFrom: eve@example.org\r\n\r\n":      "",
		"X: y\rFrom: eve@example.org\nFrom: ada@example.org\n\n":                "",
		"From: ada@example.org\nno field\n\n":                                   "",
		"X: y\r\nFrom: ada@example.org\r\n":                                     ada,
		"From: ada@example.org":                                                 ada,
	} {
		if got := parseMail(pim.Message{}, []byte(raw)).from; got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

// FuzzResults checks that no field that names another host or has invalid syntax proves a sender,
// and that an added comment does not change the result.
func FuzzResults(f *testing.F) {
	f.Add(`mx.test.local; dmarc=pass (p=none) header.from=example.org`)
	f.Add(`"mx.test.local" 1; dkim=pass reason="a\"" header.i=@example.org; spf=pass smtp.mailfrom="ada b"@example.org`)
	f.Add(`a (b (c)) ; none`)
	f.Fuzz(func(t *testing.T, value string) {
		id, results, ok := parseResults(value)
		if ok && id == "" || len(results) > maxResults+1 {
			t.Errorf("%q: %q, %d results", value, id, len(results))
		}
		if ok && isVouched(mime.Fields{{Name: "authentication-results", Value: "evil.example; x=y (" + strings.NewReplacer("(", "", ")", "", `\`, "").Replace(value) + ")"}}, trusted, ada) {
			t.Errorf("a comment in %q vouches for the sender", value)
		}
		if isVouched(mime.Fields{{Name: "authentication-results", Value: value}}, trusted, ada) && (!ok || id != trusted || !strings.Contains(strings.ToLower(value), "pass")) {
			t.Errorf("%q vouches", value)
		}
		again, more, still := parseResults(value + " (c)")
		if ok && (!still || again != id || len(more) != len(results)) {
			t.Errorf("a comment changes the result of %q", value)
		}
	})
}

// FuzzHead checks that a header yields at most one author, with a well-formed address.
func FuzzHead(f *testing.F) {
	f.Add([]byte("From: Ada <ada@example.org>\r\n (x)\r\nFrom: b\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		fields, _ := mime.ReadFields(raw)
		address := singleAuthor(fields)
		if address != "" && (strings.Count(address, "@") != 1 || strings.ContainsAny(address, " \t\r\n<>,\x00")) {
			t.Errorf("singleAuthor = %q", address)
		}
	})
}
