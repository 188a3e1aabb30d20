package email

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"hob/platform/pim/imapmail"
	"hob/platform/pim/pimtest"
	"hob/watchers"
	"hob/watchers/watcherstest"
)

// TestReceive_MailThatTheServerRefuses checks that the user is notified of a message that the server
// refuses to send, and of later messages.
func TestReceive_MailThatTheServerRefuses(t *testing.T) {
	t.Parallel()
	for what, refuses := range map[string]func(command string) bool{
		"its head": func(c string) bool { return strings.Contains(c, "HEADER") },
		"its text": func(c string) bool { return strings.Contains(c, "BODY.PEEK[]") },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			there, idle := false, ""
			a := pimtest.Speak(t, "* OK [CAPABILITY IMAP4rev1 IDLE] hi\r\n", func(tag, command string) string {
				words := strings.Fields(strings.ToUpper(command) + " x x x")
				ok := tag + " OK done\r\n"
				switch {
				case tag == "DONE":
					return idle + " OK done\r\n"
				case words[0] == "CAPABILITY":
					return "* CAPABILITY IMAP4rev1 IDLE\r\n" + ok
				case words[0] == "EXAMINE" && !there:
					return "* 0 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n* OK [UIDNEXT 5] x\r\n" + ok
				case words[0] == "EXAMINE":
					return "* 2 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n* OK [UIDNEXT 7] x\r\n" + ok
				case words[0] == "IDLE":
					there, idle = true, tag
					return "+ idling\r\n* 2 EXISTS\r\n"
				case words[1] == "SEARCH" && there:
					return "* SEARCH 5 6\r\n" + ok
				case words[1] == "SEARCH":
					return "* SEARCH\r\n" + ok
				case words[1] == "FETCH" && words[2] != "6" && refuses(command):
					return tag + " NO [SERVERBUG] its index is broken\r\n"
				case words[1] == "FETCH":
					out := ""
					for _, uid := range []string{"5", "6"} {
						if words[2] == uid || words[2] == "5:6" {
							out += fetchResponse(uid, command)
						}
					}
					return out + ok
				}
				return ok
			})
			st := watcherstest.Open(t, New())
			sink := watcherstest.NewSink(st)
			o := watcherstest.Options(st, sink, New())
			o.Account = accountLookup(a)
			m, err := watchers.New(o)
			if err != nil {
				t.Fatal(err)
			}
			watcherstest.Start(t, m)
			watcherstest.Create(t, st, m, watchers.Spec{Kind: Kind, Config: json.RawMessage(`{"from":"ada@example.org","words":"tax"}`), Report: "test"})
			watcherstest.Eventually(t, "both are told", func() bool { return len(sink.Fired()) == 1 && len(sink.Notices()) == 1 })
			if got := sink.Fired()[0].Key; got != "mail:6@example.org" {
				t.Errorf("%s fired", got)
			}
			if got := sink.Notices()[0].Text; !strings.Contains(got, "could not be read") || !strings.Contains(got, "its index is broken") {
				t.Error(got)
			}
		})
	}
}

// fetchResponse returns the response to a FETCH.
func fetchResponse(uid, command string) string {
	text := "From: ada@example.org\r\nSubject: tax\r\nMessage-ID: <" + uid + "@example.org>\r\n\r\n"
	section := "BODY[]<0>"
	if strings.Contains(command, "HEADER") {
		section = "BODY[HEADER.FIELDS (FROM)]<0>"
	}
	return fmt.Sprintf("* %s FETCH (UID %s FLAGS () INTERNALDATE \"%s\" RFC822.SIZE %d %s {%d}\r\n%s)\r\n", uid, uid,
		time.Now().Add(time.Second).UTC().Format("02-Jan-2006 15:04:05 -0700"), len(text), section, len(text), text)
}

// TestReceive_ParserPanicIsAnError checks that a panic of the mail parser ends only its connection, not the
// program.
func TestReceive_ParserPanicIsAnError(t *testing.T) {
	t.Parallel()
	d := pimtest.StartDovecot(t, "")
	h := newHub()
	b := h.joinBox(d.Account("tester"), inbox, slog.New(slog.DiscardHandler))
	defer h.leaveBox(b)
	for range 2 {
		if n, err := b.awaitNews(t.Context(), 0); err != nil || n.err != nil {
			t.Fatal(err, n.err)
		}
		watcherstest.Eventually(t, "it goes on", func() bool {
			return b.runOnConn(t.Context(), func(context.Context, *imapmail.Conn) error { return nil }) == nil
		})
		if err := b.runOnConn(t.Context(), func(context.Context, *imapmail.Conn) error { panic("a strange mail") }); err == nil {
			t.Error("runOnConn returned no error after a panic")
		}
	}
}
