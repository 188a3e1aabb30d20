package email

import (
	"fmt"
	"strings"
	"testing"

	"hob/platform/pim"
)

// slowMails returns mails that are expensive to parse.
func slowMails() map[string]string {
	const n = 1 << 20
	fill := func(s string) string { return strings.Repeat(s, n/len(s)) }
	out := map[string]string{
		"folded lines":   "Subject: x\n" + fill(" a\n") + "\n\nx",
		"folded in part": "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\nX: "+strings.Repeat("\n a", 80_000)+"\n\nx\n", 4),
		"boundaries":     "Content-Type: multipart/mixed; boundary=b\n\n" + fill("--b\n"),
		"nested":         "Content-Type: multipart/mixed; boundary=b0\n\n",
		"html depth":     "Content-Type: text/html\n\n" + fill("<div>"),
		"html quotes":    "Content-Type: text/html\n\n" + fill("<blockquote>x</blockquote>"),
		"html styles":    "Content-Type: text/html\n\n" + fill(`<p style="color:white">x`),
		"html in html":   "Content-Type: text/html\n\n" + strings.Repeat(`<div style="color:white">`, 400) + fill(`<b style="color:white">x</b>`),
		"addresses":      "To: " + fill("a@b.c, ") + "\n\nx",
	}
	out["two forms"] = "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\n" + fill("ab\n") + "--b\nContent-Type: text/html\n\n<p>x</p><blockquote>" + fill("abc ") + "\n--b--\n"
	for i := range 60 {
		out["nested"] += fmt.Sprintf("--b%d\nContent-Type: multipart/mixed; boundary=b%d\n\n", i, i+1)
	}
	out["nested"] += fill("x\n")
	for _, s := range []string{"a:\n", "On 1:\n", "1@:\n", "From: x\n", "__________\n", "> " + strings.Repeat("x", 60) + "\ny\n", "On 1 <a@b> 2026 9:00 x\n", "--\n", "\n", "- ", "a "} {
		out["plain "+s[:min(len(s), 12)]] = "Subject: x\n\n" + fill(s)
	}
	return out
}

// BenchmarkSlow measures how long the mails of slow take to parse.
func BenchmarkSlow(b *testing.B) {
	for name, mail := range slowMails() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				parseMail(pim.Message{}, []byte(mail))
			}
		})
	}
}
