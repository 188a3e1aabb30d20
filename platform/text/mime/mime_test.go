package mime

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hob/platform/text/mime/mimetest"
)

// TestReview9_WorkIsLinearInTheSizeOfAMail checks that the number of
// processed bytes per input byte is bounded for hostile mail of any size.
func TestReview9_WorkIsLinearInTheSizeOfAMail(t *testing.T) {
	for _, size := range []int{50_000, 600_000, 1_200_000} {
		for _, b := range mimetest.Bombs(size) {
			m := Parse(b.Mail, Limits{})
			if most := 24*len(b.Mail) + 1000; m.spent > most {
				t.Errorf("%s: %d bytes cost %d, want at most %d", b.Name, len(b.Mail), m.spent, most)
			}
			if len(m.Parts) > 100 || len(m.Header) > MaxFields {
				t.Errorf("%s: %d parts, %d fields", b.Name, len(m.Parts), len(m.Header))
			}
			for _, p := range m.Parts {
				if n := len(p.Bytes(1 << 30)); n > len(p.body) {
					t.Errorf("%s: a part of %d bytes was decoded to %d", b.Name, len(p.body), n)
				}
			}
			if size < MaxHeader && b.Limit == "header" {
				continue
			}
			if (m.Cut == nil) != (b.Limit == "") || m.Cut != nil && (!errors.Is(m.Cut, ErrLimit) || !strings.Contains(m.Cut.Error(), b.Limit)) {
				t.Errorf("%s of %d bytes: %v, want the limit %q named", b.Name, size, m.Cut, b.Limit)
			}
		}
	}
}

func TestReview9_ManyPartsCostOnePassEach(t *testing.T) {
	raw := []byte("Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n\nx\n", 200_000))
	m := Parse(raw, Limits{Parts: 1 << 20})
	if len(m.Parts) != 200_000 || m.Cut != nil || m.spent > 4*len(raw) {
		t.Errorf("%d parts, %v, cost %d for %d bytes", len(m.Parts), m.Cut, m.spent, len(raw))
	}
}

func TestParse(t *testing.T) {
	const mixed = "Content-Type: multipart/mixed; boundary=b\n\n"
	for _, c := range []struct {
		name, mail string
		want       []string // kind and text of each part
	}{
		{"plain", "Subject: x\r\n\r\nhello", []string{"text/plain: hello"}},
		{"no header", "\nhello", []string{"text/plain: hello"}},
		{"quoted-printable", "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\nM=E4rz =\ntwo  \nthree=3D=ZZ=4", []string{"text/plain: März two\nthree==ZZ=4"}},
		{"Base64 with invalid characters", "Content-Transfer-Encoding: base64\n\naGVs!!\nbG8=\n", []string{"text/plain: hello"}},
		{"two parts, no end", mixed + "--b\n\none\n--b\nContent-Type: text/html\n\ntwo", []string{"text/plain: one", "text/html: two"}},
		{"a preamble and an epilogue", mixed + "before\n--b\n\none\n--b--\nafter\n--b\n\nthree", []string{"text/plain: one"}},
		{"a boundary within another", "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: multipart/mixed; boundary=bb\n\n--bb\n\none\n--bb--\n--b\n\ntwo\n--b--\n", []string{"text/plain: one", "text/plain: two"}},
		{"an inner part without an end", "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: multipart/mixed; boundary=c\n\n--c\n\none\n--b\n\ntwo\n--b--\n", []string{"text/plain: one", "text/plain: two"}},
		{"no boundary in the header", "Content-Type: multipart/mixed\n\nwhat is it", []string{"text/plain: what is it"}},
		{"boundary missing from the body", mixed + "what is it", []string{"text/plain: what is it"}},
		{"a digest", "Content-Type: multipart/digest; boundary=b\n\n--b\n\nSubject: x\n--b--", []string{"message/rfc822: Subject: x"}},
		{"an unknown charset", "Content-Type: text/plain; charset=nonsense\n\nabc", []string{"text/plain: abc"}},
		{"bytes of an unknown charset", "\nM\xe4rz", []string{"text/plain: März"}},
	} {
		m := Parse([]byte(c.mail), Limits{})
		var got []string
		for _, p := range m.Parts {
			got = append(got, p.Kind+": "+p.Text(1000))
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") || m.Cut != nil {
			t.Errorf("%s: %q (cut: %v), want %q", c.name, got, m.Cut, c.want)
		}
	}
}

func TestReadAddresses(t *testing.T) {
	for value, want := range map[string]string{
		"Ada <ada@x.org>, bob@x.org":         "Ada|ada@x.org;|bob@x.org",
		"=?utf-8?q?J=C3=BCrgen?= <j@x>":      "Jürgen|j@x",
		"nobody in particular":               "nobody in particular|",
		"Ada Lovelace, Dr. <ada@x.org":       "Ada Lovelace|; Dr. <ada@x.org|",
		strings.Repeat("a@b,", maxAddresses): "",
	} {
		var got []string
		for _, a := range ReadAddresses(value, 10) {
			got = append(got, a.Name+"|"+a.Address)
		}
		if strings.Join(got, ";") != want {
			t.Errorf("ReadAddresses(%.60q) = %q, want %q", value, got, want)
		}
	}
}

// perByte is the maximum time per byte in the fuzz target on a slow and busy machine. atLeast is
// the time that every email may take.
const (
	perByte = 20 * time.Microsecond
	atLeast = 2 * time.Second
)

// FuzzParse checks that the work and the time are bounded by the size of an email, that no part is
// longer than its encoded form, and that nothing panics.
func FuzzParse(f *testing.F) {
	for _, b := range mimetest.Bombs(2000) {
		f.Add(b.Mail)
	}
	for _, b := range mimetest.Shared("../../../../shared/data") {
		f.Add(b[:min(len(b), 64<<10)])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		began := time.Now()
		m := Parse(raw, Limits{})
		if most := 24*len(raw) + 1000; m.spent > most {
			t.Errorf("%d bytes cost %d, want at most %d", len(raw), m.spent, most)
		}
		total := 0
		for _, p := range m.Parts {
			n, err := io.Copy(io.Discard, p.Open())
			if err != nil || int(n) > len(p.body) {
				t.Errorf("a part of %d bytes was decoded to %d (%v)", len(p.body), n, err)
			}
			total += len(p.body)
			if text := p.Text(1 << 20); len(text) > 3<<20 {
				t.Errorf("text has %d bytes", len(text))
			}
		}
		if total > len(raw) || len(m.Parts) > 100 || len(m.Header) > MaxFields {
			t.Errorf("%d bytes were decoded to %d in %d parts with %d fields", len(raw), total, len(m.Parts), len(m.Header))
		}
		for _, x := range m.Header {
			_, _ = DecodeWords(x.Value), ReadAddresses(x.Value, 100)
		}
		if took := time.Since(began); took > atLeast+time.Duration(len(raw))*perByte {
			t.Errorf("%d bytes took %s", len(raw), took)
		}
		if head, body := Divide(raw); !bytes.HasPrefix(raw, head) || !bytes.HasSuffix(raw, body) {
			t.Error("Divide returns a header or body that is not part of the mail")
		}
	})
}

// TestReview9_OneMailParser checks that no other code of the program parses email.
func TestReview9_OneMailParser(t *testing.T) {
	other := regexp.MustCompile(`\bmail\.(ReadMessage|CreateReader)\(|multipart\.NewReader\(|\bmessage\.Read\(|quotedprintable\.NewReader\(`)
	err := filepath.WalkDir("../../..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "bin" || strings.HasSuffix(e.Name(), "test") || strings.HasPrefix(e.Name(), ".") && len(e.Name()) > 2):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(path) //nolint:gosec // the program's own source
		if err != nil {
			return err
		}
		// The simulator's scripts are the user's own files, and contact cards are not email.
		name := filepath.ToSlash(path)
		if found := other.Find(b); found != nil && !strings.Contains(name, "cmd/hob/internal/simulate/") && !strings.HasSuffix(name, "knowledge/transfer/vcard.go") {
			t.Errorf("%s imports the mail parser %s", name, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
