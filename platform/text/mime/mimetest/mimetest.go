// Package mimetest creates email messages that are hard to parse. Each message is small but costs a
// careless parser much time, memory or stack space. The tests of all email parsers use them.
package mimetest

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bomb is an email message that is expensive to parse.
type Bomb struct {
	Name string
	Mail []byte
	// Limit is a part of the name of the limit that a parser must report. It is "" if the message
	// is within the limits.
	Limit string
}

// Bombs returns messages of about size bytes each, one for each attack.
func Bombs(size int) []Bomb {
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)+1) }
	multipart := func(rest string) string { return "Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n" + rest }
	var nested, prefixes, mails strings.Builder
	for i := 0; nested.Len() < size; i++ {
		fmt.Fprintf(&nested, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
	}
	for i := 1; prefixes.Len() < size; i++ { // each boundary is a prefix of the next
		b := strings.Repeat("b", i%200+1)
		fmt.Fprintf(&prefixes, "Content-Type: multipart/mixed; boundary=%s\n\n--%s\n", b, b)
	}
	for mails.Len() < size {
		mails.WriteString("Content-Type: message/rfc822\n\n")
	}
	text := "Subject: x\nContent-Type: text/plain; charset=%s\nContent-Transfer-Encoding: %s\n\n"
	out := []Bomb{
		{"nested parts", []byte("Subject: x\n" + nested.String()), "deeper"},
		{"nested parts without line breaks between them", []byte("Subject: x\n" + strings.ReplaceAll(nested.String(), "\n\n", "\n \n\n")), "deeper"},
		{"nested parts with the same boundary", []byte(multipart(repeat("--b\nContent-Type: multipart/mixed; boundary=b\n\n"))), "parts"},
		{"boundaries that are prefixes of each other", []byte("Subject: x\n" + prefixes.String()), "deeper"},
		{"flat parts", []byte(multipart(repeat("--b\n\n\n"))), "parts"},
		{"flat parts without content", []byte(multipart(repeat("--b\n"))), "parts"},
		{"a boundary that is one hyphen", []byte("Content-Type: multipart/mixed; boundary=-\n\n" + repeat("---\n")), "parts"},
		{"almost boundaries", []byte(multipart(repeat("--bb\n--b-\n"))), ""},
		{"mails in mails", []byte("Subject: x\n" + mails.String()), ""},
		{"a header without end", []byte(repeat("X-A: b\n")), "header"},
		{"a folded header", []byte("Subject: x\n" + repeat(" y\n")), "header"},
		{"folded addresses", []byte("To: " + repeat("<a@b>,\n ") + "\n\nx"), "header"},
		{"one long line", []byte("Subject: " + repeat("x")), "header"},
		{"nested comments", []byte("From: " + repeat("(") + "\n\nx"), "header"},
		{"encoded words", []byte("Subject: " + repeat("=?utf-8?q?a?= ") + "\n\nx"), "header"},
		{"parameters", []byte("Content-Type: multipart/mixed; " + repeat("boundary*0*=utf-8''a; ") + "\n\n--a\n\nx"), "header"},
		{"soft line breaks", []byte(fmt.Sprintf(text, "utf-8", "quoted-printable") + repeat("=\n")), ""},
		{"unterminated escape codes", []byte(fmt.Sprintf(text, "utf-8", "quoted-printable") + repeat("=3")), ""},
		{"blanks before line breaks", []byte(fmt.Sprintf(text, "utf-8", "quoted-printable") + repeat("        = ")), ""},
		{"Base64 without letters", []byte(fmt.Sprintf(text, "utf-8", "base64") + repeat("!\n")), ""},
		{"Base64 of zeros", []byte(fmt.Sprintf(text, "utf-16", "base64") + base64.StdEncoding.EncodeToString(make([]byte, size*3/4))), ""},
		{"a charset with shift states", []byte(fmt.Sprintf(text, "iso-2022-jp", "7bit") + repeat("\x1b$B\x1b(B")), ""},
		{"an unknown charset", []byte(fmt.Sprintf(text, strings.Repeat("x", 200), "8bit") + repeat("\xff")), ""},
		{"HTML without closing tags", []byte("Content-Type: text/html\n\n" + repeat("<div>")), ""},
		{"quote marks", []byte("Subject: x\n\n" + repeat("> From: a@b.c 9:00:\n")), ""},
		{"fields in the text", []byte("Subject: x\n\n" + repeat("From: a\n")), ""},
		{"ends of line", []byte("Subject: x\n\n" + repeat("\n")), ""},
	}
	return out
}

// Shared returns the malformed messages of the shared test data, or none if the data does not
// exist. root is used if HOB_TEST_DATA is not set.
func Shared(root string) (out [][]byte) {
	if dir := os.Getenv("HOB_TEST_DATA"); dir != "" {
		root = dir
	}
	_ = filepath.WalkDir(filepath.Join(root, "mail"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".eml") {
			if b, err := os.ReadFile(path); err == nil { //nolint:gosec // the test data
				out = append(out, b)
			}
		}
		return nil
	})
	return out
}
