package email

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"

	"hob/channels"
	"hob/platform/pim"
	"hob/platform/pim/dkimcheck"
)

// key signs mails.
type key struct {
	crypto.Signer
	record string // the key record in the DNS
}

func rsaKey(t testing.TB, bits int) key {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&k.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return key{k, "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(der)}
}

func edKey(t testing.TB) key {
	t.Helper()
	pub, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key{k, "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(pub)}
}

// signedFields lists the fields that a large host signs. Each name is listed once more than the
// field occurs.
var signedFields = strings.Fields("From From To To Cc Subject Subject Date Date Message-ID Message-ID In-Reply-To References Content-Type Content-Transfer-Encoding")

// signMail signs a mail as the host of domain does.
func (k key) signMail(t testing.TB, mail, domain string, change ...func(*dkim.SignOptions)) string {
	t.Helper()
	o := &dkim.SignOptions{
		Domain: domain, Selector: "s1", Signer: k.Signer, Hash: crypto.SHA256, HeaderKeys: signedFields,
		HeaderCanonicalization: dkim.CanonicalizationRelaxed, BodyCanonicalization: dkim.CanonicalizationRelaxed,
	}
	for _, c := range change {
		c(o)
	}
	var out bytes.Buffer
	if err := dkim.Sign(&out, strings.NewReader(withCRLF(mail)), o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// signWithTags signs with tags that no honest signer writes.
func (k key) signWithTags(t testing.TB, mail, tags string) string {
	t.Helper()
	head, body, _ := strings.Cut(withCRLF(mail), "\r\n\r\n")
	sum := sha256.Sum256([]byte(strings.TrimRight(body, "\r\n") + "\r\n"))
	field := fmt.Sprintf("DKIM-Signature: v=1; s=s1; bh=%s; %s; b=", base64.StdEncoding.EncodeToString(sum[:]), tags)
	lines := strings.Split(head, "\r\n")
	var data strings.Builder
	_, names, _ := strings.Cut(tags, "h=")
	names, _, _ = strings.Cut(names, ";")
	for name := range strings.SplitSeq(strings.ReplaceAll(names, " ", ""), ":") {
		for i, line := range slices.Backward(lines) {
			if strings.HasPrefix(strings.ToLower(line), strings.ToLower(name)+":") {
				data.WriteString(line + "\r\n")
				lines[i] = ""
				break
			}
		}
	}
	hashed := sha256.Sum256([]byte(data.String() + field))
	sig, err := k.Sign(rand.Reader, hashed[:], crypto.Hash(0))
	if err != nil {
		t.Fatal(err)
	}
	return field + base64.StdEncoding.EncodeToString(sig) + "\r\n" + withCRLF(mail)
}

func withCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// plainMail returns a mail without Authentication-Results.
func plainMail(id, from, subject, text string, more ...string) string {
	_, mail, _ := strings.Cut(letterTo(id, from, subject, text, more...), "\n")
	return mail
}

func anyKey(dkimcheck.KeyID) error { return nil }

// TestSignatures: a valid signature of the sender's host on a mail to Hob proves its author. No
// other signature does, even if it is valid.
func TestSignatures(t *testing.T) {
	ed, old := edKey(t), rsaKey(t, 2048)
	t.Setenv("GODEBUG", "rsa1024min=0")
	short := rsaKey(t, 768)
	const at = "s1._domainkey.example.org"
	mail := plainMail("a@example.org", ada, "Lunch", "at noon\n\nAda")
	signed := ed.signMail(t, mail, "example.org")
	swap := func(old, new string) string {
		if !strings.Contains(signed, old) {
			t.Fatalf("%q does not occur in %s", old, signed)
		}
		return strings.Replace(signed, old, new, 1)
	}
	const all = "h=from:to:subject:date:message-id"
	good := "a=ed25519-sha256; d=example.org; " + all
	dated := func(at time.Time) string {
		before, after, _ := strings.Cut(mail, "Date: ")
		_, after, _ = strings.Cut(after, "\n")
		return before + "Date: " + at.Format(time.RFC1123Z) + "\n" + after
	}
	others := plainMail("a@example.org", ada, "Lunch", "at noon", "Cc: Bob <bob@example.org>", "MIME-Version: 1.0", "Content-Type: text/plain")
	copied := strings.Replace(plainMail("a@example.org", ada, "Lunch", "at noon", "Cc: =?x-none?q?Hob?= <"+hob+">", "Content-Type: text/plain"), "To: "+hob, "To: bob@example.org", 1)
	for _, c := range []struct {
		name, raw string
		why       string // "" means that the signature proves the author
		zone      map[string][]string
	}{
		{name: "ed25519", raw: signed},
		{name: "rsa", raw: old.signMail(t, mail, "example.org"), zone: map[string][]string{at: {old.record}}},
		{name: "simple", raw: ed.signMail(t, mail, "example.org", func(o *dkim.SignOptions) { o.HeaderCanonicalization, o.BodyCanonicalization = "", "" })},
		{name: "by hand", raw: ed.signWithTags(t, mail, good)},
		{name: "by the domain above", raw: ed.signWithTags(t, plainMail("a@example.org", "ada@mail.example.org", "Lunch", "at noon"), good)},
		{name: "by a part of the domain", raw: ed.signWithTags(t, mail, "a=ed25519-sha256; d=mail.example.org; "+all), zone: map[string][]string{"s1._domainkey.mail.example.org": {ed.record}}},
		{name: "one of two", raw: edKey(t).signMail(t, signed, "example.org", func(o *dkim.SignOptions) { o.Selector = "s2" }), zone: map[string][]string{at: {ed.record}, "s2._domainkey.example.org": {ed.record}}},
		{name: "a second signature by a list", raw: edKey(t).signMail(t, signed, "lists.example")},
		{name: "a copy to Hob", raw: ed.signMail(t, copied, "example.org")},
		{name: "a copy to others", raw: ed.signMail(t, others, "example.org")},

		{name: "not signed", raw: withCRLF(mail), why: "has not signed"},
		{name: "another text", raw: swap("at noon", "at one"), why: "body hash"},
		{name: "text after the signed part", raw: signed + "and more", why: "body hash"},
		{name: "another subject", raw: swap("Subject: Lunch", "Subject: Dinner"), why: "did not verify"},
		{name: "a second subject", raw: "Subject: Dinner\r\n" + signed, why: "did not verify"},
		{name: "a second subject, of one covered", raw: "Subject: Dinner\r\n" + ed.signWithTags(t, mail, good), why: "cover its subject"},
		{name: "another sender", raw: swap("From: "+ada, "From: eve@example.org"), why: "did not verify"},
		{name: "two senders", raw: "From: eve@evil.example\r\n" + signed, why: "not exactly one address"},
		{name: "another recipient", raw: swap("To: "+hob, "To: bob@example.org"), why: "not addressed"},
		{name: "replayed to Hob", raw: strings.Replace(ed.signMail(t, strings.Replace(mail, "To: "+hob, "To: bob@example.org", 1), "example.org"), "To: bob@example.org", "To: "+hob, 1), why: "did not verify"},
		{name: "replayed with a copy", raw: strings.Replace(ed.signWithTags(t, strings.Replace(mail, "To: "+hob, "To: bob@example.org", 1), good), "To: bob", "Cc: "+hob+"\r\nTo: bob", 1), why: "cover its cc"},
		{name: "delivered to Hob", raw: "Delivered-To: " + hob + "\r\n" + ed.signMail(t, strings.Replace(mail, "To: "+hob, "To: bob@example.org", 1), "example.org"), why: "not addressed"},
		{name: "the recipients are not covered", raw: ed.signWithTags(t, mail, "a=ed25519-sha256; d=example.org; h=from:subject:date:message-id"), why: "cover its to"},
		{name: "the sender is not covered", raw: ed.signWithTags(t, mail, "a=ed25519-sha256; d=example.org; h=to:subject:date:message-id"), why: "cover its from"},
		{name: "the content type is not covered", raw: ed.signWithTags(t, others, good+":cc"), why: "cover its content-type"},
		{name: "no name", raw: ed.signWithTags(t, strings.Replace(mail, "Message-ID: <a@example.org>\n", "", 1), good), why: "Message-ID"},
		{name: "a week old", raw: ed.signWithTags(t, dated(time.Now().AddDate(0, 0, -7)), good), why: "five days"},
		{name: "of next week", raw: ed.signWithTags(t, dated(time.Now().AddDate(0, 0, 7)), good), why: "five days"},
		{name: "four days old", raw: ed.signWithTags(t, dated(time.Now().AddDate(0, 0, -4)), good)},
		{name: "expired", raw: ed.signMail(t, mail, "example.org", func(o *dkim.SignOptions) { o.Expiration = time.Now().Add(-time.Minute) }), why: "expired"},
		{name: "not expired", raw: ed.signMail(t, mail, "example.org", func(o *dkim.SignOptions) { o.Expiration = time.Now().Add(time.Hour) })},
		{name: "of a time to come", raw: ed.signWithTags(t, mail, fmt.Sprintf("%s; t=%d", good, time.Now().Add(2*time.Hour).Unix())), why: "dated in the future"},
		{name: "of no text", raw: ed.signWithTags(t, mail, good+"; l=0"), why: "a part of the text"},
		{name: "two tags of a name", raw: ed.signWithTags(t, mail, good+"; d=example.org"), why: "is malformed"},
		{name: "another domain", raw: ed.signWithTags(t, mail, "a=ed25519-sha256; d=evil.example; "+all), why: "another domain", zone: map[string][]string{"s1._domainkey.evil.example": {ed.record}}},
		{name: "a domain with the same ending", raw: ed.signWithTags(t, mail, "a=ed25519-sha256; d=evilexample.org; "+all), why: "another domain", zone: map[string][]string{"s1._domainkey.evilexample.org": {ed.record}}},
		{name: "a top level", raw: ed.signWithTags(t, mail, "a=ed25519-sha256; d=org; "+all), why: "another domain", zone: map[string][]string{"s1._domainkey.org": {ed.record}}},
		{name: "a public suffix", raw: ed.signWithTags(t, plainMail("a@x.org", "ada@shop.co.uk", "x", "x"), "a=ed25519-sha256; d=co.uk; "+all), why: "another domain", zone: map[string][]string{"s1._domainkey.co.uk": {ed.record}}},
		{name: "a sibling below a public suffix", raw: ed.signWithTags(t, plainMail("a@x.org", "ada@shop.co.uk", "x", "x"), "a=ed25519-sha256; d=evil.co.uk; "+all), why: "another domain", zone: map[string][]string{"s1._domainkey.evil.co.uk": {ed.record}}},
		{name: "the identity has another domain", raw: ed.signWithTags(t, mail, strings.Replace(good, "d=example.org", "d=example.org; i=@evil.example", 1)), why: "domain mismatch"},
		{name: "SHA-1", raw: ed.signWithTags(t, mail, strings.Replace(good, "sha256", "sha1", 1)), why: "unsafe algorithm"},
		{name: "a short key", raw: short.signMail(t, mail, "example.org"), why: "too short", zone: map[string][]string{at: {short.record}}},
		{name: "another key", raw: signed, why: "did not verify", zone: map[string][]string{at: {edKey(t).record}}},
		{name: "a key of another kind", raw: signed, why: "not valid", zone: map[string][]string{at: {old.record}}},
		{name: "no key", raw: signed, why: "not valid", zone: map[string][]string{}},
		{name: "two keys", raw: signed, why: "not valid", zone: map[string][]string{at: {ed.record, ed.record}}},
		{name: "a huge key", raw: signed, why: "too large", zone: map[string][]string{at: {ed.record + "; n=" + strings.Repeat("x", 2<<10)}}},
		{name: "a key withdrawn", raw: signed, why: "revoked", zone: map[string][]string{at: {"v=DKIM1; p="}}},
		{name: "a key being tried", raw: signed, why: "only tests", zone: map[string][]string{at: {ed.record + "; t=y"}}},
		{name: "a key for the domain alone", raw: ed.signWithTags(t, mail, good+"; i=@sub.example.org"), why: "does not match the header", zone: map[string][]string{at: {ed.record + "; t=s"}}},
		{name: "a key of another use", raw: signed, why: "service", zone: map[string][]string{at: {ed.record + "; s=tlsrpt"}}},
		{name: "no record of a key", raw: signed, why: "not valid", zone: map[string][]string{at: {"v=spf1 -all"}}},
		{name: "below five others", raw: strings.Repeat("DKIM-Signature: v=1; d=lists.example\r\n", maxProofs) + signed, why: "is malformed"},
		{name: "a sender in another case", raw: ed.signMail(t, strings.Replace(mail, ada, "ADA@Example.org", 1), "example.org")},
		{name: "inside one's network", raw: ed.signWithTags(t, plainMail("a@x.org", "ada@home.lan", "x", "x"), "a=ed25519-sha256; d=home.lan; "+all), why: "not valid", zone: map[string][]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			z := &zone{records: c.zone}
			if z.records == nil {
				z.records = map[string][]string{at: {ed.record}}
			}
			ch := &Channel{address: hob}
			l := parseMail(pim.Message{Received: time.Now()}, []byte(c.raw))
			list, why := ch.usableSignatures(l, time.Now())
			ok := false
			if len(list) > 0 {
				var by dkimcheck.KeyID
				var err error
				if by, why, err = verifySignatures(t.Context(), z, []byte(c.raw), list, anyKey); err != nil {
					t.Fatal(err)
				}
				ok = by != ""
			}
			if ok != (c.why == "") || !strings.Contains(why, c.why) {
				t.Errorf("proved: %v, %q", ok, why)
			}
			for _, name := range z.listQuestions() {
				if !dkimcheck.IsAligned(addressDomain(l.from), name) {
					t.Errorf("unexpected lookup of %s", name)
				}
			}
			if len(z.listQuestions()) > 0 {
				z.setDown(true)
				if by, _, err := verifySignatures(t.Context(), z, []byte(c.raw), list, anyKey); by != "" || !errors.Is(err, dkimcheck.ErrLater) {
					t.Errorf("without name servers: verified %q, %v", by, err)
				}
			}
		})
	}
}

// testSigned checks that if the mailbox's host reports nothing, a signed mail of the owner counts
// as the owner's, and pairs. No key is looked up for other senders, or if the host reports a
// forgery.
func testSigned(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	k := rsaKey(t, 2048)
	z := &zone{records: map[string][]string{"s1._domainkey.example.org": {k.record}, "s1._domainkey.evil.example": {k.record}}}
	w.net = z.serveDNS(t)
	w.in.admits = func(in channels.Inbound) bool { return in.Sender == ada }
	c := w.channelConfig()
	c.TrustedHost = ""
	ch := w.newChannel(c)
	stop := w.runChannel(ch)
	w.put(k.signMail(t, plainMail("own@x.org", ada, "", "yes"), "example.org"))
	if in := w.awaitMessages(1)[0]; in.Sender != ada || in.Forwarded || in.Text != "yes" || !strings.HasPrefix(in.Chat, ada+"/") {
		t.Errorf("%+v", in)
	}
	if _, err := ch.Send(t.Context(), channels.Delivery{ID: "answer", Chat: w.awaitMessages(1)[0].Chat, Cause: w.awaitMessages(1)[0].Payload, Text: "done"}); err != nil {
		t.Error(err)
	}
	file := strings.Repeat("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU2Nzg5MDEyMzQ1Njc4OTAx\n", 9000)
	large := plainMail("large@x.org", ada, "", "--b\nContent-Type: text/plain\n\nsee the file\n--b\nContent-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\n"+file+"--b--", "MIME-Version: 1.0", "Content-Type: multipart/mixed; boundary=b")
	w.put(k.signMail(t, large, "example.org"))
	if in := w.awaitMessages(2)[1]; in.Sender != ada || in.Text != "see the file" || len(in.Files) != 1 {
		t.Errorf("%.300q, %d files", fmt.Sprint(in.Sender, in.Text), len(in.Files))
	}
	// Nothing is looked up for senders that are not allowed.
	w.put(k.signMail(t, plainMail("eve@x.org", "eve@evil.example", "", "who are you?"), "evil.example"))
	if in := w.awaitMessages(3)[2]; !strings.HasPrefix(in.Sender, unverified) || slices.Contains(z.listQuestions(), "s1._domainkey.evil.example") {
		t.Errorf("%+v, DNS queries %v", in, z.listQuestions())
	}
	w.put(strings.Replace(k.signMail(t, plainMail("forged@x.org", ada, "", "pay Bob"), "example.org"), "Bob", "Eve", 1))
	if in := w.awaitMessages(4)[3]; !strings.HasPrefix(in.Sender, unverified) || !in.Forwarded {
		t.Errorf("%+v", in)
	}
	w.waitUntil("the reason in the status", func() bool {
		return strings.Contains(ch.DescribeStatus(), "2 emails with an unverified sender, the last one that claimed to be from an allowed sender: its DKIM signature is not valid: body hash")
	})
	test, err := ch.Test(t.Context())
	if err != nil || !strings.Contains(test, "the DKIM signature of the sender's domain, which 4 of the 4 newest emails carry in a usable form") {
		t.Errorf("Test = %s, %v", test, err)
	}
	stop()
	// The result of the mailbox's host has priority.
	ch = w.newChannel(w.channelConfig())
	stop = w.runChannel(ch)
	w.put("Authentication-Results: " + trusted + "; dmarc=fail header.from=example.org\n" + k.signMail(t, plainMail("failed@x.org", ada, "", "yes"), "example.org", func(o *dkim.SignOptions) { o.Selector = "s9" }))
	if in := w.awaitMessages(5)[4]; !strings.HasPrefix(in.Sender, unverified) || slices.Contains(z.listQuestions(), "s9._domainkey.example.org") {
		t.Errorf("%+v, DNS queries %v", in, z.listQuestions())
	}
	w.put("Authentication-Results: " + trusted + "; none\n" + k.signMail(t, plainMail("silent@x.org", ada, "", "yes"), "example.org"))
	if in := w.awaitMessages(6)[5]; in.Sender != ada {
		t.Errorf("%+v", in)
	}
	// A new key of the domain counts only after some time.
	next := edKey(t)
	z.mu.Lock()
	z.records["s1._domainkey.example.org"] = []string{next.record}
	z.mu.Unlock()
	w.put(next.signMail(t, plainMail("new@x.org", ada, "", "by a new key"), "example.org"))
	w.waitUntil("the deferred mail", func() bool {
		return strings.Contains(ch.DescribeStatus(), "1 email waiting until the sender can be verified")
	})
	stop()
	ch = w.newChannel(c)
	st, err := ch.loadState(t.Context())
	if err != nil || len(st.Later) != 1 || len(st.Keys) != 2 {
		t.Fatalf("loadState = %+v, %v", st, err)
	}
	for k, seen := range st.Keys {
		st.Keys[k] = keySeen{seen.Since - keyRest.Milliseconds(), seen.Sure}
	}
	st.Later[0].Next = 0
	if err := ch.saveState(t.Context(), &st); err != nil {
		t.Fatal(err)
	}
	w.runChannel(ch)
	if in := w.awaitMessages(7)[6]; in.Sender != ada || in.Text != "by a new key" {
		t.Errorf("%+v", in)
	}
}

// testNameServersDown checks that mails whose keys cannot be looked up wait, also across a restart,
// and do not delay other mails. After the last attempt, their sender is unknown.
func testNameServersDown(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	k := edKey(t)
	z := &zone{records: map[string][]string{"s1._domainkey.example.org": {k.record}}, down: true}
	w.net = z.serveDNS(t)
	w.in.admits = func(in channels.Inbound) bool { return in.Sender == ada }
	open := func() *Channel {
		ch := w.newChannel(w.channelConfig())
		ch.pause = 20 * time.Millisecond
		return ch
	}
	ch := open()
	stop := w.runChannel(ch)
	for i := range 2 {
		w.put(k.signMail(t, plainMail(fmt.Sprint("later", i, "@x.org"), ada, "", fmt.Sprint("mail ", i)), "example.org"))
	}
	w.put(letterTo("now@x.org", "bob@other.example", "", "not kept up"))
	if in := w.awaitMessages(1)[0]; in.Text != "not kept up" {
		t.Errorf("%+v", in)
	}
	w.waitUntil("the deferred mails", func() bool {
		return strings.Contains(ch.DescribeStatus(), "2 emails waiting until the sender can be verified")
	})
	stop()
	z.setDown(false)
	ch = open()
	stop = w.runChannel(ch)
	got := w.awaitMessages(3)
	for i, in := range got[1:] {
		if in.Sender != ada || in.Text != fmt.Sprint("mail ", i) {
			t.Errorf("%+v", in)
		}
	}
	w.waitUntil("none waits", func() bool { return !strings.Contains(ch.DescribeStatus(), "wait") })
	z.setDown(true)
	w.put(k.signMail(t, plainMail("last@x.org", ada, "", "too late"), "example.org"))
	w.waitUntil("the deferred mail", func() bool { return strings.Contains(ch.DescribeStatus(), "1 email waiting") })
	stop()
	st, err := open().loadState(t.Context())
	if err != nil || len(st.Later) != 1 {
		t.Fatalf("%+v, %v", st, err)
	}
	st.Later[0].Since -= waitFor.Milliseconds()
	st.Later[0].Next = 0
	if err := open().saveState(t.Context(), &st); err != nil {
		t.Fatal(err)
	}
	ch = open()
	w.runChannel(ch)
	if in := w.awaitMessages(4)[3]; !strings.HasPrefix(in.Sender, unverified) {
		t.Errorf("%+v", in)
	}
	w.waitUntil("none waits", func() bool { return !strings.Contains(ch.DescribeStatus(), "wait") })
}

// TestSignatures_NewKeyWaits checks that once a domain's key is known, another key counts only after the name
// servers have returned it for half a day. So an attacker who controls name resolution for a short
// time, such as the operator of a foreign network, can forge no sender.
func TestSignatures_NewKeyWaits(t *testing.T) {
	var s state
	now := time.Now()
	one, two := dkimcheck.NameKey("s1._domainkey.example.org", []string{"x"}), dkimcheck.NameKey("s2._domainkey.mail.example.org", []string{"y"})
	changed := dkimcheck.NameKey("s1._domainkey.example.org", []string{"z"})
	other := dkimcheck.NameKey("s1._domainkey.other.example", []string{"x"})
	step := func(k dkimcheck.KeyID, at time.Duration, want bool) {
		t.Helper()
		if err := s.checkKeyTrust(k, now.Add(at)); (err == nil) != want || err != nil && (!errors.Is(err, dkimcheck.ErrLater) || !errors.Is(err, errNewKey)) {
			t.Errorf("%s after %v: %v", k, at, err)
		}
	}
	step(one, 0, true) // the first one
	step(changed, 0, true)
	s.confirmKey(one) // an accepted mail was signed with this key
	step(one, 0, true)
	step(two, 0, false)
	step(changed, time.Hour, false)
	step(two, keyRest-time.Minute, false)
	step(two, keyRest, true)
	step(changed, keyRest, false)
	step(other, 0, true)
	s.confirmKey(two)
	step(two, keyRest, true)
	step(one, 1000*time.Hour, true)
	for i := range 2 * maxKeys {
		step(dkimcheck.NameKey(fmt.Sprint(i, "._domainkey.example.org"), []string{"x"}), time.Hour, false)
	}
	step(one, 0, true)
	if len(s.Keys) > maxKeys {
		t.Errorf("%d keys are stored", len(s.Keys))
	}
}

// TestSignatures_ReadsADeferredMailOnlyForNewInformation checks that a complete mail is read again only if that may give
// new information, and not while name servers fail, which the sender could cause.
func TestSignatures_ReadsADeferredMailOnlyForNewInformation(t *testing.T) {
	z := &zone{records: map[string][]string{"s1._domainkey.example.org": {"x"}}, broken: "s2._domainkey.example.org"}
	l := &parsedMail{from: ada}
	is, fails, none := dkimcheck.Signature{Selector: "s1", Domain: "example.org"}, dkimcheck.Signature{Selector: "s2", Domain: "example.org"}, dkimcheck.Signature{Selector: "s3", Domain: "example.org"}
	for i, c := range []struct {
		list []dkimcheck.Signature
		n    keyAttempt
		read bool
	}{
		{[]dkimcheck.Signature{is}, firstTry, true},
		{[]dkimcheck.Signature{none}, firstTry, true}, // the key does not exist, so the lookup is conclusive
		{[]dkimcheck.Signature{fails}, firstTry, false},
		{[]dkimcheck.Signature{fails, none}, firstTry, false},
		{[]dkimcheck.Signature{fails, is}, firstTry, true},
		{[]dkimcheck.Signature{fails, is}, nextTry, false},
		{[]dkimcheck.Signature{is}, nextTry, true},
		{[]dkimcheck.Signature{fails}, lastTry, true},
	} {
		h := &receiver{c: &Channel{network: z, log: slog.New(slog.DiscardHandler), pause: time.Hour}, mute: map[string]time.Time{}}
		keys, err := h.lookupKeys(t.Context(), l, c.list, c.n)
		if (err == nil) != c.read || err != nil && !errors.Is(err, dkimcheck.ErrLater) {
			t.Errorf("%d: %v", i, err)
		}
		if err == nil {
			n := len(z.listQuestions())
			if _, err := keys.LookupTXT(t.Context(), c.list[0].KeyName()); dkimcheck.IsTemporary(err) != (c.list[0].Selector == "s2") || len(z.listQuestions()) != n {
				t.Errorf("%d: second lookup = %v, want no question to the name server", i, err)
			}
			continue
		}
		n := len(z.listQuestions())
		if _, err := h.lookupKeys(t.Context(), l, c.list, firstTry); !errors.Is(err, dkimcheck.ErrLater) || len(z.listQuestions()) != n {
			t.Errorf("%d: immediate retry = %v, want no question to the name server", i, err)
		}
	}
}

// FuzzSignatures checks that a modified mail or key record proves only the signed content.
func FuzzSignatures(f *testing.F) {
	seed := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) // the same in all processes
	k := key{seed, "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(seed.Public().(ed25519.PublicKey))}
	mail := k.signMail(f, plainMail("a@example.org", ada, "Lunch", "at noon"), "example.org")
	was := parseMail(pim.Message{}, []byte(mail))
	f.Add([]byte(mail), k.record)
	f.Add([]byte(strings.Replace(mail, "DKIM-Signature:", "DKIM-Signature: v=1; d=x; h=From: To\r\nDKIM-Signature:", 1)), k.record+"; t=s:y")
	f.Fuzz(func(t *testing.T, raw []byte, record string) {
		z := &zone{records: map[string][]string{"s1._domainkey.example.org": {record}}}
		ch := &Channel{address: hob}
		l := parseMail(pim.Message{}, raw)
		list, why := ch.usableSignatures(l, time.Now())
		if len(list) == 0 && why == "" || len(list) > maxProofs {
			t.Fatalf("%d signatures, %q", len(list), why)
		}
		by, _, err := verifySignatures(t.Context(), z, raw, list, anyKey)
		ok := by != ""
		if err != nil || ok && record != k.record && !strings.Contains(record, k.record[len("v=DKIM1; k=ed25519; "):]) {
			t.Errorf("verified %v, %v with the record %q", ok, err, record)
		}
		if ok && (l.from != was.from || l.Subject != was.Subject || l.ID != was.ID || strings.Join(strings.Fields(l.own), " ") != strings.Join(strings.Fields(was.own), " ")) {
			t.Errorf("a changed mail is verified: %q", raw)
		}
	})
}
