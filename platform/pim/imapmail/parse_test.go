package imapmail

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hob/platform/pim"
	"hob/platform/text/mime/mimetest"
)

func TestReadHeader(t *testing.T) {
	tests := []struct {
		name, raw, from, subject, id string
	}{
		{"plain", "From: Ada <ada@x.org>\r\nSubject: Hi\r\nMessage-ID: <1@x>\r\n\r\n", "Ada <ada@x.org>", "Hi", "1@x"},
		{"folded, any case", "FROM: \"Ada\r\n Lovelace\" <ADA@x.org>\r\nsubject: a\r\n\tb\r\nMESSAGE-id:\r\n <1@x>\r\n", "Ada Lovelace <ada@x.org>", "a b", "1@x"},
		{"encoded words", "Subject: =?iso-8859-1?q?M=E4rz?= =?utf-8?b?8J+Ygg==?=\nFrom: =?utf-8?q?J=C3=BCrgen?= <j@x>\n", "Jürgen <j@x>", "März😂", ""},
		{"bytes of Latin-1", "Subject: Gr\xfc\xdfe\nFrom: J\xfcrgen <j@x>\n", "Jürgen <j@x>", "Grüße", ""},
		{"an address that breaks the rules", "From: Ada Lovelace, Dr. <ada@x.org\nSubject: x\n", "Ada Lovelace", "x", ""},
		{"no address at all", "From: nobody in particular\nSubject: x\n", "nobody in particular", "x", ""},
		{"controls and turned writing", "Subject: a\x1b[2J\u202eb\x00c\nFrom: x@y\n", "x@y", "a[2Jbc", ""},
		{"a second subject", "Subject: one\nSubject: two\nFrom: x@y\n", "x@y", "one", ""},
		{"nothing", "", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var x pim.Message
			readHeader([]byte(tt.raw), &x)
			from := ""
			if len(x.From) > 0 {
				from = x.From[0].String()
			}
			if from != tt.from || x.Subject != tt.subject || x.ID != tt.id {
				t.Errorf("%q, %q, %q", from, x.Subject, x.ID)
			}
		})
	}
}

// The header fields about lists, programs and importance are read, also if they are malformed.
func TestReadHeader_Sending(t *testing.T) {
	for _, tt := range []struct {
		name, raw string
		want      pim.Sending
	}{
		{
			"a newsletter", "List-Id: Shop =?utf-8?q?News?= <news.shop.example>\nList-Unsubscribe: <https://shop.example/u?\n id=7>, <mailto:leave@shop.example>\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\nPrecedence: Bulk\n",
			pim.Sending{List: "news.shop.example", Unsubscribe: []string{"https://shop.example/u?id=7", "mailto:leave@shop.example"}, OneClick: true, Precedence: "bulk"},
		},
		{"a program", "Auto-Submitted: auto-generated; reason=x\n", pim.Sending{Auto: "auto-generated"}},
		{"a person", "Auto-Submitted: no\n", pim.Sending{}},
		{"important", "X-Priority: 1 (Highest)\n", pim.Sending{Urgent: true}},
		{"no closing bracket", "List-Unsubscribe: <https://shop.example/u, https://x\nList-Unsubscribe-Post: yes\n", pim.Sending{}},
		{"endless", "List-Unsubscribe: " + strings.Repeat("<https://x/"+strings.Repeat("a", 3000)+">, <http://y>, ", 20) + "\n", pim.Sending{Unsubscribe: []string{"http://y", "http://y", "http://y", "http://y", "http://y"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var x pim.Message
			readHeader([]byte(tt.raw+"In-Reply-To: <1@x>\n\n"), &x)
			if !reflect.DeepEqual(x.Sending, tt.want) || strings.Join(x.Refers, " ") != "1@x" {
				t.Errorf("readHeader = %+v, %v, want %+v", x.Sending, x.Refers, tt.want)
			}
		})
	}
}

func TestReadText(t *testing.T) {
	tests := []struct {
		name, raw, text string
		files           string
	}{
		{"plain", "Subject: x\r\n\r\nhello\r\nthere\r\n", "hello\nthere", ""},
		{"quoted-printable in Latin-1", "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\nM=E4rz\n", "März", ""},
		{"only HTML", "Content-Type: text/html\n\n<p>Hello <b>there</b></p><script>x()</script>", "Hello there", ""},
		{"both", "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\nplain\n--b\nContent-Type: text/html\n\n<p>marked</p>\n--b--\n", "plain", ""},
		{"cut in the middle of a part", "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nthe beginn", "the beginn", ""},
		{"a file", "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nsee there\n--b\nContent-Type: application/pdf\nContent-Disposition: attachment; filename=\"a\tb.pdf\"\n\nJVBERi0=\n--b--\n", "see there", "a b.pdf"},
		{"no boundary", "Content-Type: multipart/mixed\n\nwhat is it\n", "what is it", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, files, _ := readText([]byte(tt.raw))
			if text != tt.text || strings.Join(files, ",") != tt.files {
				t.Errorf("readText = %q, %q", text, files)
			}
		})
	}
}

// FuzzMail checks that the length of the text is bounded for any email.
func FuzzMail(f *testing.F) {
	f.Add([]byte("From: Ada <ada@x.org>\r\nSubject: =?utf-8?q?a?=\r\n\r\nhello"))
	f.Add([]byte("Content-Type: multipart/mixed; boundary=b\n\n--b\n\nx\n--b--"))
	for _, p := range findSharedEmails() {
		if b, err := os.ReadFile(p); err == nil {
			f.Add(b[:min(len(b), maxText)])
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var x pim.Message
		readHeader(raw, &x)
		text, files, _ := readText(raw)
		for _, s := range append([]string{x.Subject, x.ID, text}, files...) {
			if !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\x1b\u202e") {
				t.Errorf("%q", s)
			}
		}
		if len(x.From)+len(x.To) > 2*maxPeople || len([]rune(x.Subject)) > maxSubject || len([]rune(text)) > maxChars || len(files) > maxParts || strings.ContainsAny(x.Subject+x.ID, "\r\n") {
			t.Errorf("%d people, %d characters", len(x.From)+len(x.To), len(text))
		}
	})
}

// findSharedEmails returns the paths of the malformed emails in the shared test data, or none if the data
// does not exist.
func findSharedEmails() []string {
	root := os.Getenv("HOB_TEST_DATA")
	if root == "" {
		root = "../../../../shared/data"
	}
	out, _ := filepath.Glob(filepath.Join(root, "mail", "*", "*", "*", "*", "*", "*.eml"))
	return out
}

// TestReview9_HostileMailIsReadInTime reads emails that are made to stall a parser.
func TestReview9_HostileMailIsReadInTime(t *testing.T) {
	const patience = 10 * time.Second // before the fix, the nested email took longer than a minute
	for _, b := range mimetest.Bombs(1_150_000) {
		began := time.Now()
		var x pim.Message
		readHeader(b.Mail, &x)
		text, files, cut := readTextOf(b.Mail, wholeChars)
		if took := time.Since(began); took > patience {
			t.Errorf("%s: took %s", b.Name, took)
		}
		if b.Limit != "" && !cut || utf8.RuneCountInString(text) > wholeChars || len(files) > maxParts {
			t.Errorf("%s: cut %v, %d characters, %d files", b.Name, cut, len(text), len(files))
		}
	}
}
