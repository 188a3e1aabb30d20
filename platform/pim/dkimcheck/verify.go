package dkimcheck

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/emersion/go-msgauth/dkim"

	"hob/platform/net/safehttp"
	"hob/platform/pim"
	"hob/platform/text/mime"
)

// ErrLater means that a signature cannot be verified now because a lookup failed.
var ErrLater = errors.New("the sender cannot be verified now")

// TXTResolver resolves DNS records. *safehttp.Client implements it.
type TXTResolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

// IsTemporary reports whether a DNS error may be temporary.
func IsTemporary(err error) bool {
	e, ok := errors.AsType[*safehttp.Error](err)
	return err != nil && (!ok || e.Kind == safehttp.Resolve)
}

// KeyID identifies a key by its DNS name and a digest of its DNS record:
// "s1._domainkey.example.org/DIGEST".
type KeyID string

// NameKey returns the identity of the key that is published at a DNS name.
func NameKey(at string, records []string) KeyID {
	sum := sha256.Sum256([]byte(strings.Join(records, "\x00")))
	return KeyID(strings.ToLower(at) + "/" + base64.RawURLEncoding.EncodeToString(sum[:15]))
}

// Domain returns the domain of the key.
func (k KeyID) Domain() string {
	at, _, _ := strings.Cut(string(k), "/")
	_, domain, _ := strings.Cut(at, "._domainkey.")
	return domain
}

// KeyName returns the DNS name of the signature's key.
func (s Signature) KeyName() string { return s.Selector + "._domainkey." + s.Domain }

// Verify verifies the signature of an email, which must be complete, and returns its key. why is the
// reason if the signature is not valid. err is ErrLater if a retry may succeed.
func (s Signature) Verify(ctx context.Context, network TXTResolver, raw []byte) (by KeyID, why string, err error) {
	var later error
	whole := false // the key applies only to exactly this domain
	at := s.KeyName()
	key := func(name string) ([]string, error) {
		if !strings.EqualFold(name, at) {
			return nil, errors.New("unexpected lookup")
		}
		list, err := network.LookupTXT(ctx, at)
		if IsTemporary(err) {
			later = fmt.Errorf("%w: %w", ErrLater, err)
		}
		if err == nil {
			whole, err = checkKeyRecord(list)
			by = NameKey(at, list)
		}
		return list, err
	}
	var found []*dkim.Verification
	panicked := recoverPanic(func() {
		found, err = dkim.VerifyWithOptions(withOneSignature(raw, s.Index), &dkim.VerifyOptions{LookupTXT: key, MaxVerifications: 1})
	})
	switch {
	case later != nil:
		return "", "", later
	case panicked != nil:
		err = panicked
	case err == nil && len(found) != 1:
		err = errors.New("no signature for this email")
	case err == nil:
		err = found[0].Err
	}
	if err != nil {
		return "", "its DKIM signature is not valid: " + pim.SanitizeLine(strings.TrimPrefix(err.Error(), "dkim: "), 120), nil
	}
	v := found[0]
	_, who, _ := strings.Cut(v.Identifier, "@")
	if !strings.EqualFold(v.Domain, s.Domain) || !slices.Equal(v.HeaderKeys, s.Fields) || whole && !strings.EqualFold(who, s.Domain) || by == "" {
		return "", "its DKIM signature does not match the header that was checked", nil
	}
	return by, "", nil
}

// checkKeyRecord checks the DNS record of a key before it is used (RFC 6376, 3.6.1). whole reports
// whether the key applies only to exactly this domain and not to subdomains.
func checkKeyRecord(list []string) (whole bool, err error) {
	if len(list) != 1 {
		return false, fmt.Errorf("%d DKIM keys are published instead of one", len(list))
	}
	tags, ok := readTags(list[0], maxKey)
	if !ok {
		return false, errors.New("its DKIM key is malformed or too large")
	}
	flags := strings.Split(tags["t"], ":")
	if slices.Contains(flags, "y") {
		return false, errors.New("its domain only tests DKIM (t=y)")
	}
	return slices.Contains(flags, "s"), nil
}

// withOneSignature returns an email with only one of its signatures.
func withOneSignature(raw []byte, n int) io.Reader {
	head, body := mime.Divide(raw)
	var out bytes.Buffer
	i, keep := -1, true
	for line := range bytes.Lines(head) {
		if line[0] != ' ' && line[0] != '\t' {
			name, _, _ := bytes.Cut(line, []byte(":"))
			signs := strings.EqualFold(string(bytes.TrimSpace(name)), "dkim-signature")
			if signs {
				i++
			}
			keep = !signs || i == n
		}
		if keep {
			out.Write(line)
		}
	}
	out.WriteString("\r\n")
	return io.MultiReader(&out, bytes.NewReader(body))
}

// recoverPanic converts a panic of the parser into an error.
func recoverPanic(do func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parsing the email panicked: %v\n%s", p, debug.Stack())
		}
	}()
	do()
	return nil
}
