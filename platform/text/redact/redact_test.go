package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"

	"hob/platform/text/redact"
)

const secret = "Xy7-pQ/ab&kLm+90=zz"

func knownSecrets(values ...string) *redact.Set {
	s := redact.New(redact.Options{})
	s.Add(values...)
	return s
}

func TestKnown(t *testing.T) {
	s := knownSecrets(secret, "short", "password", "longer than a word", "line one is secret-1\nline two is secret-2")
	html, _ := json.Marshal(secret)
	for _, tc := range []struct{ name, text, want string }{
		{"the unchanged secret", "a " + secret + " b", "a [redacted] b"},
		{"twice", secret + secret, "[redacted][redacted]"},
		{"hex", hex.EncodeToString([]byte(secret)), "[redacted]"},
		{"hex in capitals", strings.ToUpper(hex.EncodeToString([]byte(secret))), "[redacted]"},
		{"query", "https://h/?q=" + url.QueryEscape(secret), "https://h/?q=[redacted]"},
		{"path", "https://h/" + url.PathEscape(secret) + "/x", "https://h/[redacted]/x"},
		{"JSON", string(html), `"[redacted]"`},
		{"too short to be a secret", "a short one", "a short one"},
		{"a single word", "your password here", "your password here"},
		{"a line of a file", "x line two is secret-2 y", "x [redacted] y"},
		{"nothing", "nothing to see", "nothing to see"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := s.Known(tc.text); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
	for _, before := range []string{"", "a", "ab", "abc"} {
		text := base64.StdEncoding.EncodeToString([]byte(before + secret + "tail"))
		if got := s.Known(text); !strings.Contains(got, redact.Mark) {
			t.Errorf("base64 after %q is not redacted: %q", before, got)
		}
	}
}

func TestSet_NilRedactsShapes(t *testing.T) {
	var s *redact.Set
	s.Add("something secret")
	if got := s.Text("AKIAIOSFODNN7EXAMPLE something secret"); got != "[redacted] something secret" {
		t.Error(got)
	}
	if s.Holds("something secret") {
		t.Error("a nil Set found a secret")
	}
}

func TestHolds(t *testing.T) {
	s := knownSecrets(secret)
	double := url.QueryEscape(url.QueryEscape(secret))
	r := []byte(secret)
	slices.Reverse(r)
	for name, text := range map[string]string{
		"the unchanged secret": `{"body":"` + secret + `"}`, "escaped twice": double, "spread": strings.Join(strings.Split(secret, ""), " "),
		"dashes": strings.Join(strings.Split(secret, ""), "-"), "backwards": string(r), "other case": strings.ToLower(secret),
		"hex spread": strings.Join(strings.Split(hex.EncodeToString([]byte(secret)), ""), ":"), "zero width": strings.Join(strings.Split(secret, ""), "\u200b"),
	} {
		if !s.Holds(text) {
			t.Errorf("%s: %q was not redacted", name, text)
		}
	}
	for _, text := range []string{"", "hello", `{"to":"ann@example.org","body":"see you at 9"}`, secret[:9]} {
		if s.Holds(text) {
			t.Errorf("%q was redacted", text)
		}
	}
}

func TestShapes(t *testing.T) {
	jwt := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
	for _, tc := range []struct{ name, text, want string }{
		{"OpenAI", "key=sk-proj-" + strings.Repeat("aB3", 12) + ".", "key=[redacted]."},
		{"Anthropic", "sk-ant-api03-" + strings.Repeat("x9", 20), "[redacted]"},
		{"Google", "AIza" + strings.Repeat("a", 35), "[redacted]"},
		{"GitHub", "ghp_" + strings.Repeat("A1", 18), "[redacted]"},
		{"Slack", "xoxb-1234567890-abcdef", "[redacted]"},
		{"AWS", "id AKIAIOSFODNN7EXAMPLE", "id [redacted]"},
		{"AWS secret", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = [redacted]"},
		{"Telegram", "123456789:AA" + strings.Repeat("b", 33), "[redacted]"},
		{"JWT", "Cookie: " + jwt, "Cookie: [redacted]"},
		{"bearer", "Authorization: Bearer abcdefghijklmnopqrstuvwxyz", "Authorization: Bearer [redacted]"},
		{"private key", "a\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blb\nnNz\n-----END OPENSSH PRIVATE KEY-----\nb", "a\n[redacted]\nb"},
		{"key cut off", "-----BEGIN RSA PRIVATE KEY-----\nMIIE", "[redacted]"},
		{"key in JSON", `{"private_key":"-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n"}`, `{"private_key":"[redacted]\n"}`},
		{"public key stays", "-----BEGIN PUBLIC KEY-----\nMII\n-----END PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----\nMII\n-----END PUBLIC KEY-----"},
		{"address with password", "postgres://app:hunter22@db/x", "postgres://app:[redacted]@db/x"},
		{"Discord", "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.abcdefghijklmnopqrstuvwxyz123", "[redacted]"},
		{"card", "Visa 4111 1111 1111 1111, thanks", "Visa [redacted], thanks"},
		{"card at the end", "pay 5555555555554444.", "pay [redacted]."},
		{"wrong check digit", "4111 1111 1111 1112", "4111 1111 1111 1112"},
		{"an order", "order 1234567890123456", "order 1234567890123456"},
		{"a telephone", "+4917612345675", "+4917612345675"},
		{"an id", "4a111111111111111111 id-4111111111111111", "4a111111111111111111 id-4111111111111111"},
		{"IBAN stays", "DE89 3704 0044 0532 0130 00", "DE89 3704 0044 0532 0130 00"},
		{"prose", "The sk-8 board, task_list and hf_ prefix are fine: see https://example.org/a:b@c", "The sk-8 board, task_list and hf_ prefix are fine: see https://example.org/a:b@c"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := redact.Shapes(tc.text)
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
			if again := redact.Shapes(got); again != got {
				t.Errorf("second redaction: %q", again)
			}
		})
	}
	if got := redact.New(redact.Options{IBAN: true}).Text("to DE89 3704 0044 0532 0130 00 now"); got != "to [redacted] now" {
		t.Errorf("IBAN: %q", got)
	}
}

func TestStream(t *testing.T) {
	text := "before " + secret + " between " + hex.EncodeToString([]byte(secret)) + " after Xy7"
	want := "before [redacted] between [redacted] after Xy7"
	for n := 1; n < 20; n++ {
		x := knownSecrets(secret).Stream()
		var got strings.Builder
		for from := 0; from < len(text); from += n {
			got.WriteString(x.Push(text[from:min(from+n, len(text))]))
		}
		got.WriteString(x.End())
		if got.String() != want {
			t.Errorf("pieces of %d: %q", n, got.String())
		}
	}
}

func TestHandler(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(knownSecrets(secret).Handler(slog.NewJSONHandler(&b, nil))).With("base", secret).WithGroup("g")
	log.Info("said "+secret, "err", errors.New("bad key "+secret), "any", struct{ K string }{secret}, slog.Group("in", "x", secret), "n", 4)
	if strings.Contains(b.String(), "Xy7") || strings.Count(b.String(), redact.Mark) != 5 || !strings.Contains(b.String(), `"n":4`) {
		t.Error(b.String())
	}
}

func TestOpaque(t *testing.T) {
	data := base64.RawURLEncoding.EncodeToString([]byte("the owner's mail says that the meeting is off"))
	for name, u := range map[string]string{
		"query": "https://e.example/?d=" + data, "path": "https://e.example/" + data, "fragment": "https://e.example/#" + data,
		"host": "https://" + strings.ToLower(data[:50]) + ".e.example/", "hex": "https://e.example/" + hex.EncodeToString([]byte("the owner's mail says that")),
		"long query": "https://e.example/?q=" + strings.Repeat("word+", 70), "no address": "https://e.example/%zz",
	} {
		if redact.Opaque(u) == "" {
			t.Errorf("%s: %s was not redacted", name, u)
		}
	}
	for _, u := range []string{
		"https://example.org/", "https://en.wikipedia.org/wiki/Hobgoblin_of_the_Northern_Counties", "https://github.com/a/b/commit/0123456789abcdef0123456789abcdef01234567",
		"https://news.example/2026/11/22/the-quick-brown-fox-jumps-over-the-lazy-dog-again", "https://x.example/?q=weather+in+berlin+tomorrow&lang=en",
		"https://shop.example/item/123e4567-e89b-12d3-a456-426614174000",
	} {
		if p := redact.Opaque(u); p != "" {
			t.Errorf("%s: Opaque = %q", u, p)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", secret, "4111 1111 1111 1111", "-----BEGIN PRIVATE KEY-----", "a://b:ccc@d", "DE89 3704 0044 0532 0130 00", "M.a.b", "AB", "\xff\xfe"} {
		f.Add(s)
	}
	set := redact.New(redact.Options{IBAN: true})
	set.Add(secret, "another-secret-1")
	f.Fuzz(func(t *testing.T, s string) {
		once := set.Text(s)
		if strings.Contains(once, secret) || set.Text(once) != once {
			t.Fatalf("%q: %q", s, once)
		}
		x := set.Stream()
		half := len(s) / 2
		if got := x.Push(s[:half]) + x.Push(s[half:]) + x.End(); strings.Contains(got, secret) {
			t.Fatalf("stream: %q", got)
		}
		set.Holds(s)
		redact.Opaque(s)
	})
}

func BenchmarkText(b *testing.B) {
	s := knownSecrets(secret, "another-secret-1", strings.Repeat("k9", 32))
	for _, bc := range []struct{ name, text string }{
		{"hello", "What is on my list for today?"},
		{"result16K", strings.Repeat("2026-11-22 10:00 a line of a log, see https://example.org/a/b?c=d; 12 items, 4.5 s\n", 200)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.SetBytes(int64(len(bc.text)))
			for b.Loop() {
				s.Text(bc.text)
			}
		})
	}
}
