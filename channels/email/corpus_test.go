package email

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"hob/channels"
	"hob/platform/pim"
)

// readCorpus returns the unusual mails of the shared data. If the data is missing, it skips the test.
func readCorpus(t testing.TB) map[string][]byte {
	root := os.Getenv("HOB_TEST_DATA")
	if root == "" {
		root = "../../../shared/data"
	}
	out := map[string][]byte{}
	_ = filepath.WalkDir(filepath.Join(root, "mail"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".eml") {
			if b, err := os.ReadFile(path); err == nil {
				out[filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path)] = b
			}
		}
		return nil
	})
	if len(out) == 0 {
		t.Skip("HOB_TEST_DATA is not set")
	}
	return out
}

// parseWhole parses a mail with its files in the same way as Run. It fails the test if the results are
// unusable.
func parseWhole(t *testing.T, name string, raw []byte) (*parsedMail, channels.Inbound) {
	t.Helper()
	ch := &Channel{address: hob, trusted: trusted}
	l := parseMail(pim.Message{UID: 1, Size: int64(len(raw))}, raw)
	in, _ := ch.toInbound(l)
	_ = ch.ignoreReason(l)
	for _, s := range append([]string{l.own, l.quoted, in.Text, in.Sender, in.Chat, in.SenderName, in.ChatName}, in.Outside...) {
		if !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\x1b\u202e") || utf8.RuneCountInString(s) > maxWords+100 {
			t.Errorf("%s: %d characters: %.200q", name, utf8.RuneCountInString(s), s)
		}
	}
	if l.isVerified(trusted) {
		t.Errorf("%s: the sender is verified", name)
	}
	if strings.ContainsAny(in.Sender+in.Chat+in.ChatName, "\r\n") || len(l.files) > maxFiles {
		t.Errorf("%s: %q, %q, %q, %d files", name, in.Sender, in.Chat, in.ChatName, len(l.files))
	}
	for _, f := range l.attachedFiles() {
		if strings.ContainsAny(f.Name, "/\\\r\n\x00") || f.Name == "" || f.Name == ".." {
			t.Errorf("%s: a file %q", name, f.Name)
		}
		r, err := f.Open(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b, _ := io.ReadAll(r) // an incomplete file counts up to the error
		if int64(len(b)) != f.Size {
			t.Errorf("%s: %s has %d bytes, want %d", name, f.Name, len(b), f.Size)
		}
	}
	return l, in
}

// TestCorpus parses every mail of the shared data, and compares the content of known mails.
func TestCorpus(t *testing.T) {
	mails := readCorpus(t)
	texts := map[string]string{
		"plain_emails/basic_email.eml":                           "Plain email.\n\nHope it works well!\n\nMikel",
		"plain_emails/raw_email_simple.eml":                      "Hello Mikel",
		"multi_charset/japanese_iso_2022.eml":                    "すみません。",
		"multi_charset/japanese_shift_jis.eml":                   "このメールはテスト用のメールです。",
		"multi_charset/ks_c_5601-1987.eml":                       "스티해",
		"rfc2822/example01.eml":                                  "This is a message just to say hello.",
		"rfc2822/example04.eml":                                  "Testing.",
		"rfc2822/example08.eml":                                  "This is a message just to say hello.",
		"mime_emails/raw_email7.eml":                             "This is the first part.",
		"attachment_emails/attachment_content_location.eml":      "This is the first part.",
		"error_emails/content_transfer_encoding_x_uuencode.eml":  "Attached are the comments of the Public Generating Pool.",
		"plain_emails/raw_email.eml":                             "제 이름은 Jamis입니다.",
		"attachment_emails/attachment_pdf.eml":                   "Just attaching another PDF, here, to see what the message looks like,",
		"mime_emails/raw_email_with_nested_attachment.eml":       "Here is a test of an attachment via email.\n\n- Jamis",
		"mime_emails/raw_email_with_illegal_boundary.eml":        "Hello\nThis is an outlook test\n\nSo there.\n\nMe.",
		"mime_emails/raw_email2.eml":                             "We should not include these files or vcards as attachments.",
		"error_emails/content_transfer_encoding_text-html.eml":   "Hello,\n\nYou have qualified for the lowest rate in years.",
		"error_emails/multiple_references_with_one_invalid.eml":  "foo",
		"plain_emails/raw_email_reply.eml":                       "Message body",
		"plain_emails/raw_email_trailing_dot.eml":                "Testing, testing, 123.",
		"multi_charset/japanese.eml":                             "かきくえこ",
		"mime_emails/raw_email_encoded_stack_level_too_deep.eml": "Nicolas Fouché has accepted your invitation to Gmail",
		"mime_emails/two_from_in_message.eml":                    "When sending email:\n* From Hotmail you get the ads as well.",
		"rfc6532/utf8_headers.eml":                               "body",
	}
	for name, raw := range mails {
		l, _ := parseWhole(t, name, raw)
		if want := texts[name]; !strings.Contains(l.own, want) {
			t.Errorf("%s: %.300q, want %q", name, l.own, want)
		}
	}
}

// mutateMails returns n mails of the shared data with random changes.
func mutateMails(mails map[string][]byte, n int) (out [][]byte) {
	var all [][]byte
	for _, name := range slices.Sorted(maps.Keys(mails)) {
		all = append(all, mails[name])
	}
	rnd := rand.New(rand.NewPCG(8, 2026)) //nolint:gosec // the mutations must be the same in each run
	for range n {
		raw := bytes.Clone(all[rnd.IntN(len(all))])
		for range 1 + rnd.IntN(8) {
			if len(raw) < 2 {
				break
			}
			at := rnd.IntN(len(raw))
			switch rnd.IntN(7) {
			case 0:
				raw[at] = byte(rnd.IntN(256))
			case 1: // cut off
				raw = raw[:at]
			case 2: // remove a part
				raw = append(raw[:at], raw[min(len(raw), at+rnd.IntN(200)):]...)
			case 3: // repeat a part
				end := min(len(raw), at+rnd.IntN(400))
				raw = append(raw[:end:end], raw[at:]...)
			case 4: // insert a part of another mail
				other := all[rnd.IntN(len(all))]
				from := rnd.IntN(len(other))
				raw = append(raw[:at:at], append(bytes.Clone(other[from:min(len(other), from+300)]), raw[at:]...)...)
			case 5:
				words := []string{"\r\n\r\n", "\x00", "Content-Type: multipart/mixed; boundary=\"x\"\r\n", "--x\r\n", "Content-Transfer-Encoding: base64\r\n", "=?utf-7?b?+/v8=?=", "From: a@b.c\r\n", "<", "\"", "("}
				raw = append(raw[:at:at], append([]byte(words[rnd.IntN(len(words))]), raw[at:]...)...)
			case 6: // change the line endings
				raw = bytes.ReplaceAll(raw, []byte("\r\n"), []byte([]string{"\n", "\r", "\n\r"}[rnd.IntN(3)]))
			}
		}
		out = append(out, raw)
	}
	return out
}

// TestMutations parses 400 mails of the shared data with random changes.
func TestMutations(t *testing.T) {
	for _, raw := range mutateMails(readCorpus(t), 400) {
		if err := recoverPanic(func() { parseWhole(t, "a mutation", raw) }); err != nil {
			t.Errorf("%v of\n%.2000q", err, raw)
		}
	}
}

// testCorpus fetches every mail of the shared data, and 400 modified ones, from a real server, and
// receives or ignores each mail. A final mail is received after all of them.
func testCorpus(t *testing.T, sv servers) {
	mails := readCorpus(t)
	w := sv.newFixture(t)
	ch := w.newChannel(w.channelConfig())
	w.runChannel(ch)
	put := w.d.Appender(w.acc.User, "INBOX")
	var handed atomic.Int32
	w.in.stranger = func(channels.Inbound) bool { handed.Add(1); return false }
	n := 1
	for _, raw := range slices.Concat(slices.Collect(maps.Values(mails)), mutateMails(mails, 400)) {
		raw = bytes.ReplaceAll(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n")), []byte("\x00"), nil)
		if len(raw) > 0 { // servers take neither
			put(string(raw))
			n++
		}
	}
	put(letterTo("last@x.org", ada, "", "the last one"))
	w.waitUntil("the last one", func() bool {
		all := w.in.listMessages()
		return len(all) > 0 && all[len(all)-1].Text == "the last one"
	})
	w.waitUntil("none is missing", func() bool {
		ch.mu.Lock()
		defer ch.mu.Unlock()
		return int(handed.Load())+ch.left == n && ch.broken == 0
	})
	t.Logf("%d mails, %d handled as messages", n, handed.Load())
}

// FuzzLetter checks that the text read from any mail is bounded, and that listed files can be
// fetched.
func FuzzLetter(f *testing.F) {
	f.Add([]byte(strings.ReplaceAll(letterTo("a@x.org", ada, "x", "hello\n> quoted"), trusted, "x")))
	f.Add([]byte("Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/html\n\n<blockquote>x</blockquote>y\n--b--"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if bytes.Contains(bytes.ToLower(raw), []byte(trusted)) {
			return
		}
		parseWhole(t, "it", raw)
	})
}
